"""Up to where a history may be summarised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cut_off import cut_off
from runtime.model.entries import AssistantText, Body, Entry, Event, TextItem, ToolResult, UserText
from tests.support.values import answered, asked, called, thread_of


def result(text: str = "done") -> ToolResult:
    return ToolResult("c", (TextItem(text),), cause="result:c")


def event(text: str = "news") -> Event:
    return Event("c", "run_build", {}, (TextItem(text),), "event:c:1", "subscription")


def turns_of(number: int) -> list[Body]:
    return [asked(), answered()] * number


def position(*bodies: Body) -> int | None:
    return cut_off(thread_of(*bodies).entries)


def test_two_user_turns_are_kept_word_for_word() -> None:
    assert position(*turns_of(5)) == 6


@pytest.mark.parametrize("tail", [[asked()], [event()], [called("c")], [called("c"), result()]])
def test_what_still_asks_or_is_waited_for_is_never_summarised(tail: list[Body]) -> None:
    assert position(asked(), answered(), *tail) == 2
    assert position(*tail) is None


def test_a_call_is_never_parted_from_its_result() -> None:
    assert position(asked(), called("c"), result("x" * 90_000), called("d"), result("y" * 90_000)) == 3


def test_a_question_that_is_still_worked_on_is_not_cut_off_from_the_work_on_it() -> None:
    assert position(asked("x" * 90_000), called("c"), result()) is None
    assert position(asked(), answered(), asked("x" * 90_000), called("c"), result()) == 2


def test_in_a_row_of_calls_without_an_end_the_last_steps_are_kept() -> None:
    steps = [body for number in range(9) for body in (called(f"c{number}"), result())]
    assert position(asked(), *steps) == 13  # the last result asks; two more steps stay before it


def test_a_placeholder_is_no_answer() -> None:
    assert position(asked(), called("c"), result(), asked("meanwhile")) is None


def test_less_is_kept_where_what_is_large_came_last() -> None:
    turns = turns_of(4)
    assert position(*turns, asked(), called("c"), result("x" * 90_000), answered()) == 11
    assert position(*turns, asked("x" * 90_000), answered()) == 10
    assert position(asked("x" * 90_000), answered(), *turns) == 6


def test_nothing_is_cut_from_a_history_without_answers() -> None:
    assert cut_off(()) is None
    assert position(asked(), asked()) is None


@given(st.lists(st.sampled_from(["turn", "step", "sleep", "news"]), max_size=30), st.integers(0, 2))
def test_the_cut_stands_behind_an_answer_and_in_front_of_what_asks(turns: list[str], extra: int) -> None:
    kinds: dict[str, list[Body]] = {
        "turn": [asked(), answered()],
        "step": [called("c"), result()],
        "sleep": [called("c"), result(), asked()],
        "news": [event(), answered()],
    }
    bodies = [body for turn in turns for body in kinds[turn]] + [asked()] * extra
    entries = thread_of(*bodies).entries
    cut = cut_off(entries)
    if cut is None:
        return
    last, behind = entries[cut - 1], entries[cut:]
    assert _is_answer(last, behind)
    assert all(entry in behind for entry in _asking_tail(entries))


def _is_answer(last: Entry, behind: tuple[Entry, ...]) -> bool:
    if isinstance(last.body, AssistantText):
        return True
    return isinstance(last.body, ToolResult) and bool(behind) and not behind[0].asks


def _asking_tail(entries: tuple[Entry, ...]) -> list[Entry]:
    """Everything since the model last said or did something."""
    asking: list[Entry] = []
    for entry in reversed(entries):
        if not isinstance(entry.body, UserText | ToolResult | Event):
            break
        asking.append(entry)
    return asking
