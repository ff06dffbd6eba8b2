"""The whole offline stack: started, deployed to, asked and stopped.

Everything lives below one folder, `.offline` in the checkout:

    state.json                what is running, and the outputs of the deployed stack
    clock                     how far its clock was moved (see `clock`)
    log/                      one log per piece, and the evidence:
        invocations.jsonl     every invocation of every function (see `invocations`)
        deliveries.jsonl      what the pollers delivered and what became of the messages (see `poller`)
        model.jsonl           every request the model got
        functions.log         what the functions printed
        access.jsonl          what each function was allowed and refused, where policies are evaluated (see `access`)
    tmp/, postgres/, cdk.out  what the pieces write
"""

import fcntl
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3

from scripts.offline_stack import emulator, postgres
from scripts.offline_stack.clock import StackClock
from scripts.offline_stack.deployment import OFFLINE_CONTEXT, Deployment, aws_environment
from scripts.offline_stack.pieces import OwnPieces
from scripts.offline_stack.state import StackState
from scripts.offline_stack.supervisor import Piece, StackError, Supervisor, is_running

DEFAULT_FOLDER = emulator.REPOSITORY / ".offline"
POSTGRES, PROXY, EMULATOR, MODEL = "postgres", "dsql-proxy", "emulator", "model"
POLLERS = {"slice-poller": "SliceFunctionName", "timer-poller": "TimerRelayFunctionName"}
PIECES = (POSTGRES, PROXY, EMULATOR, MODEL, *POLLERS)

Progress = Callable[[str], AbstractContextManager[None]]


class OfflineStack:
    """One offline stack. Two objects for the same folder speak of the same stack, in any process.

    `context` is CDK context for the deployed app, beside `OFFLINE_CONTEXT`. `progress` is entered around every step.
    `emulator_options` are for a stack that this object starts: see `emulator`.
    """

    def __init__(
        self,
        folder: Path = DEFAULT_FOLDER,
        context: Mapping[str, str] | None = None,
        progress: Progress = lambda _: nullcontext(),
        emulator_options: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self._emulator_options = emulator_options
        self._context = dict(context or {})
        self._step = progress
        self._supervisor = Supervisor()
        self._clock = StackClock(folder / "clock")
        self._is_alone = False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every other command from starting, deploying or stopping this stack while the block runs.

        Waits for one that is at it. `up` and `down` of this object may be called inside. Main thread only.
        """
        if self._is_alone:
            yield
            return
        with self._lock():
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False

    def up(self, *, keep_data: bool = False) -> None:
        """Start what is not running and deploy the checkout as it is now; quick when everything runs already.

        A stack of which only a part still runs is stopped and started anew, with empty services; `keep_data` keeps the
        database of the last one.

        Raises:
            StackError: something failed; what this call had started is stopped again, the logs stay.
        """
        with self.alone():
            state = StackState.load(self.folder)
            try:
                if _is_complete(state):
                    with self._step("cdk synth"):
                        self._deployment().synthesize()
                else:
                    self._stop(state, keep_data=keep_data)
                    self._start_services()
                    self._prepare_deployment()
                self._deploy()
                self._start_pollers()
            except BaseException:
                self._supervisor.stop_children()
                raise

    def down(self, *, keep_data: bool = False) -> None:
        """Stop exactly the processes of this stack and remove what they wrote, except the logs. Safe to repeat."""
        with self.alone():
            self._stop(StackState.load(self.folder), keep_data=keep_data)

    def status(self) -> dict[str, Piece | None]:
        """Every piece by name, with None for one that is not running."""
        pieces = StackState.load(self.folder).pieces
        return {name: pieces[name] if _runs(pieces, name) else None for name in PIECES}

    @property
    def is_up(self) -> bool:
        """Whether every piece runs and the app has been deployed."""
        return _is_complete(StackState.load(self.folder))

    @property
    def outputs(self) -> Mapping[str, str]:
        """The outputs of the deployed stack. Raises: StackError when the stack is not up."""
        return self._running_state().outputs

    @property
    def database_dsn(self) -> str:
        """A connection string for the database the functions use, through the DSQL proxy."""
        return f"host=127.0.0.1 port={self._port(PROXY)} user=admin dbname=postgres"

    @property
    def endpoint(self) -> str:
        """The URL of the AWS emulator."""
        return emulator.endpoint_of(self._running_state().pieces[EMULATOR])

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point AWS tools at the stack, and one for each output: InputQueueUrl → INPUT_QUEUE_URL."""
        outputs = {_upper_snake(name): value for name, value in self.outputs.items()}
        return aws_environment(self.endpoint) | outputs | {"DATABASE_DSN": self.database_dsn}

    def now(self) -> float:
        """The time of the stack in epoch seconds, in which its logs and queues speak."""
        return self._clock.now()

    def move_clock(self, seconds: float) -> None:
        """Move the time of the whole running stack forward, at once: see `clock` for what follows it and what does not.

        It stays moved until the stack is taken down, with its data.

        Raises:
            StackError: the stack is not up.
            ValueError: backward.
        """
        self._running_state()
        self._clock.move(seconds)

    @property
    def invocation_log_path(self) -> Path:
        return self._log / emulator.INVOCATIONS

    @property
    def delivery_log_path(self) -> Path:
        return self._log / "deliveries.jsonl"

    @property
    def model_log_path(self) -> Path:
        return self._log / "model.jsonl"

    def client(self, service: str) -> Any:
        """Make a boto3 client of the emulator; of any service, hence Any."""
        session = boto3.Session()
        return session.client(service, **emulator.client_settings(self.endpoint))  # type: ignore[call-overload]

    def _start_services(self) -> None:
        for folder in (self._log, self.folder / "tmp"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        with self._step("PostgreSQL, and the DSQL rules in front of it"):
            self._start_database()
        with self._step("AWS emulator and model endpoint"):
            temporary, log = self.folder / "tmp" / EMULATOR, self._log / f"{EMULATOR}.log"
            running = emulator.start(self._supervisor, temporary, log, self._clock, options=self._emulator_options)
            self._remember(EMULATOR, running)
            self._start_own(MODEL, "model_endpoint", "--port", "0", "--log", str(self.model_log_path))

    def _start_database(self) -> None:
        state = StackState.load(self.folder)
        home = Path(state.database_home) if state.database_home else postgres.choose_home(self.folder / POSTGRES)
        folders = postgres.prepare_folders(home)
        replace(state, database_home=str(home)).save(self.folder)
        postgres.initialise(folders)
        server = postgres.start(self._supervisor, folders, self._log / f"{POSTGRES}.log")
        self._remember(POSTGRES, server)
        self._start_own(PROXY, "dsql_proxy", "--backend-port", str(server.port))

    def _prepare_deployment(self) -> None:
        deployment = self._deployment()
        with self._step("cdk bootstrap and cdk synth"), ThreadPoolExecutor() as pool:
            try:
                for done in [pool.submit(deployment.bootstrap), pool.submit(deployment.synthesize)]:
                    done.result()
            except BaseException:
                self._supervisor.stop_children()  # or the pool would wait for the other one
                raise

    def _deploy(self) -> None:
        with self._step("cdk deploy"):
            outputs = self._deployment().deploy()
        replace(StackState.load(self.folder), outputs=outputs).save(self.folder)

    def _deployment(self) -> Deployment:
        endpoint = self.endpoint
        places = {
            "dsql_port": str(self._port(PROXY)),
            "model_endpoint": f"http://127.0.0.1:{self._port(MODEL)}",
            # The emulator serves function URLs by path, under the id that AWS would put into the host name.
            "function_url_base": f"{endpoint}/_aws/lambda-url",
        }
        return Deployment(endpoint, self.folder, OFFLINE_CONTEXT | places | self._context, self._supervisor)

    def _start_pollers(self) -> None:
        state = StackState.load(self.folder)
        idle = {name: output for name, output in POLLERS.items() if not _runs(state.pieces, name)}
        if not idle:
            return
        with self._step("pollers of the input queue and the timer queue"):
            for name, output in idle.items():
                function, journal = state.outputs[output], str(self.delivery_log_path)
                self._start_own(
                    name, "poller", "--endpoint", self.endpoint, "--function", function, "--journal", journal
                )

    def _start_own(self, name: str, module: str, *options: str) -> None:
        self._remember(name, OwnPieces(self._supervisor, self.folder, self._clock).start(name, module, options))

    def _remember(self, name: str, piece: Piece) -> None:
        state = StackState.load(self.folder)
        replace(state, pieces={**state.pieces, name: piece}).save(self.folder)

    def _stop(self, state: StackState, *, keep_data: bool) -> None:
        if any(_runs(state.pieces, name) for name in state.pieces):
            with self._step("stop what runs"):
                for name, piece in reversed(list(state.pieces.items())):
                    stop_signal = postgres.STOP_SIGNAL if name == POSTGRES else signal.SIGTERM
                    self._supervisor.stop(piece.identity, stop_signal)
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        (self.folder / "outputs.json").unlink(missing_ok=True)
        if not keep_data:
            self._clock.file.unlink(missing_ok=True)
        if not keep_data and state.database_home:
            shutil.rmtree(state.database_home)
        StackState(database_home=state.database_home if keep_data else "").save(self.folder)

    def _running_state(self) -> StackState:
        state = StackState.load(self.folder)
        if not _runs(state.pieces, EMULATOR):
            raise StackError("The offline stack is not up: start it with scripts/offline up.")
        return state

    def _port(self, name: str) -> int:
        return self._running_state().pieces[name].port

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    @contextmanager
    def _lock(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                with self._step("waited for another command that works on this stack"):
                    fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _runs(pieces: Mapping[str, Piece], name: str) -> bool:
    return name in pieces and is_running(pieces[name].identity)


def _is_complete(state: StackState) -> bool:
    return bool(state.outputs) and all(_runs(state.pieces, name) for name in PIECES)


def _upper_snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
