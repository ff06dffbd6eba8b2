"""Slices of one thread that overlap, and commits that go wrong, on a real deployment: each text still has one turn.

Judged from the stored history, the output queue, the model's log, and what passed on the wire.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scripts.commands.messages import TextMessage
from scripts.commands.target import Target, offline_target
from scripts.demonstration.crash_verdicts import CALM_HISTORY, comparable_history, comparable_outputs
from scripts.offline_stack.interposers.detour import detour
from scripts.offline_stack.interposers.interventions import Ruling, Stage
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.stack import OfflineStack
from tests.offline.conversations import Conversation, gather, json_lines, wait_for_answers
from tests.offline.overlaps import (
    END,
    Overlap,
    Said,
    at,
    build_for,
    new_thread,
    say_together,
    short_visibility,
    wait_until_delivered,
)

VISIBILITY_S = 3
MODEL_S = 5
AT_ONCE = 8  # each callback starts processes of the emulator: more of them at once would only wait for each other

BEFORE_MODEL, AFTER_MODEL, AFTER_COMMIT = "before the model call", "after the model call", "after COMMIT"
IN_POST, BEFORE_RECEIPTS = "inside the tool's POST", "before the receipts"

# What a slice did, by what it asked for on the wire; asking again after a while is not counted. One whose commit is
# refused starts again; when the other one's receipts are there, it is done.
BEGINNING = ("read receipts", "arrived")
STEPS = (BEGINNING, ("load", "ending"), ("commit", "arrived"), ("call tool", "arrived"), ("write receipts", "arrived"))
COMMITTED = ["read receipts", "load", "commit", "call tool", "write receipts"]
HANDED_OVER = ["read receipts", "load", "call tool", "write receipts"]
REFUSED_AND_DONE = ["read receipts", "load", "commit", "read receipts"]
REFUSED_AND_HANDED_OVER = ["read receipts", "load", "commit", *HANDED_OVER]

# Where the first slice is held, where the second: what the first did in the end, and what the second.
TABLE = {
    (BEFORE_MODEL, BEFORE_MODEL): (COMMITTED, REFUSED_AND_DONE),
    (BEFORE_MODEL, AFTER_MODEL): (COMMITTED, REFUSED_AND_DONE),
    (BEFORE_MODEL, AFTER_COMMIT): (REFUSED_AND_HANDED_OVER, COMMITTED),
    (BEFORE_MODEL, IN_POST): (REFUSED_AND_HANDED_OVER, COMMITTED),
    (BEFORE_MODEL, BEFORE_RECEIPTS): (REFUSED_AND_HANDED_OVER, COMMITTED),
    (BEFORE_MODEL, END): (REFUSED_AND_DONE, COMMITTED),
    (AFTER_MODEL, BEFORE_MODEL): (COMMITTED, REFUSED_AND_DONE),
    (AFTER_MODEL, AFTER_MODEL): (COMMITTED, REFUSED_AND_DONE),
    (AFTER_MODEL, AFTER_COMMIT): (REFUSED_AND_HANDED_OVER, COMMITTED),
    (AFTER_MODEL, IN_POST): (REFUSED_AND_HANDED_OVER, COMMITTED),
    (AFTER_MODEL, BEFORE_RECEIPTS): (REFUSED_AND_HANDED_OVER, COMMITTED),
    (AFTER_MODEL, END): (REFUSED_AND_DONE, COMMITTED),
    (AFTER_COMMIT, IN_POST): (COMMITTED, HANDED_OVER),
    (AFTER_COMMIT, BEFORE_RECEIPTS): (COMMITTED, HANDED_OVER),
    (AFTER_COMMIT, END): (COMMITTED, HANDED_OVER),
    (IN_POST, IN_POST): (COMMITTED, HANDED_OVER),
    (IN_POST, BEFORE_RECEIPTS): (COMMITTED, HANDED_OVER),
    (IN_POST, END): (COMMITTED, HANDED_OVER),
    (BEFORE_RECEIPTS, IN_POST): (COMMITTED, HANDED_OVER),
    (BEFORE_RECEIPTS, BEFORE_RECEIPTS): (COMMITTED, HANDED_OVER),
    (BEFORE_RECEIPTS, END): (COMMITTED, HANDED_OVER),
}


# Where nobody is held: the model takes longer than the message is invisible, for the first slice or for both.
LATE = ("both are late", "the first is late")


@dataclass(frozen=True, slots=True)
class Mishap:
    """What is done, so many times in a row, to the commit of a turn; and what that costs."""

    stage: Stage
    ruling: Ruling
    times: int
    requests: int = 2  # of the model, as in the undisturbed conversation
    receives: int = 1  # of the text


# An answer of the model is kept while its commit may be tried again, and a commit that has happened is found. The
# model is asked once more where neither is so: nothing was stored, and nobody knows, or all five tries are over.
MISHAPS = {
    "the reply to COMMIT is lost": Mishap("answered", "end here", 1),
    "COMMIT itself is lost": Mishap("ending", "end here", 1, requests=3),
    "it conflicts once": Mishap("ending", "conflict", 1),
    "it conflicts three times": Mishap("ending", "conflict", 3),
    "it conflicts four times": Mishap("ending", "conflict", 4),
    "it conflicts five times": Mishap("ending", "conflict", 5, requests=3, receives=2),
}


@dataclass(frozen=True, slots=True)
class Played:
    """What became of a text. `pids`: the processes that were held."""

    said: Said
    conversation: Conversation
    pids: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """A stack whose slices pass by our endpoints, and conversations in which nothing was done to them."""

    stack: OfflineStack
    target: Target
    watch: Watch
    wire_log: Path
    calm: Mapping[str, Conversation]

    def posts_of(self, thread_id: str) -> set[tuple[str, str]]:
        """Idempotency key and call id of everything that was posted to tools for a thread."""
        posts = [line for line in json_lines(self.wire_log) if line["what"] == "call tool"]
        return {(line["key"], line["call_id"]) for line in posts if line["threads"] == [thread_id]}

    def deeds_of(self, thread_id: str, pid: int) -> list[str]:
        """The steps of a process in its first slice of a thread, from its beginning to its end."""
        slices: list[list[str]] = []
        for line in json_lines(self.wire_log):
            if (line.get("threads"), line["pid"]) != ([thread_id], pid) or (line["what"], line["stage"]) not in STEPS:
                continue
            if (line["what"], line["stage"]) == BEGINNING:
                slices.append([])
            if slices[-1][-1:] != [line["what"]]:
                slices[-1].append(line["what"])
        begun_again = slices[0][-1] == "commit"
        return slices[0] + (slices[1] if begun_again else [])

    def processes_of(self, thread_id: str) -> list[int]:
        """The processes that had to do with a thread, in the order in which they began."""
        about = [line for line in json_lines(self.wire_log) if line.get("threads") == [thread_id]]
        return list(dict.fromkeys(line["pid"] for line in about))


def text_of(kind: str, thread_id: str) -> str:
    """A wish for a build; of a late kind with a script that makes the model slow to call it."""
    call = [{"call": "run_build", "input": {"seconds": 0}}]
    slowly = [{"wait": MODEL_S}, *call]
    match kind:
        case "both are late":
            script: object = {"turns": [slowly]}
        case "the first is late":
            script = {"first": 1, "steps": slowly, "then": call}
        case _:
            return build_for(thread_id)
    return f"{build_for(thread_id)} [[script: {json.dumps(script)}]]"


def asked(kind: str) -> TextMessage:
    thread_id = new_thread()
    return TextMessage(thread_id, text_of(kind, thread_id), "asked")


def play(stack: OfflineStack, target: Target, said: Mapping[str, Said]) -> dict[str, Played]:
    """Wait until each of them is answered, and read what became of it."""
    threads = [each.thread_id for each in said.values()]
    wait_for_answers(stack, dict.fromkeys(threads, 1))
    found = gather(stack, target, threads)
    return {name: Played(each, found[each.thread_id]) for name, each in said.items()}


@pytest.fixture(scope="module")
def scene(stack: OfflineStack) -> Iterator[Scene]:
    target, wire_log = offline_target(stack), stack.invocation_log_path.with_name("overlap-wire.jsonl")
    kinds = ["nothing is late", *LATE]
    with detour(stack, wire_log) as watch:
        said = say_together(target, [asked(kind) for kind in kinds])
        played = play(stack, target, dict(zip(kinds, said, strict=True)))
        yield Scene(stack, target, watch, wire_log, {kind: each.conversation for kind, each in played.items()})


@pytest.fixture(scope="module")
def overlapped(scene: Scene) -> dict[str, Played]:
    names = [*map(named, TABLE), *LATE]  # the late ones last: by then a second process is there and starts at once
    played: dict[str, Played] = {}
    for start in range(0, len(names), AT_ONCE):
        played |= overlap_together(names[start : start + AT_ONCE], scene)
    return played


def overlap_together(names: Sequence[str], scene: Scene) -> dict[str, Played]:
    """Play these at the same time: the first receive of each is short, the second is not."""
    messages = {name: asked(name) for name in names}
    pairs = {
        named(pair): Overlap(scene.watch, messages[named(pair)].thread_id, *pair)
        for pair in TABLE
        if named(pair) in messages
    }
    try:
        with short_visibility(scene.target, VISIBILITY_S):
            said = dict(zip(messages, say_together(scene.target, list(messages.values())), strict=True))
            wait_until_delivered(scene.stack.delivery_log_path, [each.message_id for each in said.values()])
        with ThreadPoolExecutor(len(pairs)) as pool:
            list(pool.map(Overlap.resolve, pairs.values()))
    finally:
        for pair in pairs.values():
            pair.release()
    played = play(scene.stack, scene.target, said)
    return {name: replace(played[name], pids=pairs[name].pids if name in pairs else ()) for name in played}


@pytest.fixture(scope="module")
def mishaps(scene: Scene) -> dict[str, Played]:
    messages = {name: asked(name) for name in MISHAPS}
    for name, mishap in MISHAPS.items():
        strikes = at(messages[name].thread_id, "commit", mishap.stage)
        scene.watch.set_fault(strikes, mishap.ruling, mishap.times)
    said = say_together(scene.target, list(messages.values()))
    return play(scene.stack, scene.target, dict(zip(messages, said, strict=True)))


def named(pair: tuple[str, str]) -> str:
    return f"first {pair[0]}, second {pair[1]}"


def test_nothing_was_done_to_the_conversations_that_are_the_measure(scene: Scene) -> None:
    for calm in scene.calm.values():
        assert [entry.kind for entry in calm.entries] == CALM_HISTORY
        assert (len(calm.requests), len(scene.posts_of(calm.thread_id))) == (2, 1)


@pytest.mark.parametrize("name", [*map(named, TABLE), *LATE])
def test_two_slices_that_overlap_make_one_turn(name: str, overlapped: dict[str, Played], scene: Scene) -> None:
    assert_as_calm(overlapped[name].conversation, scene.calm.get(name, scene.calm["nothing is late"]), scene)


@pytest.mark.parametrize("pair", TABLE, ids=named)
def test_one_of_the_two_commits_and_the_other_is_refused_or_hands_over(
    pair: tuple[str, str], overlapped: dict[str, Played], scene: Scene
) -> None:
    played = overlapped[named(pair)]
    assert tuple(scene.deeds_of(played.said.thread_id, pid) for pid in played.pids) == TABLE[pair]


@pytest.mark.parametrize("kind", LATE)
def test_of_slices_that_outlive_the_visibility_one_commits_and_the_others_are_refused_or_hand_over(
    kind: str, overlapped: dict[str, Played], scene: Scene
) -> None:
    played = overlapped[kind]
    pids = scene.processes_of(played.said.thread_id)[: len(played.conversation.attempts_with(played.said.message_id))]
    deeds = [scene.deeds_of(played.said.thread_id, pid) for pid in pids]
    assert (deeds.count(COMMITTED), len(deeds) > 1) == (1, True)
    assert all(each in (COMMITTED, REFUSED_AND_DONE, REFUSED_AND_HANDED_OVER, HANDED_OVER) for each in deeds)


@pytest.mark.parametrize("name", MISHAPS)
def test_a_commit_that_goes_wrong_still_makes_one_turn(name: str, mishaps: dict[str, Played], scene: Scene) -> None:
    played = mishaps[name].conversation
    assert_as_calm(played, scene.calm["nothing is late"], scene)
    rulings = [line["done"] for line in json_lines(scene.wire_log) if is_done_to(played.thread_id, line)]
    assert rulings == [MISHAPS[name].ruling] * MISHAPS[name].times


@pytest.mark.parametrize("name", MISHAPS)
def test_the_model_is_asked_again_only_for_an_answer_that_could_not_be_stored(
    name: str, mishaps: dict[str, Played]
) -> None:
    played = mishaps[name]
    receives = len(played.conversation.attempts_with(played.said.message_id))
    assert (len(played.conversation.requests), receives) == (MISHAPS[name].requests, MISHAPS[name].receives)


def is_done_to(thread_id: str, line: Mapping[str, object]) -> bool:
    return "done" in line and line.get("threads") == [thread_id]


def assert_as_calm(played: Conversation, calm: Conversation, scene: Scene) -> None:
    """Its history and outputs are those of the undisturbed conversation; its tool was called under one id and key."""
    assert list(comparable_history(played.run)) == list(comparable_history(calm.run))
    assert list(comparable_outputs(played.run)) == list(comparable_outputs(calm.run))
    assert [call.state for call in played.calls] == ["answered"]
    assert [call_id for _, call_id in scene.posts_of(played.thread_id)] == [call.call_id for call in played.calls]
