"""The events of a Bedrock response stream as one completion. Pure: over any iterator of events."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast, get_args

from runtime.errors import ModelUnavailable
from runtime.model.entries import Usage
from runtime.model.turns import Completion, Part, SaidText, StopReason, Thought, WantedCall
from runtime.wire.text import clean_text

# An event as botocore parses it: one member, named by the kind of event. Kinds and members are added over time, so
# nothing is taken for granted.
Event = Mapping[str, Any]

_STOP_REASONS: frozenset[str] = frozenset(get_args(StopReason))


def read_completion(events: Iterable[Event]) -> Completion:
    """Read all events and return the turn. Unknown kinds of events and blocks are passed over.

    Read to the very end, although the end marker comes earlier: usage follows it, and only a connection that was
    read to its end is used again.

    Raises:
        ModelUnavailable: no end marker came. What was read counts for nothing, however complete it looks.
    """
    turn = _Turn()
    for event in events:
        turn.take(event)
    return turn.completion()


@dataclass(slots=True)
class _OpenText:
    pieces: list[str] = field(default_factory=list)

    def part(self) -> SaidText | None:
        text = clean_text("".join(self.pieces))
        return SaidText(text) if text else None


@dataclass(slots=True)
class _OpenThought:
    text: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    redacted: list[bytes] = field(default_factory=list)

    def part(self) -> Thought | None:
        if self.redacted:
            return Thought(None, None, base64.b64encode(b"".join(self.redacted)).decode())
        text, signature = "".join(self.text), "".join(self.signature)
        # What no store keeps cannot be given back unchanged, and changed it would be refused.
        if clean_text(text) != text or not (text or signature):
            return None
        return Thought(text, signature or None)


@dataclass(slots=True)
class _OpenCall:
    provider_call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    def part(self) -> WantedCall:
        # A call without arguments streams no piece of them.
        arguments_json = clean_text("".join(self.pieces)) or "{}"
        return WantedCall(clean_text(self.provider_call_id), clean_text(self.name), arguments_json)


_OpenPart = _OpenText | _OpenThought | _OpenCall
_Kind = TypeVar("_Kind", _OpenText, _OpenThought, _OpenCall)


_MOST_TOKENS = 10**9


class _Turn:
    """What has been read so far. `open` holds the parts that may still grow, by block index and kind."""

    def __init__(self) -> None:
        self.parts: list[_OpenPart] = []
        self.open: dict[tuple[int, type[_OpenPart]], _OpenPart] = {}
        self.stop: StopReason | None = None
        self.usage = Usage(0, 0)

    def take(self, event: Event) -> None:
        match event:
            case {"contentBlockDelta": {"delta": dict() as delta, "contentBlockIndex": int() as index}}:
                self._grow(index, delta)
            case {"contentBlockStart": {"start": {"toolUse": dict() as use}, "contentBlockIndex": int() as index}}:
                self._begin_call(index, use)
            case {"contentBlockStop": {"contentBlockIndex": int() as index}}:
                for kind in (_OpenText, _OpenThought, _OpenCall):
                    self.open.pop((index, kind), None)
            case {"messageStop": dict() as end}:
                self.stop = _stop_reason(end.get("stopReason"))
            case {"metadata": {"usage": dict() as usage}}:
                self.usage = _usage(usage)
            case _:
                pass

    def completion(self) -> Completion:
        if self.stop is None:
            raise ModelUnavailable("the stream ended without its end marker")
        parts: list[Part] = [part for grown in self.parts if (part := grown.part()) is not None]
        return Completion(tuple(parts), self.stop, self.usage)

    def _grow(self, index: int, delta: Mapping[str, Any]) -> None:
        # Text comes without a start event, so the first piece of a part opens it.
        match delta:
            case {"text": str() as piece}:
                self._at(index, _OpenText).pieces.append(piece)
            case {"toolUse": {"input": str() as piece}}:
                self._at(index, _OpenCall).pieces.append(piece)
            case {"reasoningContent": {"text": str() as piece}}:
                self._at(index, _OpenThought).text.append(piece)
            case {"reasoningContent": {"signature": str() as piece}}:
                self._at(index, _OpenThought).signature.append(piece)
            case {"reasoningContent": {"redactedContent": bytes() as content}}:
                self._at(index, _OpenThought).redacted.append(content)
            case _:
                pass

    def _begin_call(self, index: int, use: Mapping[str, Any]) -> None:
        call = _OpenCall(_text(use.get("toolUseId")), _text(use.get("name")))
        self.open[index, _OpenCall] = call
        # A tool the provider runs by itself is no wish of the model to us: its pieces are read and dropped.
        if use.get("type") != "server_tool_use":
            self.parts.append(call)

    def _at(self, index: int, kind: type[_Kind]) -> _Kind:
        part = self.open.get((index, kind))
        if part is None:
            part = self.open[index, kind] = kind()
            self.parts.append(part)
        return cast(_Kind, part)  # the key holds the kind


def _stop_reason(given: object) -> StopReason:
    return cast(StopReason, given) if isinstance(given, str) and given in _STOP_REASONS else "unknown"


def _usage(given: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=_count(given.get("inputTokens")),
        output_tokens=_count(given.get("outputTokens")),
        cache_read_tokens=_count(given.get("cacheReadInputTokens")),
        cache_write_tokens=_count(given.get("cacheWriteInputTokens")),
    )


def _text(given: object) -> str:
    return given if isinstance(given, str) else ""


def _count(given: object) -> int:
    """Return a number of tokens as a budget may count it, whatever the provider says."""
    return min(max(given, 0), _MOST_TOKENS) if isinstance(given, int) else 0
