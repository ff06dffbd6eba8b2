"""What a storm left behind, counted from rows and messages alone. Nothing here calls anything."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scripts.commands.outputs import Output
from scripts.demonstration.evidence import StoredEntry

WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class Losses:
    """What became of the texts of one thread, or of all. Everything but `texts` and `answers` must be 0.

    lost: said, and not in history. doubled: in history more than once. out_of_order: in history before a text that was
    said earlier. unanswered: no later answer quotes it. answered_twice: more than one does. unsent: an answer that did
    not come out as an output, or not in its place. withheld: kept from the model, as the cause of deaths. strange: an
    entry that nobody asked for.
    """

    texts: int = 0
    answers: int = 0
    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    unanswered: int = 0
    answered_twice: int = 0
    unsent: int = 0
    withheld: int = 0
    strange: int = 0

    def __add__(self, other: "Losses") -> "Losses":
        return Losses(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def none(self) -> bool:
        return self == Losses(texts=self.texts, answers=self.answers)


def count_losses(said: Sequence[str], entries: Sequence[StoredEntry], outputs: Iterable[Output]) -> Losses:
    """Compare what a user said in a thread with the thread's history, and that with what its reader saw.

    The scripted model quotes every text that it answers.
    """
    withheld = [entry for entry in entries if entry.kind == WITHHELD]
    stored = [entry.text for entry in entries if entry.kind in ("user", WITHHELD)]
    answers = [entry for entry in entries if entry.kind == "assistant"]
    seen = [output.text_of("text") for output in outputs if output.type == "text"]
    times = Counter(stored)
    quoted = {text: _times_quoted(text, entries) for text in said}
    return Losses(
        texts=len(said),
        answers=len(answers),
        lost=sum(times[text] == 0 for text in said),
        doubled=sum(max(0, times[text] - 1) for text in said),
        out_of_order=out_of_order(said, stored),
        unanswered=sum(number == 0 for number in quoted.values()),
        answered_twice=sum(number > 1 for number in quoted.values()),
        unsent=_differences([entry.text for entry in answers], seen),
        withheld=len(withheld),
        strange=len(entries) - len(stored) - len(answers) + sum(text not in said for text in stored),
    )


def _times_quoted(text: str, entries: Sequence[StoredEntry]) -> int:
    positions = [entry.position for entry in entries if entry.kind == "user" and entry.text == text]
    after = positions[0] if positions else 0
    return sum(f'"{text}"' in entry.text for entry in entries if entry.kind == "assistant" and entry.position > after)


def out_of_order(said: Sequence[str], stored: Sequence[str]) -> int:
    """How many of those that were said stand, where they stand first, before one that was said earlier."""
    places = [said.index(text) for text in dict.fromkeys(stored) if text in said]
    return sum(later < earlier for earlier, later in pairwise(places))


def _differences(expected: Sequence[str], seen: Sequence[str]) -> int:
    pairs = zip(expected, seen, strict=False)
    return sum(mine != other for mine, other in pairs) + abs(len(expected) - len(seen))


def as_readers_see_them(arrived: Iterable[Output]) -> dict[str, list[Output]]:
    """By thread, in the order of a front end: known ids are dropped, the rest ordered by `seq`."""
    known = {output.id: output for output in reversed(list(arrived))}
    threads: dict[str, list[Output]] = {}
    for output in sorted(known.values(), key=lambda each: -1 if each.seq is None else each.seq):
        threads.setdefault(output.thread_id, []).append(output)
    return threads


def ids_with_several_bodies(bodies: Iterable[Mapping[str, str]]) -> int:
    """`bodies` are fingerprints by output id, one mapping for each time that outputs were sent."""
    found: dict[str, set[str]] = {}
    for sending in bodies:
        for output_id, fingerprint in sending.items():
            found.setdefault(output_id, set()).add(fingerprint)
    return sum(len(fingerprints) > 1 for fingerprints in found.values())
