"""Reading single values from CDK context, with errors that name the value and say what is accepted.

The command line (`-c name=value`) gives only strings, cdk.json gives JSON: a number, a flag or a list may come either
way and reads the same.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

# The CDK keeps keys of its own beside ours; they all hold a colon, a hyphen, a slash or an at sign.
OUR_NAMES = re.compile(r"[a-z][a-z0-9_]*")


class ConfigError(ValueError):
    """A context value that no deployment could work with. The message names it and says what is accepted."""


@dataclass(frozen=True, slots=True)
class Context:
    """The values given for one deployment, by name; it remembers which names were asked for."""

    values: Mapping[str, object]
    asked: set[str] = field(default_factory=set)

    def refuse_unasked(self) -> None:
        """Refuse a name that nothing reads: it is a typing error, and ignoring it would deploy something else."""
        unknown = sorted(name for name in self.values if OUR_NAMES.fullmatch(name) and name not in self.asked)
        if unknown:
            raise ConfigError(f"unknown context {', '.join(unknown)}; known are {', '.join(sorted(self.asked))}")

    def text(self, name: str, default: str) -> str:
        return self.optional_text(name) or default

    def optional_text(self, name: str) -> str | None:
        """The text, or None where it is not given or empty."""
        value = self._given(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise ConfigError(f"{name} must be a text, not {value!r}")
        return value

    def choice(self, name: str, default: str, among: tuple[str, ...]) -> str:
        value = self.text(name, default)
        if value not in among:
            raise ConfigError(f"{name} must be one of {', '.join(among)}, not {value!r}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._json(name, default)
        if not isinstance(value, bool):
            raise ConfigError(f"{name} must be true or false, not {value!r}")
        return value

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number from `least` to `most`, both included."""
        value = self._json(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"{name} must be a whole number from {least:,} to {most:,}, not {value!r}")
        return value

    def items(self, name: str) -> list[object]:
        """A JSON list; empty where it is not given."""
        value = self._json(name, [])
        if not isinstance(value, list):
            raise ConfigError(f"{name} must be a JSON list, not {value!r}")
        return value

    def table(self, name: str) -> dict[str, object]:
        """A JSON object; empty where it is not given."""
        value = self._json(name, {})
        if not isinstance(value, dict):
            raise ConfigError(f"{name} must be a JSON object, not {value!r}")
        return value

    def _json(self, name: str, default: object) -> object:
        value = self._given(name)
        if not isinstance(value, str):
            return default if value is None else value
        try:
            decoded: object = json.loads(value)
        except json.JSONDecodeError:
            return value
        return decoded

    def _given(self, name: str) -> object:
        self.asked.add(name)
        return self.values.get(name)
