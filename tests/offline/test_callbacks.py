"""The deployed receiver: who may answer a call, what is refused and why, and what becomes of repeats."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from runtime import phrases
from runtime.identity import payload_key
from runtime.model.entries import TextItem
from runtime.wire.items import pack_items
from scripts.commands.messages import TextMessage
from scripts.commands.target import offline_target
from scripts.demonstration.evidence import read_calls, read_invocations
from scripts.offline_stack.stack import OfflineStack
from tests.offline.attached import attached, manifest, offers
from tests.offline.bad_callbacks import LIMIT_BYTES, REFUSALS, Refusal, Target
from tests.offline.callers import Answer, Call, Receiver
from tests.offline.outside import Outside, Printed, texts_said
from tests.support.tool_server import Got, ScriptedServer, Step, scripted_server

PATIENCE_S = 30.0
CALL = '[[script: [{"call": "TOOL", "input": {}}]]]'


@dataclass(frozen=True)
class Bench:
    """A stack that knows a tool which takes calls and answers none, and one whose result comes first."""

    outside: Outside
    server: ScriptedServer
    receiver: Receiver

    def begin(self, name: str, tool: str = "wait") -> str:
        """Have a thread call a tool; return the thread's id."""
        thread_id = f"{self.outside.run}-{name}"
        self.outside.send(thread_id, TextMessage(thread_id, CALL.replace("TOOL", tool)).body)
        return thread_id

    def call_of(self, thread_id: str, server: str = "waits") -> Call:
        """Wait for the call of a thread to reach the tool server."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            for got in self.server.requests(f"/{server}/call"):
                if (call := _call_in(got)).thread_id == thread_id:
                    return call
            time.sleep(0.05)
        raise AssertionError(f"no call of {thread_id} came within {PATIENCE_S:.0f} s")

    def waiting_call(self, name: str) -> Call:
        call = self.call_of(self.begin(name))
        self.outside.settle()
        return call

    def results(self, call: Call) -> list[str]:
        """What history holds as results of the call, placeholders and events too."""
        return [entry.text for entry in self.outside.history(call.thread_id) if entry.kind in ("tool_result", "event")]


def _call_in(got: Got) -> Call:
    body = json.loads(got.body)
    return Call(body["group_id"], body["id"], body["callback_url"])


@pytest.fixture(scope="module")
def bench(stack: OfflineStack) -> Iterator[Bench]:
    outside = Outside(stack, offline_target(stack))
    outside.settle()
    with scripted_server() as server:
        offers(server, "waits", manifest("wait"))
        offers(server, "quick", manifest("quick_wait"))
        with attached(stack, server, ["waits", "quick"]):
            yield Bench(outside, server, Receiver(stack.outputs["ReceiverUrl"]))
            outside.settle()


@dataclass(frozen=True)
class Aftermath:
    """What all the bad requests were told, what was counted, and what the call they were about has come to."""

    answers: Mapping[str, Answer]
    counted: Counter[str]
    printed: Printed
    slices: int
    call: Call
    state: str


@pytest.fixture(scope="module")
def aftermath(bench: Bench) -> Aftermath:
    outside = bench.outside
    refused, other = bench.waiting_call("refused"), bench.waiting_call("other")
    began_at, printed = outside.stack.now(), outside.printed()
    target = Target(bench.receiver, refused, other, outside.signing_key(), int(began_at * 1000))
    answers = {refusal.name: refusal.request(target) for refusal in REFUSALS}
    outside.settle()
    slices = read_invocations(
        outside.stack.invocation_log_path, {outside.stack.outputs["SliceFunctionName"]: "slice"}, began_at
    )
    (call,) = read_calls(outside.stack.database_dsn, target.call.thread_id)
    return Aftermath(answers, printed.counted, printed, len(slices), target.call, call.state)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
def test_a_request_is_refused_and_told_why(refusal: Refusal, aftermath: Aftermath) -> None:
    answer = aftermath.answers[refusal.name]
    assert (answer.status, answer.error) == (refusal.status, refusal.error)
    assert answer.headers.get("Allow", answer.headers.get("allow")) == ("POST" if refusal.status == 405 else None)


def test_refusals_are_counted_by_reason_and_enqueue_nothing(aftermath: Aftermath) -> None:
    assert aftermath.counted == Counter(refusal.counted for refusal in REFUSALS)
    assert (aftermath.slices, aftermath.state) == (0, "pending")


def test_no_line_that_is_printed_holds_a_token(aftermath: Aftermath) -> None:
    assert aftermath.call.token.partition(".")[2] not in json.dumps(aftermath.printed.lines)


def test_the_call_that_all_of_them_were_about_is_answered_by_the_one_that_may(
    aftermath: Aftermath, bench: Bench
) -> None:
    answer = bench.receiver.post(aftermath.call.token, aftermath.call.result("This is the true result."))
    bench.outside.settle()
    assert answer.status == 200
    assert bench.results(aftermath.call) == ["This is the true result."]
    assert "This is the true result." in "\n".join(texts_said(bench.outside.outputs()[aftermath.call.thread_id]))


def test_a_result_that_is_posted_again_is_accepted_again_and_another_one_is_counted(bench: Bench) -> None:
    call, printed = bench.waiting_call("thrice"), bench.outside.printed()
    statuses = [bench.receiver.post(call.token, call.result("The first.")).status for _ in range(3)]
    bench.outside.settle()
    statuses += [bench.receiver.post(f"{call.token}?again=1", call.result("Another.")).status for _ in range(2)]
    bench.outside.settle()

    assert statuses == [200] * 5
    assert bench.results(call) == ["The first."]
    assert printed.counted == {"CallbacksAccepted": 5, "repeat_with_another_body": 1}
    assert [
        line["counted"]
        for line in printed.said("slice finished")
        if line["thread_id"] == call.thread_id and line["counted"]
    ] == [["repeat_with_another_body"]]


def test_two_different_results_posted_at_once_are_one_and_the_difference_is_counted(bench: Bench) -> None:
    call, printed = bench.waiting_call("at-once"), bench.outside.printed()
    statuses = [bench.receiver.post(call.token, call.result(text)).status for text in ("One.", "Two.")]
    bench.outside.settle()
    assert statuses == [200, 200]
    assert bench.results(call) == ["One."]
    assert printed.counted["repeat_with_another_body"] == 1


def test_a_result_that_comes_inside_the_post_is_matched(bench: Bench) -> None:
    bench.server.plan("/quick/call", Step(202, calls_back="Faster than my own answer."))
    call = bench.call_of(bench.begin("inside", "quick_wait"), "quick")
    bench.outside.settle()
    assert bench.results(call) == ["Faster than my own answer."]
    assert len(bench.server.requests("/quick/call")) == 1


def test_a_large_result_travels_by_reference(bench: Bench) -> None:
    call, text = bench.waiting_call("large"), "x" * (LIMIT_BYTES - 1_000)
    assert bench.receiver.post(call.token, call.result(text)).status == 200
    bench.outside.settle()

    packed = pack_items([TextItem(text)])
    kept = bench.outside.stack.client("s3").get_object(
        Bucket=bench.outside.stack.outputs["PayloadBucketName"], Key=payload_key(call.thread_id, packed)
    )
    assert kept["Body"].read() == packed
    (shown,) = bench.results(call)
    assert shown.startswith("xxx")
    assert shown.splitlines()[-1].startswith("[Cut:")


LOOSE_RESULTS: dict[str, tuple[dict[str, object], str]] = {
    "no text": ({"text": None}, phrases.NO_OUTPUT),
    "blanks": ({"text": " \n"}, phrases.NO_OUTPUT),
    "content that is text": ({"text": None, "content": "As text."}, "As text."),
    "content that is one item": ({"content": {"type": "text", "text": "As an item."}}, "As an item."),
    "content beside text": ({"content": [{"type": "text", "text": "Content."}]}, "Content."),
    "empty content beside text": ({"text": "Text.", "content": []}, "Text."),
    "a call_id of nobody": ({"text": "Text.", "call_id": "call_of_nobody"}, "Text."),
    "NUL and lone surrogates": ({"text": "a\x00b\ud800"}, "a\ufffdb\ufffd"),
    "fields nobody knows": ({"text": "Text.", "colour": "red"}, "Text."),
}


def test_results_in_every_loose_form_are_accepted(bench: Bench) -> None:
    threads = {name: bench.begin(f"loose-{number}") for number, name in enumerate(LOOSE_RESULTS)}
    calls = {name: bench.call_of(thread_id) for name, thread_id in threads.items()}
    statuses = {
        name: bench.receiver.post(calls[name].token, calls[name].result(**fields)).status  # type: ignore[arg-type]
        for name, (fields, _) in LOOSE_RESULTS.items()
    }
    bench.outside.settle()
    assert set(statuses.values()) == {200}
    assert {name: bench.results(call) for name, call in calls.items()} == {
        name: [text] for name, (_, text) in LOOSE_RESULTS.items()
    }
    said = bench.outside.outputs()
    assert all("turn_done" in [output.type for output in said[call.thread_id]] for call in calls.values())
