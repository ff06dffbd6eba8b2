"""How much of everything: each limit is answered by a result or an output that says so, never by a hang."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`item_chars` and `message_bytes`: how much of one message enters history; of each item, and of all together.

    The others count what is open at a time: ancestors of a thread, its children and subscriptions, threads of a tree.
    """

    item_chars: int
    message_bytes: int
    thread_depth: int
    live_children: int
    live_subscriptions: int
    open_threads: int
