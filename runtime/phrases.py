"""What the runtime itself says to the model. Constants, so that a prompt's cached prefix stays the same bytes."""

SYSTEM_PROMPT = """\
You work in a conversation that never blocks. When you call a tool, the call is handed over and you are woken again \
when something arrives: usually its result, but people may speak first.

- A result that says a call is still running means just that: the tool goes on, and its result comes to you by itself \
later. Do not call the tool again for it; talk about something else meanwhile.
- Something that arrives by itself is shown as a call of `receive_event__injected`, made for you, with what arrived \
as its result. It names the earlier call it belongs to. Never call `receive_event__injected` yourself.
- One tool call at a time: of several calls in one answer only the first is run.
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
IMAGE_NOT_SHOWN = "[An image was here. It is not shown: this deployment passes text only.]"
CANCEL_ACCEPTED = "Cancelled. No result of that call will arrive any more."
INJECTED_TOOL = "receive_event__injected"


def woken_after(seconds: int) -> str:
    """Return the result of a wait that something ended."""
    return f"Woken after {seconds} s, because something arrived."


def cut_note(shown_chars: int, all_chars: int) -> str:
    return f"\n[Cut: the first {shown_chars} of {all_chars} characters are shown.]"


def left_out_note(items: int) -> str:
    """Return the end of a result of which the rest, from the middle of an item on, was too large."""
    return f"\n[Cut here: the result was too large. {items} of its items are missing or incomplete.]"


def not_run_note(names: tuple[str, ...]) -> str:
    """Return the line that ends the result of a call which came with others."""
    return (
        f"[Not run, because one call is run at a time: {', '.join(names)}. Issue them again if they are still wanted.]"
    )
