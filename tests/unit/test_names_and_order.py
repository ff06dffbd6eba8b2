"""Names that must differ, and what must be the same, or come last, for reasons that do not show at the spot."""

from collections.abc import Sequence
from typing import Any

from runtime import phrases
from runtime.context import rendered
from runtime.effects import Effect, Outputs, TellCancelled
from runtime.identity import deduplication_id, entry_output_id
from runtime.model.entries import AssistantText, CancelledCall, TextItem, ToolResult
from runtime.model.outputs import Output
from runtime.model.threads import ThreadRow
from runtime.model.toolsets import Notice
from runtime.model.turns import Completion, TextBlock, WantedCall
from runtime.perform import perform
from runtime.prepare import prepare
from runtime.run import Run
from runtime.tools.builtin import BUILTINS
from tests.support.values import LIMITS, NOW_MS, THREAD, USAGE, asked, call_row, called, result_message, says, thread_of
from tests.support.world import World


def run_of(world: World) -> Run:
    environment = world.system.workers.idle.get()
    world.system.workers.idle.put(environment)
    return Run(environment, world.clock.now_ms() + 300_000, 1)


def test_an_output_is_named_by_thread_position_type_and_index() -> None:
    names = [
        entry_output_id("t", 1, "text", 0),
        entry_output_id("u", 1, "text", 0),
        entry_output_id("t", 2, "text", 0),
        entry_output_id("t", 1, "error", 0),
        entry_output_id("t", 1, "text", 1),
    ]
    assert len(set(names)) == len(names)


def test_messages_of_two_types_under_one_id_are_two_to_the_queue() -> None:
    assert deduplication_id("t", "text", "same") != deduplication_id("t", "wake", "same")


def test_a_provider_that_repeats_its_ids_makes_two_calls_of_two_turns() -> None:
    same = Completion((WantedCall("toolu_1", "run_build", "{}"),), "tool_use", USAGE)
    world = World([same, says("One."), same, says("Two.")])
    for answer in ("first", "second"):
        world.say("build")
        world.settle()
        world.calls[-1].answer(answer)
        world.settle()
    assert len({call.call_id for call in world.calls}) == 2
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"] * 2
    results = [entry.body.items for entry in world.entries if isinstance(entry.body, ToolResult)]
    assert results == [(TextItem("first"),), (TextItem("second"),)]


def test_every_thread_is_asked_with_the_same_system_prompt_and_tools() -> None:
    world = World(lambda _: says("Hello."))
    for agent in (world.agent, world.system.agent("another")):
        agent.send_text("hello", metadata={"user_id": agent.thread_id})
        world.settle()
    first, second = world.model.seen
    assert (first.system, first.tools) == (second.system, second.tools)


def test_built_in_tools_are_offered_last_and_always_in_one_order() -> None:
    world = World(tools=["z_tool", "a_tool"])
    offer = run_of(world).environment.offers.of(ThreadRow("t", "t"), world.ports, [])
    names = [spec.name for spec in offer.specs]
    assert names == ["z_tool", "a_tool", *(builtin.spec.name for builtin in BUILTINS)]


def test_a_child_is_offered_what_its_root_is() -> None:
    world = World()
    offers = run_of(world).environment.offers
    assert offers.of(ThreadRow("child", "root"), world.ports, []) is offers.of(
        ThreadRow("root", "root"), world.ports, []
    )
    assert [world.ports.manifests.read(name) == () for name in ("root", "child")] == [False, True]


def test_a_turn_without_words_is_shown_as_one() -> None:
    _, assistant = rendered(ThreadRow(THREAD, THREAD), thread_of(asked(), AssistantText("")).entries)
    assert assistant.blocks == (TextBlock(phrases.NO_REPLY),)


def test_a_result_that_holds_nothing_is_stored_as_something_a_model_accepts() -> None:
    thread = thread_of(asked(), called("call_1"), calls=[call_row("call_1")])
    body = prepare(thread, [result_message("call_1", "  \n")], NOW_MS, LIMITS).entries[0].body
    assert isinstance(body, ToolResult)
    assert body.items == (TextItem(phrases.NO_OUTPUT),)


class Told:
    """Queues and tool servers that note in which order they are told something."""

    def __init__(self, accepted: int = 1) -> None:
        self.order: list[str] = []
        self._accepted = accepted

    def send_outputs(self, outputs: Sequence[Output]) -> None:
        self.order += [output.type for output in outputs]

    def notify(self, notices: Sequence[Notice]) -> int:
        self.order += [notice.path for notice in notices]
        return self._accepted


def test_notices_go_out_after_everything_else() -> None:
    world, told = World(), Told()
    world.put_in(queues=told, servers=told)
    row = ThreadRow("t", "t")
    fields: dict[str, Any] = {"text": "Stopped."}
    output = Output("id-1", "text", "t", "t", 16, None, fields)
    effects: list[Effect] = [TellCancelled(1, CancelledCall("call_1", "local")), Outputs(2, (output,))]
    perform(effects, row, run_of(world))
    assert told.order == ["text", "/cancel_tool_call"]


def test_what_became_of_notices_is_counted() -> None:
    world = World()
    world.put_in(servers=Told(accepted=1))
    run = run_of(world)
    perform(
        [TellCancelled(1, CancelledCall(f"call_{number}", "local")) for number in range(3)], ThreadRow("t", "t"), run
    )
    assert sorted(run.counted) == ["notice_accepted", "notice_failed", "notice_failed"]
