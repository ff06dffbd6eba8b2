"""The figures as tables for people."""

import os
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scripts.commands.terminal import harmless
from scripts.load_testing.figures import Figures, Spread, enough_threads

NOT_KNOWN = "-"


def show_run(run: Figures, console: Console) -> None:
    """One run: its figures, then whether every message was answered once and in order."""
    table = Table("what", "figure", title=f"load test {run.run_id}", title_justify="left")
    for what, figure in _rows(run):
        table.add_row(what, Text(harmless(figure)))
    console.print(table)
    console.print(verdict(run))


def show_ramp(runs: Sequence[Figures], console: Console) -> None:
    """The steps of a ramp, one under the other, and where it stops scaling."""
    table = Table(title="the same conversations, more and more at once", title_justify="left")
    for heading in ("threads", "answered", "turns/s", "p50 s", "p95 s", "in progress", "in slices", "slices"):
        table.add_column(heading, justify="right")
    for run in runs:
        p50, p95 = (f"{run.turn_done.p50:.2f}", f"{run.turn_done.p95:.2f}") if run.turn_done else (NOT_KNOWN,) * 2
        answered = f"{run.tally.answered}/{run.tally.messages}"
        reached = (str(run.at_once.in_progress), _known(run.at_once.in_slices), _known(run.at_once.slices))
        table.add_row(str(run.threads), answered, f"{run.turns_per_s:.1f}", p50, p95, *reached)
    console.print(table)
    for run in runs:
        if not run.ok:
            console.print(Text(f"{run.threads} threads: ").append(verdict(run)))
    console.print(where_it_stops(runs))


def show_whose_limit(console: Console) -> None:
    """Say what an offline figure is worth."""
    processors = os.cpu_count() or 1
    console.print(
        f"[dim]The {processors} processors of this machine serve emulator, database, model, functions and this test"
        " alike: how many conversations, and how fast, says nothing about AWS.[/dim]"
    )


def verdict(run: Figures) -> Text:
    """One line: ok, or what was not."""
    if run.ok:
        return Text("ok: every message was answered once and in order", style="green")
    faults = [f"{count:,} {what}" for what, count in _faults(run).items() if count]
    return Text(f"FAILED: {', '.join(faults)}", style="bold red")


def where_it_stops(runs: Sequence[Figures]) -> str:
    """Say up to how many threads more of them get more done."""
    threads = enough_threads(runs)
    if threads is None:
        return f"It still gets more done at {runs[-1].threads} threads, the most that were tried."
    return f"It stops scaling at {threads} threads: no more of them get a tenth more done."


def _faults(run: Figures) -> Mapping[str, int]:
    tally = run.tally
    return {
        "not sent": tally.messages - tally.sent,
        "unanswered": tally.unanswered,
        "answered twice": tally.doubled,
        "out of order": tally.out_of_order,
        "turns that name no message": tally.strays,
        "errors": tally.failures,
        "dead letters": run.trouble.dead_letters,
        "not handled": run.trouble.left or 0,
    }


def _rows(run: Figures) -> Iterator[tuple[str, str]]:
    tally, at_once, trouble = run.tally, run.at_once, run.trouble
    yield "threads", f"{run.threads:,}"
    yield "messages sent", f"{tally.sent:,} of {tally.messages:,} in {run.sending_s:.1f} s"
    yield "answered", f"{tally.answered:,}"
    yield "unanswered", f"{tally.unanswered:,}"
    yield "answered twice", f"{tally.doubled:,}"
    yield "out of order", f"{tally.out_of_order:,}"
    yield "turns", f"{run.turns:,} in {run.took_s:.1f} s: {run.turns_per_s:.1f} per second"
    yield "sent to first output", _seconds(run.first_output)
    yield "sent to turn_done", _seconds(run.turn_done)
    yield "threads in progress at once", f"{at_once.in_progress:,} at most, {at_once.mean:.1f} in the mean"
    yield "message groups in slices at once", _known(at_once.in_slices)
    yield "slice invocations at once", _known(at_once.slices)
    yield "slices that began with a cold start", _known(at_once.cold_starts)
    yield "messages by receive count", _counts(trouble.receives)
    yield "sendings that SQS throttled", f"{trouble.throttles:,}"
    yield "errors that passed", _counts(trouble.passing)
    yield "errors that ended a message", _counts(trouble.failed)
    yield "dead letters", f"{trouble.dead_letters:,}"
    yield "not handled in the end", _known(trouble.left)
    yield "oldest message without an answer", f"{trouble.oldest_s:.1f} s"


def _seconds(spread: Spread | None) -> str:
    if spread is None:
        return NOT_KNOWN
    return f"p50 {spread.p50:.2f} s, p95 {spread.p95:.2f} s, p99 {spread.p99:.2f} s, max {spread.most:.2f} s"


def _counts(times: Mapping[int, int] | Mapping[str, int] | None) -> str:
    if times is None:
        return NOT_KNOWN
    return ", ".join(f"{what}: {count:,}" for what, count in times.items()) or "none"


def _known(count: int | None) -> str:
    return NOT_KNOWN if count is None else f"{count:,}"
