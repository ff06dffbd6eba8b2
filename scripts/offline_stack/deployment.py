"""The real CDK command line tool against the emulator: `cdk bootstrap`, `cdk synth`, `cdk deploy`."""

import json
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.bootstrap import ROOT, SetUpError, cdk_command, tool_environment
from scripts.offline_stack.emulator import ACCOUNT, REGION, client_settings
from scripts.offline_stack.supervisor import ProcessSpec, StackError, Supervisor, log_tail

STACK_NAME = "Infinity"
COMMAND_TIMEOUT_S = 600
# How Python ends the traceback of an app that was given a context it cannot work with.
CONFIG_ERROR = re.compile(r"^(?:\w+\.)*ConfigError: (.+)$", re.MULTILINE)
# What the deployed app is told about the place it runs in. A caller may add to it or replace it.
OFFLINE_CONTEXT = {
    "offline": "true",
    "dsql_endpoint": "127.0.0.1",
    "dsql_tls": "off",
    "allowed_private_networks": '["127.0.0.0/8"]',
    # Short, so that a test sees what takes a quarter of an hour in the cloud.
    "timer_delay_limit_s": "5",
    "completion_reserve_s": "10",
}


@dataclass(frozen=True, slots=True)
class Deployment:
    """Deploys the app of this checkout to one emulator. `folder` takes the synthesized app and the logs."""

    endpoint: str
    folder: Path
    context: Mapping[str, str]
    supervisor: Supervisor

    def bootstrap(self) -> None:
        """Make what every CDK deployment needs, in an account that has nothing yet."""
        # Away from the app's own cdk.json: bootstrapping an environment that is named needs no app.
        self._run("bootstrap", ["bootstrap", f"aws://{ACCOUNT}/{REGION}"], self.folder)

    def synthesize(self) -> None:
        """Run the app: code, layers and template end up below `folder`."""
        shutil.rmtree(self._assembly, ignore_errors=True)  # the CDK never removes the assets of earlier runs
        options = [word for name, value in self.context.items() for word in ("--context", f"{name}={value}")]
        self._run("synth", ["synth", "--quiet", "--output", str(self._assembly), *options], ROOT)

    def deploy(self) -> dict[str, str]:
        """Deploy what was synthesized, whole. Returns the stack's outputs. A stack that is up to date costs little."""
        outputs = self.folder / "outputs.json"
        functions = self.folder / "log" / "functions.log"
        printed_before = functions.stat().st_size if functions.exists() else 0
        words = [
            *("deploy", STACK_NAME, "--app", str(self._assembly), "--outputs-file", str(outputs)),
            *("--require-approval", "never", "--progress", "events", "--method", "direct"),
        ]
        try:
            self._run("deploy", words, self.folder)
        except StackError as error:
            # It may have failed inside a function (a custom resource): then the reason is in that function's output.
            if not functions.exists() or functions.stat().st_size == printed_before:
                raise
            raise StackError(f"{error}\n{log_tail(functions, from_byte=printed_before)}") from error
        return {name: str(value) for name, value in json.loads(outputs.read_text())[STACK_NAME].items()}

    @property
    def _assembly(self) -> Path:
        return self.folder / "cdk.out"

    def _run(self, name: str, words: Sequence[str], cwd: Path) -> None:
        log = self.folder / "log" / f"cdk-{name}.log"
        log.unlink(missing_ok=True)
        try:
            spec = ProcessSpec(
                name=f"cdk {name}",
                command=[*cdk_command(), *words, "--no-notices", "--no-color", "--ci"],
                log=log,
                environment=cdk_environment(self.endpoint, self.folder / "tmp" / "cdk"),
                folder=cwd,
                launch_options=("--with-parent", str(os.getpid())),
            )
        except SetUpError as error:
            raise StackError(str(error)) from error
        started = time.monotonic()
        status = self.supervisor.run(spec, COMMAND_TIMEOUT_S)
        with log.open("a") as output:
            output.write(f"took {time.monotonic() - started:.1f} s\n")
        if status is None:
            raise StackError(f"cdk {name} did not end within {COMMAND_TIMEOUT_S} s.\n{log_tail(log)}")
        if status:
            raise StackError(why_it_failed(name, log))


def why_it_failed(name: str, log: Path) -> str:
    """One line for a context that the app refuses, else what the CDK printed last."""
    refusals = CONFIG_ERROR.findall(log.read_text(errors="replace"))
    if refusals:
        return f"the app refuses its context: {refusals[-1]}"
    return f"cdk {name} failed; mend what it says and run the command again.\n{log_tail(log)}"


def cdk_environment(endpoint: str, temporary: Path) -> dict[str, str]:
    """Make an environment in which the CDK can reach nothing but the emulator."""
    temporary.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in tool_environment().items() if not name.startswith(("AWS_", "CDK_"))}
    return (
        kept
        | aws_environment(endpoint)
        | {
            "AWS_ENDPOINT_URL_S3": endpoint,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_HOME": str(temporary),
            "TMPDIR": str(temporary),
        }
    )


def aws_environment(endpoint: str) -> dict[str, str]:
    """Give the variables that point any AWS tool at the emulator."""
    settings = client_settings(endpoint)
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": settings["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": settings["aws_secret_access_key"],
        "AWS_REGION": settings["region_name"],
        "AWS_DEFAULT_REGION": settings["region_name"],
    }
