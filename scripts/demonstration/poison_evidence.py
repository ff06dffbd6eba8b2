"""What a message that ends processes left behind: who was to blame for which death, and what became of each message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.demonstration.deliveries import Delivery
from scripts.demonstration.evidence import ModelRequest, json_lines
from scripts.demonstration.talks import Talk


@dataclass(frozen=True, slots=True)
class Word:
    """What was said in a conversation, and the id that the queue gave it."""

    name: str
    words: str
    message_id: str

    @property
    def subject(self) -> str:
        """How a mark names it."""
        return f"message:text:user:{self.message_id}"


@dataclass(frozen=True, slots=True)
class Death:
    """A process that was killed. `subject`: what the mark named that it had last written; empty where it wrote none."""

    pid: int
    at: float
    subject: str


@dataclass(frozen=True, slots=True)
class Case:
    """One case as it was left. `deliveries` are of the slice's queue, `requests` those that reached the model."""

    words: Sequence[Word]
    talks: Mapping[str, Talk]
    deliveries: Sequence[Delivery]
    deaths: Sequence[Death]
    requests: Sequence[ModelRequest]
    dead_letters: int

    def receives_of(self, word: Word) -> int:
        return max((each.receives for each in self.deliveries if each.message_id == word.message_id), default=0)

    def deaths_by_mark(self, word: Word) -> int:
        return sum(death.subject == word.subject for death in self.deaths)

    def is_handled(self, word: Word) -> bool:
        return any(each.handled for each in self.deliveries if each.message_id == word.message_id)


def read_deaths(wire_log: Path) -> list[Death]:
    """Every process that was killed, with what it had declared to be about to try."""
    marks: dict[int, str] = {}
    found: list[Death] = []
    for line in json_lines(wire_log):
        pid = line["pid"] or 0
        if (line["what"], line.get("stage")) == ("mark", "answered"):
            marks[pid] = line["subject"]
        elif (line["what"], line.get("stage")) == ("clear mark", "answered"):
            marks.pop(pid, None)
        if line.get("killed"):
            found.append(Death(pid, line["time"], marks.get(pid, "")))
    return found


def fate_of(word: Word, case: Case) -> str:
    """What became of a message, in a few words."""
    talk = case.talks[word.name]
    stored = [entry for entry in talk.entries if entry.kind == "user" and entry.text == word.words]
    answers = sum(f'"{word.words}"' in each.text_of("text") for each in talk.outputs if each.type == "text")
    if len(stored) != 1:
        return f"stored {len(stored)} times"
    if stored[0].withheld:
        return f"withheld ({stored[0].withheld}), answered {answers} times" if answers else "withheld, and said so"
    return "answered" if answers == 1 else f"answered {answers} times"
