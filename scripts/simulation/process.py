"""One invocation of the slice function, in a thread of its own that runs only while it holds the baton."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class ProcessDied(BaseException):
    """No `except Exception` may catch it: nobody catches SIGKILL either."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the outside that a process is about to make. `act` makes it; whoever schedules decides whether."""

    port: str
    method: str
    arguments: tuple[Any, ...]
    act: Callable[[], Any]

    @property
    def name(self) -> str:
        return f"{self.port}.{self.method}"


class Process:
    """Runs `body` up to its first call, then from call to call, as `resume` says. Never two at a time.

    `call` is what it is about to do; None once it has ended. `thread_id` is the conversation it last asked about.
    """

    def __init__(self, name: str, body: Callable[["Process"], None]) -> None:
        self.name = name
        self.call: Call | None = None
        self.thread_id = ""
        self.failure: BaseException | None = None
        self._body = body
        self._answer: tuple[Any, BaseException | None] = (None, None)
        self.has_died = False
        self._may_run, self._has_stopped = threading.Lock(), threading.Lock()
        self._may_run.acquire()
        self._has_stopped.acquire()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        return self.call is not None

    def start(self) -> None:
        self._thread.start()
        self._has_stopped.acquire()

    def resume(self, answer: Any = None, error: BaseException | None = None) -> None:
        """Let the call that it waits at return this, or raise it; return when the process stops again or has ended."""
        self._answer = (answer, error)
        self.has_died = self.has_died or isinstance(error, ProcessDied)
        self.call = None
        self._may_run.release()
        self._has_stopped.acquire()

    def kill(self) -> None:
        self.resume(error=ProcessDied())

    def stop_at(self, call: Call) -> Any:
        """Wait, in the process's own thread, until somebody decides about this call."""
        if self.has_died:
            raise ProcessDied  # what a dead process would do on its way out does not happen
        self.call = call
        if call.name == "receipts.read":
            self.thread_id = call.arguments[0]
        self._has_stopped.release()
        self._may_run.acquire()
        answer, error = self._answer
        if error is not None:
            raise error
        return answer

    def _run(self) -> None:
        try:
            self._body(self)
        except ProcessDied:
            pass
        except BaseException as failure:  # noqa: BLE001 - it is looked at by whoever holds the baton
            self.failure = failure
        finally:
            self.call = None
            self._has_stopped.release()


class Stepped:
    """A port whose every call is a stop of the process."""

    def __init__(self, name: str, port: Any, process: Process) -> None:
        self._name = name
        self._port = port
        self._process = process

    def __getattr__(self, method: str) -> Any:
        act = getattr(self._port, method)

        def call(*arguments: Any) -> Any:
            return self._process.stop_at(Call(self._name, method, arguments, lambda: act(*arguments)))

        return call
