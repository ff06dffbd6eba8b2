"""A process that dies at any call it makes of the outside: nothing is lost, doubled or reordered."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from runtime.errors import OutcomeUnknown
from runtime.model.entries import Entry
from runtime.model.threads import Commit, Thread, Wanted
from runtime.model.turns import Completion, ModelRequest, ResultBlock, TextBlock
from runtime.ports import History
from tests.support.crashing import Fate, ProcessDied, Side, mortal
from tests.support.values import calls, says
from tests.support.world import World

CALLS = 60  # more than any scenario below makes of its ports; that it is enough is a test, too


def answer(request: ModelRequest) -> Completion:
    """Decide from the request alone, so that asking again gives the same."""
    last = request.messages[-1].blocks
    texts = [block.text for block in last if isinstance(block, TextBlock)]
    if texts and "build" in texts[-1]:
        return calls("run_build", {"seconds": 5}, text="I build.")
    if texts and "list" in texts[-1]:
        return calls("list_activity")
    results = [block.items[0] for block in last if isinstance(block, ResultBlock)]
    return says(f"You said {texts[-1]}." if texts else f"It said {results[-1]}.")


@dataclass(frozen=True)
class Ending:
    """What an outsider sees in the end. Repeated outputs have been dropped by their ids, as every reader does."""

    bodies: tuple[Any, ...]
    outputs: tuple[tuple[str, str], ...]
    call_ids: frozenset[str]
    left_on_queue: int


def play(fate: Fate) -> Ending:
    """Somebody starts a build, speaks while it runs, and asks for a list when it is done."""
    world = World(answer, visibility_s=30)
    world.put_in(**mortal(world.ports, fate))
    outputs: list[tuple[str, str]] = []
    for step in ("build it", "what time is it?", "the build is done", "list"):
        if step == "the build is done":
            world.calls[0].answer("214 passed")
        else:
            world.say(step, message_id=step)
        _live_through(world)
        outputs += [(output["id"], str(sorted(output.items()))) for output in world.agent.outputs()]
    bodies = tuple(_comparable(entry) for entry in world.entries)
    call_ids = frozenset(call.call_id for call in world.calls)
    return Ending(bodies, tuple(outputs), call_ids, len(world.system.inputs))


def _live_through(world: World) -> None:
    """Settle; when the process dies, another one gets the messages once they are visible again."""
    for _ in range(3):
        # Its environment is put back by a `finally` that a real death would not have run.
        with suppress(ProcessDied):
            world.settle()
        world.clock.advance(31)


def _comparable(entry: Entry) -> tuple[Any, ...]:
    body = entry.body
    return (
        entry.position,
        body.kind,
        getattr(body, "text", None),
        getattr(body, "items", None),
        getattr(body, "call_id", None),
        getattr(body, "name", None),
    )


UNDISTURBED = play(Fate())


def test_the_undisturbed_run_is_what_the_scenario_says() -> None:
    fate = Fate()
    ending = play(fate)
    assert [body[1] for body in ending.bodies] == [
        *("user", "assistant", "tool_call"),
        *("tool_result", "user", "assistant", "event", "assistant"),
        *("user", "tool_call", "tool_result", "assistant"),
    ]
    assert (len(ending.call_ids), ending.left_on_queue) == (1, 0)
    assert fate.calls < CALLS


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, CALLS))
def test_a_process_that_dies_at_any_call_leaves_the_same_conversation(dies_at: int, side: Side) -> None:
    ending = play(Fate(dies_at, side))
    assert ending.bodies == UNDISTURBED.bodies
    assert sorted(set(ending.outputs)) == sorted(UNDISTURBED.outputs)
    assert (ending.call_ids, ending.left_on_queue) == (UNDISTURBED.call_ids, 0)


@dataclass
class UnknownOutcome:
    """History whose reply to the n-th commit is lost; the commit landed, or did not."""

    history: History
    at: int
    landed: bool
    commits: int = 0

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        return self.history.load(thread_id, wanted)

    def commit(self, commit: Commit) -> None:
        self.commits += 1
        if self.commits != self.at:
            return self.history.commit(commit)
        if self.landed:
            self.history.commit(commit)
        raise OutcomeUnknown


@pytest.mark.parametrize("landed", [True, False])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_commit_whose_reply_is_lost_is_neither_lost_nor_doubled(at: int, landed: bool) -> None:
    world = World(answer)
    world.put_in(history=UnknownOutcome(world.ports.history, at, landed))
    world.say("list")
    world.settle()
    world.say("build it")
    world.settle()
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant", "user", "assistant", "tool_call"]
    assert len({call.call_id for call in world.calls}) == 1
