"""The two places for history that one suite runs against."""

from contextlib import ExitStack
from typing import Protocol

from runtime.adapters.aws.dsql_connection import DsqlConnection
from runtime.adapters.memory.history import MemoryHistory
from runtime.errors import OutcomeUnknown
from runtime.model.threads import Commit, EndedThread, Thread, Wanted
from runtime.ports import History
from tests.support.dsql import connection_to, endpoint_of, history_on
from tests.support.history_values import NOTHING_ELSE
from tests.support.wire_counter import counting


class Store(Protocol):
    """A place for history, and views on it as different slices have them."""

    def open(self) -> History: ...

    def open_losing_a_reply(self, *, committed: bool) -> History:
        """A view whose next commit gets no reply, having happened or not."""


class MemoryStore:
    def __init__(self) -> None:
        self._history = MemoryHistory()

    def open(self) -> History:
        return self._history

    def open_losing_a_reply(self, *, committed: bool) -> History:
        return LosingReplies(self._history, committed=committed)


class LosingReplies:
    """A memory has no reply to lose: this is how one is lost for it."""

    def __init__(self, history: History, *, committed: bool) -> None:
        self._history = history
        self._committed = committed

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        return self._history.load(thread_id, wanted)

    def commit(self, commit: Commit) -> None:
        if self._committed:
            self._history.commit(commit)
        raise OutcomeUnknown("the reply was lost")

    def ended_with(self, thread_id: str) -> tuple[EndedThread, ...]:
        return self._history.ended_with(thread_id)


class DsqlStore:
    def __init__(self, dsn: str, stack: ExitStack) -> None:
        self._dsn = dsn
        self._stack = stack

    def open(self) -> History:
        return history_on(self._closing(connection_to(self._dsn)))

    def open_losing_a_reply(self, *, committed: bool) -> History:
        endpoint = endpoint_of(self._dsn)
        wire = self._stack.enter_context(counting(endpoint.host, endpoint.port))
        history = history_on(self._closing(connection_to(self._dsn, port=wire.port)))
        history.load("any thread", NOTHING_ELSE)
        wire.fates.append("lost after" if committed else "lost before")
        return history

    def _closing(self, connection: DsqlConnection) -> DsqlConnection:
        self._stack.callback(connection.close)
        return connection
