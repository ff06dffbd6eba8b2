"""History as the model is shown it. Pure, and the same bytes for the same rows: a cached prefix stays cached.

The result is valid for the strictest provider: it starts with a user turn, roles alternate, every call is answered
once and directly, nothing is empty, reasoning stands unchanged in front of what it belongs to.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from runtime import compaction, phrases
from runtime.draft import Draft
from runtime.identity import event_id_at
from runtime.model.entries import (
    AssistantText,
    Body,
    Entry,
    Event,
    Item,
    Reasoning,
    TextItem,
    ToolCall,
    ToolResult,
    UserText,
)
from runtime.model.threads import Summary, ThreadRow
from runtime.model.turns import (
    Block,
    CachePoint,
    CallBlock,
    ModelMessage,
    ModelRequest,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    ToolSpec,
)


def model_request(
    draft: Draft, entries: Sequence[Entry], tools: tuple[ToolSpec, ...], system: str, max_tokens: int
) -> ModelRequest:
    """Return the request that asks for the turn after the draft's tail, which must ask for one.

    `entries` are the draft's visible ones, with their images or without.

    System prompt and tools are the same for every thread of a root: who a thread is stands in its entries.
    """
    return ModelRequest(
        system=f"{phrases.SYSTEM_PROMPT}\n\n{system}" if system else phrases.SYSTEM_PROMPT,
        tools=tools,
        messages=with_cache_points(rendered(draft.row, entries, draft.summary_in_use())),
        max_tokens=max_tokens,
    )


def rendered(row: ThreadRow, entries: Sequence[Entry], summary: Summary | None = None) -> tuple[ModelMessage, ...]:
    """Return the entries as alternating messages, one message for all blocks of a role in a row.

    A summary stands first, as somebody's word. Inherited entries keep the ids they have for the ancestor.

    Reasoning in front of something that was refused is left out: it may itself be what the provider does not take
    back, and would then have every later request refused as well.
    """
    messages: list[ModelMessage] = []
    role, blocks = "", list[Block]()
    for block_role, block in _blocks(row, entries, summary):
        if block_role != role:
            if blocks:
                messages.append(_message(role, blocks))
            role, blocks = block_role, []
        blocks.append(block)
    if blocks:
        messages.append(_message(role, blocks))
    return tuple(messages)


def _message(role: str, blocks: list[Block]) -> ModelMessage:
    return ModelMessage("user" if role == "user" else "assistant", tuple(blocks))


def with_cache_points(messages: tuple[ModelMessage, ...]) -> tuple[ModelMessage, ...]:
    """Mark the end of this request, and the end of the one before it, which is what the provider has cached.

    History only grows, so all of it is stable. Two of the provider's four points are used here; tools and system
    have the others.
    """
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    marked = set(users[-2:])
    return tuple(
        ModelMessage(message.role, (*message.blocks, CachePoint())) if index in marked else message
        for index, message in enumerate(messages)
    )


def _blocks(row: ThreadRow, entries: Sequence[Entry], summary: Summary | None) -> Iterator[tuple[str, Block]]:
    if summary is not None:
        yield "user", TextBlock(compaction.introduced(summary))
    not_run: Mapping[str, tuple[str, ...]] = {}
    refused_position = max((entry.position for entry in entries if entry.withheld), default=0)
    for entry in entries:
        body = entry.body
        if isinstance(body, Reasoning) and entry.position < refused_position:
            continue
        if isinstance(body, ToolCall):
            not_run = {body.call_id: body.not_run}
        notes = not_run.get(body.call_id, ()) if isinstance(body, ToolResult) else ()
        yield from _blocks_of(row, entry, body, notes)


def _blocks_of(row: ThreadRow, entry: Entry, body: Body, not_run: tuple[str, ...]) -> Iterator[tuple[str, Block]]:
    match body:
        case UserText():
            yield "user", TextBlock(phrases.WITHHELD_INPUT if entry.withheld else body.text)
        case AssistantText():
            yield "assistant", TextBlock(body.text or phrases.NO_REPLY)
        case Reasoning():
            yield "assistant", ReasoningBlock(body.text, body.signature, body.redacted)
        case ToolCall():
            yield "assistant", CallBlock(body.call_id, body.name, body.arguments)
        case ToolResult():
            yield "user", ResultBlock(body.call_id, _items(entry, body.items, not_run), body.status)
        case Event():
            injected_id = event_id_at(row.owner_of(entry.position), entry.position)
            yield "assistant", CallBlock(injected_id, phrases.INJECTED_TOOL, _injected_arguments(body))
            yield "user", ResultBlock(injected_id, _items(entry, body.items, ()), body.status)
        case _:
            assert_never(body)


def _items(entry: Entry, items: tuple[Item, ...], not_run: tuple[str, ...]) -> tuple[Item, ...]:
    if entry.withheld:
        items = (TextItem(phrases.WITHHELD_INPUT),)
    return (*items, TextItem(phrases.not_run_note(not_run))) if not_run else items


def _injected_arguments(event: Event) -> dict[str, object]:
    return {
        "original_tool_name": event.name,
        "original_tool_call_id": event.call_id,
        "original_args": event.arguments,
    }
