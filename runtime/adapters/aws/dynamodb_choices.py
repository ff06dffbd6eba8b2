"""Choices and views, beside a thread's receipts in the one DynamoDB table.

    pk                 sk                      attributes
    thread#<id>        choice#<choice>         call_id, toolset, prompt, choices, default, response_url, completed,
                                               answered
    thread#<id>        view#<type>             received_ms, content (JSON), payload_key, payload_bytes

Neither expires: a tool may wait for its user as long as its callbacks are valid, and a view is shown until a newer one
comes.
"""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from runtime.adapters.aws.dynamodb import ITEM_LIMIT_BYTES, Item, thread_pk
from runtime.adapters.aws.errors import translated
from runtime.errors import PermanentError
from runtime.model.choices import Choice, View
from runtime.model.entries import PayloadRef

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

_LARGEST_BYTES = ITEM_LIMIT_BYTES - 4096  # what the names and the small attributes may take
_CHOICE = "choice#"
_VIEW = "view#"


class DynamoChoices:
    """Every method is one request; `of_thread` reads the completed choices, too, of which there are few."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def put(self, choice: Choice) -> None:
        _put_if(self._client, self._table, _choice_item(choice), "attribute_not_exists(pk)", {})

    def get(self, thread_id: str, choice_id: str) -> Choice | None:
        key = {"pk": {"S": thread_pk(thread_id)}, "sk": {"S": _CHOICE + choice_id}}
        with translated():
            item = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")
        return None if item is None else _choice_in(thread_id, item)

    def of_thread(self, thread_id: str) -> tuple[Choice, ...]:
        items = _items(self._client, self._table, thread_id, _CHOICE)
        choices = (_choice_in(thread_id, item) for item in items)
        return tuple(choice for choice in choices if not choice.completed)

    def complete(self, thread_id: str, choice_id: str, answered: int | None) -> None:
        key = {"pk": {"S": thread_pk(thread_id)}, "sk": {"S": _CHOICE + choice_id}}
        taken = {"NULL": True} if answered is None else {"N": str(answered)}
        with translated():
            try:
                self._client.update_item(
                    TableName=self._table,
                    Key=key,
                    UpdateExpression="SET completed = :yes, answered = :taken",
                    # An update of what is not there would make a choice out of nothing.
                    ConditionExpression="completed = :no",
                    ExpressionAttributeValues={":yes": {"BOOL": True}, ":no": {"BOOL": False}, ":taken": taken},
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return  # it is completed already, or unknown


class DynamoViews:
    """One item for each type of view, written where no later one stands."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def put(self, view: View) -> bool:
        condition = "attribute_not_exists(pk) OR received_ms <= :received_ms"
        return _put_if(
            self._client, self._table, _view_item(view), condition, {":received_ms": {"N": str(view.received_ms)}}
        )

    def of_thread(self, thread_id: str) -> tuple[View, ...]:
        return tuple(_view_in(thread_id, item) for item in _items(self._client, self._table, thread_id, _VIEW))


def _put_if(client: "DynamoDBClient", table: str, item: Item, condition: str, values: Item) -> bool:
    """Write the item where the condition holds, and return whether it did."""
    _require_fitting(item)
    request: Item = {"TableName": table, "Item": item, "ConditionExpression": condition}
    if values:  # none at all is not the same as an empty set of them
        request["ExpressionAttributeValues"] = values
    with translated():
        try:
            client.put_item(**request)
        except client.exceptions.ConditionalCheckFailedException:
            return False
    return True


def _items(client: "DynamoDBClient", table: str, thread_id: str, prefix: str) -> list[Item]:
    pages = client.get_paginator("query").paginate(
        TableName=table,
        KeyConditionExpression="pk = :thread AND begins_with(sk, :prefix)",
        ExpressionAttributeValues={":thread": {"S": thread_pk(thread_id)}, ":prefix": {"S": prefix}},
        ConsistentRead=True,
    )
    with translated():
        return [dict(item) for page in pages for item in page["Items"]]


def _choice_item(choice: Choice) -> Item:
    return {
        "pk": {"S": thread_pk(choice.thread_id)},
        "sk": {"S": _CHOICE + choice.choice_id},
        "call_id": {"S": choice.call_id},
        "toolset": {"S": choice.toolset},
        "prompt": {"S": choice.prompt},
        "choices": {"L": [{"S": each} for each in choice.choices]},
        "default": {"N": str(choice.default)},
        "response_url": {"S": choice.response_url},
        "completed": {"BOOL": False},
        "answered": {"NULL": True},
    }


def _choice_in(thread_id: str, item: Item) -> Choice:
    return Choice(
        thread_id=thread_id,
        choice_id=str(item["sk"]["S"]).removeprefix(_CHOICE),
        call_id=item["call_id"]["S"],
        toolset=item["toolset"]["S"],
        prompt=item["prompt"]["S"],
        choices=tuple(each["S"] for each in item["choices"]["L"]),
        default=int(item["default"]["N"]),
        response_url=item["response_url"]["S"],
        answered=int(item["answered"]["N"]) if "N" in item["answered"] else None,
        completed=item["completed"]["BOOL"],
    )


def _view_item(view: View) -> Item:
    item: Item = {
        "pk": {"S": thread_pk(view.thread_id)},
        "sk": {"S": _VIEW + view.view_type},
        "received_ms": {"N": str(view.received_ms)},
        "content": {"S": json.dumps(view.content, separators=(",", ":"), ensure_ascii=False)},
    }
    if view.payload is not None:
        item |= {"payload_key": {"S": view.payload.key}, "payload_bytes": {"N": str(view.payload.size_bytes)}}
    return item


def _view_in(thread_id: str, item: Item) -> View:
    return View(
        thread_id=thread_id,
        view_type=str(item["sk"]["S"]).removeprefix(_VIEW),
        content=json.loads(item["content"]["S"]),
        received_ms=int(item["received_ms"]["N"]),
        payload=PayloadRef(item["payload_key"]["S"], int(item["payload_bytes"]["N"]))
        if "payload_key" in item
        else None,
    )


def _require_fitting(item: Item) -> None:
    """DynamoDB would refuse it every time, and say so as if the request were malformed."""
    size = sum(len(text.encode()) for value in item.values() for text in _texts(value))
    if size > _LARGEST_BYTES:
        raise PermanentError(f"too large to keep: {size:,} bytes, and at most {_LARGEST_BYTES:,} can be")


def _texts(value: Item) -> Iterable[str]:
    if "L" in value:
        return (each["S"] for each in value["L"])
    return (value["S"],) if "S" in value else ()
