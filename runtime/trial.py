"""Messages and effects that end the process. Only deaths count, never receives, which rise for innocents, too.

From the third receive on a slice writes, before it acts, a mark naming what it is about to try; whoever ends alive
clears it. So a mark that is found counts processes that died on exactly this.
"""

from dataclasses import dataclass
from typing import Literal

from runtime.effects import Effect, HandOver, SendUndelivered
from runtime.model.messages import Delivery, MessageKey
from runtime.ports import Mark
from runtime.settings import Settings

Verdict = Literal["try everything", "try this effect alone", "try this message alone", "withhold this message"]


@dataclass(frozen=True, slots=True)
class Case:
    """What this attempt may try. `mark` is to be written before anything is tried."""

    verdict: Verdict
    effects: tuple[Effect, ...]
    deliveries: tuple[Delivery, ...]
    mark: Mark | None = None


def open_case(
    effects: tuple[Effect, ...],
    deliveries: tuple[Delivery, ...],
    repeats: frozenset[MessageKey],
    found: Mark | None,
    settings: Settings,
) -> Case:
    """Return everything on the first receives; later, after a death, the one suspect alone.

    The suspect is the first effect that is owed, else the first message, which is what the dead process tried first.
    """
    everything = Case("try everything", effects, deliveries)
    owed = [effect for effect in effects if effect.position > 0]
    if max(delivery.receive_count for delivery in deliveries) < settings.mark_from_receive:
        return everything
    if not owed and repeats:
        return everything  # a repeat is handed over; nothing of it is tried again
    subject = f"entry:{owed[0].position}" if owed else _named(deliveries[0].message.key)
    deaths = found.deaths if found is not None and found.subject == subject else 0
    mark, condemned = Mark(subject, deaths + 1), deaths >= settings.deaths_before_withholding
    if deaths == 0:
        return Case("try everything", effects, deliveries, mark)
    if owed:
        suspects = tuple(effect for effect in owed if effect.position == owed[0].position)
        return Case("try this effect alone", _replaced(suspects) if condemned else suspects, (), mark)
    verdict: Verdict = "withhold this message" if condemned else "try this message alone"
    return Case(verdict, effects, deliveries[:1], mark)


def _replaced(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """Return the effects with a hand-over replaced. Nothing else is: a send that is replaced loses its message."""
    return tuple(
        SendUndelivered(effect.position, effect.call, "Handing over this call ended the process several times.")
        if isinstance(effect, HandOver)
        else effect
        for effect in effects
    )


def _named(key: MessageKey) -> str:
    return f"message:{key.type}:{key.message_id}"
