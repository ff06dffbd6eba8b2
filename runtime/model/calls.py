"""Calls of asynchronous tools, and what has become of them."""

from dataclasses import dataclass
from typing import Literal

from runtime.model.entries import JsonObject

CallState = Literal["pending", "answered", "detached", "subscribed", "failed", "cancelled", "ended"]
LIVE_STATES: frozenset[CallState] = frozenset({"pending", "detached", "subscribed"})
# As far as anybody knows its tool is at work on a call in one of these, and has not answered it.
AT_WORK_STATES: frozenset[CallState] = frozenset({"pending", "detached"})
# A call in one of these takes a result: also one that nobody knows to have been handed over.
UNANSWERED_STATES: frozenset[CallState] = AT_WORK_STATES | {"failed"}
# Of a call in one of these, something is still to come while its thread does something else.
RUNNING_STATES: frozenset[CallState] = frozenset({"detached", "subscribed"})
# A call in one of these may still ask its user for something: a subscription as well, when its login runs out.
ASKING_STATES: frozenset[CallState] = frozenset({"pending", "detached", "failed", "subscribed"})


@dataclass(frozen=True, slots=True)
class CallTarget:
    """Whom a call is handed to; None stands for the runtime itself (a sleep).

    `on_interrupt`: "continue" detaches the call and lets the tool go on, "cancel" tells its server to stop,
    "end" answers it (a sleep that something else woke).
    """

    toolset: str | None
    endpoint: str | None
    on_interrupt: Literal["continue", "cancel", "end"] = "continue"


@dataclass(frozen=True, slots=True)
class Call:
    """One row of `calls`: enough to hand the call over again, and to place a late answer, without reading history.

    Invariant: state pending <=> its entry is the visible tail of its thread.

    `turn_start` is the first position of the turn the call belongs to; `user_id` is for whom it was issued.
    """

    call_id: str
    name: str
    arguments: JsonObject
    state: CallState
    target: CallTarget
    position: int
    committed_ms: int
    provider_call_id: str | None = None
    due_ms: int | None = None
    turn_start: int | None = None
    user_id: str | None = None

    @property
    def is_live(self) -> bool:
        return self.state in LIVE_STATES


def may_ask(call: Call | None) -> bool:
    """Whether there is such a call, and it may still ask its user for something."""
    return call is not None and call.state in ASKING_STATES
