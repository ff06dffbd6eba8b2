"""What an entry must have made known outside: outputs, and words to other threads."""

from collections.abc import Container

from runtime.identity import seed_id_at
from runtime.model.entries import (
    AssistantText,
    Closed,
    Entry,
    Event,
    Reported,
    Spawned,
    ToldChild,
    ToolCall,
    ToolResult,
)
from runtime.model.messages import Message, MessageKey, ParentContent
from scripts.simulation.conversation import Conversation

Subject = tuple[str, MessageKey]


def types_of(entry: Entry, conversation: Conversation) -> set[str]:
    """Return the types of the outputs that front ends are told of this entry."""
    if conversation.birth.kind == "compaction":
        return set()
    match entry.body:
        case AssistantText() as said:
            kinds = {"text": said.text, "turn_done": said.finish, "report": said.reports, "thread_closed": said.closes}
            return {kind for kind, holds in kinds.items() if holds}
        case ToolCall(call_id=call_id):
            is_seed = call_id == seed_id_at(conversation.thread_id, entry.position)
            return {"thread_spawned" if is_seed else "tool_call"}
        case ToolResult(deed=Spawned()):
            return {"tool_result", "thread_spawned"}
        case ToolResult(deed=Reported()):
            return {"tool_result", "report"}
        case ToolResult(deed=Closed(last_report=report)):
            return {"tool_result", "thread_closed"} | ({"report"} if report else set())
        case ToolResult() | Event():
            return {"tool_result"}
        case _:
            return set()


def words_of(entry: Entry, conversation: Conversation) -> list[Subject]:
    """Return the messages that this entry has other threads sent."""
    own, parent = conversation.thread_id, conversation.birth.parent_id or ""
    match entry.body:
        case AssistantText(reports=True) | ToolResult(deed=Reported()):
            return [(parent, MessageKey("thread_report", f"report:{own}:{entry.position}"))]
        case ToolResult(deed=Spawned(child_id=child_id)):
            return [(child_id, MessageKey("wake", f"wake:{child_id}:1"))]
        case ToolResult(deed=ToldChild(told_id=child_id), call_id=call_id):
            return [(child_id, MessageKey("parent_message", f"parent:{call_id}"))]
        case ToolResult(deed=Closed(last_report=report)) if report or conversation.birth.kind != "event":
            return [(parent, MessageKey("thread_report", f"closed:{own}"))]
        case _:
            return []


def bounced(message: Message, conversation: Conversation, sent: Container[Subject]) -> bool:
    """Whether the parent has been told that this word of its came too late, if it is one."""
    if not isinstance(message.content, ParentContent):
        return True
    call_id = message.key.message_id.removeprefix("parent:")
    return (conversation.birth.parent_id or "", MessageKey("bounce", f"bounce:{call_id}")) in sent
