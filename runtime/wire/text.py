"""Reading JSON that others wrote: bounded, finite, and free of characters that no store keeps.

NUL is refused by PostgreSQL and SQS, a lone surrogate by every UTF-8 encoder. Both become U+FFFD here, before
anything else sees them: a later replacement would make two different ids, hashes or arguments out of one.
"""

import json
import re
from typing import Any, NoReturn

MAX_DEPTH = 100

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Whether JSON text may hold such a character, escaped or not. A paired surrogate matches too and costs one more walk.
_SUSPICIOUS = re.compile(r"\\u(?:0000|[dD][89a-fA-F])|[\x00\ud800-\udfff]")


class UnreadableJson(ValueError):
    """The text is not JSON we accept. The message says why and never repeats any of it."""


def clean_text(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def canonical_json(value: object) -> str:
    """Return the one compact ASCII form of a JSON value: what is hashed and signed must not depend on its writer.

    It is the form of what `read_json` gives back, so a code over it still fits after the way through a queue.
    """
    text = _dump(value)
    return _dump(read_json(text)) if _is_suspicious(text) else text


def read_json(text: str, max_depth: int = MAX_DEPTH) -> Any:
    """Return the JSON value, with clean strings and keys, at most `max_depth` levels deep.

    Raises:
        UnreadableJson: not JSON, too deep, or a number that JSON cannot write again (NaN, infinity).
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError as error:
        raise UnreadableJson("nested too deeply") from error
    except UnreadableJson:
        raise
    except ValueError as error:
        raise UnreadableJson("not JSON") from error
    # Counting brackets is far cheaper than a walk, and almost every body passes by it.
    if text.count("[") + text.count("{") > max_depth or _is_suspicious(text):
        return _clean(value, max_depth)
    return value


def decode_json(content: bytes) -> Any:
    """Return the JSON value of UTF-8 bytes.

    Raises:
        UnreadableJson: as `read_json`, or not UTF-8.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableJson("not UTF-8") from error
    return read_json(text)


def _is_suspicious(text: str) -> bool:
    is_plain = text.isascii() and "\\u" not in text and "\x00" not in text  # as almost every text is, and far cheaper
    return not is_plain and _SUSPICIOUS.search(text) is not None


def _dump(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _clean(value: Any, depth_left: int) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if not isinstance(value, list | dict):
        return value
    if not depth_left:
        raise UnreadableJson("nested too deeply")
    if isinstance(value, list):
        return [_clean(item, depth_left - 1) for item in value]
    return {clean_text(key): _clean(item, depth_left - 1) for key, item in value.items()}


def _refuse_constant(_name: str) -> NoReturn:
    raise UnreadableJson("not a finite number")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise UnreadableJson("not a finite number")
    return number
