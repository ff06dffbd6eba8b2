"""The judge of the choices scenario: every promise, seen kept and seen broken."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from scripts.demonstration.choices_verdicts import PROGRESS, SIGNED_IN, Asked, judge_choices
from scripts.demonstration.evidence import StoredCall
from scripts.demonstration.kept import Kept
from scripts.demonstration.talks import Talk
from tests.support.family_values import entry, event, output

NOTHING = Kept({}, frozenset(), {})


def chosen(name: str, choice: str, index: int, **counted: int) -> Asked:
    outputs = [output("user_choice_required", name, 1), output("user_choice_complete", name, 2)]
    entries = [
        entry(1, "user", "ask"),
        entry(2, "tool_call"),
        entry(3, "tool_result", f"The user chose: {choice}", cause="r"),
    ]
    talk = Talk(name, entries, [StoredCall("c", "ask", "answered")], outputs, wakes=0)
    return Asked(talk, Kept({"c1": index}, frozenset(), {}), Counter(counted))


def interrupted() -> Asked:
    asked = chosen("interrupted", "coffee", 1)
    entries = [
        entry(1, "user", "ask"),
        entry(2, "assistant", "the time"),
        event(3, "late_result", "The user chose: coffee", cause="r"),
        entry(4, "assistant", "coffee"),
    ]
    return replace(asked, talk=replace(asked.talk, entries=entries))


def cancelled() -> Asked:
    outputs = [output("user_choice_required", "cancelled", 1), output("user_choice_complete", "cancelled", 2)]
    talk = Talk("cancelled", [entry(1, "user", "ask")], [StoredCall("c", "ask", "cancelled")], outputs, wakes=0)
    return Asked(talk, Kept({"c1": None}, frozenset(), {}), Counter(answer_to_no_open_choice=1))


def login() -> Asked:
    entries = [entry(1, "user", "sign me in"), entry(2, "tool_result", SIGNED_IN, cause="r")]
    shown = [output("oauth_required", "login", 1, auth_url="http://here")]
    return Asked(Talk("login", entries, [], shown, wakes=0), NOTHING, Counter())


def view() -> Asked:
    shown = [output("view_update", "view", 1, content=dict(PROGRESS))]
    return Asked(Talk("view", [], [], shown, wakes=0), Kept({}, frozenset(), {"progress": dict(PROGRESS)}), Counter())


def stranger() -> Asked:
    shown = [output("error", "stranger", 1, code="choice_not_handed_over", message="elsewhere")]
    return Asked(Talk("stranger", [], [], shown, wakes=0), Kept({"c1": None}, frozenset({"c1"}), {}), Counter())


GOOD: Mapping[str, Asked] = {
    "chat": chosen("chat", "coffee", 1, repeat_with_another_body=1),
    "enqueue": chosen("enqueue", "water", 2),
    "out of range": chosen("out of range", "tea", 0),
    "interrupted": interrupted(),
    "cancelled": cancelled(),
    "login": login(),
    "view": view(),
    "stranger": stranger(),
}


def broken(asked: Mapping[str, Asked]) -> list[str]:
    return [check.promise for check in judge_choices(asked, 1).checks if not check.kept]


def test_what_is_kept_is_said_to_be_kept() -> None:
    assert broken(GOOD) == []


@pytest.mark.parametrize(
    ("name", "instead", "promise"),
    [
        ("chat", chosen("chat", "tea", 0, repeat_with_another_body=1), "the number typed in a chat"),
        ("chat", replace(GOOD["chat"], counted=Counter()), "a second answer"),
        ("enqueue", chosen("enqueue", "tea", 0), "scripts/enqueue answers"),
        ("out of range", chosen("out of range", "water", 2), "a number that is not there"),
        ("interrupted", chosen("interrupted", "coffee", 1), "a call that was interrupted"),
        ("cancelled", replace(GOOD["cancelled"], kept=Kept({"c1": None}, frozenset({"c1"}), {})), "a cancelled call"),
        ("cancelled", replace(GOOD["cancelled"], counted=Counter()), "a cancelled call"),
        ("login", replace(login(), talk=replace(login().talk, outputs=[])), "a login is shown"),
        ("view", replace(view(), kept=NOTHING), "a view is kept"),
        ("stranger", chosen("stranger", "tea", 0), "no other host"),
    ],
)
def test_what_is_broken_is_said_to_be_broken(name: str, instead: Asked, promise: str) -> None:
    assert any(promise in each for each in broken({**GOOD, name: instead}))


def test_an_output_that_comes_twice_is_seen() -> None:
    view_twice = replace(view(), talk=replace(view().talk, outputs=[*view().talk.outputs, *view().talk.outputs]))
    assert "every output came once" in broken({**GOOD, "view": view_twice})
