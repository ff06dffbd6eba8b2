"""The judge of the threads scenario: every promise, seen kept and seen broken."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from runtime.phrases import REPORT_OR_CLOSE
from scripts.demonstration.evidence import Evidence, ModelRequest, StoredCall, StoredEntry
from scripts.demonstration.families import Family, Member
from scripts.demonstration.threads_verdicts import (
    CLOSING,
    LEAVING,
    LISTENING,
    METADATA,
    TOLD,
    Tree,
    judge_threads,
)
from tests.support.family_values import ROOT, entry, event, member, output, root

BUILT = "build 1 finished: 100 tests passed"
SAID_BY = {"closing": CLOSING, "listening": LISTENING, "leaving": LEAVING}


def said(position: int, text: str) -> StoredEntry:
    return entry(position, "tool_result", "Reported.", deed={"report": text})


def children() -> list[Member]:
    told = event(5, "parent_message", f"Your parent thread says:\n{TOLD}")
    last = entry(4, "tool_result", "Closed.", deed={"last_report": CLOSING})
    silent = [
        entry(4, "assistant", "Nothing."),
        entry(5, "user", REPORT_OR_CLOSE),
        entry(6, "assistant", "No.", reports=True),
    ]
    return [
        member("listening", said(4, LISTENING), told, said(6, f"I was told: {told.text}")),
        member(
            "leaving", said(4, LEAVING), entry(5, "tool_result", "Closed.", deed={"last_report": ""}), is_open=False
        ),
        member("closing", last, is_open=False),
        member("silent", *silent),
        *[member(f"plain{number}", said(4, "Once.")) for number in range(6)],
        *[member(f"below{number}", said(4, "Deep."), parent=f"plain{number}") for number in range(2)],
    ]


def heard_by(parent: str, threads: Sequence[Member], first: int) -> list[StoredEntry]:
    """Everything that its children told this parent, as it was told."""
    words = [(each, name) for each in threads if each.birth.parent_id == parent for name in each.words_to_parent()]
    return [
        event(first + place, "report", f"Thread {each.thread_id} {_word(each, name)}", cause=name)
        for place, (each, name) in enumerate(words)
    ]


def _word(child: Member, name: str) -> str:
    if name.startswith("closed:"):
        return f"has closed. Its last word:\n{CLOSING if child.thread_id == 'closing' else ''}"
    at = int(name.rpartition(":")[2])
    (told,) = [each for each in child.entries if each.position == at]
    deed = told.body.get("deed")
    return f"reports:\n{deed['report'] if isinstance(deed, dict) else told.text}"


def tree(*without: str, of_root: Sequence[StoredEntry] = ()) -> Tree:
    """What is promised, but for entries of the root that say one of these; with more of them at the end."""
    threads = children()
    below = [
        replace(each, entries=[*each.entries, *heard_by(each.thread_id, threads, 5)])
        if each.thread_id in ("plain0", "plain1")
        else each
        for each in threads
    ]
    entries = [
        entry(1, "user", "go"),
        entry(2, "tool_call", name="send_message_to_child", call_id="first"),
        event(3, "subscription", "Tick 1 of 1."),
        event(4, "subscription", "The watch is over."),
        event(5, "bounce", "Error: it was not read.", call_id="first"),
        event(6, "late_result", BUILT),
        entry(7, "assistant", f"It says {BUILT}"),
        *heard_by(ROOT, threads, 8),
    ]
    kept = [each for each in entries if not any(word in each.text for word in without)]
    numbered = [replace(each, position=place) for place, each in enumerate([*kept, *of_root], start=1)]
    family = Family([root(*numbered, calls=[StoredCall("w", "watch", "ended")]), *below])
    sent = [each for thread in family.members for each in thread.outputs]
    outputs = [*sent, *[output("report", name, 99, text=text) for name, text in SAID_BY.items()]]
    evidence = Evidence([], [], outputs, [], [ModelRequest(0, 1, refused=False, messages=[])])
    marked = [replace(each, fields={**each.fields, "metadata": METADATA}) for each in outputs]
    return Tree(family, evidence, marked, ticks=1)


def broken(seen: Tree) -> list[str]:
    return [check.promise for check in judge_threads(seen).checks if not check.kept]


def with_closed_shown(seen: Tree) -> Tree:
    members = [
        replace(each, outputs=[*each.outputs, output("thread_closed", "closing", 98)])
        if each.thread_id == "closing"
        else each
        for each in seen.family.members
    ]
    return replace(seen, family=Family(members))


def test_what_is_kept_is_said_to_be_kept() -> None:
    assert broken(with_closed_shown(tree())) == []


@pytest.mark.parametrize(
    ("seen", "promise"),
    [
        (tree("Tick 1"), "event of the subscription"),
        (tree(BUILT), "build's result"),
        (tree(of_root=[event(0, "late_result", BUILT)]), "build's result"),
        (tree(CLOSING), "closes with a last report"),
        (tree("I was told"), "message to a child was read"),
        (tree("it was not read"), "came back, once"),
        (tree("Thread silent"), "every report reached"),
    ],
)
def test_what_the_root_did_not_hear_is_seen(seen: Tree, promise: str) -> None:
    assert any(promise in each for each in broken(with_closed_shown(seen)))


@pytest.mark.parametrize(
    ("thread_id", "promise"),
    [("plain5", "ten threads"), ("silent", "is asked once"), ("closing", "closes with a last report")],
)
def test_a_thread_that_is_missing_is_seen(thread_id: str, promise: str) -> None:
    seen = with_closed_shown(tree())
    members = [each for each in seen.family.members if each.thread_id != thread_id]
    assert any(promise in each for each in broken(replace(seen, family=Family(members))))


def test_an_output_without_the_roots_metadata_is_seen() -> None:
    seen = with_closed_shown(tree())
    bare = replace(seen, outputs=[*seen.outputs, output("text", "silent", 97, text="no metadata")])
    assert any("metadata" in each for each in broken(bare))
