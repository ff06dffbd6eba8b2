"""Interrupts, for tests that may run where a shell ignores them: in the background, as in some build services."""

import signal


def heed_interrupts() -> None:
    """Take interrupts as a program in the foreground does. For a process that is about to become another program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
