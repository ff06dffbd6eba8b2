"""The picture of what ran when."""

import io

from rich.console import Console

from scripts.demonstration.timeline import Mark, Scale, Span, draw
from tests.scripts.test_verdicts import BASIC


def test_a_span_fills_the_cells_of_its_time() -> None:
    assert Scale(0, 10, cells=10).lane([Span(2, 4.5)]) == "··███·····"


def test_the_shortest_span_can_be_seen_and_none_leaves_the_lane() -> None:
    assert Scale(0, 10, cells=10).lane([Span(5, 5.001), Span(9.9, 12), Span(-1, 0)]) == "█····█···█"


def test_a_mark_stands_over_what_ran_and_among_what_was_said() -> None:
    assert Scale(0, 10, cells=10).lane([Span(2, 4.5)], [3.5]) == "··█✗█·····"
    picture = io.StringIO()
    Console(width=100, file=picture).print(draw(BASIC, [], 0.0, 100, [Mark(2.2, "process 7 is killed")]))
    assert picture.getvalue().count("✗") == 1
    assert "2.20 s  process 7 is killed" in picture.getvalue()


def test_the_picture_shows_who_ran_and_what_was_said() -> None:
    picture = io.StringIO()
    console = Console(width=100, file=picture)
    console.print(draw(BASIC, [(0.0, "hello"), (1.9, "build")], began_at=0.0, columns=100))
    shown = picture.getvalue()
    assert [word for word in ("3 slice", "1 receiver", "1 tool server", "hello", "9f3c") if word not in shown] == []
    assert shown.index("hello") < shown.index("build") < shown.index("9f3c")
