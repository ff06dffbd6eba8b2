"""The judge of the compaction scenario: every promise, seen kept and seen broken."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from runtime.phrases import SUMMARISE
from scripts.commands.messages import JsonObject
from scripts.commands.outputs import Output
from scripts.demonstration.compaction_evidence import INSIDE, Compacted, StoredSummary
from scripts.demonstration.compaction_verdicts import judge_compaction
from scripts.demonstration.evidence import Evidence, Invocation, ModelRequest, StoredEntry

STATE = json.dumps({"thread_id": "t", "open_threads": [{"thread_id": "c"}]})
LONG = "the longest of all"


def asked(at: float, *texts: str, refused: bool = False) -> ModelRequest:
    messages: list[JsonObject] = [{"role": "user", "content": [{"text": text}, {"cachePoint": {}}]} for text in texts]
    return ModelRequest(at, at + 0.5, refused, messages)


def output(kind: str, at: float, thread_id: str = "t", **fields: str | int) -> Output:
    return Output(f"{kind}{at}", kind, thread_id, "t", None, {**fields}, at)


def entry(position: int, kind: str, **body: str) -> StoredEntry:
    return StoredEntry(position, kind, {**body})


CHILD = [asked(3, "one", INSIDE), asked(31, "one", INSIDE, "again")]
FIRST = [asked(1, "one"), asked(4, "one", "two"), asked(5, "one", SUMMARISE), asked(6, "one", "two", "meanwhile")]
SECOND = [asked(10, f"S1 {STATE}", "two"), asked(11, f"S1 {STATE}", SUMMARISE)]
LONGEST = asked(41, f"S2 {STATE}", "three", LONG, refused=True)
THIRD = [asked(40, f"S2 {STATE}", "three"), LONGEST, asked(42, f"S2 {STATE}", "three", SUMMARISE)]
LAST = asked(43, f"S3 {STATE}", LONG)
GOOD = Compacted(
    thread_id="t",
    evidence=Evidence(
        entries=[
            entry(1, "user", text="one"),
            entry(2, "tool_call", call_id="spawn", name="spawn_thread"),
            entry(3, "assistant", text="yes"),
            entry(30, "event", call_id="spawn", source="report"),
            entry(31, "assistant", text="done"),
        ],
        calls=[],
        outputs=[
            output("turn_done", 3, "c"),
            output("text", 6, text="yes"),
            *(output("compacted", at, up_to=up_to) for at, up_to in ((7, 10), (12, 20), (43, 30))),
            output("text", 44, text="done"),
        ],
        invocations=[Invocation("slice", 1, 2, "sqs"), Invocation("slice", 11, 12, "sqs", failed=True)],
        requests=sorted([*CHILD, *FIRST, *SECOND, *THIRD, LAST], key=lambda each: each.requested_at),
    ),
    summaries=[StoredSummary(number * 10, f"S{number}", STATE) for number in (1, 2, 3)],
    was_killed=True,
)

MEANWHILE = "the conversation was answered while its summary was written"
IN_USE = "3 summaries came into use, and each was told of"
BUILT_ON = "each summary was made of the one before and what followed"
IN_PLACE = "the last summary stands in place of what it is about, with the state of then"
KILLED = "a writer that was killed before it told of its summary is not asked again, and it is told of"
TOO_LONG = "a request that was too long was answered by itself behind a summary"
SAME_CHILD = "a child from before sees the same bytes as ever"
REPORTS = "the child's reports find the call that a summary stands for"
PREFIX = "requests begin with the same bytes from turn to turn, and a summary's with its thread's"
SENT_ONCE = "every answer was sent, once, in order"
ANSWERED_CALLS = "the model never saw an unanswered call"


def broken(compacted: Compacted) -> list[str]:
    return [check.promise for check in judge_compaction(compacted).checks if not check.kept]


def with_evidence(**fields: object) -> Compacted:
    return replace(GOOD, evidence=replace(GOOD.evidence, **fields))  # type: ignore[arg-type]


def with_request(old: ModelRequest, *new: ModelRequest) -> Compacted:
    requests: Sequence[ModelRequest] = GOOD.evidence.requests
    at = list(requests).index(old)
    return with_evidence(requests=[*requests[:at], *new, *requests[at + 1 :]])


def with_output(at: int, *new: Output) -> Compacted:
    outputs = GOOD.evidence.outputs
    return with_evidence(outputs=[*outputs[:at], *new, *outputs[at + 1 :]])


def with_summary(**fields: object) -> Compacted:
    return replace(GOOD, summaries=[*GOOD.summaries[:2], replace(GOOD.summaries[2], **fields)])  # type: ignore[arg-type]


def test_a_conversation_that_outgrew_its_window_unnoticed_is_ok() -> None:
    assert broken(GOOD) == []
    assert judge_compaction(GOOD).slices == 2


UNANSWERED: list[JsonObject] = [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "c"}}]}]


@pytest.mark.parametrize(
    ("spoiled", "promise"),
    [
        (with_output(1, output("text", 8, text="yes")), MEANWHILE),
        (with_output(2), IN_USE),
        (with_summary(state=None), IN_USE),
        (replace(GOOD, summaries=GOOD.summaries[:2]), IN_USE),
        (with_request(SECOND[1], asked(11, "one", "two", SUMMARISE)), BUILT_ON),
        (with_request(SECOND[1]), BUILT_ON),
        (with_request(LAST, asked(43, "one", LONG)), IN_PLACE),
        (with_request(LAST, asked(43, f"S3 {STATE}", "S1", LONG)), IN_PLACE),
        (with_summary(state="{}"), IN_PLACE),
        (replace(GOOD, summaries=[]), IN_PLACE),
        (replace(GOOD, was_killed=False), KILLED),
        (with_evidence(invocations=GOOD.evidence.invocations[:1]), KILLED),
        (with_request(SECOND[1], SECOND[1], asked(12, f"S1 {STATE}", SUMMARISE)), KILLED),
        (with_request(LONGEST, replace(LONGEST, refused=False)), TOO_LONG),
        (with_request(LAST, asked(43, f"S3 {STATE}", "something else")), TOO_LONG),
        (with_evidence(entries=GOOD.evidence.entries[:-1]), TOO_LONG),
        (with_output(0, GOOD.evidence.outputs[0], output("error", 5, code="too_long")), TOO_LONG),
        (with_request(CHILD[1], asked(31, "S1", INSIDE, "again")), SAME_CHILD),
        (with_request(CHILD[1]), SAME_CHILD),
        (with_evidence(entries=[*GOOD.evidence.entries[:3], *GOOD.evidence.entries[4:]]), REPORTS),
        (with_evidence(entries=[*GOOD.evidence.entries, entry(32, "event", call_id="x", source="report")]), REPORTS),
        (with_request(FIRST[1], asked(4, "other", "two")), PREFIX),
        (with_request(FIRST[2], asked(5, "other", SUMMARISE)), PREFIX),
        (with_output(5), SENT_ONCE),
        (with_output(0, output("turn_done", 3, "c"), output("text", 5, "writer", text="S1")), SENT_ONCE),
        (with_request(FIRST[0], replace(FIRST[0], messages=UNANSWERED)), ANSWERED_CALLS),
        (with_evidence(requests=[]), ANSWERED_CALLS),
    ],
)
def test_a_broken_promise_is_seen(spoiled: Compacted, promise: str) -> None:
    assert promise in broken(spoiled)
