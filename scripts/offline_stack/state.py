"""What a running offline stack is made of, kept in one file so that any later command finds it again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from scripts.offline_stack.supervisor import Piece, ProcessIdentity

STATE_FILE = "state.json"


@dataclass(frozen=True, slots=True)
class StackState:
    """Pieces by name in the order they were started, the outputs of the deployed stack, and where the database is."""

    pieces: Mapping[str, Piece] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    database_home: str = ""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the state of the stack in a folder; an empty one where there is none."""
        try:
            saved = json.loads((folder / STATE_FILE).read_text())
        except FileNotFoundError:
            return cls()
        return cls(
            pieces={
                name: Piece(ProcessIdentity(**piece["identity"]), piece["port"])
                for name, piece in saved["pieces"].items()
            },
            outputs=saved["outputs"],
            database_home=saved["database_home"],
        )

    def save(self, folder: Path) -> None:
        """Write it in one step: a reader sees the old state or the new one."""
        target = folder / STATE_FILE
        unfinished = target.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(asdict(self), indent=2))
        unfinished.replace(target)
