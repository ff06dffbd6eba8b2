"""ministack, the emulator of AWS, in a process of its own, with two settings that it has no variable for.

usage: python -m scripts.offline_stack.emulator   (ministack's own environment variables apply)

* A warm invocation is answered at once, instead of after 50 ms of waiting for log lines that may never come.
* The Scheduler looks for due schedules every second instead of every ten.

Both are private names of ministack, so its version is pinned and the names are checked at the start.
"""

import sys
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.offline_stack.supervisor import (
    ProcessIdentity,
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
# first_line_wait, idle_confirm, hard_cap of Worker._drain_stderr_bounded, in seconds.
STOCK_DRAIN_S = (0.050, 0.005, 0.250)
QUICK_DRAIN_S = (0.002, 0.001, 0.250)
SCHEDULER_TICK_S = 1


@dataclass(frozen=True, slots=True)
class RunningEmulator:
    identity: ProcessIdentity
    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def start(supervisor: Supervisor, folder: Path, log: Path, launch: Sequence[str] = ()) -> RunningEmulator:
    """Start the emulator with an empty memory and return when it answers. Everything it writes goes below `folder`."""
    port = free_port()
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    spec = ProcessSpec(
        name="the AWS emulator",
        command=[sys.executable, "-m", "scripts.offline_stack.emulator"],
        log=log,
        environment=bare_environment(
            temporary,
            GATEWAY_PORT=str(port),
            BIND_HOST="127.0.0.1",
            MINISTACK_HOST="127.0.0.1",
            MINISTACK_REGION=REGION,
            LOG_LEVEL="WARNING",
        ),
        folder=REPOSITORY,
        launch_options=launch,
    )
    identity = supervisor.start(spec)
    wait_until_ready(spec, identity, lambda: _answers(port), START_TIMEOUT_S)
    return RunningEmulator(identity, port)


def client_settings(endpoint: str) -> dict[str, str]:
    """Give the keyword arguments with which a boto3 client reaches the emulator."""
    return {
        "endpoint_url": endpoint,
        "region_name": REGION,
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
    }


def _answers(port: int) -> bool | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_ministack/health", timeout=2):
            return True
    except OSError:
        return None


def tune() -> None:
    """Change the private settings.

    Raises:
        RuntimeError: this ministack does not have them as we know them.

    """
    from ministack.core import lambda_runtime  # type: ignore[import-untyped]
    from ministack.services import scheduler  # type: ignore[import-untyped]

    drain = lambda_runtime.Worker._drain_stderr_bounded
    if drain.__defaults__ != STOCK_DRAIN_S or not hasattr(scheduler, "_SCHEDULE_TICK_INTERVAL"):
        raise RuntimeError("ministack has changed: compare the private names in this module with its source")
    drain.__defaults__ = QUICK_DRAIN_S
    scheduler._SCHEDULE_TICK_INTERVAL = SCHEDULER_TICK_S


def main() -> None:
    from ministack.app import main as run_ministack  # type: ignore[import-untyped]

    from scripts.offline_stack.dsql_proxy import check_ministack

    check_ministack()
    tune()
    sys.argv[1:] = []
    run_ministack()


if __name__ == "__main__":
    main()
