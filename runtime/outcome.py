"""What has become of the messages of one delivery."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from runtime.model.calls import AT_WORK_STATES, Call
from runtime.model.messages import Delivery, Message
from runtime.ports import Progress


@dataclass(frozen=True, slots=True)
class SliceResult:
    """`handled` may be deleted from the queue; `returned` come back after `visibility_s`, all at the same time.

    `counted` names what is worth a metric, once per occurrence; `oldest_call_s` is how long the thread has waited for
    the oldest of its calls that a tool is at work on, 0 if there is none.
    """

    handled: tuple[Delivery, ...]
    returned: tuple[Delivery, ...] = ()
    visibility_s: int = 0
    counted: tuple[str, ...] = ()
    oldest_call_s: int = 0

    @classmethod
    def of(
        cls,
        deliveries: Sequence[Delivery],
        progress: Progress,
        messages: Iterable[Message] = (),
        counted: Sequence[str] = (),
    ) -> Self:
        """Return what is handled: what had a receipt before, and these messages. The others come back at once."""
        keys = {*progress.receipts, *(message.key for message in messages)}
        return cls(
            handled=tuple(delivery for delivery in deliveries if delivery.message.key in keys),
            returned=tuple(delivery for delivery in deliveries if delivery.message.key not in keys),
            counted=(*counted, *_other_bodies(deliveries, progress)),
        )

    def waiting_for(self, calls: Iterable[Call], now_ms: int) -> Self:
        """Return this with the age of the oldest of these calls that a tool is at work on."""
        since_ms = [call.committed_ms for call in calls if call.state in AT_WORK_STATES]
        return replace(self, oldest_call_s=max(0, now_ms - min(since_ms)) // 1000) if since_ms else self

    @classmethod
    def later(cls, deliveries: Sequence[Delivery], visibility_s: int, counted: str) -> Self:
        """Return that nothing of this was handled, and all of it comes back after the same time."""
        return cls((), tuple(deliveries), visibility_s, (counted,))


def _other_bodies(deliveries: Sequence[Delivery], progress: Progress) -> list[str]:
    """Return one name per message that repeats an identity with another body: a handled one, or one before it here."""
    first_here = {delivery.message.key: delivery.message.body_hash for delivery in reversed(deliveries)}
    known = {**first_here, **progress.receipts}
    others = [each for each in deliveries if each.message.body_hash != known[each.message.key]]
    return ["repeat_with_another_body"] * len(others)
