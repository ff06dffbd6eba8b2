"""ministack, the emulator of AWS, in a process of its own, with three things changed that it has no variable for.

usage: python -m scripts.offline_stack.emulator --log-folder DIR [--evaluate-policies]
       (ministack's own environment variables apply)

* A warm invocation is answered at once, instead of after 50 ms of waiting for log lines that may never come.
* The Scheduler looks for due schedules every second instead of every ten.
* Every invocation of every function, whoever asked for it, is recorded: see `invocations`.

With `--evaluate-policies` a function may do only what its role allows: see `access`.

These are private names of ministack, so its version is pinned and the names are checked at the start.
"""

import argparse
import os
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from scripts.offline_stack import access
from scripts.offline_stack.clock import StackClock
from scripts.offline_stack.invocations import INVOKE_PARAMETERS, recorded
from scripts.offline_stack.journal import Journal
from scripts.offline_stack.pinned import check_function, check_version
from scripts.offline_stack.supervisor import (
    Piece,
    ProcessSpec,
    Supervisor,
    bare_environment,
    free_port,
    wait_until_ready,
)

REPOSITORY = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 30.0
REGION = "us-east-1"
ACCOUNT = "000000000000"
INVOCATIONS = "invocations.jsonl"
EVALUATE_POLICIES = "--evaluate-policies"
# first_line_wait, idle_confirm, hard_cap of Worker._drain_stderr_bounded, in seconds.
STOCK_DRAIN_S = (0.050, 0.005, 0.250)
# With less, the last line of an invocation sometimes comes with the next one.
QUICK_DRAIN_S = (0.010, 0.005, 0.250)
SCHEDULER_TICK_S = 1


class ClientSettings(TypedDict):
    """The keyword arguments with which a boto3 client reaches the emulator, as root."""

    endpoint_url: str
    region_name: str
    aws_access_key_id: str
    aws_secret_access_key: str


def start(
    supervisor: Supervisor,
    temporary: Path,
    log: Path,
    clock: StackClock,
    launch: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Piece:
    """Start the emulator with an empty memory and return when it answers. It and its functions live by `clock`.

    Everything it writes goes below `temporary`; what its functions do goes into `invocations.jsonl` and
    `functions.log` beside `log`.
    """
    port = free_port()
    temporary.mkdir(parents=True, exist_ok=True)
    spec = ProcessSpec(
        name="the AWS emulator",
        command=[sys.executable, "-m", "scripts.offline_stack.emulator", "--log-folder", str(log.parent), *options],
        log=log,
        environment=bare_environment(
            temporary,
            GATEWAY_PORT=str(port),
            BIND_HOST="127.0.0.1",
            MINISTACK_HOST="127.0.0.1",
            MINISTACK_REGION=REGION,
            # Both listen on every interface, the first on a fixed port.
            IOT_MTLS_ENABLED="0",
            SFTP_ENABLED="0",
            STATE_DIR=str(temporary / "state"),
            S3_DATA_DIR=str(temporary / "s3"),
            # Its functions inherit its environment, and so the clock.
            **clock.environment(),
        ),
        folder=REPOSITORY,
        launch_options=launch,
    )
    identity = supervisor.start(spec)
    wait_until_ready(spec, identity, lambda: _answers(port), START_TIMEOUT_S)
    return Piece(identity, port)


def endpoint_of(piece: Piece) -> str:
    """Give the URL at which a running emulator answers."""
    return f"http://127.0.0.1:{piece.port}"


def client_settings(endpoint: str) -> ClientSettings:
    """Give what makes a client: `boto3.client("sqs", **client_settings(endpoint))`."""
    return ClientSettings(
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - any key acts as root there
    )


def _answers(port: int) -> bool | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_ministack/health", timeout=2):
            return True
    except OSError:
        return None


def tune(log_folder: Path) -> None:
    """Change the private settings, and have every invocation recorded.

    Raises:
        RuntimeError: this ministack does not have them as we know them.
    """
    from ministack.core import lambda_runtime  # type: ignore[import-untyped]
    from ministack.services import scheduler  # type: ignore[import-untyped]

    worker = lambda_runtime.Worker
    check_function(worker, "invoke", INVOKE_PARAMETERS)
    if worker._drain_stderr_bounded.__defaults__ != STOCK_DRAIN_S or not hasattr(scheduler, "_SCHEDULE_TICK_INTERVAL"):
        raise RuntimeError("ministack has changed: compare the private names in this module with its source")
    worker._drain_stderr_bounded.__defaults__ = QUICK_DRAIN_S
    worker.invoke = recorded(worker.invoke, Journal(log_folder / INVOCATIONS), log_folder / "functions.log")
    scheduler._SCHEDULE_TICK_INTERVAL = SCHEDULER_TICK_S


def main() -> None:
    parser = argparse.ArgumentParser(description="ministack, tuned and recorded")
    parser.add_argument("--log-folder", type=Path, required=True)
    parser.add_argument(EVALUATE_POLICIES, action="store_true", help="see `access`")
    arguments = parser.parse_args()

    # ministack reads these once. Its workers inherit its environment, and must not take them for their own.
    os.environ["LOG_LEVEL"], os.environ["AUTH"] = "WARNING", str(arguments.evaluate_policies)
    from ministack.app import main as run_ministack  # type: ignore[import-untyped]

    del os.environ["LOG_LEVEL"], os.environ["AUTH"]
    check_version()
    tune(arguments.log_folder)
    if arguments.evaluate_policies:
        access.install(Journal(arguments.log_folder / access.RECORD))
    sys.argv[1:] = []
    run_ministack()


if __name__ == "__main__":
    main()
