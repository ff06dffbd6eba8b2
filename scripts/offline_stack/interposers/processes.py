"""Which process is on the other end of a connection on this machine, and how it is killed."""

import os
import signal
import time

import psutil

from scripts.offline_stack.supervisor import ProcessIdentity, StackError, identify, is_running

POLL_S = 0.005
DEATH_PATIENCE_S = 5.0


class Children:
    """The processes that one parent started. The AWS emulator runs every function environment as a child of its own."""

    def __init__(self, parent: ProcessIdentity) -> None:
        self._parent = parent

    def behind(self, client_port: int, server_port: int) -> ProcessIdentity | None:
        """The child that holds the client's side of a connection over 127.0.0.1; None when no child does."""
        for child in psutil.Process(self._parent.pid).children():
            try:
                if _holds(child, client_port, server_port):
                    return identify(child.pid)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue  # it ended while we looked, or was about to
        return None


def _holds(process: psutil.Process, client_port: int, server_port: int) -> bool:
    ends = (client_port, server_port)
    return any(
        bool(each.laddr and each.raddr) and (each.laddr.port, each.raddr.port) == ends
        for each in process.net_connections("tcp")
    )


def kill(process: ProcessIdentity) -> None:
    """Kill this very process, and return when it is gone. A no-op when it is gone already.

    Raises:
        StackError: it outlived SIGKILL by seconds, so whatever was to be shown with it is not shown.
    """
    if is_running(process):
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + DEATH_PATIENCE_S
    while is_running(process):
        if time.monotonic() > deadline:
            raise StackError(f"process {process.pid} is still there {DEATH_PATIENCE_S:.0f} s after SIGKILL.")
        time.sleep(POLL_S)
