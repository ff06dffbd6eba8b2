"""What scripts/inspect shows on a terminal."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from runtime.model.entries import TextItem, ToolResult
from runtime.model.threads import Compaction, GaveUp, Person, Summary, SummaryRef
from runtime.ports import Mark, Progress
from scripts.inspection.pending import PendingView, Wait
from scripts.inspection.stores import OpenChoice, QueueDepth
from scripts.inspection.text import Sheet
from scripts.inspection.views import Shown, ThreadView, tree_view
from tests.support.inspected import NOTHING, child, seen, stored
from tests.support.values import NOW_MS, answered, asked, call_row, called


def shown(what: str, view: Any, *, characters: int = 40, in_terminal: bool = True) -> str:
    output = io.StringIO()
    console = Console(file=output, width=200, force_terminal=in_terminal, color_system=None, highlight=False)
    getattr(Sheet(console, NOW_MS + 60_000, characters), what)(view)
    return output.getvalue()


def full() -> ThreadView:
    """A thread about which there is something to say in every place."""
    row = child("c", stored(thread_id="r", root_id="r").row, task="look around").row
    thread = stored(
        asked("hello\nthere"),
        called("x"),
        ToolResult("x", (TextItem("[bold]no[/bold]"),), "error"),
        calls=[call_row("x", "answered"), replace(call_row("y", "detached"), due_ms=NOW_MS + 90_000)],
        birth=row.birth,
        person=Person("ada", {"team": "a"}),
        gave_up=GaveUp("user:1", "busy", "Too much at once.", None, None),
        compaction=Compaction("s", 1, NOW_MS),
    )
    thread = replace(thread, summary=Summary(SummaryRef("s", 7), "they talked"), entries=thread.entries[1:])
    choice = OpenChoice("c", "choice-1", "x", "Which?", ("a", "b"), 0)
    beside = replace(NOTHING, progress=Progress(performed=2, mark=Mark("entry:3", 4)), choices=(choice,))
    return replace(seen(thread, beside), views=(Shown("board", NOW_MS, '{"rows": 1}', None),))


@pytest.mark.parametrize(
    "said",
    [
        "state    gave up, busy: waits for a new message (for 1 min)",
        "running  1 detached call, 0 subscriptions",
        "tokens   10 in · 5 out, in 1 completion",
        "effects  known to be out up to entry 2 of 3",
        "deaths   4, each while at entry:3",
        "inherits entries of r up to 0",
        "task     look around",
        'user     ada  {"team": "a"}',
        "summary  stands for everything up to 7: they talked",
        "compacts s at work (for 1 min), up to entry 1",
        "gave up  busy about user:1: Too much at once.",
        "(1 earlier entries: --limit shows more)",
        "2027-01-15 08:00:00  #3    t3         result  [bold]no[/bold]  [error]",
        "#2    run_build {}  answered after 0.0 s  x",
        "#2    run_build {}  detached, made 1 min ago, due 2027-01-15 08:01:30  y",
        'choice-1  Which?  ["a", "b"]',
        'board  2027-01-15 08:00:00  {"rows": 1}',
    ],
)
def test_a_thread_is_shown_with_everything_that_is_known_of_it(said: str) -> None:
    assert said in shown("thread", full()).splitlines()


def test_a_thread_of_which_little_is_known_has_no_empty_headings() -> None:
    lines = shown("thread", seen(stored(asked("hello\nthere"), answered()))).splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "thread",
        "state",
        "running",
        "tokens",
        "effects",
        "",
        "timeline, in UTC",
        "2027-01-15 08:00:00",
        "2027-01-15 08:00:00",
    ]
    assert lines[-2].endswith("user    hello there")
    assert lines[-1].endswith("agent   hi  [10 in · 5 out]")


def test_a_text_is_cut_and_never_obeyed() -> None:
    hostile = shown("thread", seen(stored(asked("\x1b]0;mine\x07" + "x" * 100))))
    assert "␛]0;mine␇" in hostile
    assert "more characters)" in hostile
    assert "\x1b" not in hostile


def test_a_tree_is_indented_by_depth_and_says_when_it_was_cut() -> None:
    root = stored(asked(), answered(), thread_id="r", root_id="r")
    below = child("c", root.row, asked(), task="look")
    lines = shown("tree", tree_view([root, below, child("d", below.row)], limit=3)).splitlines()
    assert lines == [
        "r  root, idle (for 1 min)",
        "  1 completion, 10 in · 5 out",
        "└─ c  spawned, asks the model (for 1 min)",
        "     0 completions, 0 tokens",
        "     task: look",
        "   └─ d  spawned, idle",
        "        0 completions, 0 tokens",
        "3 threads, 10 in · 5 out",
    ]
    cut = shown("tree", tree_view([root, below], limit=1)).splitlines()
    assert cut[-1] == "There are more, some of them open: --limit shows them."
    closed = replace(below, row=replace(below.row, closed=True))
    cut = shown("tree", tree_view([root, closed], limit=1)).splitlines()
    assert cut[-1] == "There are more, all of them closed: --limit shows them."


PENDING = PendingView(
    (
        Wait("tool", "t", NOW_MS, "run_build {}"),
        Wait("gave up", "u", NOW_MS, "busy, try 2", NOW_MS + 120_000),
        Wait("choice", "v", None, "Which?\x1b[2J"),
    ),
    (QueueDepth("InputQueueUrl", 1, 2, 0), QueueDepth("InputDeadLetterQueueUrl", 3, 0, 0)),
    is_cut=True,
)


def test_waits_are_rows_for_other_programs_and_dead_letters_say_what_to_do() -> None:
    assert shown("pending", PENDING, in_terminal=False).splitlines() == [
        "1 min\ttool\tt\trun_build {}\t",
        "1 min\tgave up\tu\tbusy, try 2\tin 1 min",
        "unknown\tchoice\tv\tWhich?␛[2J\t",
        "There are more, younger than these: --limit shows them.",
        "InputQueue             1 waiting, 2 being handled, 0 delayed",
        "InputDeadLetterQueue   3 waiting, 0 being handled, 0 delayed: scripts/redrive --dry-run shows them",
    ]


def test_that_nothing_is_waited_for_is_said() -> None:
    assert shown("pending", PendingView((), (), is_cut=False)) == "Nothing is waited for.\n"
