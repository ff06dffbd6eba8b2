"""A thread as one load found it, and what a commit may add to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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

    def has_metadata_of(self, other: "Person") -> bool:
        """Whether both know the same metadata, of the same message."""
        return (self.metadata, self.metadata_sent_ms) == (other.metadata, other.metadata_sent_ms)


@dataclass(frozen=True, slots=True)
class TokensOfDay:
    """Tokens used on one UTC day (yyyy-mm-dd)."""

    day: str = ""
    used: int = 0

    def plus(self, more: "TokensOfDay") -> "TokensOfDay":
        """Return the sum for the newer of the two days: what was used on an older one no longer counts."""
        if more.day == self.day:
            return TokensOfDay(self.day, self.used + more.used)
        return max(self, more, key=lambda each: each.day)


ThreadKind = Literal["root", "spawned", "event", "compaction"]


@dataclass(frozen=True, slots=True)
class Inherited:
    """A piece of an ancestor's history that a thread sees: that ancestor's entries up to this position."""

    thread_id: str
    up_to: int


@dataclass(frozen=True, slots=True)
class Birth:
    """How a thread began; never changes. Positions go on where the inherited ones end.

    `lineage` names the ancestors, root first, parent last; their positions form one line with the thread's own.
    `call_id` is the call of the parent's that began it, under which it is spoken of; `task` is what for, in short.
    """

    kind: ThreadKind = "root"
    lineage: tuple[Inherited, ...] = ()
    call_id: str = ""
    task: str = ""

    @property
    def parent_id(self) -> str | None:
        return self.lineage[-1].thread_id if self.lineage else None

    @property
    def inherited(self) -> int:
        """The last position that is an ancestor's."""
        return self.lineage[-1].up_to if self.lineage else 0


@dataclass(frozen=True, slots=True)
class SummaryRef:
    """Which summary stands for everything up to this position. It is named after the thread that wrote it."""

    summary_id: str
    up_to: int


@dataclass(frozen=True, slots=True)
class Summary:
    """`state`: what was going on when it came into use, frozen; None until then."""

    ref: SummaryRef
    text: str
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction thread is at work, or has failed: then `failed_at` is the thread's head when it was told so."""

    thread_id: str
    up_to: int
    since_ms: int
    failed_at: int | None = None

    @property
    def failed(self) -> bool:
        return self.failed_at is not None


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One row of `threads`. `version` rises with every commit; 0 means that the thread does not exist yet.

    `gave_up` belongs to exactly this version: any later commit replaces it. `has_family`: a child began here once.
    """

    thread_id: str
    root_id: str
    head: int = 0
    version: int = 0
    commit_id: str = ""
    person: Person = Person()
    tokens: TokensOfDay = TokensOfDay()
    gave_up: GaveUp | None = None
    birth: Birth = Birth()
    closed: bool = False
    has_family: bool = False
    summary: SummaryRef | None = None
    compaction: Compaction | None = None

    @property
    def counts(self) -> bool:
        """Whether it is a child to its parent and one of the open threads beside the root: compactions are not."""
        return self.birth.kind in ("spawned", "event")

    @property
    def summarised(self) -> int:
        """The last position that a summary stands for; 0 without one."""
        return self.summary.up_to if self.summary else 0

    def owner_of(self, position: int) -> str:
        """Return the thread whose own entry stands at this position: this one, or an ancestor."""
        return next((part.thread_id for part in self.birth.lineage if position <= part.up_to), self.thread_id)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a load must bring besides the thread itself.

    `keys`: delivered messages whose inbox rows are looked up by key; `call_ids`: calls they name, whatever their
    state (live calls always come); `performed`: own entries after this position must be there, summary or not;
    `entries`: everything visible, or only what is owed; `summary_ids`: summaries that messages bring.
    """

    keys: tuple[MessageKey, ...]
    call_ids: tuple[str, ...]
    performed: int
    entries: Literal["visible", "owed"] = "visible"
    summary_ids: tuple[str, ...] = ()

    def reaches_beyond(self, row: ThreadRow) -> bool:
        """Whether a load has to look beyond the thread's own rows: at ancestors, children, the tree, or summaries."""
        return bool(row.birth.lineage or row.has_family or row.summary or self.summary_ids)

    def first_own(self, row: ThreadRow) -> int:
        """Return the position behind which the thread's own entries are wanted."""
        if self.entries == "owed":
            return self.performed
        return min(self.performed, row.summarised)


@dataclass(frozen=True, slots=True)
class Child:
    """An open child of a thread, as its parent sees it."""

    thread_id: str
    birth: Birth


@dataclass(frozen=True, slots=True)
class Family:
    """What a thread knows of its tree. `children`: its own that are open. `ancestors_open`: every one of them is.

    `tokens`: used by the tree on a day, without what the root's own row counts where the thread is the root.
    `open_threads`: open in the whole tree, beside its root. `last_words`: what children of a thread that was made for
    one event said when they closed, and no commit of it has consumed.
    """

    children: tuple[Child, ...] = ()
    ancestors_open: bool = True
    tokens: TokensOfDay = TokensOfDay()
    open_threads: int = 0
    last_words: frozenset[MessageKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Thread:
    """A consistent view: `entries` by position, `calls` by id, `inbox` = those wanted keys a commit has consumed.

    `entries` are the visible ones, inherited included, behind the summary if there is one; those behind `performed`
    are there in any case. `summaries` are the wanted ones that exist.
    """

    row: ThreadRow
    entries: tuple[Entry, ...] = ()
    calls: Mapping[str, Call] = field(default_factory=dict)
    inbox: frozenset[MessageKey] = frozenset()
    family: Family = Family()
    summary: Summary | None = None
    summaries: Mapping[str, Summary] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether neither the thread nor an ancestor of it has closed."""
        return not self.row.closed and self.family.ancestors_open


def behind(position: int, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return those of these entries that come after the position. Positions are dense: none need be looked at."""
    return entries[max(0, position + 1 - entries[0].position) :] if entries else ()


@dataclass(frozen=True, slots=True)
class NewThread:
    """A thread that begins in another's commit, with the entries and calls it begins with."""

    row: ThreadRow
    entries: tuple[Entry, ...]
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class EndedThread:
    """A thread that closed together with an ancestor, or itself, and the calls that were live in it."""

    thread_id: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction, conditional on the version it was decided on.

    `row` is the whole thread row as it will be (its `version` is the expected one + 1); `entries` follow the old
    head densely; `calls` are inserted or replaced by id; `consumed` become inbox rows with the new version;
    `withheld` positions (older ones, of this thread) are marked with the code. `created` threads begin. A `row` that is
    closed closes every open descendant and raises its version. `spent` tokens are added to the tree's, on the day of
    the row's own `tokens`; a root's row holds them already. The person's metadata goes to the root where
    `metadata_is_new`, and never over what was sent later. `summary` is what a compaction thread wrote; `frozen_state`
    goes to the summary that `row` begins to use.
    """

    row: ThreadRow
    entries: tuple[Entry, ...]
    calls: tuple[Call, ...]
    consumed: tuple[MessageKey, ...]
    withheld: tuple[int, ...] = ()
    withheld_code: str | None = None
    created: tuple[NewThread, ...] = ()
    spent: int = 0
    metadata_is_new: bool = False
    summary: Summary | None = None
    frozen_state: str | None = None

    @property
    def expected_version(self) -> int:
        return self.row.version - 1
