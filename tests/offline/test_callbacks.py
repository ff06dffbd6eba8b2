"""The deployed receiver: who may answer a call, what is refused and why, and what becomes of repeats."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pytest

from runtime import phrases
from runtime.identity import payload_key
from runtime.model.entries import TextItem
from runtime.ports import Key
from runtime.wire.items import pack_items
from scripts.demonstration.evidence import read_calls, read_invocations
from scripts.offline_stack.stack import OfflineStack
from tests.offline.bad_callbacks import A_DAY_MS, LIMIT_BYTES, REFUSALS, Refusal, Target
from tests.offline.bench import Bench, bench_on
from tests.offline.callers import Answer, Call
from tests.offline.outside import Printed, texts_said
from tests.support.tool_server import Step


@pytest.fixture(scope="module")
def bench(stack: OfflineStack) -> Iterator[Bench]:
    with bench_on(stack) as bench:
        yield bench


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
    expected = Counter(refusal.counted for refusal in REFUSALS)
    # On a busy machine the emulator reads the last line of an invocation only with the next one of that process.
    assert aftermath.counted <= expected
    assert aftermath.counted.keys() == expected.keys()
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
    assert printed.counted == {"callbacks_accepted": 5, "repeat_with_another_body": 1}
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
    assert len(bench.requests_of(call.thread_id, "quick")) == 1


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


UNKNOWN_KEY_PAUSE_S = 31  # a key id that nobody knows makes the receiver read the secret again, twice a minute at most
KEY_REST_S = 15 * 60  # a key rests for so long before it signs, and as long do functions go by what they have read
A_MINUTE_S = 60


def test_a_key_that_an_operator_adds_verifies_soon_and_signs_later_and_the_old_one_goes_on_verifying(
    bench: Bench,
) -> None:
    stack, old_key = bench.outside.stack, bench.outside.signing_key()
    before, unanswered = bench.waiting_call("before-rotation"), bench.waiting_call("never-answered")
    new_key = Key(f"k-{bench.outside.run}", b"made by an operator", 0)
    by_new_key = before.another_token(new_key, int(stack.now() * 1000) + A_DAY_MS)
    by_stranger = before.another_token(replace(new_key, secret=b"a stranger's"), int(stack.now() * 1000) + A_DAY_MS)

    told = [bench.receiver.post(by_new_key, before.result()).error]
    add_key(stack, new_key, signs_from_s=int(stack.now()) + A_MINUTE_S)
    stack.move_clock(UNKNOWN_KEY_PAUSE_S)
    told += [bench.receiver.post(token, before.result("By the new.")).error for token in (by_new_key, by_stranger)]
    stack.move_clock(KEY_REST_S)
    resting = bench.waiting_call("new-key-rests")
    stack.move_clock(A_MINUTE_S)
    signing = bench.waiting_call("new-key-signs")
    told += [bench.receiver.post(call.token, call.result()).error for call in (resting, signing, unanswered)]
    bench.outside.settle()

    assert told == ["the token is forged", "", "the token is forged", "", "", ""]
    assert [call.key_id for call in (before, resting)] == [old_key.key_id] * 2
    assert signing.key_id == new_key.key_id
    calls = (before, resting, signing, unanswered)
    assert [bench.results(call) for call in calls] == [["By the new."], ["Done."], ["Done."], ["Done."]]


def add_key(stack: OfflineStack, key: Key, signs_from_s: int) -> None:
    """Add a key to those of the deployment, as an operator does."""
    secrets, arn = stack.client("secretsmanager"), stack.outputs["TokenSecretArn"]
    keys = json.loads(secrets.get_secret_value(SecretId=arn)["SecretString"])["keys"]
    added = {"id": key.key_id, "key": key.secret.decode(), "signs_from": signs_from_s}
    secrets.put_secret_value(SecretId=arn, SecretString=json.dumps({"keys": [*keys, added]}))
