"""The request log: one JSON line for every conversation request, refused ones included.

A line is ``{requested_at, responded_at, model_id, decision, body}``: times in seconds since 1970, the whole request
body, and what was decided (`answers.noted`, and whether the answer was delivered). It is the evidence of what the
model was shown.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from scripts.offline_stack.model_endpoint.document import JsonObject


@dataclass(frozen=True, slots=True)
class RequestLog:
    """Appends whole lines, also from several threads at once. Without a path it keeps nothing."""

    path: Path | None
    lock: Lock = field(default_factory=Lock)

    def write(self, line: JsonObject) -> None:
        """Append one line, so that a reader at any time sees whole lines, but for the last at most."""
        if self.path is None:
            return
        encoded = json.dumps(line, separators=(",", ":"))
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            file.write(encoded + "\n")
