"""What else may be done to an exchange at one of its stages: hold it for a while, cut its connection, let it conflict.

Each is asked about every stage of every exchange, by one thread at a time, until it has had its fill.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from scripts.offline_stack.supervisor import ProcessIdentity

# arrived: we have the whole request, the service has nothing. passed on: the service has it, and we have no answer.
# answered: we have the whole answer, the client has none of it, or, of a database, not its end.
# ending: of a database alone: the server has everything of the transaction but its COMMIT, which we have.
Stage = Literal["arrived", "passed on", "ending", "answered"]
Fact: TypeAlias = "str | int | Mapping[str, str]"
# end here: nothing goes on to where it would have gone next. conflict: the database refuses to commit, with 40001.
Ruling = Literal["pass on", "end here", "conflict"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. `what` is the step of a slice it stands for, or else the operation's own name.

    `body` is what was asked, where that alone tells whom it is about; it is not logged.
    """

    what: str
    threads: Sequence[str] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False, compare=False)

    def is_about(self, thread_id: str) -> bool:
        """Whether it belongs to this thread; a model is not told of threads, so of it the text has to name one."""
        return thread_id in self.threads or thread_id.encode() in self.body


Strikes = Callable[[Exchange, Stage], bool]


class Hold:
    """Keeps the first process that comes to a stage waiting there, also when it asks again, until it is released.

    `after`: it has to be another process than the one that is held there, and comes only when that one is.
    """

    def __init__(self, strikes: Strikes, after: "Hold | None" = None) -> None:
        self._strikes = strikes
        self._after = after
        self._process: ProcessIdentity | None = None
        self._caught = threading.Event()
        self._released = threading.Event()

    def catches(self, exchange: Exchange, stage: Stage, process: ProcessIdentity) -> bool:
        if self._released.is_set() or not self._may_be(process) or not self._strikes(exchange, stage):
            return False
        self._process = process
        self._caught.set()
        return True

    def _may_be(self, process: ProcessIdentity) -> bool:
        if self._process is not None:
            return self._process == process
        return self._after is None or self._after._process not in (None, process)

    def keep(self) -> None:
        """Return when it is released."""
        self._released.wait()

    def wait(self, timeout_s: float) -> ProcessIdentity | None:
        """The process, as soon as it is held; None when none came in this time."""
        self._caught.wait(timeout_s)
        return self._process

    def release(self) -> None:
        """Let what is held go on as if nothing had been. A hold that has caught nobody will catch nobody."""
        self._released.set()


class Fault:
    """The same ruling so many times in a row, wherever `strikes` says so."""

    def __init__(self, strikes: Strikes, ruling: Ruling, times: int) -> None:
        self.ruling = ruling
        self._strikes = strikes
        self._left = times

    @property
    def is_spent(self) -> bool:
        return self._left == 0

    def befalls(self, exchange: Exchange, stage: Stage) -> bool:
        if self.is_spent or not self._strikes(exchange, stage):
            return False
        self._left -= 1
        return True
