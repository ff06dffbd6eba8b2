"""What commands print at the end: rows, and the gate's verdict."""

import io

from rich.console import Console

from scripts.commands.gate import Outcome, verdict_of
from scripts.commands.listing import show_rows

LONG_ID = "tests/unit/test_batch.py::test_a_name_that_is_longer_than_any_terminal_is_wide_" + "x" * 80


def shown(*, in_terminal: bool) -> str:
    output = io.StringIO()
    console = Console(file=output, width=80, force_terminal=in_terminal, color_system=None)
    show_rows(("name", "tests"), [("first", f"{LONG_ID}\nother"), ("[second]", "")], console)
    return output.getvalue()


def test_another_program_reads_one_line_for_each_row() -> None:
    assert shown(in_terminal=False) == f"first\t{LONG_ID} other\n[second]\t\n"


def test_a_narrow_terminal_shows_an_id_whole() -> None:
    table = shown(in_terminal=True)
    cells = [line.split("│")[2].strip() for line in table.splitlines() if line.startswith("│")]
    assert "".join(cells) == f"{LONG_ID}other"
    assert "[second]" in table
    assert "…" not in table


def test_the_gate_ends_with_what_there_is_to_mend() -> None:
    good, bad, worse = Outcome("lint", True, 1), Outcome("format", False, 1), Outcome("types", False, 1)
    assert verdict_of([good]) == "everything passed"
    assert verdict_of([bad, good, worse]) == "FAILED: format, types"
