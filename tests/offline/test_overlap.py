"""Slices of one thread that overlap, and commits that go wrong, on a real deployment: each text still has one turn.

Judged from the stored history, the output queue, the model's log, the wire, and what the functions logged.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.commands.target import Target, offline_target
from scripts.demonstration.crash_verdicts import CALM_HISTORY, comparable_history, comparable_outputs
from scripts.offline_stack.interposers.detour import detour
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.stack import OfflineStack
from tests.offline.conversations import Conversation, gather, json_lines, wait_for_answers
from tests.offline.overlaps import END, Said, ask_for_a_build, new_thread, overlap, short_visibility

VISIBILITY_S = 3
MODEL_S = 5
AT_ONCE = 7  # pairs; each has two slices, and the poller runs sixteen

BEFORE_MODEL, AFTER_MODEL, AFTER_COMMIT = "before the model call", "after the model call", "after COMMIT"
IN_POST, BEFORE_RECEIPTS = "inside the tool's POST", "before the receipts"

DONE = ["slice finished"]
HANDED_OVER = ["slice finished handed_over"]
REFUSED = "slice starts again fence_lost"

# Where the first slice is held, where the second: what the first did in the end, and what the second. Whoever is not
# refused and does not hand over has committed the turn.
TABLE = {
    (BEFORE_MODEL, BEFORE_MODEL): (DONE, [REFUSED, *DONE]),
    (BEFORE_MODEL, AFTER_MODEL): (DONE, [REFUSED, *DONE]),
    (BEFORE_MODEL, AFTER_COMMIT): ([REFUSED, *HANDED_OVER], DONE),
    (BEFORE_MODEL, IN_POST): ([REFUSED, *HANDED_OVER], DONE),
    (BEFORE_MODEL, BEFORE_RECEIPTS): ([REFUSED, *HANDED_OVER], DONE),
    (BEFORE_MODEL, END): ([REFUSED, *DONE], DONE),
    (AFTER_MODEL, BEFORE_MODEL): (DONE, [REFUSED, *DONE]),
    (AFTER_MODEL, AFTER_MODEL): (DONE, [REFUSED, *DONE]),
    (AFTER_MODEL, AFTER_COMMIT): ([REFUSED, *HANDED_OVER], DONE),
    (AFTER_MODEL, IN_POST): ([REFUSED, *HANDED_OVER], DONE),
    (AFTER_MODEL, BEFORE_RECEIPTS): ([REFUSED, *HANDED_OVER], DONE),
    (AFTER_MODEL, END): ([REFUSED, *DONE], DONE),
    (AFTER_COMMIT, IN_POST): (DONE, HANDED_OVER),
    (AFTER_COMMIT, BEFORE_RECEIPTS): (DONE, HANDED_OVER),
    (AFTER_COMMIT, END): (DONE, HANDED_OVER),
    (IN_POST, IN_POST): (DONE, HANDED_OVER),
    (IN_POST, BEFORE_RECEIPTS): (DONE, HANDED_OVER),
    (IN_POST, END): (DONE, HANDED_OVER),
    (BEFORE_RECEIPTS, IN_POST): (DONE, HANDED_OVER),
    (BEFORE_RECEIPTS, BEFORE_RECEIPTS): (DONE, HANDED_OVER),
    (BEFORE_RECEIPTS, END): (DONE, HANDED_OVER),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A stack whose slices pass by our endpoints, and a conversation in which nothing was done to them."""

    stack: OfflineStack
    target: Target
    watch: Watch
    wire_log: Path
    calm: Conversation

    def is_as_calm(self, played: Conversation) -> None:
        """Its history and its outputs are those of the undisturbed conversation, and its tool was called once."""
        assert list(comparable_history(played.run)) == list(comparable_history(self.calm.run))
        assert list(comparable_outputs(played.run)) == list(comparable_outputs(self.calm.run))
        posts = [line for line in json_lines(self.wire_log) if line["what"] == "call tool"]
        called = {(line["key"], line["call_id"]) for line in posts if line["threads"] == [played.thread_id]}
        assert [call_id for _, call_id in called] == [call.call_id for call in played.calls]
        assert [call.state for call in played.calls] == ["answered"]


@pytest.fixture(scope="module")
def scene(stack: OfflineStack) -> Iterator[Scene]:
    target, wire_log = offline_target(stack), stack.invocation_log_path.with_name("overlap-wire.jsonl")
    with detour(stack, wire_log) as watch:
        calm = ask_for_a_build(target, new_thread("calm"))
        wait_for_answers(stack, {calm.thread_id: 1})
        yield Scene(stack, target, watch, wire_log, gather(stack, target, [calm.thread_id])[calm.thread_id])


@dataclass(frozen=True, slots=True)
class Played:
    said: Said
    conversation: Conversation

    @property
    def notes(self) -> list[list[str]]:
        """What the slices that were given the text said in the end, in the order in which they began."""
        return [list(attempt.notes) for attempt in self.conversation.attempts_with(self.said.message_id)]


def _play_on(scene: Scene, said: Mapping[object, Said]) -> dict[object, Played]:
    threads = [each.thread_id for each in said.values()]
    wait_for_answers(scene.stack, dict.fromkeys(threads, 1))
    found = gather(scene.stack, scene.target, threads)
    return {name: Played(each, found[each.thread_id]) for name, each in said.items()}


@pytest.fixture(scope="module")
def overlapped(scene: Scene) -> dict[object, Played]:
    with short_visibility(scene.target, VISIBILITY_S), ThreadPoolExecutor(AT_ONCE) as pool:
        pairs = list(TABLE)
        said = pool.map(lambda pair: overlap(scene.watch, scene.target, *pair), pairs)
        return _play_on(scene, dict(zip(pairs, said, strict=True)))


def test_nothing_was_done_to_the_conversation_that_is_the_measure(scene: Scene) -> None:
    assert [entry.kind for entry in scene.calm.entries] == CALM_HISTORY
    scene.is_as_calm(scene.calm)


@pytest.mark.parametrize("pair", TABLE)
def test_two_slices_that_overlap_make_one_turn(
    pair: tuple[str, str], overlapped: dict[object, Played], scene: Scene
) -> None:
    scene.is_as_calm(overlapped[pair].conversation)


@pytest.mark.parametrize("pair", TABLE)
def test_one_of_them_commits_and_the_other_is_refused_or_hands_over(
    pair: tuple[str, str], overlapped: dict[object, Played]
) -> None:
    assert tuple(overlapped[pair].notes[:2]) == TABLE[pair]
