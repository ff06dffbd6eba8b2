"""The tools of the example server. Each shows one thing that a tool can do; between them, all of the protocol."""

import hashlib
import struct
import zlib
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from handlers.rap_tools import Call, ToolServer

LONGEST_S = 240  # the function's own time limit is 300 s
MOST_EVENTS = 500
HUGE_CHARS = 3_000_000
SIGNED_IN = "The user is signed in."

tools = ToolServer("Example tools", "The time, a slow build, and a tool for everything else that a tool can do.")


@tools.tool()
def get_time(
    timezone: Annotated[str, "An IANA name, such as Asia/Tokyo."] = "",
    city: Annotated[str, "A city that a time zone is named after, such as Tokyo."] = "",
) -> str:
    """The current local time, in a city or in an IANA time zone. Give one of the two."""
    place = timezone or city
    wanted = place.strip().replace(" ", "_").casefold()
    if not wanted:
        return "Error: give a timezone or a city."
    names = [name for name in available_timezones() if wanted in (name.casefold(), name.casefold().rpartition("/")[2])]
    if not names:
        return f"Error: no time zone is named after {place[:64]!r}. Give an IANA time zone instead."
    name = min(names)
    return f"{name}: {datetime.now(ZoneInfo(name)).strftime('%A, %d %B %Y, %H:%M:%S (UTC%z)')}"


@tools.tool(
    slow=True,
    schema={
        "type": "object",
        "properties": {
            "seconds": {"type": "number", "minimum": 0, "maximum": LONGEST_S, "description": "How long."},
        },
        "required": ["seconds"],
    },
)
def run_build(call: Call, seconds: float) -> str | None:
    """Build the project and run its tests. Takes as long as asked for; the result comes later."""
    if not 0 <= seconds <= LONGEST_S:
        return f"Error: seconds must be a number from 0 to {LONGEST_S}."
    if not call.wait(seconds):
        return None
    # Made of the run: where Lambda does the same work twice it reports the same, and no two builds report alike.
    digest = hashlib.sha256(call.run.encode()).hexdigest()
    return f"build {digest[:12]} finished: {100 + int(digest[12:], 16) % 900} tests passed"


@tools.tool(slow=True)
def watch(
    call: Call,
    events: Annotated[int, "How many events."],
    interval_s: Annotated[float, "Seconds before each of them."],
    associative: Annotated[bool, "Whether they are told to you, or to a thread each."] = False,
    confirmed_after: Annotated[int, "How many of them come before it is confirmed that they will."] = 0,
) -> str | None:
    """Watch the clock: so many events, one after each interval, then a last one that says it is over."""
    if not (1 <= events <= MOST_EVENTS and 0 <= events * interval_s <= LONGEST_S and 0 <= confirmed_after < events):
        return f"Error: give 1 to {MOST_EVENTS} events, in {LONGEST_S} s at most, and confirm before the last."
    for number in range(1, events + 1):
        if number > confirmed_after and not call.subscribed:
            call.subscribe(f"Watching: {events} events, one each {interval_s:g} s.")
        if not call.wait(interval_s):
            return None
        call.fire(f"Tick {number} of {events}.", associative=associative)
    call.fire("The watch is over.", associative=associative, final=True)
    return None


@tools.tool()
def ask(call: Call, question: str, choices: Annotated[list[str], "What to choose from."]) -> str | None:
    """Let the user choose one of several answers to a question. The one they choose is the result."""
    if not choices:
        return "Error: give at least one choice."
    call.ask(question, choices)
    return None


@tools.on_return("ask")
def chosen(call: Call, given: dict[str, object]) -> str:
    choices, selected = call.body["arguments"]["choices"], given.get("selected")
    known = isinstance(selected, int) and 0 <= selected < len(choices)
    return f"The user chose: {choices[selected if known else 0]}"


@tools.tool(slow=True)
def login(call: Call, seconds: Annotated[float, "How long to wait at most."] = 2) -> str | None:
    """Let the user sign in. The result comes when they have opened the page, or after so many seconds."""
    if not 0 <= seconds <= LONGEST_S:
        return f"Error: seconds must be a number from 0 to {LONGEST_S}."
    call.login(call.return_url)
    return SIGNED_IN if call.wait(seconds) else None  # a browser signs no request, so no Function URL of IAM opens


@tools.on_return("login")
def signed_in(call: Call, given: dict[str, object]) -> str:  # noqa: ARG001 - a real one reads the code it was given
    return SIGNED_IN  # as the other way says it: the runtime keeps whichever result comes first


@tools.tool()
def progress(call: Call, percent: float) -> str:
    """Show the user, beside the conversation, how far something is."""
    call.show("progress", {"percent": percent})
    return "It is shown."


@tools.tool()
def picture() -> bytes:
    """A small picture: a square that turns from blue to orange."""
    return _png([[(255 * x // 31, 128, 255 - 255 * y // 31) for x in range(32)] for y in range(32)])


@tools.tool()
def huge() -> str:
    """A very long text, of three million characters."""
    line = "This line is one of a great many, and says no more than the others do.\n"
    return (line * (HUGE_CHARS // len(line) + 1))[:HUGE_CHARS]


def _png(rows: list[list[tuple[int, int, int]]]) -> bytes:
    """Return a PNG file of rows of pixels: 8 bits for each of red, green and blue, no filter (PNG, second edition)."""
    size = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    pixels = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in rows)
    chunks = [(b"IHDR", size), (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
