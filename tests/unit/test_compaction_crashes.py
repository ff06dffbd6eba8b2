"""A process that dies at any call it makes while a conversation is summarised: the conversation is the same."""

from contextlib import suppress
from dataclasses import dataclass, replace

import pytest

from runtime.errors import TooLong
from runtime.model.entries import Body, ToolCall
from runtime.model.threads import Compaction, SummaryRef
from runtime.model.turns import Completion, ModelRequest, ResultBlock
from tests.support.crashing import Fate, ProcessDied, Side, mortal
from tests.support.summaries import WINDOW, asks_for_summary, full, texts_of
from tests.support.values import calls, says
from tests.support.world import World

CALLS = 60  # more than the scenario makes of its ports; that it is enough is a test, too


def answer(request: ModelRequest) -> Completion:
    """Decide from the request alone, so that asking again gives the same."""
    texts, newest = texts_of(request), request.messages[-1].blocks
    if asks_for_summary(request):
        return says("A summary.")
    if any(isinstance(block, ResultBlock) for block in newest):
        if "two" in texts:
            raise TooLong
        return says("It is listed.")
    if texts[-1] == "list":
        return calls("list_activity")
    return full("You said two.") if texts[-1] == "two" else says(f"You said {texts[-1]}.")


@dataclass(frozen=True)
class Ending:
    """What an outsider sees in the end. Repeated outputs have been dropped by their ids, as every reader does."""

    bodies: tuple[Body, ...]
    outputs: frozenset[tuple[str, str]]
    summary: SummaryRef | None
    compaction: Compaction | None
    left_on_queue: int


def play(fate: Fate) -> Ending:
    """What is said second fills the window; then a request is too long, after a call within its slice."""
    world = World(answer, visibility_s=30, model_window_tokens=WINDOW)
    world.put_in(**mortal(world.ports, fate))
    outputs: list[tuple[str, str]] = []
    for step in ("one", "two", "list", "four"):
        world.say(step, message_id=step)
        for _ in range(3):
            with suppress(ProcessDied):
                world.settle()
            world.clock.advance(31)
        outputs += [(output["id"], str(sorted(output.items()))) for output in world.agent.outputs()]
    row = world.thread().row
    bodies = tuple(_comparable(entry.body) for entry in world.entries)
    return Ending(bodies, frozenset(outputs), row.summary, row.compaction, len(world.system.inputs))


def _comparable(body: Body) -> Body:
    return replace(body, provider_call_id="theirs") if isinstance(body, ToolCall) else body


UNDISTURBED = play(Fate())


def test_the_undisturbed_run_is_what_the_scenario_says() -> None:
    fate = Fate()
    ending = play(fate)
    assert [body.kind for body in ending.bodies] == [
        *("user", "assistant", "user", "assistant"),
        *("user", "tool_call", "tool_result", "assistant", "user", "assistant"),
    ]
    assert sum("'compacted'" in output for _, output in ending.outputs) == 2
    assert (ending.compaction, ending.left_on_queue) == (None, 0)
    assert fate.calls < CALLS


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, CALLS))
def test_a_process_that_dies_at_any_call_leaves_the_same_conversation(dies_at: int, side: Side) -> None:
    ending = play(Fate(dies_at, side))
    assert ending.bodies == UNDISTURBED.bodies
    assert ending.outputs == UNDISTURBED.outputs
    assert (ending.compaction, ending.left_on_queue) == (None, 0)
