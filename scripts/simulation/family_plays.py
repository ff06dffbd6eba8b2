"""Small scenarios of threads that begin, tell each other things, and end; and of what tools say by themselves."""

from collections.abc import Callable, Mapping

from scripts.simulation.profile import Profile
from scripts.simulation.staging import Moves, Play, handle, speak
from scripts.simulation.world import Move, World

_ONE_BY_ONE = Profile(batch=1)
_PLACED_TOGETHER = Profile(settings={"live_children": 0})


def _with_child(world: World) -> Moves:
    yield from speak(world)
    yield from handle(world, "spawns")


def _with_silent_child(world: World) -> Moves:
    yield from _with_child(world)
    yield from handle(world, "says")  # and, asked for a report, says it again


def _with_quiet_child(world: World) -> Moves:
    yield from _with_silent_child(world)
    yield from handle(world, "says")


def _told(world: World) -> Moves:
    yield from _with_quiet_child(world)
    yield from speak(world)


def _closed_before_it_heard(world: World) -> Moves:
    yield from _told(world)
    yield Move("child 0", "is spoken to")
    yield from handle(world, "tells a child")
    yield from handle(world, "closes")


def _with_grandchild_at_work(world: World) -> Moves:
    yield from _with_child(world)
    yield from handle(world, "spawns")
    yield from handle(world, "builds")
    yield from handle(world, "says")
    yield Move("child 0", "is spoken to")


def _subscribed(world: World) -> Moves:
    yield from speak(world)
    yield from handle(world, "builds")
    yield Move("tool 0", "answers and goes on")
    yield from handle(world, "says")


def _then(before: Callable[[World], Moves], *moves: Move) -> Callable[[World], Moves]:
    def prelude(world: World) -> Moves:
        yield from before(world)
        yield from moves

    return prelude


def _called(world: World, turn: str = "builds") -> Moves:
    yield from speak(world)
    yield from handle(world, turn)


def _with_child_for_an_event(world: World) -> Moves:
    yield from _then(_subscribed, Move("tool 0", "fires"))(world)
    yield from handle(world, "says")


def _with_subscription_of_its_own(world: World) -> Moves:
    yield from _with_child_for_an_event(world)
    yield from handle(world, "builds")
    yield Move("tool 1", "answers and goes on")
    yield from handle(world, "says")
    yield Move("tool 1", "fires for the last time")


def _talked(world: World) -> Moves:
    yield from speak(world)
    yield from handle(world, "says")
    yield from speak(world)


def _compacting(world: World) -> Moves:
    yield from _talked(world)
    yield from handle(world, "reads much")


def _compacting_what_is_too_long(world: World) -> Moves:
    yield from _talked(world)
    yield from handle(world, "finds it too long")


def _summarised(world: World) -> Moves:
    yield from _compacting_what_is_too_long(world)
    yield from handle(world, "says")


def _not_summarised(world: World) -> Moves:
    yield from _compacting_what_is_too_long(world)
    yield from handle(world, "refuses for no reason")


def _asked(world: World) -> Moves:
    yield from _called(world)
    yield Move("tool 0", "asks for a choice")
    yield from handle(world, "says")


def _asked_by_what_can_be_cancelled(world: World) -> Moves:
    yield from _called(world, "deploys")
    yield Move("tool 0", "asks for a choice")
    yield from handle(world, "says")
    yield from speak(world)


FAMILY_PLAYS: Mapping[str, Play] = {
    "spawn": Play(speak, "spawns"),
    "spawn afresh": Play(speak, "spawns afresh"),
    "a child begins": Play(_with_child, "says"),
    "a child reports": Play(_with_child, "reports"),
    "a child closes": Play(_with_child, "closes with a report"),
    "a report arrives": Play(_with_silent_child, "says"),
    "a child is told": Play(_told, "tells a child"),
    "bounce": Play(_closed_before_it_heard, "says", _ONE_BY_ONE),
    "a parent closes": Play(_with_grandchild_at_work, "closes", _ONE_BY_ONE),
    "confirmation": Play(_then(_called, Move("tool 0", "answers and goes on")), "says"),
    "event": Play(_then(_subscribed, Move("tool 0", "fires")), "says"),
    "event in the thread": Play(_then(_subscribed, Move("tool 0", "fires into the thread")), "says"),
    "event without a place": Play(_then(_subscribed, Move("tool 0", "fires")), "says", _PLACED_TOGETHER),
    "early event": Play(_then(_called, Move("tool 0", "fires")), "says"),
    "last event": Play(_then(_subscribed, Move("tool 0", "fires for the last time")), "says"),
    "a thread for an event": Play(_with_child_for_an_event, "builds"),
    "a thread for an event closes": Play(_with_child_for_an_event, "says"),
    "the last event for a thread for an event": Play(_with_subscription_of_its_own, "says"),
    "compaction": Play(_talked, "reads much"),
    "too long": Play(_talked, "finds it too long"),
    "a summary is written": Play(_compacting_what_is_too_long, "says"),
    "no summary is written": Play(_compacting, "refuses for no reason"),
    "a summary comes into use": Play(_summarised, "says"),
    "a compaction has failed": Play(_not_summarised, "says"),
    "a choice": Play(_then(_called, Move("tool 0", "asks for a choice")), "says"),
    "a choice is made": Play(_then(_asked, Move("choice 0", "is made")), "says"),
    "a choice is taken back": Play(_asked_by_what_can_be_cancelled, "says"),
}
