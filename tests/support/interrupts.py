"""Interrupts, for tests that may run where a shell ignores them: in the background, as in some build services."""

import sys
from collections.abc import Sequence

# In the new process itself: between a fork and an exec, a process with threads may do next to nothing.
_HEEDING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


def heeding_interrupts(command: Sequence[str]) -> list[str]:
    """Return the command as one whose program takes interrupts as it would in the foreground."""
    return [sys.executable, "-S", "-c", _HEEDING, *command]
