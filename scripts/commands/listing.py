"""Rows of names and ids, for people and for other programs."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scripts.commands.terminal import harmless


def show_rows(headings: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    """A table in a terminal; elsewhere one line for each row, its cells between tabs. Neither cuts an id."""
    if not console.is_terminal:
        for row in rows:
            cells = (harmless(" ".join(cell.split())) for cell in row)
            print(*cells, sep="\t", file=console.file)  # rich widens tabs
        return
    table = Table()
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(harmless(cell)) for cell in row))
    console.print(table)
