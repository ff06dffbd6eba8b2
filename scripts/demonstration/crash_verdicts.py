"""Whether a conversation went on as if no process had been killed, judged from evidence alone.

It is compared with a conversation of the same words in which nothing was killed. What differs between any two
conversations is put aside first: ids that are made of the thread's name, what the build says, clock readings, and the
id that the model makes up for a call.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from scripts.commands.messages import JsonObject
from scripts.demonstration.crash_evidence import KillPoint, Run
from scripts.demonstration.verdicts import Check, Verdict, unanswered_calls

Comparable: TypeAlias = "tuple[int | None, str, str]"

CALM_HISTORY = ["user", "tool_call", "tool_result", "assistant"]
OF_THE_MOMENT = ("provider_call_id", "received_at_ms")
OUTPUT_NAMES = ("id", "thread_id", "root_thread_id")


def judge_calm(calm: Run) -> Verdict:
    """The measure for all others must itself be what was asked for: a build, its result, an answer that quotes it."""
    kinds = [entry.kind for entry in calm.evidence.entries]
    states = [call.state for call in calm.evidence.calls]
    pids = {sighting.pid for sighting in calm.sightings}
    return _verdict(
        calm,
        [
            Check("the undisturbed history is the one expected", kinds == CALM_HISTORY, " ".join(kinds) or "nothing"),
            Check("its call is answered", states == ["answered"], ", ".join(states) or "no call"),
            Check("nothing was killed", calm.kill is None and bool(pids), f"processes {pids}"),
            _one_build(calm),
            _each_output_once(calm),
        ],
    )


def judge_killed(run: Run, calm: Run, point: KillPoint) -> Verdict:
    """Killed at the point, finished by another process, and nothing about it that could be told from outside."""
    return _verdict(
        run,
        [
            _killed_at(run, point),
            _wire_ends_there(run, calm, point),
            _another_finished(run),
            _same_history(run, calm),
            _same_outputs(run, calm),
            _each_output_once(run),
            _one_build(run),
            _model_was_not_asked_again(run, calm),
        ],
    )


def _verdict(run: Run, checks: Sequence[Check]) -> Verdict:
    return Verdict(checks, slices=len(run.evidence.of("slice")))


def _killed_at(run: Run, point: KillPoint) -> Check:
    promise = f"the process was killed {point.name}, once, and is gone"
    failed = sum(invocation.failed for invocation in run.evidence.of("slice"))
    if run.kill is None:
        return Check(promise, kept=False, seen="nothing was killed")
    there = "gone" if run.is_gone else "still there"
    kept = run.is_gone and failed == 1 and sum(sighting.killed for sighting in run.sightings) == 1
    return Check(promise, kept, f"process {run.kill.process.pid} is {there}, {failed} invocation failed")


def _wire_ends_there(run: Run, calm: Run, point: KillPoint) -> Check:
    """Up to the point it did what the undisturbed one did, and nothing after it."""
    killed_pid = run.kill.process.pid if run.kill else None
    moments = [sighting.moment for sighting in run.sightings if sighting.pid == killed_pid]
    expected = [sighting.moment for sighting in calm.sightings]
    last = (point.step, point.stage)
    until_there = expected[: expected.index(last) + 1] if last in expected else []
    promise = "on the wire its slice is the undisturbed one's up to there, and ends there"
    return Check(promise, bool(moments) and moments == until_there, _told(moments[-2:]))


def _another_finished(run: Run) -> Check:
    promise = "another process finished the turn"
    killed = [sighting.killed for sighting in run.sightings]
    after = run.sightings[killed.index(True) + 1 :] if True in killed else ()
    pids = sorted({sighting.pid for sighting in after})
    others = run.kill is not None and bool(pids) and run.kill.process.pid not in pids
    kept = others and after[-1].moment == ("write receipts", "answered")
    return Check(promise, kept, f"process {', '.join(map(str, pids))}: {_told([each.moment for each in after[-1:]])}")


def _same_history(run: Run, calm: Run) -> Check:
    ours, theirs = list(comparable_history(run)), list(comparable_history(calm))
    promise = "kinds, bodies, call ids and order of the history are the undisturbed ones"
    return Check(promise, ours == theirs, _difference(ours, theirs) or f"{len(ours)} equal entries")


def _same_outputs(run: Run, calm: Run) -> Check:
    ours, theirs = list(comparable_outputs(run)), list(comparable_outputs(calm))
    promise = "a reader that drops known ids sees the undisturbed outputs"
    return Check(promise, ours == theirs, _difference(ours, theirs) or f"{len(ours)} equal outputs")


def _each_output_once(run: Run) -> Check:
    """What was sent, also what the queue dropped as a repeat, against what came out of the queue."""
    bodies: dict[str, set[str]] = {}
    sendings = run.seen("send outputs", "answered")
    for sighting in sendings:
        for output_id, fingerprint in sighting.outputs.items():
            bodies.setdefault(output_id, set()).add(fingerprint)
    kept = set(bodies) == {output.id for output in run.evidence.outputs} and all(len(b) == 1 for b in bodies.values())
    sent = sum(len(sighting.outputs) for sighting in sendings)
    return Check(
        "every output id appears, with one body", bool(bodies) and kept, f"{len(bodies)} ids, sent {sent} times"
    )


def _one_build(run: Run) -> Check:
    posts = run.seen("call tool", "passed on")
    keys = {post.key for post in posts}
    builds = sum(each.source == "invoke" for each in run.evidence.of("tool server"))
    kept = len(keys) == 1 and "" not in keys and builds == 1
    seen = f"{len(posts)} POSTs, {len(keys)} keys, {builds} builds"
    return Check("the tool server saw one idempotency key, and the build ran once", kept, seen)


def _model_was_not_asked_again(run: Run, calm: Run) -> Check:
    """An answer that was not committed is asked for again; one that was never is."""
    killed_pid = run.kill.process.pid if run.kill else None
    moments = [sighting.moment for sighting in run.sightings if sighting.pid == killed_pid]
    in_vain = ("complete", "answered") in moments and ("commit", "answered") not in moments
    requests = run.evidence.requests
    kept = len(requests) == len(calm.evidence.requests) + in_vain
    unanswered = sum(1 for request in requests for _ in unanswered_calls(request))
    refused = sum(request.refused for request in requests)
    seen = f"{len(requests)} requests, {refused} refused, {unanswered} unanswered calls"
    promise = "the model was asked again only for an answer that was not stored"
    return Check(promise, kept and not unanswered and not refused, seen)


def comparable_history(run: Run) -> Iterator[Comparable]:
    """Position, kind and body of each entry, without what differs between any two conversations."""
    for entry in run.evidence.entries:
        yield entry.position, entry.kind, _comparable(entry.body, run)


def comparable_outputs(run: Run) -> Iterator[Comparable]:
    """Place, type and fields of each output, without what differs between any two conversations."""
    for output in run.evidence.outputs:
        fields = {name: value for name, value in output.fields.items() if name not in OUTPUT_NAMES}
        yield output.seq, output.type, _comparable(fields, run)


def _comparable(body: JsonObject, run: Run) -> str:
    text = json.dumps(timeless(body), sort_keys=True, ensure_ascii=False)
    for entry in run.evidence.entries:
        text = text.replace(_call_id_at(run.thread_id, entry.position), f"call@{entry.position}")
        if entry.kind == "tool_result" and entry.text:
            text = text.replace(entry.text, "(what the build says)")
    return text


def timeless(value: object) -> object:
    """The value without what differs between any two conversations by the clock, or by what the model makes up."""
    if isinstance(value, dict):
        return {name: timeless(inner) for name, inner in value.items() if name not in OF_THE_MOMENT}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def _call_id_at(thread_id: str, position: int) -> str:
    """The id that a call stored at this position must have: 24 hex digits of a hash of the two."""
    compact = json.dumps([thread_id, position], separators=(",", ":"))
    return f"call_{hashlib.sha256(compact.encode()).hexdigest()[:24]}"


def _difference(ours: Sequence[Comparable], theirs: Sequence[Comparable]) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} instead of {len(theirs)}"
    pairs = [(mine, other) for mine, other in zip(ours, theirs, strict=True) if mine != other]
    return f"{pairs[0][0]} instead of {pairs[0][1]}" if pairs else ""


def _told(moments: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{step} {stage}" for step, stage in moments) or "nothing passed by"
