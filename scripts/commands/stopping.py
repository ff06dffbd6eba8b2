"""Lets a command that is told to stop clean up as if it had failed: whatever it started is stopped, nothing is left."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# From the keyboard, from another program, from a terminal that closes.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """Somebody wants the command to end. No Exception: what goes on after a failure may not go on after this."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def status(self) -> int:
        """The exit status that shells report for a program which a signal has ended: 130 for Ctrl-C, 143 for TERM."""
        return 128 + self.number


@contextmanager
def stoppable() -> Iterator[None]:
    """Have the first stop signal raise `Stopped` here; those that follow do not disturb the cleaning up.

    A signal that this process was started to ignore (`nohup`) stays ignored. Main thread only.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in caught:
            signal.signal(each, _not_again)  # a handler, for what is merely ignored would be ignored by children, too
        raise Stopped(number)

    caught = {each: signal.getsignal(each) for each in STOP_SIGNALS if signal.getsignal(each) != signal.SIG_IGN}
    for each in caught:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each, before in caught.items():
            signal.signal(each, before)


def _not_again(_number: int, _frame: FrameType | None) -> None:
    """The command is stopping already."""
