"""Each tool of the example server, over HTTP: exactly what the protocol says of it."""

import base64
import struct
import zlib
from collections.abc import Iterator

import pytest

from handlers.example_tools import SIGNED_IN, tools
from tests.support.callback_inbox import Inbox
from tests.support.tool_client import ToolClient, serving

CALL = {"group_id": "t-1", "id": "call_1"}


@pytest.fixture(scope="module")
def server() -> Iterator[ToolClient]:
    with serving(tools) as client:
        yield client


@pytest.mark.parametrize("given", [{}, {"associative": False}, {"associative": True}])
def test_watch_confirms_fires_so_often_and_ends(server: ToolClient, inbox: Inbox, given: dict[str, bool]) -> None:
    server.post("/call", inbox.invocation("watch", {"events": 3, "interval_s": 0.01, **given}))

    confirmed, *events, last = (inbox.next().body for _ in range(5))
    text = confirmed.pop("text")
    assert text
    assert confirmed == {"type": "tool_result", **CALL, "subscription": True}
    assert [event["text"] for event in events] == ["Tick 1 of 3.", "Tick 2 of 3.", "Tick 3 of 3."]
    assert [event["final"] for event in [*events, last]] == [False, False, False, True]
    assert len({event["event_id"] for event in [*events, last]}) == 4
    for event in [*events, last]:
        assert (event["type"], event["group_id"], event["tool_call_id"]) == ("subscription_event", "t-1", "call_1")
        assert event["associative"] is given.get("associative", False)


def test_watch_may_be_confirmed_after_its_first_events(server: ToolClient, inbox: Inbox) -> None:
    server.post("/call", inbox.invocation("watch", {"events": 2, "interval_s": 0.01, "confirmed_after": 1}))

    types = [inbox.next().body["type"] for _ in range(4)]
    assert types == ["subscription_event", "tool_result", "subscription_event", "subscription_event"]


@pytest.mark.parametrize("given", [{"events": 0, "interval_s": 1}, {"events": 501, "interval_s": 0}])
def test_watch_refuses_what_would_not_end_in_time(server: ToolClient, inbox: Inbox, given: dict[str, float]) -> None:
    server.post("/call", inbox.invocation("watch", given))

    assert inbox.next().body["text"].startswith("Error: give 1 to 500 events")


def test_a_watch_that_is_cancelled_fires_nothing_more(server: ToolClient, inbox: Inbox) -> None:
    server.post("/call", inbox.invocation("watch", {"events": 1, "interval_s": 240}))
    inbox.next()

    server.post("/cancel_tool_call", {"thread_id": "t-1", "tool_call_id": "call_1"})
    server.post("/call", inbox.invocation("get_time", {"city": "Tokyo"}))

    assert inbox.next().body["text"].startswith("Asia/Tokyo")
    assert inbox.waiting() == []


@pytest.mark.parametrize(
    ("selected", "said"), [(0, "tea"), (2, "water"), (3, "tea"), (-1, "tea"), ("2", "tea"), (None, "tea")]
)
def test_ask_shows_a_choice_and_its_answer_is_the_result(
    server: ToolClient, inbox: Inbox, selected: object, said: str
) -> None:
    server.post("/call", inbox.invocation("ask", {"question": "What?", "choices": ["tea", "coffee", "water"]}))
    choice = inbox.next().body
    url = choice.pop("response_url")
    answered = server.post(server.path_of(url), {"id": "call_1", "selected": selected}, "answer")

    shown = {"prompt": "What?", "choices": ["tea", "coffee", "water"], "default": 0}
    assert choice == {"type": "user_choice", **CALL, **shown}
    assert answered == (202, {"ok": True})
    assert inbox.next().body == {"type": "tool_result", **CALL, "text": f"The user chose: {said}"}


def test_ask_with_nothing_to_choose_is_an_error(server: ToolClient, inbox: Inbox) -> None:
    server.post("/call", inbox.invocation("ask", {"question": "What?", "choices": []}))

    assert inbox.next().body["text"] == "Error: give at least one choice."


def test_login_shows_a_page_and_who_opens_it_is_signed_in(server: ToolClient, inbox: Inbox) -> None:
    server.post("/call", inbox.invocation("login", {"seconds": 240}))
    shown = inbox.next().body
    url = shown.pop("auth_url")

    assert shown == {"type": "oauth", **CALL}
    assert inbox.waiting() == []
    assert server.get(server.path_of(url))[0] == 202
    assert inbox.next().body == {"type": "tool_result", **CALL, "text": SIGNED_IN}
    server.post("/close_thread", {"thread_id": "t-1"})  # or the thread that waits would wait on


def test_who_does_not_open_the_page_is_signed_in_after_a_while(server: ToolClient, inbox: Inbox) -> None:
    server.post("/call", inbox.invocation("login", {"seconds": 0.01}))

    assert [inbox.next().body["type"], inbox.next().body["text"]] == ["oauth", SIGNED_IN]


def test_progress_is_shown_beside_its_result(server: ToolClient, inbox: Inbox) -> None:
    server.post("/call", inbox.invocation("progress", {"percent": 40}))

    view, result = inbox.next().body, inbox.next().body
    assert view == {"type": "view_update", "group_id": "t-1", "view_type": "progress", "content": {"percent": 40}}
    assert result == {"type": "tool_result", **CALL, "text": "It is shown."}


def test_picture_is_a_png_that_a_reader_takes(server: ToolClient, inbox: Inbox) -> None:
    server.post("/call", inbox.invocation("picture", {}))

    [item] = inbox.next().body["content"]
    chunks = dict(chunks_of(base64.b64decode(item["data"], validate=True)))
    width, height, depth, colours, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (item["type"], item["mediaType"]) == ("image", "image/png")
    assert (width, height, depth, colours, rest) == (32, 32, 8, 2, [0, 0, 0])
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert len(zlib.decompress(chunks[b"IDAT"])) == height * (1 + 3 * width)


def chunks_of(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and content of each chunk, as a reader does that checks them."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    position = 8
    while position < len(png):
        length, kind = struct.unpack_from(">I4s", png, position)
        content = png[position + 8 : position + 8 + length]
        assert struct.unpack_from(">I", png, position + 8 + length) == (zlib.crc32(kind + content),)
        yield kind, content
        position += 12 + length


def test_huge_is_a_text_of_three_million_characters(server: ToolClient, inbox: Inbox) -> None:
    server.post("/call", inbox.invocation("huge", {}))

    assert len(inbox.next().body["text"]) == 3_000_000


def test_arguments_of_another_type_are_an_error_result(server: ToolClient, inbox: Inbox) -> None:
    server.post("/call", inbox.invocation("watch", {"events": "many", "interval_s": 1}))

    assert inbox.next().body["text"].startswith("Error: TypeError: ")
