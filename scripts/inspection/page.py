"""A tree and its timelines as one page, for a browser without a network: nothing is fetched, and nothing runs. Pure."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts.inspection import words
from scripts.inspection.lanes import lanes
from scripts.inspection.markup import Html, joined, tag
from scripts.inspection.moments import Moment, as_json
from scripts.inspection.states import State
from scripts.inspection.stores import OpenChoice
from scripts.inspection.text import facts
from scripts.inspection.views import CallView, CommitView, NodeView, ThreadView, TreeView

STYLE = Path(__file__).with_name("page.css")
FOLDED_FROM = 1_200  # characters of a text that are shown before somebody asks for the rest
TITLE_CHARACTERS = 80
OPEN_THREADS = 3  # timelines that are unfolded when the page opens
# Should a text ever become more than a text, the browser still neither runs nor fetches anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(tree: TreeView, threads: Sequence[ThreadView], now_ms: int) -> str:
    """Return the whole page, in UTF-8. `threads` are those of the tree."""
    root = tree.nodes[0]
    anchors = {node.thread_id: f"t{number}" for number, node in enumerate(tree.nodes)}
    by_id = {thread.node.thread_id: thread for thread in threads}
    ordered = [by_id[node.thread_id] for node in tree.nodes if node.thread_id in by_id]
    body = joined(
        tag("h1", root.thread_id),
        tag("p", f"as it was on {words.moment(now_ms)} UTC: {words.state(root.state, now_ms)}", class_="soft"),
        _numbers(tree, ordered),
        tag("h2", "Threads"),
        _tree(tree, anchors, now_ms),
        tag("h2", "When"),
        lanes(ordered, anchors, now_ms),
        tag("h2", "What happened"),
        *(
            _thread(thread, anchors[thread.node.thread_id], now_ms, unfolded=number < OPEN_THREADS)
            for number, thread in enumerate(ordered)
        ),
    )
    return f"<!doctype html>\n{tag('html', _head(root.thread_id), tag('body', body), lang='en')}\n"


def _head(title: str) -> Html:
    style = Html(STYLE.read_text(encoding="utf-8"))
    return tag(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        tag("title", f"{title} · inspect"),
        tag("style", style),
    )


def _numbers(tree: TreeView, threads: Sequence[ThreadView]) -> Html:
    nodes = tree.nodes
    numbers = {
        "threads": len(nodes),
        "still open": sum(node.state.kind != "closed" for node in nodes),
        "completions": sum(node.completions for node in nodes),
        "entries": sum(len(thread.moments) + thread.earlier_entries for thread in threads),
        "tokens": tree.tokens.total_tokens,
    }
    return tag("ul", *(tag("li", tag("b", f"{count:,}"), name) for name, count in numbers.items()), class_="numbers")


def _tree(tree: TreeView, anchors: dict[str, str], now_ms: int) -> Html:
    depths: dict[str, int] = {}
    rows = []
    for node in tree.nodes:
        depth = depths[node.thread_id] = depths.get(node.parent_id or "", -1) + 1
        rows.append(_node(node, depth, anchors, now_ms))
    which = "some of them open" if tree.hides_open else "all of them closed"
    more = [tag("p", f"There are more threads, {which}.", class_="note")] if tree.is_cut else []
    return tag("div", tag("ul", *rows, class_="tree"), *more, class_="card")


def _node(node: NodeView, depth: int, anchors: dict[str, str], now_ms: int) -> Html:
    told = [node.kind, words.counted(node.completions, "completion"), words.tokens(node.tokens)]
    return tag(
        "li",
        tag("a", _title(node), href=f"#{anchors[node.thread_id]}"),
        " ",
        _state(node.state, now_ms),
        tag("p", " · ".join([node.thread_id, *told] if node.task else told), class_="soft"),
        style=f"--depth:{depth}",
    )


def _title(node: NodeView) -> str:
    return _shortened(node.task) or node.thread_id


def _shortened(text: str) -> str:
    return text if len(text) <= TITLE_CHARACTERS else f"{text[:TITLE_CHARACTERS]}…"


def _state(state: State, now_ms: int) -> Html:
    return tag("span", words.state(state, now_ms), class_=f"state state-{state.kind}")


def _asks_its_user(choice: OpenChoice) -> Html:
    return joined(" ", tag("span", f"waits for its user: {_shortened(choice.prompt)}", class_="state state-asks_user"))


def _thread(thread: ThreadView, anchor: str, now_ms: int, *, unfolded: bool) -> Html:
    node = thread.node
    earlier = f"{thread.earlier_entries:,} earlier entries are not shown."
    parts = joined(
        tag("summary", f"{_title(node)} ", _state(node.state, now_ms), *map(_asks_its_user, thread.choices)),
        tag("dl", *(joined(tag("dt", name), tag("dd", value)) for name, value in facts(thread, now_ms, FOLDED_FROM))),
        *([tag("p", earlier, class_="note")] if thread.earlier_entries else []),
        tag("ol", *(_moment(each, now_ms) for each in thread.moments), class_="entries"),
        _section("Calls that tools or the runtime answer", [_call(call, now_ms) for call in thread.calls]),
        _section("Commits that took messages in", map(_commit, thread.commits)),
        _section("Open choices", [f"{each.prompt} {as_json(each.choices)}" for each in thread.choices]),
        _section(
            "Views",
            [joined(tag("b", each.view_type), " ", _said(each.payload_key or each.content)) for each in thread.views],
        ),
    )
    opened = {"open": "open"} if unfolded else {}
    return tag("details", parts, class_="thread card", id=anchor, **opened)


def _section(title: str, rows: Iterable[str]) -> Html:
    made = [tag("li", row) for row in rows]
    return joined(tag("h3", title), tag("ul", *made, class_="rows")) if made else Html()


def _moment(moment: Moment, now_ms: int) -> Html:
    version = [tag("span", f"commit {moment.version}")] if moment.version else []
    usage = [tag("span", words.tokens(moment.usage))] if moment.usage else []
    mood = "note" if moment.troubled else "remark"
    notes = [tag("span", note, class_=mood) for note in moment.all_notes]
    head = tag(
        "div",
        tag("b", moment.who),
        tag("span", words.moment_seen(moment.at_ms, now_ms)),
        tag("span", f"#{moment.position}"),
        tag("span", f"turn {moment.turn}"),
        *version,
        *usage,
        *notes,
        class_="head",
    )
    return tag("li", head, _said(moment.text), class_=moment.who)


def _said(text: str) -> Html:
    """A text as it was written; a long one is folded, and whole."""
    if len(text) <= FOLDED_FROM:
        return tag("div", text, class_="said")
    rest = tag(
        "details", tag("summary", f"all {len(text):,} characters"), tag("div", text, class_="said"), class_="more"
    )
    return joined(tag("div", f"{text[:FOLDED_FROM]}…", class_="said"), rest)


def _call(call: CallView, now_ms: int) -> Html:
    ended_ms = call.answered_ms
    took = (
        f"after {words.duration(ended_ms - call.since_ms)}"
        if ended_ms
        else f"made {words.duration(now_ms - call.since_ms)} ago"
    )
    due = f", due {words.due(call.due_ms, now_ms)}" if call.due_ms is not None and ended_ms is None else ""
    return joined(
        tag("b", call.name),
        " ",
        tag("span", words.cut(call.arguments, FOLDED_FROM), class_="mono"),
        tag(
            "div",
            f"{call.state} {took}{due} · #{call.position} · {call.call_id} · {call.toolset or 'the runtime'}",
            class_="soft",
        ),
    )


def _commit(commit: CommitView) -> Html:
    entries = f" → {', '.join(f'#{position}' for position in commit.positions)}" if commit.positions else ""
    open_ = [tag("span", " no receipt: not handled yet", class_="note")] if commit.handled is False else []
    return joined(tag("b", f"commit {commit.version}"), f" {', '.join(commit.messages)}{entries}", *open_)
