"""A tool author's functions, served over HTTP: what is sent for them, and when."""

import sys
import threading

import pytest

from handlers.rap_tools import Call, Result, ToolServer
from tests.support.callback_inbox import Inbox
from tests.support.tool_client import ToolClient

PNG = b"\x89PNG\r\n\x1a\n and so on"


def test_what_a_function_returns_is_posted_to_the_callback_url(
    tools: ToolServer, shop: ToolClient, inbox: Inbox
) -> None:
    @tools.tool()
    def stock_of(article: str, colour: str = "any") -> str:
        """How many there are of an article."""
        return f"12 of {article}, {colour}"

    assert shop.post("/call", inbox.invocation("stock_of", {"article": "hammer"})) == (202, {"ok": True})

    got = inbox.next()
    assert got.path == "/cb/token"
    assert got.body == {"type": "tool_result", "group_id": "t-1", "id": "call_1", "text": "12 of hammer, any"}


def test_a_call_is_accepted_before_its_work_is_done(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    go_on = threading.Event()

    @tools.tool()
    def wait() -> str:
        """Wait for it."""
        go_on.wait(10)
        return "done"

    assert shop.post("/call", inbox.invocation("wait", {}))[0] == 202
    assert inbox.waiting() == []
    go_on.set()
    assert inbox.next().body["text"] == "done"


def test_images_and_texts_are_items_in_their_order(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    @tools.tool()
    def look() -> list[str | bytes]:
        """Look."""
        return ["This:", PNG]

    shop.post("/call", inbox.invocation("look", {}))

    image = {"type": "image", "data": "iVBORw0KGgogYW5kIHNvIG9u", "mediaType": "image/png"}
    assert inbox.next().body["content"] == [{"type": "text", "text": "This:"}, image]


@pytest.mark.parametrize(
    ("start", "media_type"),
    [(b"\xff\xd8\xff", "image/jpeg"), (b"GIF89a", "image/gif"), (b"RIFF\n\0\0\0WEBP", "image/webp")],
)
def test_an_image_is_known_by_its_first_bytes(
    tools: ToolServer, shop: ToolClient, inbox: Inbox, start: bytes, media_type: str
) -> None:
    @tools.tool()
    def look() -> bytes:
        """Look."""
        return start

    shop.post("/call", inbox.invocation("look", {}))

    assert [item["mediaType"] for item in inbox.next().body["content"]] == [media_type]


@pytest.mark.parametrize("nothing", [None, "", "  \n", []])
def test_a_result_is_never_empty(tools: ToolServer, shop: ToolClient, inbox: Inbox, nothing: Result) -> None:
    @tools.tool()
    def say() -> Result:
        """Say nothing."""
        return nothing

    shop.post("/call", inbox.invocation("say", {}))

    assert inbox.next().body["text"] == "(no result)"


@pytest.mark.parametrize("returned", [b"no image", b"RIFF\n\0\0\0WAVE", {"an": "object"}, 7, [7]])
def test_what_is_no_result_is_an_error_result(
    tools: ToolServer, shop: ToolClient, inbox: Inbox, returned: object
) -> None:
    @tools.tool()
    def odd():  # type: ignore[no-untyped-def]  # what the types forbid, people write
        """Return something odd."""
        return returned

    shop.post("/call", inbox.invocation("odd", {}))

    assert inbox.next().body["text"].startswith("Error: TypeError: a tool returns text")


@pytest.mark.parametrize(
    ("operation", "arguments", "said"),
    [
        ("fail", {"how": "out of stock"}, "Error: ValueError: out of stock"),
        ("fail", {"how": ""}, "Error: ValueError: "),
        ("fail", {}, "Error: TypeError: "),
        ("fail", {"how": "", "more": 1}, "Error: TypeError: "),
        ("fly", {}, "Error: there is no tool named 'fly' here."),
    ],
)
def test_a_call_that_fails_has_a_result_that_says_so(
    tools: ToolServer, shop: ToolClient, inbox: Inbox, operation: str, arguments: dict[str, object], said: str
) -> None:
    @tools.tool()
    def fail(how: str) -> str:
        """Fail."""
        raise ValueError(how)

    assert shop.post("/call", inbox.invocation(operation, arguments))[0] == 202
    assert inbox.next().body["text"].startswith(said)


def test_a_tool_that_means_to_end_its_program_ends_with_a_result(
    tools: ToolServer, shop: ToolClient, inbox: Inbox
) -> None:
    @tools.tool()
    def convert() -> str:
        """Convert a file."""
        sys.exit("no such file")

    shop.post("/call", inbox.invocation("convert", {}))

    assert inbox.next().body["text"] == "Error: SystemExit: no such file"


def test_a_repeated_call_runs_once(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    runs: list[str] = []

    @tools.tool()
    def buy(article: str) -> str:
        """Buy an article."""
        runs.append(article)
        return "bought"

    for key, article in (("key-1", "hammer"), ("key-1", "hammer"), ("key-2", "nail")):
        assert shop.post("/call", inbox.invocation("buy", {"article": article}), key)[0] == 202

    assert [inbox.next().body["text"], inbox.next().body["text"]] == ["bought", "bought"]
    assert sorted(runs) == ["hammer", "nail"]


def test_calls_without_a_key_are_different_calls(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    @tools.tool()
    def buy() -> str:
        """Buy."""
        return "bought"

    for _ in range(2):
        shop.post("/call", inbox.invocation("buy", {}))

    assert inbox.next().key != inbox.next().key


def test_a_subscription_is_confirmed_then_fires_then_ends(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    @tools.tool()
    def follow(call: Call) -> None:
        """Follow prices."""
        call.subscribe("You will be told.")
        call.fire("first", "price-1")
        call.fire("second", associative=True)
        call.fire("last", final=True)

    shop.post("/call", inbox.invocation("follow", {}), "key")

    confirmed, first, second, last = (inbox.next() for _ in range(4))
    event = {"type": "subscription_event", "group_id": "t-1", "tool_call_id": "call_1"}
    assert confirmed.body == {
        **{"type": "tool_result", "group_id": "t-1", "id": "call_1"},
        **{"text": "You will be told.", "subscription": True},
    }
    assert first.body == {**event, "text": "first", "associative": False, "final": False, "event_id": "price-1"}
    assert second.body == {**event, "text": "second", "associative": True, "final": False, "event_id": second.key}
    assert last.body == {**event, "text": "last", "associative": False, "final": True, "event_id": last.key}
    assert first.key == "price-1"
    assert len({confirmed.key, first.key, second.key, last.key}) == 4


def test_a_subscription_that_fails_ends_with_the_reason(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    @tools.tool()
    def follow(call: Call) -> None:
        """Follow prices."""
        call.subscribe("You will be told.")
        raise RuntimeError("the market is closed")

    shop.post("/call", inbox.invocation("follow", {}))

    last = [inbox.next(), inbox.next()][1].body
    assert (last["type"], last["final"], last["associative"]) == ("subscription_event", True, True)
    assert last["text"] == "Error: RuntimeError: the market is closed"


def test_a_choice_is_shown_and_its_answer_continues_the_call(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    @tools.tool()
    def pick(call: Call, sizes: list[str]) -> None:
        """Let the user pick a size."""
        call.ask("Which size?", sizes, default=1)

    @tools.on_return("pick")
    def picked(call: Call, given: dict[str, int]) -> str:
        return f"size {call.body['arguments']['sizes'][given['selected']]} for {call.id}"

    shop.post("/call", inbox.invocation("pick", {"sizes": ["S", "M", "L"]}), "key")
    asked = inbox.next().body
    path = shop.path_of(asked.pop("response_url"))
    for _ in range(2):
        assert shop.post(path, {"id": "call_1", "selected": 2}, "answer-key") == (202, {"ok": True})

    assert asked == {
        **{"type": "user_choice", "group_id": "t-1", "id": "call_1"},
        **{"prompt": "Which size?", "choices": ["S", "M", "L"], "default": 1},
    }
    assert inbox.next().body["text"] == "size L for call_1"
    assert inbox.waiting() == []


def test_who_signed_in_comes_back_with_what_the_page_gave_them(
    tools: ToolServer, shop: ToolClient, inbox: Inbox
) -> None:
    @tools.tool()
    def mail(call: Call) -> None:
        """Read mail."""
        call.login(f"https://login.example/?redirect_uri={call.return_url}")

    @tools.on_return("mail")
    def signed_in(call: Call, given: dict[str, str]) -> str:
        return f"{call.id} signed in with {given['code']}"

    shop.post("/call", inbox.invocation("mail", {}))
    shown = inbox.next().body
    url, _, returning = shown.pop("auth_url").partition("?redirect_uri=")
    assert shop.get(f"{shop.path_of(returning)}?code=4711")[0] == 202

    assert url == "https://login.example/"
    assert shown == {"type": "oauth", "group_id": "t-1", "id": "call_1"}
    assert inbox.next().body["text"] == "call_1 signed in with 4711"


def test_a_view_is_shown_beside_the_result(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    @tools.tool()
    def fill(call: Call) -> str:
        """Fill the basket."""
        call.show("basket", {"articles": 2})
        return "filled"

    shop.post("/call", inbox.invocation("fill", {}))

    view = {"type": "view_update", "group_id": "t-1", "view_type": "basket", "content": {"articles": 2}}
    assert inbox.next().body == view
    assert inbox.next().body["text"] == "filled"
