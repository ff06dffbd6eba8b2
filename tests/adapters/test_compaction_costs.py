"""A long thread that was compacted again and again, over the real history: what it costs, and what it still finds."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import pytest

from runtime.context import model_request
from runtime.draft import Draft
from runtime.identity import call_id_at, child_id, event_message_id, result_message_id
from runtime.items import plain_text
from runtime.model.entries import AssistantText, Body, Entry, Event, Finish, TextItem, UserText
from runtime.model.messages import Content, EventContent, Message, MessageKey, ResultContent
from runtime.model.threads import Thread, Wanted
from runtime.own_messages import report
from runtime.ports import History
from runtime.wire.messages import body_hash
from tests.support.dsql import connection_to, endpoint_of, history_on, migrated
from tests.support.history_values import NOTHING_ELSE, commit_to
from tests.support.services import DsnFactory
from tests.support.summaries import WINDOW, Summariser, blocks_of, full, summary_requests, texts_of
from tests.support.values import USAGE, calls, says
from tests.support.wire_counter import WireCounter, counting
from tests.support.world import World

COMPACTIONS = 5
GROWTH = 600  # entries between two compactions
WATCH, SPAWN = call_id_at("t", 2), call_id_at("t", 6)
CHILD = child_id("t", SPAWN)


@dataclass
class Long:
    """A thread of three thousand entries with a subscription and a child from before its first summary."""

    world: World
    history: History
    wire: WireCounter
    inherited: list[object]

    def tell(self, *messages: Message | str) -> None:
        for message in messages:
            if isinstance(message, str):
                self.world.say(message)
            else:
                self.world.ports.queues.send_inputs([message])
            self.world.settle()

    def loaded(self, thread_id: str = "t") -> Thread:
        return self.history.load(thread_id, NOTHING_ELSE)

    def grow(self) -> None:
        """Add what a conversation of some days would have added."""
        thread = self.loaded()
        said: list[Body] = [UserText("and?", "user:1"), AssistantText("well.", Finish("end_turn", USAGE))]
        first = thread.row.head + 1
        entries = [Entry(first + index, first + index, said[index % 2], 0) for index in range(GROWTH)]
        self.history.commit(commit_to(thread, *entries))


def about(type_: str, message_id: str, content: Content) -> Message:
    return Message("t", MessageKey(type_, message_id), content, body_hash(content))


@pytest.fixture(scope="module")
def long(fresh_dsn: DsnFactory) -> Iterator[Long]:
    spawns = calls("spawn_thread", {"instructions": "count", "child_of": ["t"]})
    before = [calls("run_build", {"what": "mail"}), says("watching"), spawns, says("it counts"), calls("run_build")]
    summaries = [says(f"Summary {number}.") for number in range(1, COMPACTIONS + 1)]
    answers = [*before, *[full("on")] * COMPACTIONS, *[says("ok")] * 9]
    world = World(Summariser(answers, summaries), model_window_tokens=WINDOW)
    endpoint = endpoint_of(dsn := migrated(fresh_dsn()))
    with counting(endpoint.host, endpoint.port) as wire, closing(connection_to(dsn, port=wire.port)) as connection:
        history = history_on(connection)
        world.put_in(history=history)
        made = Long(world, history, wire, [])
        confirmed = ResultContent(WATCH, (TextItem("watching"),), subscription=True)
        made.tell("watch", about("tool_result", result_message_id(WATCH), confirmed), "delegate")
        made.inherited = _seen_by(made.loaded(CHILD))
        for _ in range(COMPACTIONS):
            made.grow()
            made.tell("go on")
        yield made


def _seen_by(thread: Thread) -> list[object]:
    draft = Draft.of(thread)
    return list(blocks_of(model_request(draft, draft.visible_entries(), (), "", 1)))


def test_a_thread_of_three_thousand_entries_loads_in_two_exchanges_what_its_last_summary_left(long: Long) -> None:
    row = long.loaded().row
    assert row.head > COMPACTIONS * GROWTH >= 3_000
    assert row.summary is not None
    assert len(summary_requests(long.world.model.seen)) == COMPACTIONS
    long.wire.reset()
    thread = long.history.load("t", Wanted((), (), row.head))
    assert long.wire.exchanges == 2
    assert len(thread.entries) == row.head - row.summary.up_to <= 8
    assert long.wire.rows < 20  # with everything around them: the thread, its calls, its child, its tree, its summary


def test_a_slice_behind_five_summaries_costs_three_exchanges(long: Long) -> None:
    long.world.say("and now?")
    long.wire.reset()
    long.world.system.step()
    assert long.wire.exchanges == 3  # two to load, one to commit
    assert long.wire.rows < 30


def test_each_summary_was_made_of_the_one_before_and_what_followed(long: Long) -> None:
    for number, request in enumerate(summary_requests(long.world.model.seen)):
        shown = texts_of(request)
        assert sum("Summary" in text for text in shown) == min(number, 1)
        assert number == 0 or f"Summary {number}." in shown[0]
        assert len(shown) < GROWTH + 12


def test_a_child_from_before_the_first_summary_sees_what_it_always_saw(long: Long) -> None:
    child = long.loaded(CHILD)
    assert (child.summary, _seen_by(child)) == (None, long.inherited)


def test_an_event_and_a_report_from_before_find_their_calls(long: Long) -> None:
    event = EventContent(WATCH, (TextItem("a letter"),), associative=True)
    long.tell(about("subscription_event", event_message_id(WATCH, "1"), event))
    long.tell(report(long.loaded(CHILD).row, 99, "I count."))
    found = [entry.body for entry in long.loaded().entries if isinstance(entry.body, Event)]
    assert [(event.call_id, event.name) for event in found] == [(WATCH, "run_build"), (SPAWN, "spawn_thread")]
    assert (found[0].arguments, plain_text(found[0].items)) == ({"what": "mail"}, "a letter")


def test_requests_behind_a_summary_begin_with_the_same_bytes_from_turn_to_turn(long: Long) -> None:
    long.tell("one", "two")
    earlier, later = (blocks_of(request) for request in long.world.model.seen[-2:])
    assert later[: len(earlier)] == earlier
    assert (long.world.model.seen[-1].system, long.world.model.seen[-1].tools) == (
        long.world.model.seen[0].system,
        long.world.model.seen[0].tools,
    )


def test_a_compaction_reads_the_same_bytes_as_the_thread_it_is_for(long: Long) -> None:
    seen = long.world.model.seen
    last = max(index for index, request in enumerate(seen) if request in summary_requests(seen))
    of_thread, of_compaction = blocks_of(seen[last - 1]), blocks_of(seen[last])
    assert of_compaction[:-1] == of_thread[: len(of_compaction) - 1]
    assert replace(seen[last], messages=()) == replace(seen[last - 1], messages=())
