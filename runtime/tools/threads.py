"""Threads that begin, tell each other things, and close: what the model may do about them."""

from runtime import births, phrases
from runtime.items import shown_text
from runtime.model.entries import Closed, JsonObject, Reported, Spawned, ToldChild
from runtime.model.turns import ToolSpec
from runtime.tools.offer import Answer, Asked, Builtin


def _spawn_thread(asked: Asked) -> Answer:
    draft, arguments = asked.draft, asked.arguments
    stack = births.stack_of(draft.row)
    if list(arguments["child_of"]) != stack:
        return Answer(draft, f"Error: child_of must be this thread's own stack, {stack}, not {arguments['child_of']}.")
    problem = births.why_no_child(draft, asked.limits)
    if problem is not None:
        return Answer(draft, f"Error: no thread was started: {problem}. Do the work here, or close one first.")
    instructions = shown_text(str(arguments["instructions"]), births.SAID_CHARS)
    child = births.spawned_child(
        draft, asked.call, instructions, inherits=bool(arguments.get("inherit_context", True)), now_ms=asked.now_ms
    )
    child_id = child.row.thread_id
    spawned = draft.with_thread(child).with_call(births.answered_by_runtime(asked.call, draft, asked.now_ms))
    return Answer(spawned, phrases.thread_started(child_id), Spawned(child_id, instructions))


def _report_to_parent(asked: Asked) -> Answer:
    if asked.draft.row.birth.parent_id is None:
        return Answer(asked.draft, "Error: this thread has no parent to report to. Just write your answer.")
    report = shown_text(str(asked.arguments["report"]), births.SAID_CHARS)
    return Answer(asked.draft, "Reported.", Reported(report))


def _close_thread(asked: Asked) -> Answer:
    draft, thread_id = asked.draft, asked.arguments["thread_id"]
    if draft.row.birth.parent_id is None:
        return Answer(draft, "Error: this thread has no parent, and does not close. Just end your turn.")
    if thread_id != draft.thread_id:
        return Answer(draft, f"Error: a thread closes only itself. This one is {draft.thread_id}.")
    last_report = shown_text(str(asked.arguments.get("report_to_parent") or ""), births.SAID_CHARS)
    return Answer(draft.close(), "Closed.", Closed(last_report))


def _send_message_to_child(asked: Asked) -> Answer:
    draft, child_id = asked.draft, str(asked.arguments["thread_id"])
    child = next((child for child in draft.children if child.thread_id == child_id), None)
    if child is None:
        listed = ", ".join(child.thread_id for child in draft.children) or "none"
        return Answer(draft, f"Error: this is not an open child of this thread. Those are: {listed}.")
    message = shown_text(str(asked.arguments["message"]), births.SAID_CHARS)
    told = draft.with_call(births.answered_by_runtime(asked.call, draft, asked.now_ms))
    return Answer(told, phrases.QUEUED_FOR_CHILD, ToldChild(child_id, child.birth.call_id, message))


def _schema(required: list[str], **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required}


def _text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


SPAWN_THREAD = Builtin(
    ToolSpec(
        births.SPAWN_TOOL,
        "Start a thread of your own that works on something while you go on. It reports to you by itself.",
        _schema(
            ["instructions", "child_of"],
            instructions=_text("What the new thread is to do, and when it is to report."),
            child_of={
                "type": "array",
                "items": {"type": "string"},
                "description": "The ids of the threads from the root down to you: stack in list_activity.",
            },
            inherit_context={
                "type": "boolean",
                "description": "Whether it sees this conversation so far. Default true; false is cheaper.",
            },
        ),
    ),
    run=_spawn_thread,
)
REPORT_TO_PARENT = Builtin(
    ToolSpec(
        "report_to_parent",
        "Tell the thread that started you something. You go on afterwards.",
        _schema(["report"], report=_text("What it is to know.")),
    ),
    run=_report_to_parent,
)
CLOSE_THREAD = Builtin(
    ToolSpec(
        "close_thread",
        "Close your own thread, when its task is done. Ends everything that runs for it, and every thread below it.",
        _schema(
            ["thread_id"],
            thread_id=_text("Your own id."),
            report_to_parent=_text("Your last word to the thread that started you."),
        ),
    ),
    run=_close_thread,
)
SEND_MESSAGE_TO_CHILD = Builtin(
    ToolSpec(
        "send_message_to_child",
        "Tell an open thread that you started something.",
        _schema(["thread_id", "message"], thread_id=_text("Its id."), message=_text("What it is to know.")),
    ),
    run=_send_message_to_child,
)
