"""The judge of the demo: every promise, seen kept and seen broken."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from scripts.commands.messages import JsonObject
from scripts.commands.outputs import Output
from scripts.demonstration.evidence import Evidence, Invocation, ModelRequest, Part, StoredCall, StoredEntry
from scripts.demonstration.verdicts import Verdict, judge_basic, judge_interrupt, unanswered_calls

BUILT = "built in 5.0 s: 9f3c"


def run(part: Part, opened_at: float, closed_at: float) -> Invocation:
    source = {"slice": "sqs", "receiver": "url", "timer relay": "sqs", "tool server": "invoke"}[part]
    return Invocation(part, opened_at, closed_at, source)  # type: ignore[arg-type]


def entries(*written: tuple[str, JsonObject]) -> list[StoredEntry]:
    return [StoredEntry(position, kind, body) for position, (kind, body) in enumerate(written, start=1)]


def texts(*said: tuple[str, float]) -> list[Output]:
    return [Output(text, "text", "t", "t", 16, {"text": text}, sent_at) for text, sent_at in said]


def request(*messages: JsonObject) -> ModelRequest:
    return ModelRequest(0, 1, refused=False, messages=messages)


def message(role: str, *blocks: JsonObject) -> JsonObject:
    return {"role": role, "content": list(blocks)}


def use(call_id: str) -> JsonObject:
    return {"toolUse": {"toolUseId": call_id, "name": "run_build", "input": {}}}


def result(call_id: str) -> JsonObject:
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": "done"}]}}


ANSWERED = request(message("user", {"text": "build"}), message("assistant", use("c1")), message("user", result("c1")))

BASIC = Evidence(
    entries=entries(
        ("user", {"text": "hello"}),
        ("assistant", {"text": "hi"}),
        ("user", {"text": "build"}),
        ("tool_call", {"call_id": "c1", "name": "run_build"}),
        ("tool_result", {"call_id": "c1", "items": [{"type": "text", "text": BUILT}]}),
        ("assistant", {"text": f"It says {BUILT}"}),
    ),
    calls=[StoredCall("c1", "run_build", "answered")],
    outputs=texts(("hi", 1.0), (f"It says {BUILT}", 8.2)),
    invocations=[
        run("slice", 0.1, 0.5),
        run("slice", 2.0, 2.5),
        run("tool server", 2.4, 7.6),
        run("receiver", 7.5, 7.6),
        run("slice", 7.7, 8.2),
    ],
    requests=[ANSWERED],
)

INTERRUPT = Evidence(
    entries=entries(
        ("user", {"text": "build"}),
        ("tool_call", {"call_id": "c1", "name": "run_build"}),
        ("tool_result", {"call_id": "c1", "items": [{"type": "text", "text": "still running"}]}),
        ("user", {"text": "time?"}),
        ("tool_call", {"call_id": "c2", "name": "get_time"}),
        ("tool_result", {"call_id": "c2", "items": [{"type": "text", "text": "noon"}]}),
        ("assistant", {"text": "noon"}),
        ("event", {"call_id": "c1", "items": [{"type": "text", "text": BUILT}]}),
        ("assistant", {"text": f"It says {BUILT}"}),
    ),
    calls=[StoredCall("c1", "run_build", "answered"), StoredCall("c2", "get_time", "answered")],
    outputs=texts(("noon", 3.0), (f"It says {BUILT}", 11.0)),
    invocations=[
        run("slice", 0.1, 0.5),
        run("tool server", 0.5, 10.5),
        run("slice", 2.0, 2.3),
        run("receiver", 2.4, 2.5),
        run("slice", 2.6, 3.0),
        run("receiver", 10.4, 10.5),
        run("slice", 10.6, 11.0),
    ],
    requests=[ANSWERED],
)


def broken(verdict: Verdict) -> list[str]:
    return [check.promise for check in verdict.checks if not check.kept]


def test_the_basic_scenario_is_ok_when_every_promise_was_kept() -> None:
    verdict = judge_basic(BASIC, build_s=5)
    assert (broken(verdict), verdict.ok, verdict.slices) == ([], True, 3)
    assert "nothing ran during the build's 5 s" in verdict.why


def test_the_interrupt_scenario_is_ok_when_every_promise_was_kept() -> None:
    verdict = judge_interrupt(INTERRUPT, build_s=10)
    assert (broken(verdict), verdict.ok, verdict.slices) == ([], True, 4)
    assert "the answer stood 7.4 s before" in verdict.why


@pytest.mark.parametrize(
    ("spoiled", "promise"),
    [
        (replace(BASIC, entries=BASIC.entries[:-1]), "the stored history is the one expected"),
        (replace(BASIC, calls=[StoredCall("c1", "run_build", "pending")]), "the build's call is answered"),
        (
            replace(BASIC, invocations=[*BASIC.invocations[:-2], run("slice", 4.0, 4.1), *BASIC.invocations[-2:]]),
            "no slice, receiver or relay ran while the build did",
        ),
        (
            replace(BASIC, invocations=[run("slice", 2.0, 7.0), *BASIC.invocations[2:]]),
            "no slice, receiver or relay ran while the build did",
        ),
        (replace(BASIC, invocations=[]), "no slice, receiver or relay ran while the build did"),
        (replace(BASIC, outputs=texts(("hi", 1.0), ("done", 8.2))), "the last answer quotes the build's own output"),
        (replace(BASIC, outputs=[*BASIC.outputs, *BASIC.outputs]), "every stored answer was sent, once, in order"),
        (replace(BASIC, outputs=[]), "every stored answer was sent, once, in order"),
        (replace(BASIC, requests=[]), "the model never saw an unanswered call"),
        (replace(BASIC, requests=[replace(ANSWERED, refused=True)]), "the model never saw an unanswered call"),
        (replace(BASIC, invocations=[*BASIC.invocations, run("tool server", 8, 13)]), "the build ran once"),
    ],
)
def test_a_broken_promise_of_the_basic_scenario_is_seen(spoiled: Evidence, promise: str) -> None:
    verdict = judge_basic(spoiled, build_s=5)
    assert promise in broken(verdict)
    assert not verdict.ok
    assert promise in verdict.why


def _with_answer_at(sent_at: float) -> Evidence:
    return replace(INTERRUPT, outputs=[replace(INTERRUPT.outputs[0], sent_at=sent_at), INTERRUPT.outputs[1]])


def _with_event_of(call_id: str) -> Evidence:
    event = replace(INTERRUPT.entries[7], body={**INTERRUPT.entries[7].body, "call_id": call_id})
    return replace(INTERRUPT, entries=[*INTERRUPT.entries[:7], event, *INTERRUPT.entries[8:]])


@pytest.mark.parametrize(
    ("spoiled", "promise"),
    [
        (_with_answer_at(10.45), "the question was answered before the build was done"),
        (_with_event_of("c2"), "the event belongs to the build's call"),
        (replace(INTERRUPT, entries=INTERRUPT.entries[:7]), "the stored history is the one expected"),
    ],
)
def test_a_broken_promise_of_the_interrupt_scenario_is_seen(spoiled: Evidence, promise: str) -> None:
    assert promise in broken(judge_interrupt(spoiled, build_s=10))


@pytest.mark.parametrize(
    "messages",
    [
        [message("user", {"text": "build"}), message("assistant", use("c1"))],
        [message("assistant", use("c1")), message("user", {"text": "time?"})],
        [message("assistant", use("c1"), use("c2")), message("user", result("c2"))],
        [message("assistant", use("c1")), message("user", {"text": "x"}), message("user", result("c1"))],
    ],
)
def test_a_call_that_the_next_message_does_not_answer_is_unanswered(messages: Sequence[JsonObject]) -> None:
    assert list(unanswered_calls(request(*messages))) == ["c1"]


@pytest.mark.parametrize("judge", [judge_basic, judge_interrupt])
def test_nothing_at_all_is_never_ok(judge: Callable[[Evidence, float], Verdict]) -> None:
    assert not judge(Evidence([], [], [], [], []), 5).ok
