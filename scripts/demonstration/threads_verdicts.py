"""Whether a conversation of many threads kept its promises, judged from evidence alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.phrases import REPORT_OR_CLOSE
from scripts.commands.messages import JsonObject
from scripts.commands.outputs import Output
from scripts.demonstration.evidence import Evidence, StoredEntry
from scripts.demonstration.families import Family, Member
from scripts.demonstration.family_checks import (
    answers_were_sent_once,
    every_word_arrived_once_in_order,
    positions_are_dense,
)
from scripts.demonstration.verdicts import Check, Verdict, counted, model_saw_only_answered_calls

METADATA: JsonObject = {"user_id": "ada", "channel": "demo"}
LISTENING, LEAVING, CLOSING = "I am listening.", "I am leaving.", "My last word."
TOLD = "It rains."


@dataclass(frozen=True, slots=True)
class Tree:
    """The conversation as it was left. `outputs` are all that came, also what came again; `ticks` were fired."""

    family: Family
    evidence: Evidence
    outputs: Sequence[Output]
    ticks: int

    def child_that_said(self, report: str) -> Member | None:
        said = {each.thread_id for each in self.outputs if each.type == "report" and each.text_of("text") == report}
        return next((each for each in self.family.members if each.thread_id in said), None)


def judge_threads(tree: Tree) -> Verdict:
    checks = [
        _three_levels(tree.family),
        every_word_arrived_once_in_order(tree.family),
        _ticks_arrived_once_in_order(tree),
        _result_arrived(tree),
        _closed_with_last_word(tree),
        _message_was_read(tree),
        _message_came_back(tree),
        _asked_once_then_reported(tree.family),
        _metadata_everywhere(tree),
        positions_are_dense(tree.family),
        answers_were_sent_once(tree.family, tree.outputs),
        model_saw_only_answered_calls(tree.evidence.requests),
    ]
    return Verdict(checks, slices=len(tree.evidence.of("slice")))


def _three_levels(family: Family) -> Check:
    levels = [sum(each.depth == depth for each in family.members) for depth in range(4)]
    seen = f"{levels[0]} root, {levels[1]} below it, {levels[2]} below those"
    return Check("ten threads began below the root, and two below those", levels == [1, 10, 2, 0], seen)


def _ticks_arrived_once_in_order(tree: Tree) -> Check:
    texts = [entry.text for entry in tree.family.root.events_from("subscription")]
    expected = [f"Tick {number} of {tree.ticks}." for number in range(1, tree.ticks + 1)] + ["The watch is over."]
    states = [call.state for call in tree.family.root.calls if call.name == "watch"]
    kept = texts == expected and states == ["ended"]
    return Check("every event of the subscription arrived once, in order, and it ended", kept, f"{texts}, {states}")


def _result_arrived(tree: Tree) -> Check:
    """After something else had: the root did not wait for it."""
    root = tree.family.root
    results = root.events_from("late_result")
    earlier = [entry for entry in root.entries if results and entry.position < results[0].position]
    events = sum(entry.kind == "event" for entry in earlier)
    quoted = any(entry.text in text for entry in results for text in root.texts)
    kept = len(results) == 1 and "tests passed" in results[0].text and events > 0 and quoted
    seen = f"{counted(len(results), 'result')}, behind {counted(events, 'event')}"
    return Check("the build's result arrived by itself, once, behind what came meanwhile, and was answered", kept, seen)


def _closed_with_last_word(tree: Tree) -> Check:
    promise = "a thread that closes with a last report is closed, and its parent has read it"
    child = tree.child_that_said(CLOSING)
    if child is None:
        return Check(promise, kept=False, seen="nobody said it")
    heard = [entry for entry in tree.family.root.events_from("report") if CLOSING in entry.text]
    shown = [output for output in child.outputs if output.type == "thread_closed"]
    kept = not child.birth.is_open and len(heard) == len(shown) == 1 and "has closed" in heard[0].text
    return Check(promise, kept, heard[0].text if heard else "the parent heard nothing")


def _message_was_read(tree: Tree) -> Check:
    child = tree.child_that_said(LISTENING)
    told = _told(child)
    answered = [
        entry for entry in tree.family.root.events_from("report") if f"I was told: {_first(told)}" in entry.text
    ]
    kept = len(told) == 1 and TOLD in told[0].text and len(answered) == 1
    return Check("a message to a child was read by it, once, and by no other", kept, _first(told) or "nothing was read")


def _message_came_back(tree: Tree) -> Check:
    child, root = tree.child_that_said(LEAVING), tree.family.root
    bounced = root.events_from("bounce")
    first_call = next((entry for entry in root.entries if entry.body.get("name") == "send_message_to_child"), None)
    its_own = first_call is not None and [entry.body["call_id"] for entry in bounced] == [first_call.body["call_id"]]
    kept = its_own and child is not None and not _told(child) and not child.birth.is_open
    return Check("a message to a child that closed before it came back, once", kept, _first(bounced) or "nothing came")


def _asked_once_then_reported(family: Family) -> Check:
    """One thread ended its turn without a word: it is asked, and its next text is its report."""
    asked = {
        each.thread_id: [entry.position for entry in each.entries if entry.text == REPORT_OR_CLOSE]
        for each in family.members
    }
    silent = [each for each in family.members if asked[each.thread_id]]
    words = [each.words_to_parent() for each in silent]
    kept = len(silent) == 1 and words == [
        [f"report:{each.thread_id}:{asked[each.thread_id][0] + 1}" for each in silent]
    ]
    seen = f"{counted(sum(map(len, asked.values())), 'question')}, {counted(sum(map(len, words)), 'report')}"
    return Check("a thread that ends its turn without a word is asked once, then its text is its report", kept, seen)


def _metadata_everywhere(tree: Tree) -> Check:
    without = [output for output in tree.outputs if output.fields.get("metadata") != METADATA]
    of_children = sum(output.is_of_child for output in tree.outputs)
    seen = f"{of_children} outputs of children, {len(without)} without it"
    return Check("every output of every thread carries the root's metadata", of_children > 0 and not without, seen)


def _told(member: Member | None) -> list[StoredEntry]:
    return member.events_from("parent_message") if member else []


def _first(entries: Sequence[StoredEntry]) -> str:
    return entries[0].text if entries else ""
