"""The time in which a stack lives: this machine's, or later by as much as the stack's clock was moved.

It is moved for everything at once and while it runs: the AWS emulator, every function it starts, our pollers, the model
endpoint. So all that goes by the time of day follows in the next moment: what SQS hides, delays, deduplicates and
keeps, when a schedule is due, whether something of ours has expired, and every time that is written into a log. And a
`time.sleep` is over when that much of this time has passed, be it that the clock was moved.

What measures durations does not jump: `time.monotonic`, and every timeout. PostgreSQL's own clock stays, too: nothing
of ours asks it for the time. A function that runs while the clock is moved has used up that much of its own time.

How it reaches a process: by the environment alone, see `moved_time/sitecustomize.py`. How far the clock was moved
stands in a file that all of them read. It never goes back.
"""

import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path

# Python imports `sitecustomize` from there before anything else, in every process that has it on PYTHONPATH.
HOOK = Path(__file__).with_name("moved_time")
FILE_VARIABLE = "OFFLINE_CLOCK"
# How far it was moved, in nanoseconds. As long as a machine word, so no reader ever sees half of it.
SHIFT = struct.Struct("=q")
NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class StackClock:
    """The clock of the stack that keeps it in `file`. Safe to use from any process; only one may move it at a time."""

    file: Path

    def environment(self) -> dict[str, str]:
        """Give the variables with which a Python process lives by this clock from its start.

        Makes the file, not moved at all, where there is none.
        """
        if not self.file.exists():
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_bytes(SHIFT.pack(0))
        return {"PYTHONPATH": str(HOOK), FILE_VARIABLE: str(self.file.absolute())}

    @property
    def moved_s(self) -> float:
        """How far it was moved in all; 0 where there is no stack."""
        return self._moved_ns() / NS_PER_S

    def now(self) -> float:
        """The stack's time in epoch seconds: to be compared with what its logs and queues say."""
        return (time.time_ns() + self._moved_ns()) / NS_PER_S

    def move(self, seconds: float) -> None:
        """Move it forward. When this returns, every process of the stack reads the later time.

        Raises:
            ValueError: backward; deduplication, delays and receipts would mean nothing any more.
        """
        if seconds < 0:
            raise ValueError(f"The stack's clock cannot go back by {-seconds:g} s: take the stack down and up again.")
        later = SHIFT.pack(self._moved_ns() + round(seconds * NS_PER_S))
        # Never cut short on the way: the processes have it mapped into their memory.
        descriptor = os.open(self.file, os.O_WRONLY)
        try:
            os.pwrite(descriptor, later, 0)
        finally:
            os.close(descriptor)

    def _moved_ns(self) -> int:
        try:
            moved_ns: int = SHIFT.unpack(self.file.read_bytes())[0]
        except FileNotFoundError:
            return 0
        return moved_ns
