"""The judge of the crash scenario: every promise, seen kept and seen broken."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from runtime.identity import call_id_at
from scripts.commands.messages import JsonObject
from scripts.commands.outputs import Output
from scripts.demonstration.crash_evidence import KILL_POINTS, STEPS, KillPoint, Run, Sighting
from scripts.demonstration.crash_verdicts import judge_calm, judge_killed
from scripts.demonstration.evidence import Evidence, Invocation, ModelRequest, StoredCall, StoredEntry
from scripts.demonstration.verdicts import Verdict
from scripts.offline_stack.interposers.interventions import Exchange, Stage
from scripts.offline_stack.interposers.watch import Kill
from scripts.offline_stack.supervisor import ProcessIdentity

FIRST, SECOND = 11, 12
STAGES: tuple[Stage, ...] = ("arrived", "passed on", "answered")
ANSWERING = tuple(step for step in STEPS if step != "call tool")
REQUEST = ModelRequest(0, 1, refused=False, messages=[{"role": "user", "content": [{"text": "build"}]}])
AFTER_COMMIT = next(point for point in KILL_POINTS if point.name == "after COMMIT")
AFTER_POST = next(point for point in KILL_POINTS if point.name == "after the tool's POST")


def sightings(pid: int, steps: Sequence[str], thread_id: str) -> list[Sighting]:
    facts = {"send outputs": {"outputs": {f"{thread_id}-o{len(steps)}": "f"}}, "call tool": {"key": f"k-{thread_id}"}}
    return [Sighting(0, step, stage, pid, killed=False, **facts.get(step, {})) for step in steps for stage in STAGES]  # type: ignore[arg-type]


def evidence(thread_id: str, said: str) -> Evidence:
    call_id = call_id_at(thread_id, 2)
    bodies: list[tuple[str, JsonObject]] = [
        ("user", {"text": "build", "cause": "user:build"}),
        ("tool_call", {"call_id": call_id, "name": "run_build", "provider_call_id": f"p-{thread_id}"}),
        ("tool_result", {"call_id": call_id, "items": [{"text": said}], "origin": {"received_at_ms": len(said)}}),
        ("assistant", {"text": f"It says {said}"}),
    ]
    names = (f"{thread_id}-o{len(STEPS)}", f"{thread_id}-o{len(ANSWERING)}")
    outputs = [
        Output(name, "text", thread_id, thread_id, place, {"id": name, "text": f"It says {said}"}, 1.0)
        for place, name in enumerate(names)
    ]
    return Evidence(
        entries=[StoredEntry(position, kind, body) for position, (kind, body) in enumerate(bodies, start=1)],
        calls=[StoredCall(call_id, "run_build", "answered")],
        outputs=outputs,
        invocations=[
            Invocation("slice", 0, 1, "sqs"),
            Invocation("tool server", 1, 2, "invoke"),
            Invocation("slice", 2, 3, "sqs"),
        ],
        requests=[REQUEST, REQUEST],
    )


def calm() -> Run:
    seen = [*sightings(FIRST, STEPS, "calm"), *sightings(FIRST, ANSWERING, "calm")]
    return Run("calm", 0, evidence("calm", "built 1"), seen)


def killed(point: KillPoint) -> Run:
    """A run that was killed at a point and then went on as it should."""
    whole = sightings(FIRST, STEPS, "t")
    last = [sighting.moment for sighting in whole].index((point.step, point.stage))
    again = sightings(SECOND, STEPS, "t") + sightings(SECOND, ANSWERING, "t")
    found = evidence("t", "built 22")
    in_vain = point.name == "after the model call"
    return Run(
        thread_id="t",
        began_at=0,
        evidence=replace(
            found,
            invocations=[Invocation("slice", 0, 0.5, "sqs", failed=True), *found.invocations],
            requests=[REQUEST] * (3 if in_vain else 2),
        ),
        sightings=[*whole[:last], replace(whole[last], killed=True), *again],
        kill=Kill(ProcessIdentity(FIRST, 1.0), Exchange(point.step), point.stage, 0.5),
        is_gone=True,
    )


def broken(verdict: Verdict) -> list[str]:
    return [check.promise for check in verdict.checks if not check.kept]


def test_an_undisturbed_run_is_ok() -> None:
    assert broken(judge_calm(calm())) == []


@pytest.mark.parametrize("point", KILL_POINTS, ids=lambda point: point.name)
def test_a_run_that_went_on_after_a_kill_is_ok(point: KillPoint) -> None:
    verdict = judge_killed(killed(point), calm(), point)
    assert (broken(verdict), verdict.slices) == ([], 3)


GOOD = killed(AFTER_COMMIT)
FOUND = GOOD.evidence
POST = next(place for place, each in enumerate(GOOD.sightings) if each.moment == ("call tool", "passed on"))
SENDING = max(place for place, each in enumerate(GOOD.sightings) if each.moment == ("send outputs", "answered"))


def with_sighting(place: int, changed: Sighting) -> Run:
    return replace(GOOD, sightings=[*GOOD.sightings[:place], changed, *GOOD.sightings[place + 1 :]])


def with_entry(place: int, **fields: str) -> Run:
    entry = FOUND.entries[place]
    changed = replace(entry, body={**entry.body, **fields})
    return replace(
        GOOD, evidence=replace(FOUND, entries=[*FOUND.entries[:place], changed, *FOUND.entries[place + 1 :]])
    )


HISTORY = "kinds, bodies, call ids and order of the history are the undisturbed ones"
OUTPUTS = "a reader that drops known ids sees the undisturbed outputs"
ONE_BODY = "every output id appears, with one body"
ONE_BUILD = "the tool server saw one idempotency key, and the build ran once"
KILLED = "the process was killed after COMMIT, once, and is gone"
WIRE = "on the wire its slice is the undisturbed one's up to there, and ends there"
FINISHED = "another process finished the turn"
ASKED = "the model was asked again only for an answer that was not stored"
TWICE = [*FOUND.invocations, Invocation("tool server", 5, 6, "invoke")]


@pytest.mark.parametrize(
    ("spoiled", "promise"),
    [
        (replace(GOOD, is_gone=False), KILLED),
        (replace(GOOD, kill=None), KILLED),
        (replace(GOOD, evidence=replace(FOUND, invocations=FOUND.invocations[1:])), KILLED),
        (replace(GOOD, sightings=[*GOOD.sightings, Sighting(9, "call tool", "arrived", FIRST, killed=False)]), WIRE),
        (replace(GOOD, sightings=GOOD.sightings[1:]), WIRE),
        (replace(GOOD, sightings=[replace(each, pid=FIRST) for each in GOOD.sightings]), FINISHED),
        (replace(GOOD, sightings=GOOD.sightings[:-1]), FINISHED),
        (replace(GOOD, evidence=replace(FOUND, entries=FOUND.entries[:-1])), HISTORY),
        (replace(GOOD, evidence=replace(FOUND, entries=[*FOUND.entries, *FOUND.entries[-1:]])), HISTORY),
        (with_entry(0, text="other"), HISTORY),
        (with_entry(1, call_id=call_id_at("t", 7)), HISTORY),
        (replace(GOOD, evidence=replace(FOUND, outputs=FOUND.outputs[1:])), OUTPUTS),
        (replace(GOOD, evidence=replace(FOUND, outputs=FOUND.outputs[1:])), ONE_BODY),
        (with_sighting(SENDING, replace(GOOD.sightings[SENDING], outputs={"t-o6": "f", "t-o7": "other"})), ONE_BODY),
        (with_sighting(POST, replace(GOOD.sightings[POST], key="")), ONE_BUILD),
        (replace(GOOD, evidence=replace(FOUND, invocations=TWICE)), ONE_BUILD),
        (replace(GOOD, evidence=replace(FOUND, requests=[REQUEST] * 3)), ASKED),
        (replace(GOOD, evidence=replace(FOUND, requests=[REQUEST, replace(REQUEST, refused=True)])), ASKED),
    ],
)
def test_a_broken_promise_is_seen(spoiled: Run, promise: str) -> None:
    assert promise in broken(judge_killed(spoiled, calm(), AFTER_COMMIT))


def test_a_repeated_call_under_another_key_is_seen() -> None:
    run = killed(AFTER_POST)
    posts = [place for place, each in enumerate(run.sightings) if each.moment == ("call tool", "passed on")]
    seen = list(run.sightings)
    seen[posts[-1]] = replace(seen[posts[-1]], key="another")
    assert len(posts) == 2
    assert broken(judge_killed(replace(run, sightings=seen), calm(), AFTER_POST)) == [ONE_BUILD]


def test_nothing_at_all_is_never_ok() -> None:
    nothing = Run("t", 0, Evidence([], [], [], [], []), [])
    assert not judge_calm(nothing).ok
    assert not judge_killed(nothing, nothing, AFTER_COMMIT).ok
