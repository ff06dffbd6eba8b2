"""The binary framing of ``application/vnd.amazon.eventstream``, writing side only.

One message is: total length, headers length, CRC of these two (the prelude, 12 bytes) · headers · payload · CRC of
everything before it. All numbers are big-endian. Source: the AWS event stream encoding as botocore's
``eventstream`` module reads it.
"""

import json
from binascii import crc32
from collections.abc import Mapping
from struct import pack

from scripts.offline_stack.model_endpoint.document import JsonValue

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_CHECKSUM_BYTES = 4
_PRELUDE_BYTES = 12
_STRING_HEADER = 7


def event_frame(event_type: str, payload: Mapping[str, JsonValue]) -> bytes:
    """Return the frame of one ordinary event, as in ``messageStart`` or ``contentBlockDelta``."""
    return _json_frame({":event-type": event_type, ":message-type": "event"}, payload)


def exception_frame(exception_type: str, payload: Mapping[str, JsonValue]) -> bytes:
    """Return the frame of an exception the service's model names; a client raises it while it reads."""
    return _json_frame({":exception-type": exception_type, ":message-type": "exception"}, payload)


def error_frame(code: str, message: str) -> bytes:
    """Return the frame of an error the service's model does not name: code and message travel as headers."""
    return _frame({":error-code": code, ":error-message": message, ":message-type": "error"}, b"")


def garbled(frame: bytes) -> bytes:
    """Return the frame with a bit of its closing checksum turned, as after damage on the way."""
    return frame[:-1] + bytes([frame[-1] ^ 1])


def _json_frame(headers: Mapping[str, str], payload: Mapping[str, JsonValue]) -> bytes:
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    return _frame({**headers, ":content-type": "application/json"}, body)


def _frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    header_bytes = b"".join(_header(name, value) for name, value in headers.items())
    total_bytes = _PRELUDE_BYTES + len(header_bytes) + len(payload) + _CHECKSUM_BYTES
    lengths = pack("!II", total_bytes, len(header_bytes))
    message = lengths + pack("!I", crc32(lengths)) + header_bytes + payload
    return message + pack("!I", crc32(message))


def _header(name: str, value: str) -> bytes:
    name_bytes, value_bytes = name.encode(), value.encode()
    return pack("!B", len(name_bytes)) + name_bytes + pack("!BH", _STRING_HEADER, len(value_bytes)) + value_bytes
