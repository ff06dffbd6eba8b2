"""What a child says at the end of its turn reaches its parent, however the turn ends."""

from runtime import phrases
from runtime.items import plain_text
from runtime.model.entries import Event
from runtime.model.turns import Completion, SaidText, Thought
from tests.support.values import USAGE, calls, says
from tests.support.world import World
from tests.unit.test_threads import CHILD, Family, spawns


def _reports(world: World) -> list[str]:
    return [plain_text(entry.body.items) for entry in world.entries if isinstance(entry.body, Event)]


def test_a_report_that_reached_the_limit_of_its_length_is_passed_on_with_its_text() -> None:
    family = Family(
        root=[spawns("alpha", ["t"]), says("ok"), says("heard")],
        alpha=[says("Hm."), says("The answer is 7.", stop="max_tokens")],
    )
    world = World(family)
    world.say("look")
    world.settle()
    assert "The answer is 7." in _reports(world)[0]


def test_a_report_in_several_parts_is_passed_on_whole() -> None:
    parts = (SaidText("The answer is 7."), Thought("hm", "signed"), SaidText("It was hard."))
    family = Family(
        root=[spawns("alpha", ["t"]), says("ok"), says("heard")],
        alpha=[says("Hm."), Completion(parts, "end_turn", USAGE)],
    )
    world = World(family)
    world.say("look")
    world.settle()
    assert "The answer is 7." in _reports(world)[0]
    assert "It was hard." in _reports(world)[0]


def test_a_parent_hears_of_a_child_that_took_too_many_steps() -> None:
    family = Family(root=[spawns("alpha", ["t"]), says("ok"), says("heard")], alpha=[calls("list_activity")] * 5)
    world = World(family, completions_per_input=4)
    world.say("look")
    world.settle()
    row = world.thread(CHILD).row
    assert row.gave_up is not None
    assert row.gave_up.code == "too_many_completions"
    assert len(_reports(world)) == 1


def test_a_child_reports_before_it_waits_for_what_only_its_parent_could_send() -> None:
    waits = calls("sleep_until_event_or_input")
    family = Family(
        root=[spawns("alpha", ["t"]), says("ok"), says("heard")],
        alpha=[waits, calls("report_to_parent", {"report": "7"}), waits],
    )
    world = World(family)
    world.say("look")
    world.settle()
    assert _reports(world) == [phrases.report_of(CHILD, "7", closed=False)]
    assert [call.state for call in world.thread(CHILD).calls.values()] == ["pending"]
