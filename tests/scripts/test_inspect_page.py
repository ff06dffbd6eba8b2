"""The page that scripts/inspect writes: self-contained, and nothing but texts where somebody's texts are."""

import re
from html.parser import HTMLParser

import pytest

from runtime.model.entries import TextItem, ToolResult
from scripts.inspection.lanes import Span, span_of
from scripts.inspection.markup import joined, tag
from scripts.inspection.page import FOLDED_FROM, page
from scripts.inspection.reading import StoredThread
from scripts.inspection.views import tree_view
from tests.support.inspected import child, seen, stored
from tests.support.values import NOW_MS, answered, asked, call_row, called

HOSTILE = (
    "\"'><script src=https://evil.example/x.js></script><img src=x onerror=alert(1)><style>@import 'x'</style>\u202e"
)
KNOWN = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div", "span", "a", "b", "i"),
    *("ul", "ol", "li", "dl", "dt", "dd", "details", "summary"),
}


class Elements(HTMLParser):
    """Every element of a page with its attributes, and what it leaves open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((name, dict(attributes)))
        if name != "meta":
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name


def page_of(*threads: StoredThread) -> str:
    return page(tree_view(threads, limit=100), [seen(thread) for thread in threads], NOW_MS + 60_000)


def hostile_page() -> str:
    result = ToolResult(HOSTILE, (TextItem(HOSTILE + "x" * FOLDED_FROM),))
    calls = [call_row(HOSTILE, "answered")]
    root = stored(asked(HOSTILE), called(HOSTILE, HOSTILE, {HOSTILE: HOSTILE}), result, calls=calls, thread_id=HOSTILE)
    return page_of(root, child(f"child {HOSTILE}", root.row, asked(), task=HOSTILE))


def test_no_text_becomes_an_element_an_attribute_or_a_direction() -> None:
    elements = Elements(hostile_page())
    assert {name for name, _ in elements.found} <= KNOWN
    assert [name for name, _ in elements.found].count("style") == 1
    attributes = {key for _, given in elements.found for key in given}
    assert attributes <= {
        "charset",
        "class",
        "content",
        "href",
        "http-equiv",
        "id",
        "lang",
        "name",
        "open",
        "style",
        "title",
    }
    assert "\u202e" not in hostile_page()
    assert elements.open == []


def test_a_page_asks_nobody_for_anything() -> None:
    elements = Elements(hostile_page())
    assert all((given["href"] or "").startswith("#") for name, given in elements.found if name == "a")
    style = re.search(r"<style>(.*?)</style>", hostile_page(), re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    policies = [given["content"] for _, given in elements.found if given.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]


def test_every_thread_of_the_tree_leads_to_its_timeline() -> None:
    root = stored(asked(), answered(), thread_id="r", root_id="r")
    elements = Elements(page_of(root, child("c", root.row, asked(), task="look")))
    leads = [given["href"] for name, given in elements.found if name == "a"]
    assert leads == ["#t0", "#t1", "#t0", "#t1"]  # from the tree, and from the lanes
    assert [given["id"] for name, given in elements.found if "id" in given] == ["t0", "t1"]


def test_a_long_text_is_folded_and_whole() -> None:
    whole = page_of(stored(asked("x" * FOLDED_FROM + "the end")))
    assert "the end" in whole
    assert f"all {FOLDED_FROM + 7:,} characters" in whole
    assert "all " not in page_of(stored(asked("x" * FOLDED_FROM)))


def test_a_thread_without_an_entry_has_a_page() -> None:
    assert "Nothing has happened yet." in page_of(stored())


@pytest.mark.parametrize(("at_ms", "percent"), [(0, 0.0), (50, 49.5), (100, 99.0), (500, 99.0), (-5, 0.0)])
def test_a_moment_stands_where_its_time_is_and_never_outside(at_ms: int, percent: float) -> None:
    assert Span(0, 100).percent(at_ms) == percent


def test_the_lanes_reach_to_now_only_while_something_runs() -> None:
    def ends(thread: StoredThread) -> int:
        span = span_of([seen(thread)], NOW_MS + 60_000)
        return 0 if span is None else span.ended_ms - NOW_MS

    bodies = (asked(), called("c"))
    assert ends(stored(*bodies, calls=[call_row("c")])) == 60_000
    assert ends(stored(*bodies, calls=[call_row("c")], closed_by="thread-1")) == 0
    assert ends(stored(*bodies, calls=[call_row("c", "failed")])) == 0


def test_only_what_was_made_as_an_element_is_one() -> None:
    assert joined("<b>", tag("b", "<i>")) == "&lt;b&gt;<b>&lt;i&gt;</b>"
    assert tag("a", href='"><script>') == '<a href="&quot;&gt;&lt;script&gt;"></a>'
