"""The load test: what it plans, when each message is due, and that no fault of a deployment escapes its account."""

from collections.abc import Mapping, Sequence

import pytest

from scripts.commands.outputs import Output
from scripts.load_testing.ledger import Ledger, Turn
from scripts.load_testing.plan import CODE, MOST_THREADS, Plan, PlanError, Progress, Saying, due, is_finished

PLAN = Plan(threads=2, messages=3, run_id="0123abcd")
ONE, OTHER = PLAN.thread_ids
FIRST, SECOND, THIRD = PLAN.sayings_of(ONE)
BEGAN_AT = 1_000.0


def progress(one: Progress, other: Progress | None = None) -> Mapping[str, Progress]:
    return {ONE: one, OTHER: other or Progress(sent=3, answered=3)}


def test_each_message_has_a_code_of_its_own_and_asks_for_it() -> None:
    sayings = [saying for thread_id in PLAN.thread_ids for saying in PLAN.sayings_of(thread_id)]
    assert len({saying.code for saying in sayings}) == PLAN.in_all == 6
    for saying in sayings:
        assert CODE.findall(saying.message.text) == [saying.code] == [saying.message.message_id]
        assert saying.message.thread_id == saying.thread_id


def test_two_runs_have_no_thread_in_common() -> None:
    assert not set(Plan(3, 1).thread_ids) & set(Plan(3, 1).thread_ids)


def test_the_next_message_of_a_thread_is_due_when_the_one_before_is_answered() -> None:
    assert due(PLAN, dict.fromkeys(PLAN.thread_ids, Progress()), 0, 0) == [FIRST, Saying(OTHER, 0)]
    assert due(PLAN, progress(Progress(sent=1, answered=0)), 99, 0) == []
    assert due(PLAN, progress(Progress(sent=1, answered=1)), 0, 0) == [SECOND]
    assert due(PLAN, progress(Progress(sent=3, answered=3)), 0, 0) == []


def test_an_interrupting_message_is_sent_while_the_one_before_is_at_work_and_the_next_waits_for_both() -> None:
    plan = Plan(2, 3, interrupts=True, run_id=PLAN.run_id)
    at_work = Progress(sent=1, answered=0, sent_at=10)
    assert due(plan, progress(at_work), now_s=10.4, lead_s=0.5) == []
    assert due(plan, progress(at_work), now_s=10.5, lead_s=0.5) == [SECOND]
    assert due(plan, progress(Progress(sent=1, answered=1, sent_at=10)), now_s=10.1, lead_s=0.5) == [SECOND]
    assert due(plan, progress(Progress(sent=2, answered=1, sent_at=10)), now_s=99, lead_s=0.5) == []
    assert due(plan, progress(Progress(sent=2, answered=2, sent_at=10)), now_s=11, lead_s=0.5) == [THIRD]


def test_at_a_rate_messages_are_due_by_the_clock_whatever_is_answered() -> None:
    plan = Plan(2, 3, rate_per_s=4, run_id=PLAN.run_id)
    state = dict.fromkeys(plan.thread_ids, Progress())
    sent: list[tuple[float, str]] = []
    for quarter in range(8):
        for saying in due(plan, state, quarter / 4, 0):
            sent.append((quarter / 4, saying.code))
            state[saying.thread_id] = Progress(sent=saying.number + 1)
    codes = [Saying(thread_id, number).code for number in range(3) for thread_id in plan.thread_ids]
    assert sent == [(place / 4, code) for place, code in enumerate(codes)]


def test_of_a_thread_only_one_message_is_sent_at_a_time_also_when_it_is_late() -> None:
    plan = Plan(2, 3, rate_per_s=4, run_id=PLAN.run_id)
    assert due(plan, dict.fromkeys(plan.thread_ids, Progress()), 99, 0) == [FIRST, Saying(OTHER, 0)]


def test_a_thread_that_will_not_answer_is_neither_spoken_to_nor_waited_for() -> None:
    over = progress(Progress(sent=1, answered=1, is_over=True))
    assert due(PLAN, over, 99, 0) == []
    assert is_finished(PLAN, over)
    assert not is_finished(PLAN, progress(Progress(sent=3, answered=2)))


@pytest.mark.parametrize(
    ("threads", "messages", "rate_per_s", "interrupts", "why"),
    [
        (0, 1, None, False, "at least one"),
        (1, 0, None, False, "at least one"),
        (MOST_THREADS + 1, 1, None, False, "Lambda serves no more"),
        (1, 101, None, False, "the whole conversation"),
        (1_000, 11, None, False, "paid for"),
        (1, 1, 0, False, "more than 0"),
        (1, 1, 501, False, "one process"),
        (1, 1, 5, True, "leave out"),
    ],
)
def test_an_absurd_test_is_refused_with_the_reason(
    threads: int, messages: int, rate_per_s: float | None, interrupts: bool, why: str
) -> None:
    with pytest.raises(PlanError, match=why):
        Plan(threads, messages, rate_per_s, interrupts)


def turn(place: int, *sayings: Saying, thread_id: str = ONE, done: bool = True) -> list[Output]:
    """The outputs of one turn that names these messages."""
    words = "You said: " + " and ".join(f'"{saying.code}: …"' for saying in sayings)
    text = output(f"{thread_id}-{place}-text", "text", thread_id, 16 * place, {"text": words})
    return [text, output(f"{thread_id}-{place}-done", "turn_done", thread_id, 16 * place + 15)] if done else [text]


def output(
    name: str, kind: str, thread_id: str, seq: int | None, fields: dict[str, str | bool] | None = None
) -> Output:
    return Output(name, kind, thread_id, thread_id, seq, {**(fields or {})}, sent_at=0.0)


def error(code: str = "model_unavailable", *, retrying: bool) -> Output:
    return output(f"error-{retrying}", "error", ONE, None, {"code": code, "retrying": retrying})


def ledger_of(*seen: Sequence[Output], plan: Plan = PLAN) -> Ledger:
    """A ledger in which all of the first thread was sent and answered as it is given, and the second one as it should.

    Message n is sent at second n; the first outputs that are given are seen at second 10, the next at 20, and so on.
    """
    ledger = Ledger(plan, BEGAN_AT)
    for thread_id in plan.thread_ids:
        for saying in plan.sayings_of(thread_id):
            ledger.note_sent([saying], BEGAN_AT + saying.number)
    for number, saying in enumerate(plan.sayings_of(OTHER)):
        ledger.see(turn(number, saying, thread_id=OTHER), BEGAN_AT + 5)
    for place, outputs in enumerate(seen, start=1):
        ledger.see(outputs, BEGAN_AT + 10 * place)
    return ledger


WHOLE = (turn(1, FIRST), turn(2, SECOND), turn(3, THIRD))


def test_messages_that_were_answered_once_and_in_order_are_all_there_is() -> None:
    ledger = ledger_of(*WHOLE)
    assert ledger.tally().ok
    assert (ledger.tally().sent, ledger.tally().answered, ledger.tally().unanswered) == (6, 6, 0)
    assert is_finished(PLAN, ledger.progress)
    assert [(fate.sent_at, fate.first_at, fate.done_at) for fate in ledger.fates[:3]] == [
        (BEGAN_AT, BEGAN_AT + 10, BEGAN_AT + 10),
        (BEGAN_AT + 1, BEGAN_AT + 20, BEGAN_AT + 20),
        (BEGAN_AT + 2, BEGAN_AT + 30, BEGAN_AT + 30),
    ]


def test_one_turn_may_answer_several_messages() -> None:
    assert ledger_of(turn(1, FIRST), turn(2, SECOND, THIRD)).tally().ok


def test_outputs_are_read_by_their_place_and_not_by_their_arrival() -> None:
    assert ledger_of(*reversed(WHOLE)).tally().ok


def test_an_output_that_is_delivered_twice_is_no_second_answer() -> None:
    ledger = ledger_of(*WHOLE, WHOLE[0])
    assert ledger.tally().ok
    assert ledger.fates[0].done_at == BEGAN_AT + 10


@pytest.mark.parametrize(
    ("seen", "faults"),
    [
        (WHOLE[:2], {"unanswered": 1}),
        ((WHOLE[0], WHOLE[1], turn(3, THIRD, done=False)), {"unanswered": 1}),
        ((), {"unanswered": 3}),
        ((*WHOLE, turn(4, SECOND)), {"doubled": 1, "out_of_order": 0}),
        ((turn(1, SECOND), turn(2, FIRST), turn(3, THIRD)), {"out_of_order": 1}),
        ((turn(1, FIRST), turn(2, THIRD, SECOND)), {"out_of_order": 1}),
        ((*WHOLE, turn(4)), {"strays": 1}),
        ((*WHOLE, turn(4, Saying("load-ffffffff-0000", 0))), {"strays": 1}),
        ((*WHOLE, [error(retrying=False)]), {"failures": 1}),
    ],
)
def test_a_fault_is_counted(seen: Sequence[Sequence[Output]], faults: Mapping[str, int]) -> None:
    tally = ledger_of(*seen).tally()
    assert {name: getattr(tally, name) for name in faults} == faults
    assert not tally.ok


def test_a_message_that_is_answered_twice_was_answered_the_first_time() -> None:
    fate = ledger_of(*WHOLE, turn(4, FIRST)).fates[0]
    assert (fate.answers, fate.done_at) == (2, BEGAN_AT + 10)


def test_messages_that_were_never_sent_are_no_success() -> None:
    ledger = Ledger(PLAN, BEGAN_AT)
    ledger.note_sent([FIRST], BEGAN_AT)
    ledger.see(turn(1, FIRST), BEGAN_AT + 1)
    assert (ledger.tally().answered, ledger.tally().unanswered, ledger.tally().ok) == (1, 0, False)


def test_an_error_that_is_tried_again_is_counted_and_its_thread_goes_on() -> None:
    ledger = ledger_of([error(retrying=True)], *WHOLE)
    assert (ledger.tally().ok, ledger.errors, ledger.failures) == (True, {"model_unavailable": 1}, {})
    assert ledger.fates[0].first_at == BEGAN_AT + 20  # the error was seen before, and is no answer
    assert not ledger.progress[ONE].is_over


def test_an_error_beside_a_turn_is_counted_and_its_thread_goes_on() -> None:
    ledger = ledger_of([error("tool_refused", retrying=False)], *WHOLE)
    assert (ledger.tally().ok, ledger.errors, ledger.failures) == (True, {"tool_refused": 1}, {})
    assert not ledger.progress[ONE].is_over


def test_an_error_that_ends_a_message_ends_its_thread() -> None:
    ledger = ledger_of([error(retrying=False)])
    assert (ledger.progress[ONE].is_over, is_finished(PLAN, ledger.progress)) == (True, True)


def test_a_turn_lasts_from_its_first_output_to_its_end() -> None:
    text, end = turn(1, FIRST)
    ledger = ledger_of([text], [end])
    assert ledger.turns[0] == Turn([FIRST.code], BEGAN_AT + 10, BEGAN_AT + 20)
    assert ledger.progress[ONE].answered == 1
