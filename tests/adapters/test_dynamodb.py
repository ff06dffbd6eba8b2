"""What the adapter of DynamoDB sends, and what it makes of a batch that succeeded in part."""

import random
from typing import Any

import pytest

from runtime.adapters.aws.dynamodb import ITEM_LIMIT_BYTES, DynamoManifests, DynamoReceipts
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import Misconfigured, Unavailable
from runtime.model.toolsets import CachedManifest
from runtime.ports import Mark
from tests.support.aws_wire import Answer, Wire, error
from tests.support.clients import create_state_table, dynamodb_client
from tests.support.samples import THREAD, text, wake

LIFE_S = 60 * 86_400


class Table:
    """A fresh table with our adapters over it, the clock they use and the wire they write to."""

    def __init__(self, endpoint: str) -> None:
        client = dynamodb_client(endpoint)
        self.client = client
        self.name = create_state_table(client)
        self.clock = ManualClock()
        self.receipts = DynamoReceipts(client, self.name, self.clock, LIFE_S)
        self.manifests = DynamoManifests(client, self.name, self.clock, LIFE_S)
        self.wire = Wire(client)

    def items(self) -> list[dict[str, Any]]:
        return list(self.client.scan(TableName=self.name)["Items"])


@pytest.fixture
def table(aws_endpoint: str) -> Table:
    return Table(aws_endpoint)


def test_a_slice_costs_one_read_and_one_write(table: Table) -> None:
    handled = [wake(version) for version in range(10)]

    table.receipts.read(THREAD, [message.key for message in handled])
    table.receipts.write(THREAD, handled, performed=4)

    assert table.wire.operations == ["BatchGetItem", "BatchWriteItem"]


def test_the_read_is_a_consistent_one(table: Table) -> None:
    table.receipts.read(THREAD, [wake().key])

    assert table.wire.bodies[0]["RequestItems"][table.name]["ConsistentRead"] is True


def test_the_manifests_of_a_root_are_one_read(table: Table) -> None:
    table.manifests.read("root-1")

    assert table.wire.operations == ["Query"]


def test_twenty_thousand_messages_leave_items_that_do_not_grow(table: Table) -> None:
    table.receipts.write(THREAD, [text("first", "user:1")], performed=1)
    before = _performed_item(table)

    for version in range(200):
        table.receipts.write(THREAD, [wake(100_000 + version)], performed=20_000 + version)

    assert len(_performed_item(table)) == len(before)
    assert all(len(str(item)) < 400 for item in table.items())


def test_receipts_expire_and_performed_and_marks_do_not(table: Table) -> None:
    table.receipts.write(THREAD, [text("hello")], performed=1)
    table.receipts.mark(THREAD, Mark("entry:1", 1))

    expiring = {item["sk"]["S"]: item.get("expires_at") for item in table.items()}

    expires_at = str(table.clock.now_ms() // 1000 + LIFE_S)
    assert expiring == {"receipt#text#user:1": {"N": expires_at}, "performed": None, "mark": None}


def test_no_key_starts_with_a_callers_text(table: Table) -> None:
    table.receipts.write("toolsets#root", [text("hello", "performed")], performed=1)
    table.manifests.write("thread#1", [CachedManifest("performed", "{}", 1)])

    keys = {(item["pk"]["S"], item["sk"]["S"]) for item in table.items()}

    assert keys == {
        ("thread#toolsets#root", "receipt#text#performed"),
        ("thread#toolsets#root", "performed"),
        ("toolsets#thread#1", "server#performed"),
    }


def test_what_a_throttled_table_left_unwritten_is_written_again(table: Table) -> None:
    hello = text("hello")
    left_over = {
        "PutRequest": {"Item": {"pk": {"S": f"thread#{THREAD}"}, "sk": {"S": "performed"}, "position": {"N": "9"}}}
    }
    table.wire.answer_next(Answer(200, {"UnprocessedItems": {table.name: [left_over]}}))

    table.receipts.write(THREAD, [hello], performed=9)

    assert table.wire.operations == ["BatchWriteItem", "BatchWriteItem"]
    assert table.wire.bodies[1]["RequestItems"] == {table.name: [left_over]}
    assert table.receipts.read(THREAD, []).performed == 9


def test_what_a_throttled_table_left_unread_is_read_again(table: Table) -> None:
    hello = text("hello")
    table.receipts.write(THREAD, [hello], performed=9)
    keys = [{"pk": {"S": f"thread#{THREAD}"}, "sk": {"S": sk}} for sk in ("receipt#text#user:1", "performed")]
    table.wire.answer_next(
        Answer(200, {"Responses": {}, "UnprocessedKeys": {table.name: {"Keys": keys, "ConsistentRead": True}}})
    )

    progress = table.receipts.read(THREAD, [hello.key])

    assert (progress.receipts, progress.performed) == ({hello.key: hello.body_hash}, 9)


def test_a_table_that_never_takes_the_rest_is_an_error_and_not_a_success(table: Table) -> None:
    left_over = {"PutRequest": {"Item": {"pk": {"S": "thread#x"}, "sk": {"S": "performed"}}}}
    table.wire.answer_next(*[Answer(200, {"UnprocessedItems": {table.name: [left_over]}})] * 10)

    with pytest.raises(Unavailable):
        table.receipts.write(THREAD, [text("hello")], performed=9)


def test_a_throttled_request_is_repeated_by_the_client(table: Table) -> None:
    table.wire.answer_next(error(400, "ProvisionedThroughputExceededException"))

    table.receipts.write(THREAD, [text("hello")], performed=9)

    assert table.receipts.read(THREAD, []).performed == 9


def test_a_missing_table_is_for_a_person_to_look_at(table: Table) -> None:
    receipts = DynamoReceipts(table.client, "no-such-table", table.clock, LIFE_S)

    with pytest.raises(Misconfigured):
        receipts.read(THREAD, [])


def test_a_manifest_that_no_item_can_hold_is_left_out_with_a_warning(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    noise = random.Random(1).randbytes(ITEM_LIMIT_BYTES).hex()  # noqa: S311 - anything that does not compress well
    small = CachedManifest("small", "{}", 1)

    table.manifests.write("root-1", [CachedManifest("large", noise, 1), small])

    assert table.manifests.read("root-1") == (small,)
    assert [record.message for record in caplog.records] == ["manifest too large to keep"]


def _performed_item(table: Table) -> str:
    [item] = [item for item in table.items() if item["sk"]["S"] == "performed"]
    # One digit per decimal place is all that may differ.
    return str(item | {"position": {"N": item["position"]["N"].rjust(6)}})
