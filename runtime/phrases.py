"""What the runtime itself says to the model. Constants, so that a prompt's cached prefix stays the same bytes."""

SYSTEM_PROMPT = """\
You work in a conversation that never blocks. When you call a tool, the call is handed over and you are woken again \
when something arrives: usually its result, but people may speak first.

- A result that says a call is still running means just that: the tool goes on, and its result comes to you by itself \
later. Do not call the tool again for it; talk about something else meanwhile.
- Something that arrives by itself is shown as a call of `receive_event__injected`, made for you, with what arrived \
as its result. It names the earlier call it belongs to. Never call `receive_event__injected` yourself.
- One tool call at a time: of several calls in one answer only the first is run.
- A thread that you start with `spawn_thread` works beside you. What it reports comes to you by itself; do not do \
its work, and do not ask it how far it is.
- A subscription goes on after its first result. Its events either come to you or are handled by threads of their \
own, which tell you what matters.
- When you have nothing to do but wait for people or events, end your turn, or call `sleep_until_event_or_input`.
- A result that begins with `Error:` says what to do instead."""

STILL_RUNNING = (
    "This call is still running. Its result will arrive by itself, as an event. "
    "Do not make the same call again; go on with what has come in meanwhile."
)
CANCELLED_BY_INTERRUPTION = (
    "This call was cancelled, because something else arrived first and this tool stops when it is interrupted. "
    "No result will come. Call it again if it is still wanted."
)
NO_REPLY = "(no reply)"
NO_OUTPUT = "(no output)"
EMPTY_MESSAGE = "(empty message)"
WITHHELD_INPUT = "[An input was here. It could not be handled, so it is not shown.]"
WITHHELD_OUTPUT = "(withheld)"
CUT_OFF = "[The answer ended here: it reached the limit of its length.]"
STOPPED_EARLY = "[The answer ended here: it could not be completed.]"
IMAGE = "[image]"
IMAGE_OF_TEXT_MODEL = "[An image was here. It is not shown: this deployment passes text only.]"
IMAGE_OF_LONG_AGO = "[An image was here. It is not shown any more: newer ones take the room there is.]"
IMAGE_BEFORE_OTHERS = "[An image was here. It is not shown: too many came with it.]"
IMAGE_LOST = "[An image was here. It is not shown: it cannot be found any more.]"
CANCEL_ACCEPTED = "Cancelled. No result of that call will arrive any more."
SUBSCRIPTION_ENDED = "Ended. No event of that subscription will arrive any more."
INJECTED_TOOL = "receive_event__injected"
SUBSCRIBED = "Subscribed. Its events come to you by themselves."
TOO_MANY_SUBSCRIPTIONS = (
    "Error: you have as many live subscriptions as are allowed, so this one was cancelled. End another one first."
)
NO_RESULT_YET = (
    "No result came in the time it may take. The call may still be running; should its result come after all, it will "
    "arrive by itself, as an event."
)
CLOSED = "This thread has closed, and nothing more is read here. Its conversation goes on in the thread that began it."
BOUNCED = "Error: your message was not read: the thread had closed. Its last report, if it made one, came to you."
NOTHING_WILL_COME = "Error: nothing will come that could wake you. End your turn: that closes this thread."
REPORT_BEFORE_WAITING = (
    "Error: nothing runs that could wake you, and your parent has heard nothing of you. Call report_to_parent, or "
    "close_thread if your task is done."
)
QUEUED_FOR_CHILD = "Queued. If the thread closes before it reads this, its closing report tells you so."
HANDLE_ONE_EVENT = (
    "Handle the one event that follows. Report to your parent if it matters; it hears nothing of you otherwise. "
    "You close by ending your turn."
)
REPORT_OR_CLOSE = (
    "[Your turn ended, and nobody but your parent would read you. If there is something to say, call "
    "report_to_parent, or close_thread if your task is done. If you just write again, that text is your report.]"
)
TEXT_ONLY = "Error: no tool can be called here. Answer with text only: the summary."
SUMMARISE = (
    "[This conversation is about to outgrow what can be shown at once. Write a summary that will stand in place of "
    "everything above: what was asked and by whom, what was decided and found out, exact names, numbers and ids that "
    "may be needed, what is still open. Answer with text only; call no tool.]"
)
LEFT_OUT_OF_SUMMARY = "[Left out: the conversation is too long.]"
SUMMARY_BEGINS = "[A summary stands in place of the earlier conversation.]"
STATE_AT_SUMMARY = "[What was going on when it was made:]"


def thread_started(thread_id: str) -> str:
    return (
        f"Started: thread {thread_id}. What it finds comes to you by itself, as an event. Do not do its work yourself."
    )


def you_are_inside(thread_id: str, instructions: str) -> str:
    """Return what the new thread finds as the result of the call that began it."""
    return (
        f"You are now inside the thread that was started: {thread_id}. Its task is yours: {instructions}\n"
        "Whatever else the conversation above was about, and calls that still run in it, belong to your parent. "
        "Nobody reads what you write here; report_to_parent tells your parent, close_thread ends you."
    )


def task_alone(thread_id: str, instructions: str) -> str:
    """Return the first entry of a thread that sees nothing of its parent's conversation."""
    return (
        f"[You are thread {thread_id}, started by another. Nobody reads what you write here; report_to_parent tells "
        f"your parent, close_thread ends you.]\n{instructions}"
    )


def inside_event(thread_id: str) -> str:
    return f"You are now inside thread {thread_id}, which was started for one event. It follows."


def report_of(child_id: str, text: str, *, closed: bool) -> str:
    """Return what a parent reads of its child."""
    if not closed:
        return f"Thread {child_id} reports:\n{text}"
    return f"Thread {child_id} has closed. Its last word:\n{text}" if text else f"Thread {child_id} has closed."


def message_of_parent(text: str) -> str:
    return f"Your parent thread says:\n{text}"


def slept(seconds: int) -> str:
    return f"Slept for {seconds} s."


def woken_after(seconds: int) -> str:
    """Return the result of a wait that something ended."""
    return f"Woken after {seconds} s, because something arrived."


def cut_note(shown_chars: int, all_chars: int) -> str:
    return f"\n[Cut: the first {shown_chars} of {all_chars} characters are shown.]"


def image_not_taken(reason: str) -> str:
    return f"[An image was here. It is not shown: {reason}.]"


def left_out_note(items: int) -> str:
    """Return the end of a result of which the rest, from the middle of an item on, was too large."""
    return f"\n[Cut here: the result was too large. {items} of its items are missing or incomplete.]"


def not_run_note(names: tuple[str, ...]) -> str:
    """Return the line that ends the result of a call which came with others."""
    return (
        f"[Not run, because one call is run at a time: {', '.join(names)}. Issue them again if they are still wanted.]"
    )
