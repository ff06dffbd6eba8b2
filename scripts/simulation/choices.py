"""What can happen next."""

from collections.abc import Iterator
from dataclasses import dataclass

from runtime.model.calls import ASKING_STATES
from scripts.simulation.answers import HUGE, REFUSED, SAID_BADLY, kills, shows
from scripts.simulation.outcomes import DEATHS, OUTCOMES
from scripts.simulation.process import Call, Process
from scripts.simulation.profile import Fault
from scripts.simulation.tools import EVENTS, WISHES
from scripts.simulation.turns import TURNS
from scripts.simulation.world import Move, World


@dataclass(frozen=True, slots=True)
class Choice:
    """A move that is possible now; `fault` is what it costs, None if it is the ordinary course of things."""

    move: Move
    fault: Fault | None = None


def choices(world: World) -> Iterator[Choice]:
    for process in world.alive:
        yield from _of_process(world, process)
    yield from _of_queue(world)
    yield from _of_people(world)
    yield from _of_tools(world)
    if _affords(world, "model"):
        yield Choice(Move("model", "comes back" if world.outcomes.model_is_away else "goes away"), "model")
    yield from (Choice(Move(f"commit {index}", "lands")) for index in range(len(world.late)))


def _of_process(world: World, process: Process) -> Iterator[Choice]:
    call = process.call
    assert call is not None
    if kills(call):
        yield Choice(Move(process.name, "dies before"))
        return
    yield Choice(Move(process.name, "ok"))
    if call.name == "model.complete" and world.turns and not _is_refused(call):
        yield from (Choice(Move(process.name, turn)) for turn in _turns(world, process.thread_id))
    for outcome, fault in (*DEATHS, *OUTCOMES.get(call.name, ())):
        if _affords(world, fault):
            yield Choice(Move(process.name, outcome), fault)


def _turns(world: World, thread_id: str) -> Iterator[str]:
    """Yield the turns that make sense here, or are mistakes worth making."""
    profile, own = world.system.profile, world.system.ledger.conversation(thread_id)
    pointless = {
        "explodes": not profile.poisons,
        "closes": not own.birth.lineage,
        "closes with a report": not own.birth.lineage,
        "tells a child": not own.children,
        "unsubscribes": all(call.state != "subscribed" for call in own.calls.values()),
    }
    for turn, ground in TURNS.items():
        if not pointless.get(turn) and (ground is None or ground in profile.grounds):
            yield turn


def _of_queue(world: World) -> Iterator[Choice]:
    now_ms = world.system.clock.now_ms()
    visible_ms = world.system.inputs.next_visible_ms()
    if visible_ms is not None and visible_ms <= now_ms and len(world.alive) < world.system.profile.processes:
        yield Choice(Move(f"P{world.started + 1}", "receives"))
    due_ms = world.system.timers.next_due_ms()
    if due_ms is not None and due_ms <= now_ms:
        yield Choice(Move("timers", "go off"))
    later = [at_ms for at_ms in (visible_ms, due_ms) if at_ms is not None and at_ms > now_ms]
    if later and (not world.alive or _affords(world, "expiry")):
        yield Choice(Move("time", "passes"), "expiry" if world.alive else None)
    if _affords(world, "resend") and (not world.alive or "expiry" in world.system.profile.faults):
        yield Choice(Move("time", "makes the queue forget"), "resend")
        yield Choice(Move("time", "makes receipts expire"), "resend")
    if len(world.system.dead_letters):
        yield Choice(Move("letters", "are put back"))


def _of_people(world: World) -> Iterator[Choice]:
    if world.texts:
        for thread_id in (*world.system.profile.threads, *world.children):
            yield Choice(Move(thread_id, "is spoken to"))
            yield Choice(Move(thread_id, "is spoken to without an id"))
            if world.system.profile.poisons > _poisons(world):
                yield from (Choice(Move(thread_id, f"is told {word}")) for word in SAID_BADLY)
    if _affords(world, "resend"):
        yield from (
            Choice(Move(f"text {index}", "is said again"), "resend")
            for index, spoken in enumerate(world.said)
            if spoken.message_id is not None
        )
    if _affords(world, "bad"):
        yield from (Choice(Move(thread_id, "is sent nonsense"), "bad") for thread_id in world.system.profile.threads)
    yield from _of_choosers(world)


def _of_choosers(world: World) -> Iterator[Choice]:
    for index, choice in enumerate(world.system.ledger.shown_choices):
        if choice.choice_id not in world.answered:
            yield from (Choice(Move(f"choice {index}", how)) for how in ("is made", "is made badly"))
        elif _affords(world, "resend"):
            yield Choice(Move(f"choice {index}", "is made once more"), "resend")


def _of_tools(world: World) -> Iterator[Choice]:
    grounds = world.system.profile.grounds
    words = [*(EVENTS if "subscriptions" in grounds else ()), *(WISHES if "wishes" in grounds else ())]
    for index, taken in enumerate(world.system.tools.taken.values()):
        conversation = world.system.ledger.conversation(taken.thread_id)
        is_over = conversation.closed or conversation.calls[taken.call_id].state not in ASKING_STATES
        if world.events and (not is_over or _affords(world, "answer")):
            fault: Fault | None = "answer" if is_over else None
            yield from (Choice(Move(f"tool {index}", word), fault) for word in words)
        if taken.words and _affords(world, "answer"):
            yield Choice(Move(f"tool {index}", "says that again"), "answer")
        if not taken.answers:
            yield Choice(Move(f"tool {index}", "answers"))
            yield Choice(Move(f"tool {index}", "answers at length"))
            yield Choice(Move(f"tool {index}", "answers and goes on"))
        elif _affords(world, "answer"):
            yield Choice(Move(f"tool {index}", "answers"), "answer")
            yield Choice(Move(f"tool {index}", "answers as before"), "answer")
    if _affords(world, "timer"):
        timers = range(len(world.system.ledger.timers))
        yield from (Choice(Move(f"timer {index}", "goes off"), "timer") for index in timers)


def _affords(world: World, fault: Fault) -> bool:
    return world.faults.get(fault, 0) > 0


def _poisons(world: World) -> int:
    return sum(word in spoken.text for spoken in world.said for word in SAID_BADLY)


def _is_refused(call: Call) -> bool:
    return shows(call.arguments[0], REFUSED) or shows(call.arguments[0], HUGE)
