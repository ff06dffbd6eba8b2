"""What the adapters of choices and views send to DynamoDB."""

from dataclasses import replace

import pytest

from runtime.adapters.aws.dynamodb import ITEM_LIMIT_BYTES
from runtime.adapters.aws.dynamodb_choices import DynamoChoices, DynamoViews
from runtime.errors import Misconfigured, PermanentError
from runtime.model.choices import Choice, View
from tests.support.aws_wire import Wire
from tests.support.clients import create_state_table, dynamodb_client
from tests.support.samples import THREAD

CHOICE = Choice(THREAD, "ch_1", "call_1", "builds", "Which?", ("red", "green"), 0, "https://builds.example/choose")
VIEW = View(THREAD, "progress", {"done": 1}, 5)


class Table:
    """A fresh table with our adapters over it, and the wire they write to."""

    def __init__(self, endpoint: str) -> None:
        self.client = dynamodb_client(endpoint)
        self.name = create_state_table(self.client)
        self.choices = DynamoChoices(self.client, self.name)
        self.views = DynamoViews(self.client, self.name)
        self.wire = Wire(self.client)


@pytest.fixture
def table(aws_endpoint: str) -> Table:
    return Table(aws_endpoint)


def test_every_method_is_one_request_and_every_read_a_consistent_one(table: Table) -> None:
    table.choices.put(CHOICE)
    table.choices.get(THREAD, "ch_1")
    table.choices.of_thread(THREAD)
    table.choices.complete(THREAD, "ch_1", 1)
    table.views.put(VIEW)
    table.views.of_thread(THREAD)

    assert table.wire.operations == ["PutItem", "GetItem", "Query", "UpdateItem", "PutItem", "Query"]
    reads = [body for body in table.wire.bodies if "ConsistentRead" in body]
    assert [body["ConsistentRead"] for body in reads] == [True, True, True]


def test_items_lie_beside_the_threads_receipts_and_do_not_expire(table: Table) -> None:
    table.choices.put(CHOICE)
    table.views.put(VIEW)

    items = table.client.scan(TableName=table.name)["Items"]

    keys = {(item["pk"]["S"], item["sk"]["S"]) for item in items}
    assert keys == {(f"thread#{THREAD}", "choice#ch_1"), (f"thread#{THREAD}", "view#progress")}
    assert not any("expires_at" in item for item in items)


@pytest.mark.parametrize("character", ["a", "é"], ids=["ASCII", "two bytes"])
def test_what_no_item_can_hold_is_refused_before_anything_is_sent(table: Table, character: str) -> None:
    large = character * (ITEM_LIMIT_BYTES // len(character.encode()))

    with pytest.raises(PermanentError, match="too large to keep"):
        table.choices.put(replace(CHOICE, choices=(large,)))
    with pytest.raises(PermanentError, match="too large to keep"):
        table.views.put(replace(VIEW, content=large))

    assert table.wire.operations == []


def test_what_just_fits_is_kept(table: Table) -> None:
    large = replace(CHOICE, prompt="a" * (ITEM_LIMIT_BYTES - 5_000))
    table.choices.put(large)

    assert table.choices.get(THREAD, "ch_1") == large


def test_a_missing_table_is_for_a_person_to_look_at(table: Table) -> None:
    choices = DynamoChoices(table.client, "no-such-table")

    with pytest.raises(Misconfigured):
        choices.get(THREAD, "ch_1")
    with pytest.raises(Misconfigured):
        choices.put(CHOICE)
    with pytest.raises(Misconfigured):
        choices.complete(THREAD, "ch_1", 1)
