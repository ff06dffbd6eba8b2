"""Texts of others on a terminal."""

import pytest

from scripts.commands.terminal import harmless


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Grüße, 中 🙂 — …", "Grüße, 中 🙂 — …"),
        ("one\ttwo\nthree", "one\ttwo\nthree"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("over\rwritten\b\x7f", "over␍written␈␡"),
        ("\x9b2J\x85", "\ufffd2J\ufffd"),
        ("\u202eexe.gnp\u2069", "\ufffdexe.gnp\ufffd"),
        ("\u2028\ud800", "\ufffd\ufffd"),
    ],
    ids=["what people write", "lines and tabs", "a title", "overwriting", "8-bit", "direction", "not encodable"],
)
def test_what_controls_a_terminal_is_shown_and_not_done(said: str, shown: str) -> None:
    assert harmless(said) == shown
