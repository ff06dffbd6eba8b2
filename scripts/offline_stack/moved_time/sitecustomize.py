"""Makes the process that it is imported by live in the time of a stack: see `scripts.offline_stack.clock`.

Python imports a module of this name by itself at its start (documented in the standard library's `site`). It knows
nothing of this project but two facts of `clock`, since the functions' processes see only their own code.
"""

import mmap
import os
import struct
import sys
import time

FILE_VARIABLE = "OFFLINE_CLOCK"
# How soon a sleep notices that the clock was moved.
NAP_S = 0.02
NS_PER_S = 1_000_000_000


def live_in_stack_time(path: str) -> None:
    """Have `time` and `datetime` tell the stack's time from now on, to callers of any kind, and sleeps last by it."""
    # Its pytest plugin is of no use here, and would cost every function's cold start the import of pytest.
    sys.modules["pytest"] = None  # type: ignore[assignment]
    import time_machine

    del sys.modules["pytest"]
    machine_time_ns = time_machine.escape_hatch.time.time_ns
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib is not needed by every function
        shift = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    moved_ns = struct.Struct("=q").unpack_from

    class StackTime(time_machine.Traveller):
        def time_ns(self) -> int:
            moved: int = moved_ns(shift)[0]
            return machine_time_ns() + moved

    time_machine.travel(0).start()
    time_machine.traveller_stack[-1] = StackTime(0, None, tick=True)

    machine_sleep = time.sleep

    def sleep(seconds: float) -> None:
        if seconds <= NAP_S:
            machine_sleep(seconds)
            return
        ends_at, moved_before = time.monotonic() + seconds, moved_ns(shift)[0]
        while (left := ends_at - time.monotonic() - (moved_ns(shift)[0] - moved_before) / NS_PER_S) > 0:
            machine_sleep(min(left, NAP_S))

    time.sleep = sleep  # type: ignore[assignment]  # nothing sleeps for a SupportsIndex


if FILE_VARIABLE in os.environ:
    live_in_stack_time(os.environ[FILE_VARIABLE])
