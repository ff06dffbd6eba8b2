"""What an outage left behind, and what it says of each message: how often it was tried, when, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from scripts.commands.outputs import Output
from scripts.demonstration.deliveries import Delivery
from scripts.demonstration.talks import Talk


@dataclass(frozen=True, slots=True)
class Said:
    """A text, without its script, and the id that the queue gave it. `at` in epoch seconds of the stack."""

    name: str
    words: str
    message_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Outage:
    """The model was away from `gone_at` until `back_at`. `talks` by name, `deliveries` of the slice's queue."""

    gone_at: float
    back_at: float
    said: Sequence[Said]
    talks: Mapping[str, Talk]
    deliveries: Sequence[Delivery]
    dead_letters: int
    timers_left: int

    def of_talk(self, name: str) -> list[Delivery]:
        return [delivery for delivery in self.deliveries if delivery.group == self.talks[name].thread_id]

    def came_late(self, name: str) -> int:
        """How many messages that no user had said came when everything was answered."""
        done_at = max((each.sent_at for each in self.talks[name].outputs if each.type == "turn_done"), default=inf)
        return sum(tries[0].delivered_at > done_at for tries in self.unasked(name).values())

    def unasked(self, name: str) -> dict[str, list[Delivery]]:
        """By message id, what came in a conversation that no user had said: results, and the runtime's own wakes."""
        texts = {said.message_id for said in self.said}
        found: dict[str, list[Delivery]] = {}
        for delivery in self.of_talk(name):
            if delivery.message_id not in texts:
                found.setdefault(delivery.message_id, []).append(delivery)
        return found


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a message. Times in epoch seconds of the stack; None for what never happened.

    `committed_at`: the queue was rid of it. `answered_by`: what had brought the thread back when it was answered.
    """

    name: str
    words: str
    said_at: float
    receives: int
    first_tried_at: float | None
    committed_at: float | None
    answered_at: float | None
    answered_by: str
    errors: Sequence[str]

    def row(self, since: float) -> dict[str, object]:
        """The fields of --json; times in seconds since `since`."""

        def after(moment: float | None) -> float | None:
            return None if moment is None else round(moment - since, 1)

        return {
            "conversation": self.name,
            "message": self.words,
            "said_s": after(self.said_at),
            "first_tried_s": after(self.first_tried_at),
            "receives": self.receives,
            "committed_s": after(self.committed_at),
            "answered_s": after(self.answered_at),
            "answered_by": self.answered_by,
            "errors": list(self.errors),
        }


def fates(outage: Outage) -> list[Fate]:
    """One of each text, and of each result that came for a call."""
    return [
        *(_fate_of_text(said, outage) for said in outage.said if not outage.talks[said.name].calls),
        *_of_results(outage),
    ]


def _fate_of_text(said: Said, outage: Outage) -> Fate:
    tries = [delivery for delivery in outage.of_talk(said.name) if delivery.message_id == said.message_id]
    return _fate(said.name, said.words, said.at, f'"{said.words}"', tries, outage)


def _of_results(outage: Outage) -> list[Fate]:
    """A result is the first thing in its conversation that nobody had said; its text is what the answer quotes."""
    found = []
    for name, talk in outage.talks.items():
        results = [entry.text for entry in talk.entries if entry.kind == "tool_result"]
        tries = next(iter(outage.unasked(name).values()), [])
        if talk.calls and results and tries:
            found.append(_fate(name, "(the build's result)", tries[0].delivered_at, results[-1], tries, outage))
    return found


def _fate(name: str, words: str, said_at: float, quote: str, tries: Sequence[Delivery], outage: Outage) -> Fate:
    talk = outage.talks[name]
    answer = next((each for each in talk.outputs if each.type == "text" and quote in each.text_of("text")), None)
    until = answer.sent_at if answer else inf
    return Fate(
        name=name,
        words=words,
        said_at=said_at,
        receives=max((each.receives for each in tries), default=0),
        first_tried_at=tries[0].delivered_at if tries else None,
        committed_at=next((each.settled_at for each in tries if each.handled), None),
        answered_at=answer.sent_at if answer else None,
        answered_by=_answered_by(answer, tries, outage.of_talk(name)),
        errors=[each.text_of("code") for each in talk.errors if said_at <= each.sent_at <= until],
    )


def _answered_by(answer: Output | None, tries: Sequence[Delivery], all_tries: Sequence[Delivery]) -> str:
    if answer is None:
        return "nothing"
    at_it = [each for each in all_tries if each.delivered_at <= answer.sent_at <= each.settled_at + 1]
    if any(each in tries for each in at_it):
        return "the queue's return"
    return "a wake timer" if at_it else "nobody knows"
