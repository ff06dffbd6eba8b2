"""Where a load test runs: a stack on this machine, whose logs tell more, or one in an account."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scripts.commands.target import Target, TargetError, offline_target
from scripts.demonstration.deliveries import Delivery, read_deliveries
from scripts.demonstration.evidence import read_invocations
from scripts.load_testing.figures import Interval, Observed, united
from scripts.load_testing.plan import Plan
from scripts.offline_stack.stack import OfflineStack
from scripts.storming.account import count_waiting, wait_until_handled

# Each read has to pass these by before it finds its own, and that time is in the figures: see `commands.outputs`.
MOST_FOREIGN = 100
SETTLING_S = 30.0
DEAD_LETTERS = "InputDeadLetterQueueUrl"


@dataclass(frozen=True, slots=True)
class Pace:
    """How outputs are read: by so many readers side by side. After `quiet_s` without any, none is expected any more.

    SQS may hold each read for `wait_s`, and a reader that found nothing rests for `pause_s`.
    """

    readers: int
    wait_s: int
    pause_s: float
    quiet_s: float


# The emulator's own waiting steps by 100 ms, and more readers would only take the processors from the functions.
OFFLINE_PACE = Pace(readers=1, wait_s=0, pause_s=0.05, quiet_s=0.5)
DEPLOYED_PACE = Pace(readers=4, wait_s=1, pause_s=0.0, quiet_s=3.0)


@dataclass(frozen=True, slots=True)
class Site:
    """A deployment. `now`: its time in epoch seconds.

    `settle` returns when what was sent is handled, as far as that can be known from here. `observe` tells what the
    deployment knows of a plan that began at that time. `rest` lets so many seconds pass.
    """

    target: Target
    pace: Pace
    now: Callable[[], float]
    settle: Callable[[], object]
    observe: Callable[[Plan, float], Observed]
    rest: Callable[[float], None] = time.sleep


def offline_site(stack: OfflineStack) -> Site:
    """A stack on this machine. Raises: TargetError when it is not up."""
    target = offline_target(stack)
    dead_before = _dead_letters(target)
    return Site(
        target=target,
        pace=OFFLINE_PACE,
        now=stack.now,
        settle=lambda: wait_until_handled(stack, target, SETTLING_S),
        observe=lambda plan, since: _observe_offline(stack, target, plan, since, dead_before),
    )


def deployed_site(target: Target) -> Site:
    """A stack in an account: what its queues tell. Others may use it, so nobody can wait until it is idle."""
    dead_before = _dead_letters(target)
    return Site(
        target=target,
        pace=DEPLOYED_PACE,
        now=time.time,
        settle=lambda: None,
        observe=lambda _plan, _since: Observed(dead_letters=_dead_since(dead_before, target)),
    )


def require_room(target: Target, most_foreign: int, remedy: str) -> None:
    """Refuse an output queue on which too many outputs of others lie, or are being read. Raises: TargetError."""
    lying = count_waiting(target.sqs, target.output_queue_url)
    if lying > most_foreign:
        raise TargetError(f"{lying} outputs of others lie on the output queue, or somebody is reading them: {remedy}")


def _observe_offline(stack: OfflineStack, target: Target, plan: Plan, since: float, dead_before: int) -> Observed:
    function, threads = stack.outputs["SliceFunctionName"], frozenset(plan.thread_ids)
    deliveries = [each for each in read_deliveries(stack.delivery_log_path, function, since) if each.group in threads]
    slices = read_invocations(stack.invocation_log_path, {function: "slice"}, since)
    return Observed(
        dead_letters=_dead_since(dead_before, target),
        in_slices=held_groups(deliveries),
        slices=[(each.opened_at, each.closed_at) for each in slices],
        cold_starts=sum(each.cold for each in slices),
        receives=by_receives(deliveries),
        left=count_waiting(target.sqs, target.input_queue_url),
    )


def held_groups(deliveries: Iterable[Delivery]) -> list[Interval]:
    """Return when each group was given out. A group is never counted twice at once.

    The log says that a batch is settled a little after the queue has given out the group's next message.
    """
    by_group: dict[str, list[Interval]] = {}
    for each in deliveries:
        by_group.setdefault(each.group, []).append((each.delivered_at, each.settled_at))
    return [interval for intervals in by_group.values() for interval in united(intervals)]


def by_receives(deliveries: Iterable[Delivery]) -> dict[int, int]:
    """Return how many messages were given out how often."""
    most: dict[str, int] = {}
    for each in deliveries:
        most[each.message_id] = max(each.receives, most.get(each.message_id, 0))
    return dict(sorted(Counter(most.values()).items()))


def _dead_since(before: int, target: Target) -> int:
    return max(0, _dead_letters(target) - before)  # somebody may have put older ones back


def _dead_letters(target: Target) -> int:
    return count_waiting(target.sqs, target.outputs[DEAD_LETTERS])
