"""Bodies of the input queue: those of strangers, those of ours, and what reading them gives."""

import json
from typing import Any

import pytest

from runtime.errors import InvalidMessage
from runtime.mac import authentication_code
from runtime.model.messages import (
    Content,
    Message,
    MessageKey,
)
from runtime.ports import Key, RawRecord
from runtime.wire.contents import message_type
from runtime.wire.messages import body_hash, parse_message
from runtime.wire.text import canonical_json

KEY = Key("k1", b"a secret of the deployment", 0)


class Keys:
    """A keyring of fixed keys."""

    def __init__(self, *keys: Key) -> None:
        self.keys = {key.key_id: key for key in keys}

    def signing(self, now_ms: int) -> Key:
        return max(self.keys.values(), key=lambda key: (key.signs_from_ms <= now_ms, key.signs_from_ms))

    def find(self, key_id: str) -> Key | None:
        return self.keys.get(key_id)


KEYS = Keys(KEY)


def record(body: str | dict[str, Any], group_id: str = "t-1") -> RawRecord:
    text = body if isinstance(body, str) else json.dumps(body)
    return RawRecord("sqs-id", "handle", group_id, text, 1, 1_700_000_000_000, 1_700_000_000_500)


def said(**fields: Any) -> dict[str, Any]:
    return {"group_id": "t-1", "content": {"type": "text", "text": "hello"}, **fields}


def ours(content: Content, message_id: str = "result:call_1", thread_id: str = "t-1") -> Message:
    return Message(thread_id, MessageKey(message_type(content), message_id), content, body_hash(content))


def refusal(body: str | dict[str, Any], group_id: str = "t-1") -> str:
    with pytest.raises(InvalidMessage) as refused:
        parse_message(record(body, group_id), KEYS)
    return refused.value.reason


def signed(fields: dict[str, Any]) -> str:
    """What an older or newer release of ours would have written."""
    return json.dumps(
        {**fields, "auth": f"k1.{authentication_code(KEY.secret, 'message', canonical_json(fields).encode())}"}
    )
