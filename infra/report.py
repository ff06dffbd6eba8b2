"""Prints the exceptions that the last synth made to the cdk-nag rules, and how many there are.

`python -m infra.report [cdk.out]`, after `cdk synth` has written its validation report there.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, order=True)
class Acknowledged:
    """A finding that was passed over: the resource's path, the rule with its finding, and the reason given."""

    path: str
    rule: str
    reason: str


def acknowledged(assembly: Path) -> list[Acknowledged]:
    """The findings of every rule pack that were passed over in the assembly that was synthesized into this folder."""
    report = json.loads((assembly / "validation-report.json").read_text())
    return sorted(found for plugin in report["pluginReports"] for found in _of_plugin(plugin))


def _of_plugin(plugin: dict[str, list[dict[str, str]]]) -> Iterator[Acknowledged]:
    for violation in plugin["suppressedViolations"]:
        rule = violation["acknowledgedId"].partition("::")[2]
        yield Acknowledged(violation["acknowledgedAt"], rule, violation["reason"])


def main(assembly: Path) -> None:
    found = acknowledged(assembly)
    lines = [f"{exception.path}\n  {exception.rule}: {exception.reason}" for exception in found]
    sys.stdout.write("\n".join([*lines, f"{len(found)} exceptions to the cdk-nag rules", ""]))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "cdk.out"))
