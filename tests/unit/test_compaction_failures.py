"""Compactions that fail, requests that are too long, and who goes on when."""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import pytest

from runtime import phrases
from runtime.errors import ModelUnavailable, PermanentError, TooLong
from runtime.items import plain_text
from runtime.model.messages import CompactionContent, Message, MessageKey
from runtime.model.threads import Commit, EndedThread, SummaryRef, Thread, Wanted
from runtime.model.turns import Completion, ModelRequest, ResultBlock
from runtime.ports import History
from tests.support.summaries import (
    WINDOW,
    Step,
    Summariser,
    blocks_of,
    compaction_at,
    full,
    summary_requests,
    texts_of,
)
from tests.support.values import calls, says
from tests.support.world import World


def world_of(conversation: Sequence[Step], summaries: Iterable[Step] = (), **settings: Any) -> World:
    return World(Summariser(conversation, summaries), model_window_tokens=WINDOW, **settings)


def tell(world: World, *texts: str) -> None:
    for text in texts:
        world.say(text)
        world.settle()


def said(world: World) -> list[str]:
    return [body for type_, body in world.outputs() if type_ == "text"]


def test_a_request_that_is_too_long_is_answered_by_itself_once_there_is_a_summary() -> None:
    world = world_of([says("one"), says("two"), TooLong(), says("three")], [says("They counted.")])
    tell(world, "1", "2", "3")
    assert said(world) == ["one", "two", "three"]
    shown = texts_of(world.model.seen[-1])
    assert "They counted." in shown[0]
    assert shown[-1] == "3"  # what asks is never summarised


def test_who_speaks_while_a_request_waits_for_its_summary_waits_with_it() -> None:
    world = world_of([says("one"), TooLong(), TooLong(), says("two and three")], [says("sum")])
    tell(world, "1")
    world.say("2")
    world.system.step()
    tell(world, "3")
    assert said(world) == ["one", "two and three"]
    assert len(summary_requests(world.model.seen)) == 1


def test_a_first_message_that_is_too_long_is_withheld_at_once() -> None:
    world = world_of([TooLong()])
    tell(world, "1")
    assert world.outputs() == [("error", "too_long")]
    assert world.entries[-1].withheld == "too_long"


FAILURES: dict[str, list[Step]] = {
    "refused by the provider": [PermanentError()],
    "ended by a filter": [says("They said terri", stop="content_filtered")],
    "without a word": [says()],
    "cut off before the first word": [says(stop="max_tokens")],
    "too long however small": [TooLong()] * 5,
    "calls and no words": [calls("run_build")] * 3,
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
def test_after_a_failed_compaction_the_conversation_goes_on_as_it_is_and_a_later_one_works(
    failure: list[Step],
) -> None:
    world = world_of([full("one"), says("two"), full("three"), says("four")], [*failure, says("sum")])
    tell(world, "1", "2", "3")
    assert ("compacted" in str(world.outputs()), world.thread().row.compaction) == (True, None)
    tell(world, "4")
    assert texts_of(summary_requests(world.model.seen)[-1]) == ["1", "one", "2", "two", phrases.SUMMARISE]
    assert texts_of(world.model.seen[-1])[1:] == ["3", "three", "4"]


class Withheld:
    """A history that notes what is withheld, by thread and position."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.noted: set[tuple[str, int]] = set()

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        return self._history.load(thread_id, wanted)

    def commit(self, commit: Commit) -> None:
        self.noted |= {(commit.row.thread_id, position) for position in commit.withheld}
        self._history.commit(commit)

    def ended_with(self, thread_id: str) -> tuple[EndedThread, ...]:
        return self._history.ended_with(thread_id)


def test_a_compaction_that_is_refused_withholds_what_was_asked_of_it_and_nothing_inherited() -> None:
    world = world_of([calls("list_activity"), full("one")], [PermanentError()])
    history = Withheld(world.ports.history)
    world.put_in(history=history)
    tell(world, "1")
    compaction_id, summarised = compaction_at(2), 3
    assert history.noted == {(compaction_id, summarised + 1)}


def test_a_request_that_is_too_long_right_after_a_failed_compaction_is_withheld() -> None:
    world = world_of([says("one"), TooLong(), TooLong()], [PermanentError()])
    tell(world, "1", "2")
    assert [output for output in world.outputs() if output[0] == "error"] == [("error", "too_long")]
    assert [entry.withheld for entry in world.entries] == [None, None, "too_long"]


def test_asked_again_by_its_timer_without_anything_new_it_is_not_summarised_again() -> None:
    world = world_of([says("one"), TooLong(), TooLong(), *[TooLong()] * 8], [PermanentError()])
    tell(world, "1", "2")
    for _ in range(10):
        world.wait(900 * 2**8)
    assert len(summary_requests(world.model.seen)) == 1
    assert len(world.model.seen) == 1 + 1 + 1 + 1 + 8  # one, too long, the summary, too long, and eight times more


def test_something_new_after_that_is_summarised_again() -> None:
    world = world_of([says("one"), TooLong(), TooLong(), TooLong(), says("three")], [PermanentError(), says("sum")])
    tell(world, "1", "2", "3")
    assert said(world) == ["one", "three"]
    assert world.thread().row.summary is not None


def test_the_end_of_another_compaction_changes_nothing() -> None:
    world = world_of([full("one"), says("two")], repeat(ModelUnavailable()))
    tell(world, "1")
    mark = world.thread().row.compaction
    assert mark is not None
    key = MessageKey("compaction_complete", "compacted:other")
    world.ports.queues.send_inputs([Message("t", key, CompactionContent("other", 2), "")])
    assert world.step_counting() == ("compaction_of_another_time",)
    assert world.thread().row.compaction == mark


def test_an_outage_makes_no_compaction_fail() -> None:
    outage = repeat(ModelUnavailable(), 3 * 7)
    world = world_of([says("one"), TooLong(), says("two")], [*outage, says("sum")])
    tell(world, "1", "2")
    for _ in range(7):
        world.wait(301)
    assert said(world) == ["one"]
    world.wait(900)
    assert said(world) == ["two"]
    assert world.thread().row.summary == SummaryRef(compaction_at(2), 2)
    assert all(entry.withheld is None for entry in world.entries)


def test_nobody_is_told_of_a_summary_that_is_tried_again() -> None:
    world = world_of([full("one")], [*[ModelUnavailable()] * 3, says("sum")])
    tell(world, "1")
    world.wait(60)
    assert [type_ for type_, _ in world.outputs()] == ["text", "turn_done", "compacted"]


@pytest.mark.parametrize(("waited_s", "compactions"), [(3_500, 1), (3_600, 2)])
def test_a_compaction_that_never_ends_is_waited_for_an_hour(waited_s: int, compactions: int) -> None:
    world = world_of([full("one"), full("two")], repeat(ModelUnavailable()))
    tell(world, "1")
    world.clock.advance(waited_s)
    world.say("2")
    while world.thread().row.head < 4:
        world.system.step()
    mark = world.thread().row.compaction
    assert mark is not None
    assert mark.thread_id == (compaction_at(1) if compactions == 1 else compaction_at(2))


def test_a_history_that_starts_larger_than_the_window_is_summarised_without_what_is_large_and_old() -> None:
    narrow = Narrow()
    world = World(narrow, model_window_tokens=20_000)
    for number in range(8):
        tell(world, f"build {number}")
        world.answer(world.calls[-1].call_id, f"log {number} " * 2_000)
        world.settle()
    narrow.window_chars = 60_000  # as if another model had been chosen
    tell(world, "and now?")
    assert said(world)[-1] == "done"
    summary = summary_requests(world.model.seen)[-1]
    results = [plain_text(block.items) for _, block in blocks_of(summary) if isinstance(block, ResultBlock)]
    assert results[0] == phrases.LEFT_OUT_OF_SUMMARY
    assert "log" in results[-1]


def test_what_came_in_together_and_fits_no_window_is_read_in_part_and_none_of_it_withheld() -> None:
    narrow = Narrow()
    narrow.window_chars = 60_000
    world = World(narrow, model_window_tokens=20_000)
    tell(world, "hello")
    for number in range(4):
        world.say(f"part {number} " * 2_500)
    world.settle()
    assert [type_ for type_, _ in world.outputs()] == ["text", "turn_done", "text", "turn_done", "compacted"]
    assert all(entry.withheld is None for entry in world.entries)
    shown = texts_of(world.model.seen[-1])
    assert [("Cut:" in text, len(text) < 3_000) for text in shown if "part" in text] == [(True, True)] * 3 + [
        (False, False)
    ]


def test_what_is_too_long_in_part_as_well_is_withheld() -> None:
    narrow = Narrow()
    narrow.window_chars = 1_000
    world = World(narrow, model_window_tokens=20_000)
    tell(world, "part " * 16_000)
    assert [entry.withheld for entry in world.entries] == ["too_long"]
    assert [output for output in world.outputs() if output[0] == "error"] == [("error", "too_long")]


class Narrow:
    """Refuses what is larger than its window; builds when it is told to, and summarises in a word."""

    def __init__(self) -> None:
        self.window_chars = 10_000_000

    def __call__(self, request: ModelRequest) -> Completion:
        if sum(len(str(message)) for message in request.messages) > self.window_chars:
            raise TooLong
        newest = request.messages[-1].blocks
        return calls("run_build") if "text='build" in str(newest) else says("done")
