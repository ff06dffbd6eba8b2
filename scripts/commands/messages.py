"""User messages as anybody may put them on the input queue: nothing here needs more than the right to send."""

import hashlib
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient

JsonObject: TypeAlias = dict[str, "JsonValue"]
JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | JsonObject | None"

# SQS MessageGroupId: 1-128 ASCII letters, digits and punctuation, so no space.
THREAD_ID = re.compile(r"[!-~]{1,128}")
CHOICE_ID = re.compile(r"[!-~]{1,300}")
# SQS message body limit, 1 MiB.
BODY_LIMIT_BYTES = 1_048_576


class MessageError(Exception):
    """The message cannot be sent as it is. The message says what to change."""


@dataclass(frozen=True, slots=True)
class TextMessage:
    """One thing a user says to a thread.

    With a `message_id` of the sender's own, sending it again, also days later, is answered once. Without one, the id
    that SQS gives is its identity, and every sending is a message of its own.
    """

    thread_id: str
    text: str
    message_id: str | None = None
    metadata: JsonObject | None = None
    nonce: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        _check_thread_id(self.thread_id)
        if not self.text.strip():
            raise MessageError("the text is empty")
        if self.message_id is not None and not self.message_id:
            raise MessageError("the message id is empty; leave it out to have one made")

    @property
    def body(self) -> str:
        """JSON in pure ASCII: for SQS refuses control characters. Raises: MessageError when it is too large."""
        fields: JsonObject = {"group_id": self.thread_id, "content": {"type": "text", "text": self.text}}
        if self.message_id is not None:
            fields["message_id"] = self.message_id
        if self.metadata is not None:
            fields["metadata"] = self.metadata
        body = json.dumps(fields)
        if len(body) > BODY_LIMIT_BYTES:
            raise MessageError(f"the message has {len(body):,} bytes; SQS takes {BODY_LIMIT_BYTES:,}")
        return body

    @property
    def deduplication_id(self) -> str:
        """64 hex digits: equal for the same message of the same thread, never for two messages without an id."""
        return _hash_of(self.thread_id, "text", self.message_id if self.message_id is not None else self.nonce)


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """What a user takes of what a tool lets them choose. `number` is counted from 1, as it is shown.

    It is known by the choice it answers: the first answer counts.
    """

    thread_id: str
    choice_id: str
    number: int

    def __post_init__(self) -> None:
        _check_thread_id(self.thread_id)
        if not CHOICE_ID.fullmatch(self.choice_id):
            raise MessageError("a choice id is 1 to 300 ASCII letters, digits and punctuation, as it was shown")
        if self.number < 1:
            raise MessageError("choices are counted from 1")

    @property
    def message_id(self) -> str:
        return f"answer:{self.choice_id}"

    @property
    def body(self) -> str:
        """JSON. The first of the choices has index 0 there."""
        content: JsonObject = {"type": "user_choice_answer", "id": self.choice_id, "selected": self.number - 1}
        return json.dumps({"group_id": self.thread_id, "content": content})

    @property
    def deduplication_id(self) -> str:
        return _hash_of(self.thread_id, "user_choice_answer", self.message_id)


UserMessage = TextMessage | ChoiceAnswer


def send(sqs: "SQSClient", input_queue_url: str, message: UserMessage) -> str:
    """Put the message on the input queue, and return the id that SQS gives it.

    Raises: MessageError; botocore's errors as they are.
    """
    answer = sqs.send_message(
        QueueUrl=input_queue_url,
        MessageBody=message.body,
        MessageGroupId=message.thread_id,
        MessageDeduplicationId=message.deduplication_id,
    )
    return answer["MessageId"]


def parse_metadata(text: str) -> JsonObject:
    """Read the value of a --metadata option. Raises: MessageError unless it is a JSON object."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise MessageError(f"the metadata is not JSON: {error.msg} at character {error.pos}") from None
    if not isinstance(value, dict):
        raise MessageError('the metadata must be a JSON object, such as {"user_id": "ada"}')
    return value


def _check_thread_id(thread_id: str) -> None:
    if not THREAD_ID.fullmatch(thread_id):
        raise MessageError("a thread id is 1 to 128 ASCII letters, digits and punctuation, without spaces")


def _hash_of(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
