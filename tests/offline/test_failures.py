"""What fails for a while, or for good, on a real deployment: whom it touches, what is said, and how it goes on.

Judged from the stored history, the output queue, the model's log, the poller's journal and the tool server's own log.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from scripts.commands.messages import TextMessage
from scripts.commands.target import Target, offline_target
from scripts.offline_stack.stack import OfflineStack
from tests.offline.attached import attached, manifest, offers
from tests.offline.configured import configured
from tests.offline.conversations import Conversation, function_log, gather, json_lines, wait_for_answers
from tests.offline.overlaps import Said, say_together
from tests.support.tool_server import ScriptedServer, Step, scripted_server

PATIENCE_S, PAUSE_S = 60, 0.1
# The longest that a message is put off after its second receive.
BACK_OFF_S = 10
HEALTHY = 9
WRONG_MODEL = "missing.model"
THROTTLED = {"refuse": "ThrottlingException"}
TRIES = 3  # of a completion, within one slice
LATE = "It was done all the same."
# How a tool server fails to take a call, and what its result says of it.
FAILURES = {
    "refuses": ([Step(400)], "Error: the tool server refused the request (HTTP 400)"),
    "is_always_503": ([Step(503)], "Error: the tool server failed (HTTP 503); the call may be running all the same"),
    "hangs": ([Step(202, delay_s=30)], "did not answer in time"),
}
DOWN, AWAY = "is_down", "model-is-away"


def scripted(text: str, script: object) -> str:
    return f"{text} [[script: {json.dumps(script)}]]"


def thread(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:8]}"


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"within {PATIENCE_S} s: no {what}"
        time.sleep(PAUSE_S)


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was said to a thread, in order, and what became of it."""

    said: list[Said]
    found: Conversation


def settled(deliveries: Path, message_id: str) -> list[dict[str, object]]:
    """The journal's lines about deliveries of a message that have ended."""
    lines = [line for line in json_lines(deliveries) if line["what"] == "batch settled"]
    return [line for line in lines if message_id in line["message_ids"]]


@pytest.fixture(scope="module")
def place(stack: OfflineStack) -> tuple[OfflineStack, Target]:
    return stack, offline_target(stack)


# A wrong model id.


@pytest.fixture(scope="module")
def repaired(place: tuple[OfflineStack, Target]) -> dict[str, Spoken]:
    """Two threads speak to a deployment with a wrong model id, which is repaired after both were tried twice."""
    stack, target = place
    threads = [thread("misled") for _ in range(2)]
    with configured(stack, model_id=WRONG_MODEL):
        said = say_together(target, [TextMessage(each, f"Hello from {each}.") for each in threads])
        until(lambda: all(len(settled(stack.delivery_log_path, each.message_id)) >= 2 for each in said), "second try")
    stack.move_clock(BACK_OFF_S)
    wait_for_answers(stack, dict.fromkeys(threads, 1))
    found = gather(stack, target, threads)
    return {each.thread_id: Spoken([each], found[each.thread_id]) for each in said}


def test_with_a_wrong_model_id_messages_are_tried_again_and_all_answered_once_it_is_repaired(
    repaired: dict[str, Spoken],
) -> None:
    for thread_id, spoken in repaired.items():
        assert [entry.kind for entry in spoken.found.entries] == ["user", "assistant"]
        assert len(spoken.found.attempts_with(spoken.said[0].message_id)) >= 3
        assert [line["model_id"] for line in spoken.found.requests][:2] == [WRONG_MODEL, WRONG_MODEL]
        assert thread_id in spoken.found.answers()[0]


def test_a_wrong_model_id_withholds_nothing_and_says_once_that_it_is_tried_again(repaired: dict[str, Spoken]) -> None:
    for spoken in repaired.values():
        errors = spoken.found.outputs_of("error")
        assert [(each.fields["code"], each.fields["retrying"]) for each in errors] == [("misconfigured", True)]


def test_a_wrong_model_id_is_an_error_in_the_log_and_a_metric(
    repaired: dict[str, Spoken], place: tuple[OfflineStack, Target]
) -> None:
    levels = {
        line["level"]
        for line in function_log(place[0])
        if line.get("code") == "misconfigured" and line.get("thread_id") in repaired
    }
    printed = place[0].invocation_log_path.with_name("functions.log").read_text()
    assert (levels, '"Name":"misconfigured"' in printed) == ({"ERROR"}, True)


# One of ten, and a poison.


@dataclass(frozen=True, slots=True)
class Crowd:
    said: list[Said]
    bad: Said
    found: Mapping[str, Conversation]


@pytest.fixture(scope="module")
def crowd(place: tuple[OfflineStack, Target], repaired: object) -> Crowd:  # noqa: ARG001 - the right model is back
    stack, target = place
    threads = [thread("one-of-ten") for _ in range(HEALTHY + 1)]
    texts = {each: f"Hello from {each}." for each in threads}
    bad = threads[HEALTHY // 2]
    texts[bad] = scripted(texts[bad], {"first": TRIES, "steps": [THROTTLED]})
    said = say_together(target, [TextMessage(each, text) for each, text in texts.items()])
    wait_for_answers(stack, dict.fromkeys(threads, 1))
    return Crowd(said, next(each for each in said if each.thread_id == bad), gather(stack, target, threads))


def test_one_bad_group_among_ten_holds_nobody_up(crowd: Crowd, place: tuple[OfflineStack, Target]) -> None:
    (delivery,) = settled(place[0].delivery_log_path, crowd.said[0].message_id)
    assert delivery["outcome"] == "partly failed"
    assert sorted(delivery["message_ids"]) == sorted(each.message_id for each in crowd.said)  # type: ignore[call-overload]
    assert delivery["failed"] == [crowd.bad.message_id]
    receives = {each.thread_id: len(settled(place[0].delivery_log_path, each.message_id)) for each in crowd.said}
    assert receives == {each.thread_id: 2 if each == crowd.bad else 1 for each in crowd.said}


def test_all_ten_are_answered_once(crowd: Crowd) -> None:
    assert {len(each.answers()) for each in crowd.found.values()} == {1}


@pytest.fixture(scope="module")
def poisoned(place: tuple[OfflineStack, Target], repaired: object) -> Spoken:  # noqa: ARG001 - as above
    """An innocent text and a poisoned one in one delivery, then a third."""
    stack, target = place
    name = thread("poisoned")
    poison = scripted("This is the second.", [{"refuse": "ValidationException"}])
    said = say_together(target, [TextMessage(name, f"This is the first of {name}."), TextMessage(name, poison)])
    wait_for_answers(stack, {name: 1})
    said += say_together(target, [TextMessage(name, f"This is the third of {name}.")])
    wait_for_answers(stack, {name: 2})
    return Spoken(said, gather(stack, target, [name])[name])


def test_a_text_that_the_model_refuses_is_withheld_and_those_around_it_are_answered(poisoned: Spoken) -> None:
    found = poisoned.found
    assert [entry.kind for entry in found.entries] == ["user", "assistant", "user", "user", "assistant"]
    first, last = found.answers()
    assert ("the first" in first, "the third" in last) == (True, True)
    errors = found.outputs_of("error")
    assert [(each.fields["code"], each.fields["retrying"]) for each in errors] == [("model_refused", False)]


def test_both_were_in_one_delivery_and_the_model_never_sees_the_refused_one_again(
    poisoned: Spoken, place: tuple[OfflineStack, Target]
) -> None:
    first, second, _ = poisoned.said
    (delivery,) = settled(place[0].delivery_log_path, first.message_id)
    assert (delivery["message_ids"], delivery["failed"]) == ([first.message_id, second.message_id], [second.message_id])
    shown = ["This is the second." in json.dumps(line["body"]) for line in poisoned.found.requests]
    assert shown == [True, False, True, False]


# Tools that do not take a call, and a model that is away for longer than patience.


@dataclass(frozen=True, slots=True)
class Impatient:
    """Conversations of a deployment with little patience, and the server that most of its tools are on."""

    found: Mapping[str, Conversation]
    server: ScriptedServer
    calls: Mapping[str, list[dict[str, object]]]


@contextmanager
def little_patience(stack: OfflineStack) -> Iterator[ScriptedServer]:
    with scripted_server() as server:
        for name, (steps, _) in FAILURES.items():
            offers(server, name, manifest(name))
            server.plan(f"/{name}/call", *steps)
        short = configured(stack, patience_receives=1, give_up_delay_s=1, http_total_s=1, http_tries=2)
        with short, attached(stack, server.url, FAILURES):
            yield server


@pytest.fixture(scope="module")
def impatient(place: tuple[OfflineStack, Target], crowd: object, poisoned: object) -> Iterator[Impatient]:  # noqa: ARG001 - their turns are over
    stack, target = place
    threads = {name: thread(name) for name in [*FAILURES, DOWN, AWAY]}
    with ExitStack() as opened:
        server = opened.enter_context(little_patience(stack))
        with scripted_server() as mortal:
            offers(mortal, DOWN, manifest(DOWN))
            opened.enter_context(attached(stack, mortal.url, [DOWN]))
            say_together(target, [TextMessage(threads[DOWN], "Hello.")])
            wait_for_answers(stack, {threads[DOWN]: 1})
        texts = {each: scripted("Go on.", [{"call": each}]) for each in [*FAILURES, DOWN]}
        texts[AWAY] = scripted(f"Hello from {threads[AWAY]}.", {"first": 2 * TRIES, "steps": [THROTTLED]})
        say_together(target, [TextMessage(threads[name], text) for name, text in texts.items()])
        wait_for_answers(stack, {threads[name]: 2 if name == DOWN else 1 for name in threads})
        calls = {name: [json.loads(got.body) for got in server.requests(f"/{name}/call")] for name in FAILURES}
        for name in FAILURES:
            answer_late(calls[name][0])
        wait_for_answers(stack, {threads[name]: 1 if name == AWAY else 2 for name in threads})
        found = gather(stack, target, list(threads.values()))
        yield Impatient({name: found[each] for name, each in threads.items()}, server, calls)


def answer_late(call: Mapping[str, object]) -> None:
    result = {"type": "tool_result", "group_id": call["group_id"], "id": call["id"], "text": LATE}
    request = Request(str(call["callback_url"]), json.dumps(result).encode(), method="POST")  # noqa: S310 - of the stack
    with urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - as above
        assert answer.status == 200


@pytest.mark.parametrize("name", FAILURES)
def test_a_call_that_a_server_does_not_take_gets_a_result_that_says_so_and_its_late_result_arrives_as_an_event(
    name: str, impatient: Impatient
) -> None:
    found = impatient.found[name]
    assert [entry.kind for entry in found.entries] == [
        "user",
        "tool_call",
        "tool_result",
        "assistant",
        "event",
        "assistant",
    ]
    assert FAILURES[name][1] in found.entries[2].text
    assert LATE in found.entries[4].text
    assert LATE in found.answers()[1]


@pytest.mark.parametrize("name", FAILURES)
def test_however_often_a_server_is_asked_it_is_the_same_call(name: str, impatient: Impatient) -> None:
    got = impatient.server.requests(f"/{name}/call")
    assert len({each.headers["idempotency-key"] for each in got}) == 1
    assert len({str(call["id"]) for call in impatient.calls[name]}) == 1
    assert len(got) == (1 if name == "refuses" else 2)


def test_a_server_that_went_down_after_its_manifest_was_read_makes_the_call_fail(impatient: Impatient) -> None:
    found = impatient.found[DOWN]
    kinds = [entry.kind for entry in found.entries]
    assert kinds == ["user", "assistant", "user", "tool_call", "tool_result", "assistant"]
    assert "refused the connection" in found.entries[4].text


def test_a_thread_that_gave_up_on_its_model_twice_is_woken_each_time_and_answered_in_the_end(
    impatient: Impatient,
) -> None:
    found = impatient.found[AWAY]
    assert [entry.kind for entry in found.entries] == ["user", "assistant"]
    assert len(found.requests) == 2 * TRIES + 1
    errors = [each.fields for each in found.outputs_of("error")]
    final = [(each["code"], each["message"]) for each in errors if not each["retrying"]]
    assert [code for code, _ in final].count("model_unavailable") == 2, final
    assert len(found.attempts) == 3  # the text, and two wakes; nobody sent anything
