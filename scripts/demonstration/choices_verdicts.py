"""Whether what tools asked of their user was answered as promised, judged from evidence alone."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from scripts.demonstration.kept import Kept
from scripts.demonstration.talks import Talk
from scripts.demonstration.verdicts import Check, Verdict, counted

SIGNED_IN = "The user is signed in."
PROGRESS = {"percent": 40}


@dataclass(frozen=True, slots=True)
class Asked:
    """One conversation, what is kept beside its history, and what was counted of it."""

    talk: Talk
    kept: Kept
    counted: Counter[str]

    @property
    def results(self) -> list[str]:
        """What came back from the tool: as the result of its call, or, where that was interrupted, as an event."""
        brought = [entry for entry in self.talk.entries if "cause" in entry.body]
        return [entry.text for entry in brought if entry.kind in ("tool_result", "event")]

    def output_types(self) -> Counter[str]:
        return Counter(output.type for output in self.talk.outputs)

    @property
    def states(self) -> list[str]:
        return [call.state for call in self.talk.calls]


def judge_choices(asked: Mapping[str, Asked], slices: int) -> Verdict:
    return Verdict(
        [
            _chosen("the number typed in a chat answers the newest choice", asked["chat"], "coffee", 1),
            _chosen("scripts/enqueue answers a choice by its id", asked["enqueue"], "water", 2),
            _chosen("a number that is not there takes the default", asked["out of range"], "tea", 0),
            _second_answer_is_dropped(asked["chat"]),
            _answered_after_an_interruption(asked["interrupted"]),
            _taken_back(asked["cancelled"]),
            _signed_in(asked["login"]),
            _shown(asked["view"]),
            _stranger_is_refused(asked["stranger"]),
            _each_output_once(asked),
        ],
        slices=slices,
    )


def _chosen(promise: str, asked: Asked, choice: str, index: int) -> Check:
    types = asked.output_types()
    kept = (
        asked.results == [f"The user chose: {choice}"]
        and list(asked.kept.taken.values()) == [index]
        and not asked.kept.open_choices
        and types["user_choice_required"] == types["user_choice_complete"] == 1
        and _is_in_order(asked)
    )
    return Check(promise, kept, f"{asked.results}, {_told(asked.kept)}")


def _is_in_order(asked: Asked) -> bool:
    """The choice is shown before it is closed."""
    of_choice = [each.type for each in asked.talk.outputs if each.type.startswith("user_choice")]
    return of_choice == ["user_choice_required", "user_choice_complete"]


def _second_answer_is_dropped(asked: Asked) -> Check:
    dropped = asked.counted["repeat_with_another_body"]
    kept = dropped == 1 and list(asked.kept.taken.values()) == [1] and len(asked.results) == 1
    seen = f"{dropped} dropped, {_told(asked.kept)}"
    return Check("a second answer, of another client, changes nothing", kept, seen)


def _answered_after_an_interruption(asked: Asked) -> Check:
    """The placeholder stands in its place, the time was told, and then what was chosen arrived as an event."""
    events = [entry.text for entry in asked.talk.entries if entry.kind == "event"]
    answers = [entry.text for entry in asked.talk.entries if entry.kind == "assistant"]
    kept = events == ["The user chose: coffee"] and len(answers) == 2 and not asked.kept.open_choices
    kept = kept and asked.states[0] == "answered" and list(asked.kept.taken.values()) == [1]
    return Check(
        "the choice of a call that was interrupted stays open; what is chosen arrives as an event", kept, f"{events}"
    )


def _taken_back(asked: Asked) -> Check:
    types, late = asked.output_types(), asked.counted["answer_to_no_open_choice"]
    nobody = list(asked.kept.taken.values()) == [None] and not asked.kept.open_choices
    kept = nobody and types["user_choice_complete"] == 1 and asked.states == ["cancelled"] and late == 1
    seen = f"{', '.join(asked.states)}, {_told(asked.kept)}, {counted(late, 'late answer')} dropped"
    return Check(
        "the choice of a cancelled call is closed, and a late answer is dropped", kept, f"{seen}: {asked.results}"
    )


def _signed_in(asked: Asked) -> Check:
    urls = [each.text_of("auth_url") for each in asked.talk.outputs if each.type == "oauth_required"]
    kept = len(urls) == 1 and urls[0].startswith("http") and asked.results == [SIGNED_IN]
    kept = kept and all("auth_url" not in str(entry.body) for entry in asked.talk.entries)
    return Check("a login is shown, once, and its result comes; nothing of it enters history", kept, f"{asked.results}")


def _shown(asked: Asked) -> Check:
    shown = [each for each in asked.talk.outputs if each.type == "view_update"]
    contents = [each.fields.get("content") for each in shown]
    kept = contents == [PROGRESS] and asked.kept.views == {"progress": PROGRESS}
    kept = kept and not any("view_update" in str(entry.body) for entry in asked.talk.entries)
    return Check(
        "a view is kept and shown, and is no word to the agent", kept, f"{contents}, kept: {dict(asked.kept.views)}"
    )


def _stranger_is_refused(asked: Asked) -> Check:
    codes = [error.text_of("code") for error in asked.talk.errors]
    kept = codes == ["choice_not_handed_over"] and len(asked.kept.open_choices) == 1 and not asked.results
    seen = asked.talk.errors[0].text_of("message") if asked.talk.errors else "no error was sent"
    return Check("an answer goes to no other host than the tool server's; the choice stays open", kept, seen)


def _each_output_once(asked: Mapping[str, Asked]) -> Check:
    ids = Counter(output.id for each in asked.values() for output in each.talk.outputs)
    again = sum(count > 1 for count in ids.values())
    return Check(
        "every output came once", bool(ids) and not again, f"{counted(len(ids), 'output')}, {again} came again"
    )


def _told(kept: Kept) -> str:
    taken = ", ".join("nothing taken" if index is None else f"index {index} taken" for index in kept.taken.values())
    return f"{taken or 'no choice'}, {len(kept.open_choices)} open"
