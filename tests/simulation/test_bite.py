"""The simulator finds what is broken: each port here breaks one rule, and some run shows it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from runtime.adapters.memory.choices import MemoryChoices
from runtime.adapters.memory.history import MemoryHistory
from runtime.adapters.memory.receipts import MemoryReceipts
from runtime.adapters.memory.timers import MemoryTimers
from runtime.errors import FenceLost
from runtime.model.choices import Choice
from runtime.model.messages import MessageKey
from runtime.model.threads import Commit, Thread, Wanted
from runtime.ports import Mark, Progress, Timer
from scripts.simulation.profile import COMPACTION, FAMILY, WISHES, Profile
from scripts.simulation.system import System
from scripts.simulation.walk import walk

WALKS = 60


class Unfenced(MemoryHistory):
    """Whoever commits, wins."""

    def commit(self, commit: Commit) -> None:
        try:
            super().commit(commit)
        except FenceLost:
            newest = self.load(commit.row.thread_id, Wanted((), (), 0)).row.version
            super().commit(replace(commit, row=replace(commit.row, version=newest + 1), consumed=()))


class WithoutInbox(MemoryHistory):
    """Nobody can tell a repeat."""

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        return replace(super().load(thread_id, wanted), inbox=frozenset())

    def commit(self, commit: Commit) -> None:
        super().commit(replace(commit, consumed=()))


class Lying(MemoryReceipts):
    """Everything was handled before."""

    def read(self, thread_id: str, keys: Sequence[MessageKey]) -> Progress:
        return replace(super().read(thread_id, keys), receipts=dict.fromkeys(keys, ""))


class Hasty(MemoryReceipts):
    """Effects are taken for performed before they are."""

    def read(self, thread_id: str, keys: Sequence[MessageKey]) -> Progress:
        return replace(super().read(thread_id, keys), performed=10_000)


class Immortal(MemoryReceipts):
    """Deaths are not counted."""

    def mark(self, thread_id: str, mark: Mark | None) -> None:  # noqa: ARG002 - it is thrown away
        super().mark(thread_id, None)


class Forgetful(MemoryTimers):
    """Timers never go off, unless they are due at once."""

    def start(self, timer: Timer) -> None:
        super().start(timer)
        self.stop(timer.name)


class Undead(MemoryHistory):
    """Nobody sees that a thread has closed."""

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        thread = super().load(thread_id, wanted)
        return replace(
            thread, row=replace(thread.row, closed=False), family=replace(thread.family, ancestors_open=True)
        )


class Childless(MemoryHistory):
    """Nobody sees that a thread has children."""

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        thread = super().load(thread_id, wanted)
        return replace(thread, family=replace(thread.family, children=()))


class Rootless(MemoryHistory):
    """Nobody sees what a thread has inherited."""

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        thread = super().load(thread_id, wanted)
        own = tuple(entry for entry in thread.entries if entry.position > thread.row.birth.inherited)
        return replace(thread, entries=own)


class WithoutSummaries(MemoryHistory):
    """What a compaction has written is not to be found."""

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        return replace(super().load(thread_id, wanted), summaries={})


class Absent(MemoryChoices):
    """No choice is kept."""

    def get(self, thread_id: str, choice_id: str) -> Choice | None:  # noqa: ARG002 - none is found
        return None


def broken_by(build: Callable[[Profile], System], profile: Profile | None = None) -> Iterator[str]:
    """Give the names of the promises that walks find broken."""
    for seed in range(WALKS):
        violation = walk(seed, build, profile).violation
        if violation is not None:
            yield violation.rule


@pytest.mark.parametrize(
    ("ports", "rule"),
    [
        ({"history": Unfenced}, "every commit builds on the one before"),
        ({"history": WithoutInbox}, "a message is consumed once"),
        ({"receipts": Lying}, "no accepted text is lost"),
        ({"receipts": Hasty}, "no receipt, and no `performed`, while an effect is owed"),
        ({"receipts": Immortal}, "everything comes to rest"),
        ({"timers": Forgetful}, "every sleep ends"),
    ],
)
def test_a_port_that_breaks_a_rule_is_found_out(ports: dict[str, Any], rule: str) -> None:
    assert rule in broken_by(lambda profile: System(profile, **ports))


@pytest.mark.parametrize(
    ("profile", "ports", "rule"),
    [
        (FAMILY, {"history": Undead}, "nothing is added to what is closed"),
        (FAMILY, {"history": Childless}, "a parent knows its open children"),
        (FAMILY, {"history": Rootless}, "what a child inherits never changes"),
        (COMPACTION, {"history": WithoutSummaries}, "a summary comes into use once it is written"),
        (WISHES, {"choices": Absent}, "what was chosen comes to the tool, or its failure is said"),
    ],
)
def test_a_port_that_breaks_a_rule_of_families_or_tools_is_found_out(
    profile: Profile, ports: dict[str, Any], rule: str
) -> None:
    assert rule in broken_by(lambda each: System(each, **ports), profile)
