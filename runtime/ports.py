"""What the runtime needs of the world, worded for the slice that asks.

Each port has at least two real implementations, which pass one conformance suite (tests/conformance).
Every method may raise `RetryableError`; what else it raises stands with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from runtime.model.choices import Choice, View
from runtime.model.entries import PayloadRef
from runtime.model.messages import Message, MessageKey
from runtime.model.outputs import Output
from runtime.model.threads import Commit, EndedThread, Thread, Wanted
from runtime.model.toolsets import CachedManifest, Invocation, Notice, ToolServer
from runtime.model.turns import Completion, ModelRequest


class History(Protocol):
    """The only state machine: threads, entries, inbox and calls, in one transactional store."""

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        """Return one consistent view of the thread, in at most two round trips.

        An unknown thread comes back with version 0, no entries, and its own id as root. With `wanted.entries` "owed"
        no entry comes that is not owed, and none of an ancestor's.
        """

    def commit(self, commit: Commit) -> None:
        """Write all of it or nothing, in one round trip.

        A serialization conflict is retried here, condition included; nothing outside the store is repeated for it.

        Raises:
            FenceLost: the thread's version is not the expected one; nothing was written.
            OutcomeUnknown: the reply was lost; the commit happened, or not, or will yet.
        """

    def ended_with(self, thread_id: str) -> tuple[EndedThread, ...]:
        """Return the threads that the closing of this one closed, itself first, with the calls live in them."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How often a process died on one subject: `entry:<position>` (an owed effect) or `message:<type>:<id>`."""

    subject: str
    deaths: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a thread's handling has come. `receipts` holds the body hash of each key that is completely handled."""

    receipts: dict[MessageKey, str] = field(default_factory=dict)
    performed: int = 0
    mark: Mark | None = None


class Receipts(Protocol):
    """Small state beside history that may lag: an older value only repeats effects that carry stable ids."""

    def read(self, thread_id: str, keys: Sequence[MessageKey]) -> Progress:
        """Return, from one consistent read: unexpired receipts of these keys, `performed`, and the mark."""

    def write(self, thread_id: str, handled: Sequence[Message], performed: int) -> None:
        """Record, in one call, that these messages are completely handled and effects are out up to `performed`.

        Receipts expire after the configured life. `handled` may be empty.
        """

    def mark(self, thread_id: str, mark: Mark | None) -> None:
        """Set the thread's mark of deaths, or clear it."""


class Choices(Protocol):
    """What users are to choose, kept until they have. Reads are consistent."""

    def put(self, choice: Choice) -> None:
        """Store the choice as open, unless it is there already: then nothing changes.

        Raises:
            PermanentError: it is larger than what can be kept.
        """

    def get(self, thread_id: str, choice_id: str) -> Choice | None: ...

    def of_thread(self, thread_id: str) -> tuple[Choice, ...]:
        """Return the open choices of this thread."""

    def complete(self, thread_id: str, choice_id: str, answered: int | None) -> None:
        """Mark the choice as no longer open; `answered` is None where nobody chose. The first time counts."""


class Views(Protocol):
    """The newest view of each type that a thread's tools want shown."""

    def put(self, view: View) -> bool:
        """Store the view unless one received later is there. Returns whether it is the newest.

        Raises:
            PermanentError: its content is larger than what can be kept; it should travel by reference.
        """

    def of_thread(self, thread_id: str) -> tuple[View, ...]: ...


class Manifests(Protocol):
    """The last good manifests of a root thread's tool servers."""

    def read(self, root_id: str) -> tuple[CachedManifest, ...]: ...

    def write(self, root_id: str, manifests: Sequence[CachedManifest]) -> None:
        """Replace what is kept for this root; expires after the configured life."""


class Queues(Protocol):
    """Sending. What was accepted is delivered at least once; each call's messages after those of the call before."""

    def send_inputs(self, messages: Sequence[Message]) -> None:
        """Put messages of ours on the input queue, authenticated, group = thread. All or an error."""

    def send_outputs(self, outputs: Sequence[Output]) -> None:
        """Put outputs on the output queue in this order, group = root, deduplicated by output id. All or an error."""


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A queue record before parsing: enough to park or to parse it. Times are epoch milliseconds."""

    record_id: str
    handle: str
    group_id: str
    body: str
    receive_count: int
    sent_ms: int
    first_received_ms: int


class InputQueue(Protocol):
    """The receiving side of the input queue: the fate of what was delivered to us."""

    def postpone(self, handles: Sequence[str], visibility_s: int) -> None:
        """Give these records the same new visibility, counted from now (0 = at once).

        A handle that is no longer ours is passed over: whoever holds the record now decides.
        """

    def park(self, record: RawRecord, reason: str) -> None:
        """Put a record that can never be handled on the dead-letter queue, the reason as an attribute."""


@dataclass(frozen=True, slots=True)
class Timer:
    """A message to be delivered when it is due. `name` is the same for every repeat of the same wish."""

    name: str
    message: Message
    due_ms: int


class Timers(Protocol):
    def start(self, timer: Timer) -> None:
        """Deliver the message to the input queue no earlier than it is due. Already past means at once.

        Repeating it is harmless: the message keeps its id.
        """

    def stop(self, name: str) -> None:
        """Forget the timer where that is possible; one that fires all the same is recognised by its message."""


class Payloads(Protocol):
    """Content too large to travel inside messages and rows. Never expires."""

    def put(self, thread_id: str, content: bytes) -> PayloadRef:
        """Store the bytes under a key made of the thread and their hash; repeating it is harmless."""

    def get(self, ref: PayloadRef) -> bytes:
        """Return the bytes.

        Raises:
            PermanentError: there is nothing under this key.
        """


class Model(Protocol):
    def complete(self, request: ModelRequest, timeout_s: float) -> Completion:
        """Ask once, read the answer to its end marker, within `timeout_s`. Never retries by itself.

        Raises:
            ModelUnavailable: throttled, overloaded, broken or silent stream, no end marker; nothing of it counts.
            CutByDeadline: still being written when `timeout_s` was over.
            Misconfigured: access denied, unknown model, expired credentials.
            TooLong: the request does not fit the window.
            PermanentError: this request will never be accepted.
        """


class ToolServers(Protocol):
    """Tool servers over the network, each reached only at addresses the deployment allows."""

    def manifest(self, server: ToolServer) -> str:
        """Return the JSON text of `GET <url>/.well-known/rap-toolset`.

        Raises:
            HandOverFailed: it cannot be had now; the reason says why.
        """

    def invoke(self, invocation: Invocation, timeout_s: float) -> None:
        """Hand over one call; returning means the server accepted it.

        Uncertain failures are retried within the time with the same idempotency key.

        Raises:
            HandOverFailed: refused, or nobody knows.
        """

    def notify(self, notices: Sequence[Notice]) -> int:
        """Send all notices side by side, wait at most one second, and return how many were accepted."""


class Clock(Protocol):
    """Time, chance and fresh names, so that tests own them."""

    def now_ms(self) -> int: ...

    def sleep(self, seconds: float) -> None: ...

    def fresh_id(self) -> str:
        """Return an id nobody has used."""

    def chance(self) -> float:
        """Return a number in [0, 1), for jitter."""


@dataclass(frozen=True, slots=True)
class Key:
    """A secret that signs from `signs_from_ms` on and verifies always."""

    key_id: str
    secret: bytes
    signs_from_ms: int


class Keyring(Protocol):
    def signing(self, now_ms: int) -> Key:
        """Return the newest key that may sign now; while none may yet, the one that will be the first."""

    def find(self, key_id: str) -> Key | None:
        """Return the key, re-reading the secret once when the id is unknown; None if it is still unknown."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a slice may act on. One set per worker thread; built by `wiring` or by `local`."""

    history: History
    receipts: Receipts
    choices: Choices
    manifests: Manifests
    queues: Queues
    timers: Timers
    payloads: Payloads
    model: Model
    servers: ToolServers
    keyring: Keyring
    clock: Clock
