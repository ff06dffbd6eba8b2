"""A thread as one load found it, and what a commit may add to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from runtime.model.calls import Call
from runtime.model.entries import Entry, JsonObject
from runtime.model.messages import MessageKey


@dataclass(frozen=True, slots=True)
class GaveUp:
    """The last commit left a tail that asks unanswered; its outputs and its wake timer derive from this.

    `attempt` and `wake_due_ms` describe the timer that asks again; None where only a new message can help.
    """

    message_id: str
    code: str
    text: str
    attempt: int | None
    wake_due_ms: int | None


@dataclass(frozen=True, slots=True)
class Person:
    """Whom the thread speaks for: the newest asker, and the root's metadata with the time it was sent."""

    user_id: str | None = None
    metadata: JsonObject | None = None
    metadata_sent_ms: int = 0


@dataclass(frozen=True, slots=True)
class TokensOfDay:
    """Tokens used on one UTC day (yyyy-mm-dd)."""

    day: str = ""
    used: int = 0


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One row of `threads`. `version` rises with every commit; 0 means that the thread does not exist yet.

    `gave_up` belongs to exactly this version: any later commit replaces it.
    """

    thread_id: str
    root_id: str
    head: int = 0
    version: int = 0
    commit_id: str = ""
    person: Person = Person()
    tokens: TokensOfDay = TokensOfDay()
    gave_up: GaveUp | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a load must bring besides the thread itself.

    `keys`: delivered messages whose inbox rows are looked up by key; `call_ids`: calls they name, whatever their
    state (live calls always come); `performed`: entries after this position must be there, summary or not.
    """

    keys: tuple[MessageKey, ...]
    call_ids: tuple[str, ...]
    performed: int


@dataclass(frozen=True, slots=True)
class Thread:
    """A consistent view: `entries` by position, `calls` by id, `inbox` = those wanted keys a commit has consumed."""

    row: ThreadRow
    entries: tuple[Entry, ...] = ()
    calls: Mapping[str, Call] = field(default_factory=dict)
    inbox: frozenset[MessageKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction, conditional on the version it was decided on.

    `row` is the whole thread row as it will be (its `version` is the expected one + 1); `entries` follow the old
    head densely; `calls` are inserted or replaced by id; `consumed` become inbox rows with the new version;
    `withheld` positions (older ones, of this thread) are marked with the code.
    """

    row: ThreadRow
    entries: tuple[Entry, ...]
    calls: tuple[Call, ...]
    consumed: tuple[MessageKey, ...]
    withheld: tuple[int, ...] = ()
    withheld_code: str | None = None

    @property
    def expected_version(self) -> int:
        return self.row.version - 1


def after(thread: Thread, commit: Commit) -> Thread:
    """Return the thread as the acknowledged commit left it, without asking the store."""
    marked = frozenset(commit.withheld)
    older = (
        tuple(
            replace(entry, withheld=commit.withheld_code) if entry.position in marked else entry
            for entry in thread.entries
        )
        if marked
        else thread.entries
    )
    return Thread(
        row=commit.row,
        entries=older + commit.entries,
        calls={**thread.calls, **{call.call_id: call for call in commit.calls}},
        inbox=thread.inbox | frozenset(commit.consumed),
    )
