"""The same message again: in one delivery, in the next, after minutes and days. It is one turn, in its place."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from scripts.commands.messages import TextMessage
from scripts.commands.redrive import Fate, Options, redrive
from scripts.demonstration.evidence import StoredEntry
from scripts.offline_stack.stack import OfflineStack
from tests.offline.bench import Bench, bench_on
from tests.offline.mishaps import deliver_once, forget, give_up, nobody_polls
from tests.offline.outside import Outside, texts_said

A_MINUTE_S = 60
AN_HOUR_S = 60 * A_MINUTE_S
TWO_DAYS_S = 48 * AN_HOUR_S
TEXT, LATER = "This is said once.", "This is said later."
ONE_TURN = ["user", "assistant"]
DELIVERED_ONCE = ["batch delivered", "batch settled"]
TWO_TURNS = ["user", "assistant", "user", "assistant"]


@pytest.fixture(scope="module")
def bench(stack: OfflineStack) -> Iterator[Bench]:
    with bench_on(stack) as bench:
        yield bench


@pytest.fixture(scope="module")
def outside(bench: Bench) -> Outside:
    return bench.outside


def message(outside: Outside, name: str, text: str = TEXT, message_id: str | None = "mine") -> TextMessage:
    return TextMessage(f"{outside.run}-{name}", text, message_id)


def send_and_settle(outside: Outside, *messages: TextMessage) -> None:
    """Send messages, each as one that SQS has not seen before."""
    for each in messages:
        outside.send(each.thread_id, each.body)
    outside.settle()


def kinds(entries: list[StoredEntry]) -> list[str]:
    return [entry.kind for entry in entries]


def test_a_message_that_is_twice_in_one_delivery_is_one_turn(outside: Outside) -> None:
    twice = message(outside, "one-delivery")
    with nobody_polls(outside):
        ids = {outside.send(twice.thread_id, twice.body) for _ in range(2)}
    outside.settle()

    # Other lines of it name no messages: a receive that failed, while another test had the emulator busy.
    deliveries = [json.loads(line) for line in outside.stack.delivery_log_path.read_text().splitlines()]
    assert [line["what"] for line in deliveries if ids == set(line.get("message_ids", []))] == DELIVERED_ONCE
    assert kinds(outside.history(twice.thread_id)) == ONE_TURN
    assert "\n".join(texts_said(outside.outputs()[twice.thread_id])).count(f'"{TEXT}"') == 1


def test_a_message_that_is_delivered_again_is_one_turn(outside: Outside) -> None:
    twice, printed = message(outside, "two-deliveries"), outside.printed()
    send_and_settle(outside, twice)
    send_and_settle(outside, twice)
    assert kinds(outside.history(twice.thread_id)) == ONE_TURN
    assert [line["handled"] for line in printed.said("slice finished")] in ([1], [1, 1])
    assert printed.counted == {}


def test_a_message_that_comes_again_with_other_words_is_one_turn_and_the_difference_is_counted(
    outside: Outside,
) -> None:
    printed = outside.printed()
    send_and_settle(outside, message(outside, "other-words"))
    send_and_settle(outside, message(outside, "other-words", "This is something else."))
    assert [entry.text for entry in outside.history(f"{outside.run}-other-words")][:1] == [TEXT]
    assert kinds(outside.history(f"{outside.run}-other-words")) == ONE_TURN
    assert printed.counted == {"repeat_with_another_body": 1}


def test_a_client_that_tries_again_for_six_minutes_is_answered_once(outside: Outside) -> None:
    tried = message(outside, "six-minutes")
    ids = []
    for pause_s in (0, 1, 6 * A_MINUTE_S):
        outside.stack.move_clock(pause_s)
        ids.append(outside.send(tried.thread_id, tried.body, tried.deduplication_id))
        outside.settle()

    delivered = outside.stack.delivery_log_path.read_text()
    assert ids[2] in delivered  # SQS had forgotten the first one by then
    assert kinds(outside.history(tried.thread_id)) == ONE_TURN


def test_two_threads_may_use_the_same_deduplication_id_and_message_id(outside: Outside) -> None:
    for name in ("sharing-1", "sharing-2"):
        one = message(outside, name)
        outside.send(one.thread_id, one.body, f"shared-{outside.run}")
    outside.settle()
    assert [kinds(outside.history(f"{outside.run}-sharing-{number}")) for number in (1, 2)] == [ONE_TURN, ONE_TURN]


def test_a_message_whose_receipt_is_gone_is_recognised_by_history(outside: Outside) -> None:
    first, printed = message(outside, "no-receipt"), outside.printed()
    send_and_settle(outside, first, message(outside, "no-receipt", LATER, "later"))
    before = outside.history(first.thread_id)
    assert forget(outside, first.thread_id, "receipt") == 2

    send_and_settle(outside, first)
    assert outside.history(first.thread_id) == before
    assert printed.counted == {"handed_over": 1}
    assert forget(outside, first.thread_id, "receipt") == 1  # it has one again


def test_a_new_message_beside_one_whose_receipt_is_gone_is_answered_once_behind_it(outside: Outside) -> None:
    first = message(outside, "beside-a-repeat")
    send_and_settle(outside, first)
    forget(outside, first.thread_id, "receipt")
    with nobody_polls(outside):
        outside.send(first.thread_id, first.body)
        outside.send(first.thread_id, message(outside, "beside-a-repeat", LATER, "later").body)
    outside.settle()
    assert [entry.text for entry in outside.history(first.thread_id) if entry.kind == "user"] == [TEXT, LATER]
    assert kinds(outside.history(first.thread_id)) == TWO_TURNS


def test_dead_letters_that_were_answered_and_are_put_back_two_days_later_change_nothing(outside: Outside) -> None:
    dead = {
        (message_id, receipt): message(outside, f"dead-{message_id}-{receipt}", message_id=message_id)
        for message_id in (None, "mine")
        for receipt in ("receipt", "no-receipt")
    }
    with nobody_polls(outside):
        for each in dead.values():
            outside.send(each.thread_id, each.body)
        deliver_once(outside)
        give_up(outside)
    send_and_settle(outside, *(replace(each, text=LATER, message_id="later") for each in dead.values()))
    before = {key: outside.history(each.thread_id) for key, each in dead.items()}

    outside.stack.move_clock(TWO_DAYS_S)
    for (_, receipt), each in dead.items():
        if receipt == "no-receipt":
            assert forget(outside, each.thread_id, "receipt") == 2
    fates = put_back(outside)
    for key, each in dead.items():
        assert [entry.text for entry in before[key] if entry.kind == "user"] == [TEXT, LATER]
        assert fates[each.thread_id] == ["put back"]
        assert outside.history(each.thread_id) == before[key]


def test_a_dead_letter_that_nobody_had_answered_is_answered_once_when_it_is_put_back(outside: Outside) -> None:
    dead, later = message(outside, "never", message_id=None), message(outside, "never", LATER, "later")
    with nobody_polls(outside):
        outside.send(dead.thread_id, dead.body)
        give_up(outside)
    send_and_settle(outside, later)
    outside.stack.move_clock(TWO_DAYS_S)
    (letter,) = [each for each, _ in redrive(outside.target, Options(dry_run=True, delete_malformed=False, limit=100))]
    assert put_back(outside) == {dead.thread_id: ["put back"]}

    # As by a run that died before it took the letter away, and was repeated when SQS had forgotten the first sending.
    outside.stack.move_clock(6 * A_MINUTE_S)
    outside.send(dead.thread_id, letter.body_with_identity)
    outside.settle()
    assert [entry.text for entry in outside.history(dead.thread_id) if entry.kind == "user"] == [LATER, TEXT]
    assert kinds(outside.history(dead.thread_id)) == TWO_TURNS


def test_dead_letters_of_one_thread_are_put_back_in_their_order_and_malformed_ones_stay(outside: Outside) -> None:
    thread_id, texts = f"{outside.run}-ordered", [f"This is message {number}." for number in range(5)]
    with nobody_polls(outside):
        for text in texts:
            outside.send(thread_id, TextMessage(thread_id, text).body)
        give_up(outside)
    outside.send(thread_id, "This is no JSON.")
    outside.settle()
    outside.stack.move_clock(TWO_DAYS_S)

    assert put_back(outside) == {thread_id: [*["put back"] * 5, "left: malformed"]}
    assert [entry.text for entry in outside.history(thread_id) if entry.kind == "user"] == texts
    assert [letter.body for letter in outside.dead_letters()] == ["This is no JSON."]


def put_back(outside: Outside) -> dict[str, list[Fate]]:
    """Redrive all dead letters, wait for what comes of it, and return what became of those of our threads."""
    fates: dict[str, list[Fate]] = {}
    for letter, fate in redrive(outside.target, Options(dry_run=False, delete_malformed=False, limit=100)):
        if letter.thread_id.startswith(outside.run):
            fates.setdefault(letter.thread_id, []).append(fate)
    outside.settle()
    return fates


def test_a_result_that_is_posted_again_at_once_and_after_days_is_one(bench: Bench) -> None:
    call, outside = bench.waiting_call("late-result"), bench.outside
    statuses = []
    for pause_s in (0, 1, AN_HOUR_S, TWO_DAYS_S):
        outside.stack.move_clock(pause_s)
        if pause_s == TWO_DAYS_S:
            assert forget(outside, call.thread_id, "receipt") == 2
        statuses.append(bench.receiver.post(call.token, call.result("The result.")).status)
        outside.settle()

    assert statuses == [200] * 4
    assert bench.results(call) == ["The result."]
    assert kinds(outside.history(call.thread_id)) == ["user", "tool_call", "tool_result", "assistant"]


def test_a_call_is_posted_again_under_the_same_key_where_nobody_knows_whether_it_was(bench: Bench) -> None:
    outside, thread_id = bench.outside, f"{bench.outside.run}-posted-again"
    asking = message(outside, "posted-again", bench.text_for(thread_id, "wait"))
    send_and_settle(outside, asking)
    assert forget(outside, thread_id, "receipt", "performed") == 2  # as if its slice had died before it wrote them
    send_and_settle(outside, asking)
    assert requests_to_model(outside, thread_id) == 1
    call = bench.call_of(thread_id)
    bench.receiver.post(call.token, call.result())
    outside.settle()

    first, second = bench.requests_of(thread_id)
    assert (first.body, first.headers["idempotency-key"]) == (second.body, second.headers["idempotency-key"])
    assert requests_to_model(outside, thread_id) == 2
    assert bench.results(call) == ["Done."]


def requests_to_model(outside: Outside, thread_id: str) -> int:
    return sum(thread_id in line for line in outside.stack.model_log_path.read_text().splitlines())
