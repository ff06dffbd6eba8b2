"""What strangers may put on the input queue: each body is parked, heard or dropped, and none stands in anybody's way.

All bodies are sent at once, each to a thread of its own; behind each a good message to the same thread, and one to a
thread beside it.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import pytest

from scripts.commands.messages import TextMessage
from scripts.commands.outputs import Output
from scripts.commands.target import offline_target
from scripts.offline_stack.stack import OfflineStack
from tests.offline.bad_bodies import CASES, At, Case, Dropped, Heard, Parked, result, wake
from tests.offline.outside import Letter, Outside, Printed, texts_said

BEHIND, BESIDE = "This stands behind it.", "This stands beside it."
ASKED = "What time is it in Tokyo?"


@dataclass(frozen=True)
class Aftermath:
    """All bodies with the threads they were sent to, and what they came to."""

    outside: Outside
    bodies: Mapping[str, str]
    outputs: Mapping[str, Sequence[Output]]
    letters: Sequence[Letter]
    printed: Printed

    def heard(self, thread_id: str) -> list[str]:
        return [entry.text for entry in self.outside.history(thread_id) if entry.kind == "user"]

    def answers(self, thread_id: str) -> str:
        return "\n".join(texts_said(self.outputs.get(thread_id, [])))


@pytest.fixture(scope="module")
def outside(stack: OfflineStack) -> Outside:
    return Outside(stack, offline_target(stack))


@pytest.fixture(scope="module")
def aftermath(outside: Outside) -> Aftermath:
    printed, key = outside.printed(), outside.signing_key()
    bodies = {}
    for case in CASES:
        thread_id, beside_id = thread_of(case, outside), f"{start_of(case, outside)}-beside"
        bodies[case.name] = case.write(At(thread_id, beside_id, key))
        outside.send(thread_id, bodies[case.name])
        outside.send(thread_id, TextMessage(thread_id, BEHIND).body)
        outside.send(beside_id, TextMessage(beside_id, BESIDE).body)
    outside.settle()
    return Aftermath(outside, bodies, outside.outputs(), outside.dead_letters(), printed)


def start_of(case: Case, outside: Outside) -> str:
    return f"{outside.run}-{CASES.index(case)}"


def thread_of(case: Case, outside: Outside) -> str:
    thread_id = f"{start_of(case, outside)}{case.thread_id_end}"
    return thread_id.ljust(128, "-") if case.thread_id_end else thread_id


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_body_is_parked_with_its_reason_or_heard_or_dropped(case: Case, aftermath: Aftermath) -> None:
    thread_id = thread_of(case, aftermath.outside)
    letters = [(each.body, each.reason) for each in aftermath.letters if each.thread_id == thread_id]
    heard = aftermath.heard(thread_id)
    match case.fate:
        case Parked(reason):
            assert (letters, heard) == ([(aftermath.bodies[case.name], reason)], [BEHIND])
        case Heard(text, is_cut=False):
            assert (letters, heard) == ([], [text, BEHIND])
        case Heard(text):
            assert (letters, heard[1:]) == ([], [BEHIND])
            assert heard[0].startswith(text)
            assert heard[0].splitlines()[-1].startswith("[Cut:")
        case Dropped(counted):
            assert (letters, heard) == ([], [BEHIND])
            assert counted in [
                name
                for line in aftermath.printed.said("slice finished")
                if line["thread_id"] == thread_id
                for name in line["counted"]
            ]
        case _:
            assert_never(case.fate)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_stands_behind_and_beside_it_is_answered_once(case: Case, aftermath: Aftermath) -> None:
    behind = aftermath.answers(thread_of(case, aftermath.outside))
    beside = aftermath.answers(f"{start_of(case, aftermath.outside)}-beside")
    assert (behind.count(f'"{BEHIND}"'), beside.count(f'"{BESIDE}"')) == (1, 1)


def test_all_that_was_parked_or_dropped_is_counted_and_nothing_failed(aftermath: Aftermath) -> None:
    expected: Counter[str] = Counter()
    for case in CASES:
        match case.fate:
            case Parked():
                expected["malformed_bodies"] += 1
            case Dropped(counted):
                expected[counted] += 1
            case Heard():
                pass
    seen = aftermath.printed.counted
    del seen["tool_refused"]  # a tool server that starts slowly on a busy machine is not what is judged here
    # On a busy machine the emulator reads the last line of an invocation only with the next one of that process.
    assert seen <= expected
    assert seen.keys() == expected.keys()
    assert [line["message"] for line in aftermath.printed.lines if line.get("level") == "ERROR"] == []


def test_no_line_that_the_functions_print_repeats_a_body(aftermath: Aftermath) -> None:
    printed = json.dumps(aftermath.printed.lines)
    assert "Hello?" not in printed
    assert BEHIND not in printed


def test_a_message_of_ours_that_is_sent_again_changes_nothing(outside: Outside) -> None:
    thread_id, key = f"{outside.run}-replayed", outside.signing_key()
    outside.send(thread_id, TextMessage(thread_id, ASKED).body)
    outside.settle()
    before, printed = outside.history(thread_id), outside.printed()
    (call_id,) = [str(entry.body["call_id"]) for entry in before if entry.kind == "tool_call"]
    (told,) = [entry.text for entry in before if entry.kind == "tool_result"]

    at = At(thread_id, thread_id, key)
    for message in (
        result(thread_id, call_id, told),
        result(thread_id, call_id, "Half past never."),
        result(thread_id, "call_of_nobody", "Done."),
        wake(thread_id),
    ):
        outside.send(thread_id, json.dumps(at.ours(message)))
    outside.settle()

    assert [entry.kind for entry in before] == ["user", "tool_call", "tool_result", "assistant"]
    assert outside.history(thread_id) == before
    assert outside.dead_letters() == []
    assert printed.counted == {"repeat_with_another_body": 1, "result_of_unknown_call": 1}
