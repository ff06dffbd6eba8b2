"""What SQS refuses to take on a FIFO queue."""

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.errors import Misconfigured

# API reference of SendMessage: 1 MiB with names, types and values of the attributes; ids of up to 128 characters;
# the characters of XML 1.0.
MESSAGE_LIMIT_BYTES = 1_048_576
_ID = re.compile(rf"[a-zA-Z0-9{re.escape(string.punctuation)}]{{1,128}}")
_BODY = re.compile("[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")
_ATTRIBUTE_TYPE = "String"


@dataclass(frozen=True, slots=True)
class Sending:
    """A message on its way to a FIFO queue. `delay_s` is there to be refused."""

    group_id: str
    deduplication_id: str
    body: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    delay_s: int = 0

    @property
    def size_bytes(self) -> int:
        named = sum(
            len(name.encode()) + len(_ATTRIBUTE_TYPE) + len(value.encode()) for name, value in self.attributes.items()
        )
        # Nearly every body is ASCII, and asking for that is cheaper than encoding.
        return named + (len(self.body) if self.body.isascii() else len(self.body.encode()))


def check(sending: Sending) -> None:
    """Let pass what SQS takes.

    Raises:
        Misconfigured: the message breaks a rule; which one is said without repeating the message.
    """
    if not _ID.fullmatch(sending.group_id):
        raise Misconfigured("a group id has 1 to 128 ASCII letters, digits and punctuation characters")
    if not _ID.fullmatch(sending.deduplication_id):
        raise Misconfigured("a deduplication id has 1 to 128 ASCII letters, digits and punctuation characters")
    if sending.delay_s:
        raise Misconfigured("a FIFO queue takes no delay for a single message")
    if not _BODY.fullmatch(sending.body):
        raise Misconfigured("a body is not empty and has no control characters or lone surrogates")
    if sending.size_bytes > MESSAGE_LIMIT_BYTES:
        raise Misconfigured("a message has at most 1 MiB")
