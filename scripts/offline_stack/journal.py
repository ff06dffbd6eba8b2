"""Append-only logs of JSON lines: what the stack saw, for people and for checks that need evidence."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path


class Journal:
    """One log. Each line has `time` (epoch seconds, by `now`) and `what`; lines of several threads never mix."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.now = now

    def write(self, what: str, **fields: object) -> None:
        line = json.dumps({"time": round(self.now(), 4), "what": what, **fields}) + "\n"
        # One write to a file opened for appending is atomic on a local file system: no lock, no line cut in two.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
