"""Whether a scenario kept its promises, judged from evidence alone. Nothing here calls anything."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scripts.demonstration.evidence import Evidence, Invocation, ModelRequest

# The build's callback is a little earlier than its last second on the clock of another process.
CLOCK_TOLERANCE_S = 0.5

BASIC_HISTORY = ["user", "assistant", "user", "tool_call", "tool_result", "assistant"]
INTERRUPT_HISTORY = [
    *("user", "tool_call", "tool_result"),  # the build, and the placeholder that says it is still running
    *("user", "tool_call", "tool_result", "assistant"),  # the question in between, answered with another tool
    *("event", "assistant"),  # the build's own result, when it came
]


@dataclass(frozen=True, slots=True)
class Check:
    """One promise: `promise` as a sentence, `seen` the fact it was judged by."""

    promise: str
    kept: bool
    seen: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was promised and seen. `rows`: what became of each message, where that is told of one by one."""

    checks: Sequence[Check]
    slices: int
    rows: Sequence[Mapping[str, object]] = ()

    @property
    def ok(self) -> bool:
        return all(check.kept for check in self.checks)

    @property
    def why(self) -> str:
        """The broken promises with what was seen instead, or what was seen of the kept ones."""
        broken = [check for check in self.checks if not check.kept]
        return "; ".join(f"{check.promise}: {check.seen}" for check in broken or self.checks)


def verdict_of_runs(verdicts: Mapping[str, Verdict]) -> Verdict:
    """One promise for each run, by its name: that all of its own were kept."""
    return Verdict(
        [Check(name, verdict.ok, _seen_in(verdict)) for name, verdict in verdicts.items()],
        slices=sum(verdict.slices for verdict in verdicts.values()),
    )


def _seen_in(run: Verdict) -> str:
    return "; ".join(check.seen for check in run.checks) if run.ok else run.why


def counted(number: int, what: str) -> str:
    """Say how many: "1 run", "2 runs"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def judge_basic(evidence: Evidence, build_s: float) -> Verdict:
    """Text, answer, a build that takes its time while nothing runs, its result, an answer that quotes it."""
    return _verdict(
        evidence,
        [
            _history_is(evidence, BASIC_HISTORY),
            _build_call_is_answered(evidence),
            _nothing_ran_while_the_build_did(evidence, build_s),
            _last_answer_quotes(evidence, "tool_result"),
        ],
    )


def judge_interrupt(evidence: Evidence, build_s: float) -> Verdict:
    """A question during a build is answered before the build is done; its result then arrives as an event."""
    return _verdict(
        evidence,
        [
            _history_is(evidence, INTERRUPT_HISTORY),
            _build_call_is_answered(evidence),
            _answer_stood_before_the_result(evidence, build_s),
            _event_belongs_to_the_build(evidence),
            _last_answer_quotes(evidence, "event"),
        ],
    )


def _verdict(evidence: Evidence, checks: Sequence[Check]) -> Verdict:
    common = [
        _every_answer_was_sent_once(evidence),
        model_saw_only_answered_calls(evidence.requests),
        _build_ran_once(evidence),
    ]
    return Verdict([*checks, *common], slices=len(evidence.of("slice")))


def _history_is(evidence: Evidence, expected: Sequence[str]) -> Check:
    kinds = [entry.kind for entry in evidence.entries]
    positions = [entry.position for entry in evidence.entries]
    kept = kinds == list(expected) and positions == list(range(1, len(positions) + 1))
    return Check("the stored history is the one expected", kept, " ".join(kinds) or "nothing is stored")


def _build_call_is_answered(evidence: Evidence) -> Check:
    states = [call.state for call in evidence.calls if call.name == "run_build"]
    return Check("the build's call is answered", states == ["answered"], ", ".join(states) or "no call of a build")


def _nothing_ran_while_the_build_did(evidence: Evidence, build_s: float) -> Check:
    """From the end of the slice that handed the call over until the callback opens the receiver."""
    promise = "no slice, receiver or relay ran while the build did"
    callback = _callback_of_the_build(evidence)
    earlier = [run for run in evidence.of("slice", "receiver", "timer relay") if callback and run is not callback]
    before = [run for run in earlier if callback and run.opened_at < callback.opened_at]
    if callback is None or not before:
        return Check(promise, kept=False, seen="no callback arrived")
    idle_s = callback.opened_at - max(run.closed_at for run in before)
    kept = idle_s >= build_s - 2 * CLOCK_TOLERANCE_S
    during = f"nothing ran during the build's {build_s:g} s"
    return Check(promise, kept, during if kept else f"nothing ran for {idle_s:.1f} s of {build_s:g} s")


def _answer_stood_before_the_result(evidence: Evidence, build_s: float) -> Check:
    promise = "the question was answered before the build was done"
    callback = _callback_of_the_build(evidence)
    texts = [output for output in evidence.outputs if output.type == "text"]
    if callback is None or not texts:
        return Check(promise, kept=False, seen="no callback arrived" if texts else "no answer was sent")
    ahead_s = callback.opened_at - texts[0].sent_at
    return Check(
        promise, ahead_s > 0, f"the answer stood {ahead_s:.1f} s before the callback of a build of {build_s:g} s"
    )


def _callback_of_the_build(evidence: Evidence) -> Invocation | None:
    """The last callback: in every scenario it is the build that takes longest."""
    callbacks = evidence.of("receiver")
    return callbacks[-1] if callbacks else None


def _event_belongs_to_the_build(evidence: Evidence) -> Check:
    builds = [call.call_id for call in evidence.calls if call.name == "run_build"]
    events = [str(entry.body.get("call_id")) for entry in evidence.entries if entry.kind == "event"]
    return Check("the event belongs to the build's call", events == builds, ", ".join(events) or "no event is stored")


def _last_answer_quotes(evidence: Evidence, kind: str) -> Check:
    promise = "the last answer quotes the build's own output"
    results = [entry.text for entry in evidence.entries if entry.kind == kind]
    texts = [output.text_of("text") for output in evidence.outputs if output.type == "text"]
    if not results or not texts:
        return Check(promise, kept=False, seen="there is no result" if texts else "there is no answer")
    return Check(promise, bool(results[-1]) and results[-1] in texts[-1], texts[-1])


def _every_answer_was_sent_once(evidence: Evidence) -> Check:
    stored = [entry.text for entry in evidence.entries if entry.kind == "assistant"]
    sent = [output.text_of("text") for output in evidence.outputs if output.type == "text"]
    kept = bool(sent) and sent == stored
    return Check("every stored answer was sent, once, in order", kept, f"{len(stored)} stored, {len(sent)} sent")


def model_saw_only_answered_calls(requests: Sequence[ModelRequest], refusals: int = 0) -> Check:
    """None in any request; and the model's endpoint, which looks as well, refused as many as were to be refused."""
    refused = sum(request.refused for request in requests)
    unanswered = sum(1 for request in requests for _ in unanswered_calls(request))
    seen = f"{counted(len(requests), 'request')}, {refused} refused, {counted(unanswered, 'unanswered call')}"
    kept = bool(requests) and refused == refusals and not unanswered
    return Check("the model never saw an unanswered call", kept, seen)


def unanswered_calls(request: ModelRequest) -> Iterator[str]:
    """The ids of calls that the message right after them does not answer."""
    for index, message in enumerate(request.messages):
        following = request.messages[index + 1] if index + 1 < len(request.messages) else {}
        answered = set(_ids_of(following, "toolResult"))
        yield from (call_id for call_id in _ids_of(message, "toolUse") if call_id not in answered)


def _ids_of(message: object, block_type: str) -> Iterator[str]:
    content = message.get("content", []) if isinstance(message, dict) else []
    for block in content:
        if block_type in block:
            yield block[block_type]["toolUseId"]


def _build_ran_once(evidence: Evidence) -> Check:
    """The toolset works on a build in an asynchronous invocation of itself."""
    runs = [run for run in evidence.of("tool server") if run.source == "invoke"]
    return Check("the build ran once", len(runs) == 1, counted(len(runs), "run"))
