"""The JSON shapes of a message on the input queue. What they mean stands in `runtime.wire.contents`.

Whatever is copied into an output or a row later is bounded here, so that nothing accepted is too large for them.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from runtime.wire.faults import Wire
from runtime.wire.items import WireItems

# SQS MessageGroupId: ASCII letters, digits and punctuation, at most 128.
GROUP_ID_PATTERN = r"^[!-~]{1,128}$"
# A choice's id is part of a key in DynamoDB, and every one of ours is far shorter.
_CHOICE_ID_PATTERN = r"^[!-~]{1,300}$"
_URL_PATTERN = r"^https?://[!-~]+$"
MAX_URL_CHARS = 2_048
MAX_PROMPT_CHARS = 10_000
# A hundred of these fit an SQS message (1 MiB) and a DynamoDB item (400 KB) even if every character takes twelve bytes.
MAX_CHOICES = 100
MAX_CHOICE_CHARS = 500

WebUrl = Annotated[str, Field(max_length=MAX_URL_CHARS, pattern=_URL_PATTERN)]


class Payload(Wire):
    key: str
    size_bytes: int


class Text(Wire):
    text: str


class ChoiceAnswer(Wire):
    id: str = Field(pattern=_CHOICE_ID_PATTERN)
    selected: int


class ToolResult(Wire):
    id: str = Field(min_length=1)
    content: WireItems = []  # noqa: RUF012 - pydantic copies defaults
    payload: Payload | None = None


class Wake(Wire):
    attempt: int = Field(0, ge=0)


class OauthRequired(Wire):
    id: str = Field(min_length=1)
    auth_url: WebUrl


class Wish(Wire):
    """What a user is to choose, as a tool server asks for it and as it travels on."""

    prompt: str = Field(max_length=MAX_PROMPT_CHARS)
    choices: list[Annotated[str, Field(min_length=1, max_length=MAX_CHOICE_CHARS)]] = Field(
        min_length=1, max_length=MAX_CHOICES
    )
    default: Annotated[int, BeforeValidator(lambda given: 0 if given is None else given)] = 0
    response_url: WebUrl

    @field_validator("default")
    @classmethod
    def _is_an_index(cls, default: int, read: ValidationInfo) -> int:
        if not 0 <= default < len(read.data.get("choices", ())):
            raise ValueError("not an index into choices")
        return default


class ChoiceRequired(Wish):
    id: str = Field(min_length=1)


class _AboutCall(Wire):
    tool_call_id: str = Field(min_length=1)


class Undelivered(_AboutCall):
    type: Literal["undelivered"]


class SubscriptionEvent(_AboutCall):
    type: Literal["subscription_event"]
    associative: bool = False
    final: bool = False


class ThreadReport(_AboutCall):
    type: Literal["thread_report"]
    child_thread_id: str = Field(pattern=GROUP_ID_PATTERN)
    closed: bool = False


class ParentMessage(_AboutCall):
    type: Literal["parent_message"]


class Bounce(_AboutCall):
    type: Literal["bounce"]


class TimerDue(_AboutCall):
    type: Literal["timer"]
    due: int = Field(ge=0)


class CompactionComplete(Wire):
    type: Literal["compaction_complete"]
    compaction_id: str = Field(pattern=GROUP_ID_PATTERN)
    up_to: int = Field(ge=0)


SyntheticOfResult = Undelivered | SubscriptionEvent | ThreadReport | ParentMessage | Bounce | TimerDue
Synthetic = Annotated[SyntheticOfResult | CompactionComplete, Field(discriminator="type")]


class Provenance(Wire):
    toolset: str
    call_id: str
    received_at: int


class Envelope(Wire):
    group_id: str = Field(pattern=GROUP_ID_PATTERN)
    content: dict[str, Any]
    message_id: str | None = Field(None, min_length=1)
    metadata: dict[str, Any] | None = None
    synthetic: Synthetic | None = None
    origin: Provenance | None = None
    display_as: str | None = None
    subscription: bool | None = None
