"""Receipts, `performed`, marks of deaths and manifests in one DynamoDB table.

    pk                 sk                      attributes
    thread#<id>        receipt#<type>#<id>     body_hash, expires_at
    thread#<id>        performed               position
    thread#<id>        mark                    subject, deaths
    toolsets#<root>    server#<name>           manifest (compressed), fetched_ms, expires_at

What users are shown and choose lies in the same table, see `dynamodb_choices`.

One small item for each fact: none grows with the conversation. Keys never start with a caller's text. DynamoDB removes
expired items days late, so expiry is compared on reading.
"""

import logging
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from runtime.adapters.aws.errors import translated
from runtime.errors import Unavailable
from runtime.model.messages import Message, MessageKey
from runtime.model.toolsets import CachedManifest
from runtime.ports import Clock, Mark, Progress

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

logger = logging.getLogger(__name__)

BATCH_WRITE_LIMIT = 25  # BatchWriteItem
ITEM_LIMIT_BYTES = 400 * 1024
_MANIFEST_LIMIT_BYTES = ITEM_LIMIT_BYTES - 4096  # what keys, names and the other attributes may take
_TRIES = 4
_FIRST_PAUSE_S = 0.05
_PERFORMED = "performed"
_MARK = "mark"

# An item, a key or a request as the low-level client takes it: {"S": …}, {"N": …}. Its own types are unions that
# would have to be narrowed at every attribute.
Item = dict[str, Any]


class DynamoReceipts:
    """Reading is one BatchGetItem, writing one BatchWriteItem: for up to 24 messages, and a delivery has ten."""

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock, receipt_life_s: int) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._life_s = receipt_life_s

    def read(self, thread_id: str, keys: Sequence[MessageKey]) -> Progress:
        wanted = {_receipt(key): key for key in keys}
        items = self._get(thread_pk(thread_id), [*wanted, _PERFORMED, _MARK])
        now_s = self._clock.now_ms() // 1000
        receipts = {
            key: str(items[sort_key]["body_hash"]["S"])
            for sort_key, key in wanted.items()
            if sort_key in items and _unexpired(items[sort_key], now_s)
        }
        return Progress(receipts, _performed_in(items.get(_PERFORMED)), _mark_in(items.get(_MARK)))

    def write(self, thread_id: str, handled: Sequence[Message], performed: int) -> None:
        pk = thread_pk(thread_id)
        expires_at = {"N": str(self._clock.now_ms() // 1000 + self._life_s)}
        # The same message twice in one delivery is one receipt; DynamoDB refuses two writes of one key.
        items: dict[str, Item] = {
            _receipt(message.key): {"body_hash": {"S": message.body_hash}, "expires_at": expires_at}
            for message in handled
        }
        items[_PERFORMED] = {"position": {"N": str(performed)}}
        puts = [_put({"pk": {"S": pk}, "sk": {"S": sort_key}, **item}) for sort_key, item in items.items()]
        _write_all(self._client, self._table, puts, self._clock)

    def mark(self, thread_id: str, mark: Mark | None) -> None:
        key: Item = {"pk": {"S": thread_pk(thread_id)}, "sk": {"S": _MARK}}
        with translated():
            if mark is None:
                self._client.delete_item(TableName=self._table, Key=key)
            else:
                item = {**key, "subject": {"S": mark.subject}, "deaths": {"N": str(mark.deaths)}}
                self._client.put_item(TableName=self._table, Item=item)

    def _get(self, pk: str, sort_keys: Iterable[str]) -> dict[str, Item]:
        found: dict[str, Item] = {}

        def get(request: Item) -> Item:
            answer = self._client.batch_get_item(RequestItems=request)
            found.update({str(item["sk"]["S"]): item for item in answer["Responses"].get(self._table, [])})
            return dict(answer.get("UnprocessedKeys") or {})

        keys = [{"pk": {"S": pk}, "sk": {"S": sort_key}} for sort_key in sort_keys]
        _repeat_for_the_rest(get, {self._table: {"Keys": keys, "ConsistentRead": True}}, self._clock)
        return found


class DynamoManifests:
    """One item for each server, so that no server's size stands in another's way."""

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock, manifest_life_s: int) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._life_s = manifest_life_s

    def read(self, root_id: str) -> tuple[CachedManifest, ...]:
        now_s = self._clock.now_ms() // 1000
        return tuple(_manifest_in(item) for item in self._items(root_id) if _unexpired(item, now_s))

    def write(self, root_id: str, manifests: Sequence[CachedManifest]) -> None:
        expires_at = self._clock.now_ms() // 1000 + self._life_s
        items = [_manifest_item(root_id, manifest, expires_at) for manifest in manifests]
        kept = {item["sk"]["S"]: item for item in items if _fits(item)}
        gone = [item for item in self._items(root_id) if item["sk"]["S"] not in kept]
        deletions = [{"DeleteRequest": {"Key": {"pk": item["pk"], "sk": item["sk"]}}} for item in gone]
        _write_all(self._client, self._table, [*map(_put, kept.values()), *deletions], self._clock)

    def _items(self, root_id: str) -> list[Item]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :root",
            ExpressionAttributeValues={":root": {"S": _toolsets(root_id)}},
            # All threads of a root offer the same tools in the same words, or the model's prompt cache is lost.
            ConsistentRead=True,
        )
        with translated():
            return [item for page in pages for item in page["Items"]]


def thread_pk(thread_id: str) -> str:
    return f"thread#{thread_id}"


def _toolsets(root_id: str) -> str:
    return f"toolsets#{root_id}"


def _receipt(key: MessageKey) -> str:
    return f"receipt#{key.type}#{key.message_id}"


def _unexpired(item: Item, now_s: int) -> bool:
    return int(item["expires_at"]["N"]) > now_s


def _performed_in(item: Item | None) -> int:
    return 0 if item is None else int(item["position"]["N"])


def _mark_in(item: Item | None) -> Mark | None:
    return None if item is None else Mark(str(item["subject"]["S"]), int(item["deaths"]["N"]))


def _manifest_item(root_id: str, manifest: CachedManifest, expires_at: int) -> Item:
    return {
        "pk": {"S": _toolsets(root_id)},
        "sk": {"S": f"server#{manifest.server}"},
        "manifest": {"B": zlib.compress(manifest.manifest_json.encode())},
        "fetched_ms": {"N": str(manifest.fetched_ms)},
        "expires_at": {"N": str(expires_at)},
    }


def _manifest_in(item: Item) -> CachedManifest:
    return CachedManifest(
        server=str(item["sk"]["S"]).removeprefix("server#"),
        manifest_json=zlib.decompress(item["manifest"]["B"]).decode(),
        fetched_ms=int(item["fetched_ms"]["N"]),
    )


def _fits(item: Item) -> bool:
    """Tell whether an item may be kept. One that may not is only fetched again, by every environment."""
    size_bytes = len(item["manifest"]["B"])
    if size_bytes <= _MANIFEST_LIMIT_BYTES:
        return True
    logger.warning(
        "manifest too large to keep", extra={"server": item["sk"]["S"], "size_bytes": size_bytes, "pk": item["pk"]["S"]}
    )
    return False


def _put(item: Item) -> Item:
    return {"PutRequest": {"Item": item}}


def _write_all(client: "DynamoDBClient", table: str, requests: Iterable[Item], clock: Clock) -> None:
    def write(request: Item) -> Item:
        return dict(client.batch_write_item(RequestItems=request).get("UnprocessedItems") or {})

    waiting = iter(requests)
    while chunk := list(islice(waiting, BATCH_WRITE_LIMIT)):
        _repeat_for_the_rest(write, {table: chunk}, clock)


def _repeat_for_the_rest(call: Callable[[Item], Item], request: Mapping[str, Any], clock: Clock) -> None:
    """Make a batch call until nothing is left over: a batch may succeed in part when the table is throttled.

    Raises:
        Unavailable: something is still left after a few tries.
        RetryableError: the call itself failed.
    """
    rest = dict(request)
    for attempt in range(_TRIES):
        if attempt:
            clock.sleep(_FIRST_PAUSE_S * 2**attempt * (0.5 + clock.chance() / 2))
        with translated():
            rest = call(rest)
        if not rest:
            return
    raise Unavailable("DynamoDB left a part of a batch undone")
