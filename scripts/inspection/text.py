"""What was found, as lines for a terminal. Contents of conversations are shown, and never obeyed: see `harmless`."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from scripts.commands.listing import show_rows
from scripts.commands.terminal import harmless
from scripts.inspection import words
from scripts.inspection.moments import Moment, as_json
from scripts.inspection.pending import PendingView, Wait
from scripts.inspection.stores import QueueDepth
from scripts.inspection.views import CallView, CommitView, NodeView, ThreadView, TreeView

STYLES = {
    "user": "bold",
    "agent": "bold green",
    "calls": "bold cyan",
    "result": "cyan",
    "event": "bold magenta",
    "thinks": "dim",
    "runtime": "yellow",
}
_DIM = "dim"


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where it is shown, from when it is seen, and how much of each text."""

    console: Console
    now_ms: int
    characters: int

    def thread(self, view: ThreadView) -> None:
        """Show one thread: what is known of it as a whole, then what happened, then what hangs on it."""
        for name, value in facts(view, self.now_ms, self.characters):
            self._line((f"{name:<9}", "bold"), value)
        self._heading("timeline, in UTC")
        if view.earlier_entries:
            self._line((f"({view.earlier_entries:,} earlier entries: --limit shows more)", _DIM))
        for moment in view.moments:
            self._moment(moment)
        self._section("calls that tools or the runtime answer", [self._call(call) for call in view.calls])
        self._section("commits that took messages in", [_commit(commit) for commit in view.commits])
        choices = [f"{each.choice_id}  {each.prompt}  {as_json(each.choices)}" for each in view.choices]
        how_to_answer = f"scripts/enqueue --thread {view.node.thread_id} --choice ID --select N, with --offline as here"
        self._section(f"open choices: {how_to_answer}", choices)
        shown = [
            f"{each.view_type}  {words.moment(each.received_ms)}  {each.payload_key or each.content}"
            for each in view.views
        ]
        self._section("views", shown)

    def tree(self, view: TreeView) -> None:
        """Show the threads, each under its parent."""
        depths: dict[str, int] = {}
        for node in view.nodes:
            depth = depths[node.thread_id] = depths.get(node.parent_id or "", -1) + 1
            guide = "   " * (depth - 1) + "└─ " if depth else ""
            self._line(guide, (node.thread_id, "bold"), f"  {node.kind}, {words.state(node.state, self.now_ms)}")
            below = "   " * depth + "  "
            self._line((f"{below}{_counts(node)}", _DIM))
            if node.task:
                self._line((f"{below}task: {self._cut(node.task)}", _DIM))
        self._line(f"{words.counted(len(view.nodes), 'thread')}, {words.tokens(view.tokens)}")
        if view.is_cut:
            which = "some of them open" if view.hides_open else "all of them closed"
            self._line((f"There are more, {which}: --limit shows them.", "yellow"))

    def pending(self, view: PendingView) -> None:
        """Show what is waited for, the oldest first, and what lies on the queues."""
        headings = ("for how long", "what", "thread", "for what", "goes on")
        if view.waits:
            show_rows(headings, [self._wait(wait) for wait in view.waits], self.console)
        else:
            self._line("Nothing is waited for.")
        if view.is_cut:
            self._line(("There are more, younger than these: --limit shows them.", "yellow"))
        for queue in view.queues:
            style = "bold red" if queue.holds_given_up else ""
            self._line((_queue(queue), style))

    def _wait(self, wait: Wait) -> tuple[str, ...]:
        due = "" if wait.due_ms is None else words.due(wait.due_ms, self.now_ms)
        since = "unknown" if wait.since_ms is None else words.duration(self.now_ms - wait.since_ms)
        return (since, wait.kind, wait.thread_id, self._cut(wait.what), due)

    def _moment(self, moment: Moment) -> None:
        version = f"v{moment.version}" if moment.version else ""
        usage = words.tokens(moment.usage) if moment.usage else ""
        notes = " · ".join(note for note in (*moment.all_notes, usage) if note)
        self._line(
            (f"{words.moment(moment.at_ms)}  #{moment.position:<4} t{moment.turn:<4} {version:<5}", _DIM),
            (f"{moment.who:<8}", STYLES[moment.who]),
            self._cut(moment.text),
            (f"  [{notes}]" if notes else "", _DIM),
        )

    def _call(self, call: CallView) -> str:
        if call.answered_ms is not None:
            took = f"{call.state} after {words.duration(call.answered_ms - call.since_ms)}"
        else:
            took = f"{call.state}, made {words.duration(self.now_ms - call.since_ms)} ago"
        due = "" if call.due_ms is None else f", due {words.moment(call.due_ms)}"
        return f"#{call.position:<4} {call.name} {self._cut(call.arguments)}  {took}{due}  {call.call_id}"

    def _section(self, title: str, lines: list[str]) -> None:
        if lines:
            self._heading(title)
        for line in lines:
            self._line(line)

    def _heading(self, title: str) -> None:
        self._line("")
        self._line((title, "bold underline"))

    def _cut(self, text: str) -> str:
        """One line of it: who wants to read it as it was written takes the page or the JSON."""
        return words.cut(" ".join(text.split()), self.characters)

    def _line(self, *parts: str | tuple[str, str]) -> None:
        made = [harmless(part) if isinstance(part, str) else (harmless(part[0]), part[1]) for part in parts]
        self.console.print(Text.assemble(*made), soft_wrap=True)


def facts(view: ThreadView, now_ms: int, characters: int) -> Iterator[tuple[str, str]]:
    """The lines above a timeline: name and value."""
    node = view.node
    yield "thread", f"{node.thread_id}  ({node.kind}, version {view.version}, last entry {view.head})"
    yield "state", words.state(node.state, now_ms)
    yield (
        "running",
        f"{words.counted(node.detached, 'detached call')}, {words.counted(node.subscribed, 'subscription')}",
    )
    yield "tokens", f"{words.tokens(node.tokens)}, in {words.counted(node.completions, 'completion')}"
    yield "effects", f"known to be out up to entry {view.performed} of {view.head}"
    if view.mark is not None:
        yield "deaths", f"{view.mark.deaths}, each while at {view.mark.subject}"
    if view.lineage:
        seen = ", ".join(f"{part.thread_id} up to {part.up_to}" for part in view.lineage)
        yield "inherits", f"entries of {seen}"
        yield "task", words.cut(" ".join(node.task.split()), characters)
    if view.user_id is not None or view.metadata is not None:
        yield "user", f"{view.user_id or '(none)'}  {as_json(view.metadata) if view.metadata else ''}"
    yield from _memory(view, now_ms, characters)


def _memory(view: ThreadView, now_ms: int, characters: int) -> Iterator[tuple[str, str]]:
    if view.summary is not None:
        text = words.cut(" ".join(view.summary.text.split()), characters)
        yield "summary", f"stands for everything up to {view.summary.ref.up_to}: {text}"
    if view.compaction is not None:
        what = "at work" if not view.compaction.failed else "failed"
        since = words.duration(now_ms - view.compaction.since_ms)
        yield "compacts", f"{view.compaction.thread_id} {what} (for {since}), up to entry {view.compaction.up_to}"
    if view.gave_up is not None:
        yield "gave up", f"{view.gave_up.code} about {view.gave_up.message_id}: {view.gave_up.text}"


def _counts(node: NodeView) -> str:
    running = [f"{node.detached} detached"] if node.detached else []
    running += [f"{node.subscribed} subscribed"] if node.subscribed else []
    return ", ".join([words.counted(node.completions, "completion"), words.tokens(node.tokens), *running])


def _commit(commit: CommitView) -> str:
    handled = {True: "handled", False: "no receipt: not handled yet", None: ""}[commit.handled]
    return f"v{commit.version:<5} {', '.join(commit.messages)}  {handled}"


def _queue(queue: QueueDepth) -> str:
    name = queue.name.removesuffix("Url")
    counts = f"{queue.waiting} waiting, {queue.in_flight} being handled, {queue.delayed} delayed"
    return f"{name:<22} {counts}{': scripts/redrive --dry-run shows them' if queue.holds_given_up else ''}"
