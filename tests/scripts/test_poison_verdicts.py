"""The judge of the poison scenario: every promise, seen kept and seen broken."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.phrases import WITHHELD_INPUT
from scripts.commands.outputs import Output
from scripts.demonstration.deliveries import Delivery
from scripts.demonstration.evidence import ModelRequest, StoredEntry
from scripts.demonstration.poison_evidence import Case, Death, Word, fate_of, read_deaths
from scripts.demonstration.poison_verdicts import judge_poison
from scripts.demonstration.talks import Talk

POISON = "arsenic"
BEFORE, GUILTY = Word("poisoned", "Before.", "m1"), Word("poisoned", "Some arsenic.", "m2")
BESIDE, LAST = Word("beside", "Beside.", "m3"), Word("poisoned", "Last.", "m4")


def said(kind: str, **fields: str) -> Output:
    return Output(f"{kind}{fields}", kind, "t", "t", None, {**fields}, 1.0)


def entry(position: int, kind: str, text: str, withheld: str | None = None) -> StoredEntry:
    return StoredEntry(position, kind, {"text": text}, withheld)


def delivery(word: Word, receives: int, at: float, *, handled: bool) -> Delivery:
    return Delivery(word.message_id, word.name, receives, at, at + 1, handled)


TALKS: Mapping[str, Talk] = {
    "poisoned": Talk(
        "poisoned",
        [
            entry(1, "user", "Before."),
            entry(2, "assistant", '"Before."'),
            entry(3, "user", "Some arsenic.", "died"),
            entry(4, "user", "Last."),
            entry(5, "assistant", '"Last."'),
        ],
        [],
        [said("text", text='"Before."'), said("error", code="died", message="It died."), said("text", text='"Last."')],
        wakes=0,
    ),
    "beside": Talk(
        "beside",
        [entry(1, "user", "Beside."), entry(2, "assistant", '"Beside."')],
        [],
        [said("text", text='"Beside."')],
        wakes=0,
    ),
}
SHOWN = ModelRequest(0, 1, refused=False, messages=[{"content": [{"text": WITHHELD_INPUT}, {"text": "Last."}]}])
GOOD = Case(
    words=[BEFORE, GUILTY, BESIDE, LAST],
    talks=TALKS,
    deliveries=[
        *(delivery(word, 1, 1.0, handled=False) for word in (BEFORE, GUILTY, BESIDE)),
        *(delivery(word, 10, 9.0, handled=True) for word in (BEFORE, GUILTY, BESIDE)),
        delivery(LAST, 1, 20.0, handled=True),
    ],
    deaths=[Death(1, 1.0, ""), Death(2, 2.0, BEFORE.subject), *(Death(n, n, GUILTY.subject) for n in range(3, 8))],
    requests=[SHOWN],
    dead_letters=0,
)

TOGETHER = "the queue gave all of them out together"
ALONE = "the message that kills is withheld, and nothing else"
DEATHS = "it was withheld after 5 deaths by its mark"
TOLD = "whoever said it was told, once, and nobody else"
INNOCENT = "every innocent was answered once, in order"
PLACEHOLDER = "the next turn works, and shows the model the placeholder alone"
HANDLED = "every message has been handled, and none is a dead letter"


def broken(case: Case) -> list[str]:
    return [check.promise for check in judge_poison(case, POISON).checks if not check.kept]


def changed(name: str, **fields: object) -> Case:
    return replace(GOOD, talks={**TALKS, name: replace(TALKS[name], **fields)})  # type: ignore[arg-type]


def test_a_poison_that_took_nobody_with_it_is_ok() -> None:
    assert broken(GOOD) == []


def test_the_rows_say_of_each_message_what_became_of_it() -> None:
    rows = [(row["message"], row["receives"], row["deaths"], row["fate"]) for row in judge_poison(GOOD, POISON).rows]
    assert rows[:2] == [("Before.", 10, 1, "answered"), ("Some arsenic.", 10, 5, "withheld, and said so")]
    assert fate_of(replace(BESIDE, words="Never said."), GOOD) == "stored 0 times"


ENTRIES, OUTPUTS = list(TALKS["poisoned"].entries), list(TALKS["poisoned"].outputs)


@pytest.mark.parametrize(
    ("spoiled", "promise"),
    [
        (replace(GOOD, deliveries=GOOD.deliveries[1:]), TOGETHER),
        (changed("poisoned", entries=[replace(each, withheld=None) for each in ENTRIES]), ALONE),
        (changed("poisoned", entries=[replace(ENTRIES[0], withheld="died"), *ENTRIES[1:]]), ALONE),
        (changed("poisoned", entries=[*ENTRIES[:2], replace(ENTRIES[2], withheld="model_refused")]), ALONE),
        (replace(GOOD, deaths=GOOD.deaths[:-1]), DEATHS),
        (replace(GOOD, deaths=[*GOOD.deaths, *(Death(9, 9, BESIDE.subject) for _ in range(5))]), DEATHS),
        (changed("poisoned", outputs=[OUTPUTS[0], OUTPUTS[2]]), TOLD),
        (changed("beside", outputs=[*TALKS["beside"].outputs, OUTPUTS[1]]), TOLD),
        (changed("beside", entries=TALKS["beside"].entries[:1], outputs=[]), INNOCENT),
        (changed("beside", outputs=[*TALKS["beside"].outputs, *TALKS["beside"].outputs]), INNOCENT),
        (replace(GOOD, requests=[]), PLACEHOLDER),
        (replace(GOOD, requests=[replace(SHOWN, messages=[{"content": [{"text": "arsenic Last."}]}])]), PLACEHOLDER),
        (replace(GOOD, deliveries=GOOD.deliveries[:-1]), HANDLED),
        (replace(GOOD, dead_letters=1), HANDLED),
    ],
)
def test_a_broken_promise_is_seen(spoiled: Case, promise: str) -> None:
    assert promise in broken(spoiled)


def test_a_death_is_blamed_on_what_its_own_process_had_marked_last(tmp_path: Path) -> None:
    lines = [
        {"what": "mark", "stage": "answered", "pid": 1, "killed": False, "subject": "a"},
        {"what": "mark", "stage": "answered", "pid": 2, "killed": False, "subject": "b"},
        {"what": "clear mark", "stage": "answered", "pid": 1, "killed": False},
        {"what": "complete", "stage": "arrived", "pid": 1, "killed": True},
        {"what": "complete", "stage": "arrived", "pid": 2, "killed": True},
    ]
    log = tmp_path / "wire.jsonl"
    log.write_text("".join(json.dumps({"time": 1.0, **line}) + "\n" for line in lines))
    assert [(death.pid, death.subject) for death in read_deaths(log)] == [(1, ""), (2, "b")]
