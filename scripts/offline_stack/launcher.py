"""Become another program, after the two things that must happen inside the new process.

usage: python -I -S launcher.py [--user NAME] [--with-parent PID] -- COMMAND …

--user NAME        drop from root to that user first (PostgreSQL refuses to run as root).
--with-parent PID  be told to stop when the parent dies, even when it was killed (Linux; elsewhere without effect).

Only the standard library, no package of ours: it starts in a few milliseconds, and under a user who may read nothing.
"""

import argparse
import ctypes
import os
import pwd
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def drop_to(user_name: str) -> None:
    user = pwd.getpwnam(user_name)
    os.initgroups(user.pw_name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


def die_with(parent_pid: int) -> None:
    # After the change of user, which resets this setting.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent_pid:
        sys.exit("the parent is gone already")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--user")
    parser.add_argument("--with-parent", type=int)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    if arguments.user:
        drop_to(arguments.user)
    if arguments.with_parent:
        die_with(arguments.with_parent)
    os.execvp(arguments.command[0], arguments.command)  # noqa: S606 - replacing itself is what it is for


if __name__ == "__main__":
    main()
