"""Endpoints of ours between the slice function and everything it talks to: they see each exchange, and may kill.

The function is led to them by its configuration alone; there is nothing in it for them. Each of them passes bytes on,
writes what passes by into a log, and at a chosen moment holds the request or the answer and kills the process on the
other end of the connection, as a crash would have it: with SIGKILL, so that nothing can be put in order first.
"""
