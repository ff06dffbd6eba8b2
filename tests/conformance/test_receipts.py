"""Receipts, `performed` and marks, in memory and in DynamoDB."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from runtime.adapters.aws.dynamodb import DynamoReceipts
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.receipts import MemoryReceipts
from runtime.model.messages import Message, MessageKey
from runtime.ports import Mark, Progress, Receipts
from tests.support.clients import create_state_table, dynamodb_client
from tests.support.samples import THREAD, text, wake

LIFE_S = 60 * 86_400


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "dynamodb"])
def receipts(request: pytest.FixtureRequest, clock: ManualClock) -> Receipts:
    if request.param == "memory":
        return MemoryReceipts(clock, LIFE_S)
    client = dynamodb_client(request.getfixturevalue("aws_endpoint"))
    return DynamoReceipts(client, create_state_table(client), clock, LIFE_S)


def test_a_thread_nobody_has_handled_has_no_progress(receipts: Receipts) -> None:
    assert receipts.read(THREAD, [text("hello").key]) == Progress()


def test_a_handled_message_is_found_again_with_the_hash_of_its_body(receipts: Receipts) -> None:
    hello, other = text("hello", "user:1"), text("other", "user:2")
    receipts.write(THREAD, [hello], performed=3)

    progress = receipts.read(THREAD, [hello.key, other.key])

    assert progress == Progress({hello.key: hello.body_hash}, performed=3)


def test_the_type_is_part_of_the_identity(receipts: Receipts) -> None:
    receipts.write(THREAD, [text("hello", "same")], performed=0)

    assert receipts.read(THREAD, [MessageKey("wake", "same")]).receipts == {}


def test_threads_do_not_see_each_others_progress(receipts: Receipts) -> None:
    hello = text("hello")
    receipts.write(THREAD, [hello], performed=3)
    receipts.mark(THREAD, Mark("entry:4", 1))

    assert receipts.read("another", [hello.key]) == Progress()


def test_progress_without_any_message_is_kept(receipts: Receipts) -> None:
    receipts.write(THREAD, [], performed=7)

    assert receipts.read(THREAD, []) == Progress(performed=7)


def test_what_is_written_last_counts_also_when_it_is_older(receipts: Receipts) -> None:
    receipts.write(THREAD, [], performed=7)
    receipts.write(THREAD, [], performed=5)

    assert receipts.read(THREAD, []).performed == 5


def test_the_same_message_twice_is_one_receipt(receipts: Receipts) -> None:
    hello = text("hello")
    receipts.write(THREAD, [hello, hello], performed=1)

    assert receipts.read(THREAD, [hello.key, hello.key]).receipts == {hello.key: hello.body_hash}


def test_a_receipt_written_again_carries_the_newest_hash(receipts: Receipts) -> None:
    hello = text("hello")
    receipts.write(THREAD, [hello], performed=1)
    receipts.write(THREAD, [replace(hello, body_hash="another")], performed=1)

    assert receipts.read(THREAD, [hello.key]).receipts == {hello.key: "another"}


def test_a_receipt_is_forgotten_when_its_life_is_over_and_performed_never(
    receipts: Receipts, clock: ManualClock
) -> None:
    hello = text("hello")
    receipts.write(THREAD, [hello], performed=3)

    clock.advance(LIFE_S - 1)
    assert hello.key in receipts.read(THREAD, [hello.key]).receipts

    clock.advance(1)
    assert receipts.read(THREAD, [hello.key]) == Progress(performed=3)


def test_a_whole_delivery_of_ten_messages_is_written_and_read(receipts: Receipts) -> None:
    handled = [wake(version) for version in range(10)]
    receipts.write(THREAD, handled, performed=1)

    assert _found(receipts, handled) == [message.key for message in handled]


def test_ids_with_separators_stay_apart(receipts: Receipts) -> None:
    receipts.write("a#b", [text("hello", "c#d")], performed=1)

    assert receipts.read("a", [MessageKey("text", "b#c#d")]) == Progress()
    assert receipts.read("a#b", [MessageKey("text", "c#d")]).performed == 1


def test_a_mark_is_found_until_it_is_cleared(receipts: Receipts) -> None:
    receipts.mark(THREAD, Mark("entry:4", 1))
    receipts.mark(THREAD, Mark("entry:4", 2))
    assert receipts.read(THREAD, []).mark == Mark("entry:4", 2)

    receipts.mark(THREAD, None)
    assert receipts.read(THREAD, []).mark is None


def test_clearing_a_mark_that_is_not_there_is_harmless(receipts: Receipts) -> None:
    receipts.mark(THREAD, None)

    assert receipts.read(THREAD, []) == Progress()


def test_writing_receipts_leaves_the_mark_alone(receipts: Receipts) -> None:
    receipts.mark(THREAD, Mark("message:text:user:1", 1))
    receipts.write(THREAD, [text("hello")], performed=1)

    assert receipts.read(THREAD, []).mark == Mark("message:text:user:1", 1)


def _found(receipts: Receipts, handled: Sequence[Message]) -> list[MessageKey]:
    return list(receipts.read(THREAD, [message.key for message in handled]).receipts)
