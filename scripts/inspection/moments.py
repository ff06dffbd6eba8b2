"""One entry of history as it is shown: who, when, what, and in which commit as far as rows tell. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from runtime.model.entries import (
    AssistantText,
    Body,
    Closed,
    Deed,
    Entry,
    Event,
    ImageItem,
    Item,
    Reasoning,
    Reported,
    Spawned,
    StoppedTimer,
    TextItem,
    ToldChild,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """`who` said or did it; `notes` are what the row says beside its text, `troubled` if one of them is of a failure.

    `version` is that of the commit which took its message in, None where no message stands behind the entry. `stop`
    and `usage` are those of the completion that ends here.
    """

    at_ms: int
    position: int
    turn: int
    kind: str
    who: str
    text: str
    notes: tuple[str, ...] = ()
    troubled: bool = False
    version: int | None = None
    call_id: str | None = None
    stop: str | None = None
    usage: Usage | None = None

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, and how the completion ended where that was none of the usual ends."""
        return self.notes if self.stop in (None, "end_turn", "tool_use") else (*self.notes, self.stop)


def moment_of(entry: Entry, versions: Mapping[str, int]) -> Moment:
    """Return the entry as it is shown; `versions` of commits by the id of the message that they took in."""
    body = entry.body
    finish = getattr(body, "finish", None)
    withheld = (f"withheld from the model: {entry.withheld}",) if entry.withheld else ()
    return Moment(
        at_ms=entry.created_ms,
        position=entry.position,
        turn=entry.turn,
        kind=body.kind,
        who=_who(body),
        text=_text(body),
        notes=(*_notes(body), *withheld),
        troubled=bool(withheld) or getattr(body, "status", None) == "error",
        version=versions.get(getattr(body, "cause", None) or ""),
        call_id=getattr(body, "call_id", None),
        stop=finish.stop if finish else None,
        usage=finish.usage if finish else None,
    )


def _who(body: Body) -> str:
    match body:
        case UserText():
            return "user" if body.cause else "runtime"
        case AssistantText():
            return "agent"
        case Reasoning():
            return "thinks"
        case ToolCall():
            return "calls"
        case ToolResult():
            return "result"
        case Event():
            return "event"
        case _:
            assert_never(body)


def _text(body: Body) -> str:
    match body:
        case UserText():
            return body.text
        case AssistantText():
            return body.text or "(no reply)"
        case Reasoning():
            return body.text or "(not readable)"
        case ToolCall():
            return f"{body.name} {as_json(body.arguments)}"
        case ToolResult():
            return shown_items(body.items)
        case Event():
            return f"{body.name}: {shown_items(body.items)}"
        case _:
            assert_never(body)


def _notes(body: Body) -> tuple[str, ...]:
    match body:
        case AssistantText():
            return (*(["reported to its parent"] if body.reports else []), *(["closed"] if body.closes else []))
        case ToolCall(not_run=not_run) if not_run:
            return (f"not run: {', '.join(not_run)}",)
        case ToolResult():
            failed = ["error"] if body.status == "error" else []
            cancelled = ["its server is told to stop"] if body.cancelled else []
            return (*failed, *cancelled, *([_deed(body.deed)] if body.deed else []))
        case Event():
            return (body.source.replace("_", " "), *(["error"] if body.status == "error" else []))
        case _:
            return ()


def _deed(deed: Deed) -> str:
    match deed:
        case Spawned():
            return f"child {deed.child_id} begins"
        case ToldChild():
            return f"child {deed.told_id} is told"
        case Reported():
            return "reported to its parent"
        case Closed():
            return "closed"
        case StoppedTimer():
            return "its timer is stopped"
        case _:
            assert_never(deed)


def shown_items(items: tuple[Item, ...]) -> str:
    """Return the texts of the items; an image is only named, with its place in the bucket if it is kept there."""
    return "\n".join(item.text if isinstance(item, TextItem) else _named(item) for item in items)


def _named(image: ImageItem) -> str:
    kept = image.payload
    return f"({image.media_type} image{f' of {kept.size_bytes:,} bytes, kept as {kept.key}' if kept else ''})"


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
