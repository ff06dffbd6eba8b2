"""What the README claims of names, against the code."""

import os
import re
import subprocess
import sys

import pytest

from runtime.settings import Settings
from scripts.bootstrap import ROOT

README = (ROOT / "README.md").read_text()
DEFAULTS = README[README.index("## Defaults") : README.index("## Change a dependency")]


def test_every_setting_in_the_table_of_defaults_exists() -> None:
    rows = [line for line in DEFAULTS.splitlines() if line.startswith("| ") and "`" in line.rpartition(" | ")[2]]
    context = (ROOT / "infra" / "config.py").read_text()
    for row in rows:
        for name in re.findall(r"`(\w+)`", row.rpartition(" | ")[2]):
            assert name in Settings.model_fields or f'"{name}"' in context, name
    assert len(rows) > 15


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("patience_receives", 7),
        ("deaths_before_withholding", 5),
        ("receipt_life_s", 60 * 86_400),
        ("callback_body_limit_bytes", 4 * 1024 * 1024),
        ("shown_text_chars", 100_000),
        ("inline_bytes", 256 * 1024),
        ("completions_per_slice", 8),
        ("completions_per_input", 40),
        ("tokens_per_day", 20_000_000),
        ("completion_reserve_s", 90),
        ("max_tokens", 8_192),
        ("http_connect_s", 3),
        ("http_total_s", 10),
        ("http_tries", 3),
        ("manifest_refetch_s", 600),
        ("manifest_life_s", 30 * 86_400),
        ("timer_delay_limit_s", 900),
        ("token_life_s", 400 * 86_400),
    ],
)
def test_a_default_is_what_the_table_says(name: str, default: float) -> None:
    assert Settings.model_fields[name].default == default
    assert f"`{name}`" in DEFAULTS


def test_every_command_that_is_named_can_be_run() -> None:
    for name in set(re.findall(r"scripts/(\w+)", README)):
        assert os.access(ROOT / "scripts" / name, os.X_OK), name


def test_every_file_that_is_linked_exists() -> None:
    for path in re.findall(r"\]\(([\w/.]+)\)", README):
        assert (ROOT / path).exists(), path


def test_the_program_that_embeds_agents_runs_as_it_is_printed() -> None:
    section = README[README.index("## Embed it") :]
    embedded, with_bedrock = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    environment = {"PATH": os.environ["PATH"], "AWS_DEFAULT_REGION": "eu-west-1", "PYTHONUTF8": "1"}
    shown = subprocess.run(
        [sys.executable, "-c", embedded + with_bedrock],
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "text It is 21 °C in Oslo." in shown.stdout.splitlines()
    assert "turn_done " in shown.stdout.splitlines()
