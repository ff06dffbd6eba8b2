"""One delivery of the queue: records of several threads, good and bad."""

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from runtime.adapters.memory.fifo_limits import Sending
from runtime.batch import BatchResult, run_batch
from runtime.errors import Misconfigured, ModelUnavailable, PermanentError, Unavailable
from runtime.model.turns import Completion, ModelRequest, TextBlock
from runtime.ports import RawRecord
from tests.support.values import calls, says
from tests.support.world import World

SECRET = "what somebody wrote".replace(" ", "-")  # in no line of code, which tracebacks show


def record(text: str, group_id: str = "t", number: int = 1, **fields: Any) -> RawRecord:
    body = json.dumps({"group_id": group_id, "content": {"type": "text", "text": text}})
    given: dict[str, Any] = {"body": body, "receive_count": 1, "sent_ms": 0, "first_received_ms": 10**15, **fields}
    return RawRecord(record_id=f"r{number}", handle=f"h{number}", group_id=group_id, **given)


def run(world: World, *records: RawRecord) -> BatchResult:
    return run_batch(records, world.system.workers, 300)


def answers(request: ModelRequest) -> Completion:
    said = [block.text for message in request.messages for block in message.blocks if isinstance(block, TextBlock)]
    if "unlucky" in said:
        raise ModelUnavailable
    if "defect" in said:
        raise KeyError(SECRET)
    return says("Hello.")


def test_a_body_nobody_can_read_is_parked_with_its_reason_and_the_messages_behind_it_go_on() -> None:
    world = World(answers)
    result = run(world, record("x", number=1, body="{nonsense"), record("hello", number=2))
    assert result == BatchResult(failed=(), counted=("malformed_bodies",))
    assert world.kinds == ["user", "assistant"]
    (parked,) = world.system.dead_letters.receive()
    assert (parked.record.body, parked.attributes["reason"]) == ("{nonsense", "body is not JSON")


def test_a_message_of_another_group_than_its_own_is_parked() -> None:
    world = World(answers)
    body = json.dumps({"group_id": "other", "content": {"type": "text", "text": "x"}})
    assert run(world, record("x", body=body)).failed == ()
    assert len(world.system.dead_letters) == 1


def test_one_thread_that_fails_does_not_fail_the_others() -> None:
    world = World(answers)
    records = [record("unlucky", "a", 1), record("hello", "b", 2), record("hello", "c", 3)]
    assert run(world, *records).failed == ("r1",)
    assert [len(world.thread(name).entries) for name in "abc"] == [0, 2, 2]


def test_a_record_that_failed_is_tried_anew_in_the_same_process() -> None:
    up = [False]

    def model(_: ModelRequest) -> Completion:
        if not up[0]:
            raise ModelUnavailable
        return says("Hello.")

    world = World(model)
    assert run(world, record("hello")).failed == ("r1",)
    up[0] = True
    assert run(world, record("hello", receive_count=2)).failed == ()
    assert world.kinds == ["user", "assistant"]


def test_all_of_a_thread_that_comes_back_is_reported_from_the_first_one_on() -> None:
    world = World(answers)
    records = [record("unlucky", "a", 1), record("x", "a", 2, body="{"), record("y", "a", 3)]
    assert run(world, *records).failed == ("r1", "r3")  # what was parked is done with


def test_a_defect_of_ours_fails_one_thread_and_logs_nothing_that_was_said(caplog: pytest.LogCaptureFixture) -> None:
    world = World(answers)
    with caplog.at_level(logging.INFO):
        result = run(world, record("defect", "a", 1), record(SECRET, "b", 2))
    assert (result.failed, result.counted) == (("r1",), ("defect",))
    logged = [str(vars(entry)) for entry in caplog.records]
    assert any("KeyError" in line for line in logged)
    assert not any(SECRET in line for line in logged)


def test_the_line_of_a_slice_names_all_that_was_counted_of_it(caplog: pytest.LogCaptureFixture) -> None:
    world = World(answers)
    run(world, record("hello"))
    answer = {"group_id": "t", "content": {"type": "user_choice_answer", "id": "none", "selected": 0}}
    caplog.clear()  # of what other tests may have had logged of the first
    with caplog.at_level(logging.INFO, "runtime"):
        result = run(world, record("", body=json.dumps(answer), number=2))
    (line,) = [vars(entry) for entry in caplog.records if entry.getMessage() == "slice finished"]
    assert line["counted"] == result.counted == ("answer_to_no_open_choice",)


def test_threads_that_came_often_run_last_so_that_they_take_no_innocent_with_them() -> None:
    order: list[str] = []

    def model(request: ModelRequest) -> Completion:
        block = request.messages[0].blocks[0]
        assert isinstance(block, TextBlock)
        order.append(block.text)
        return says("ok")

    world = World(model)
    run(world, record("often", "a", 1, receive_count=9), record("some", "b", 2, receive_count=4), record("new", "c", 3))
    assert order == ["new", "some", "often"]


def test_messages_stay_when_the_key_that_would_prove_them_is_not_to_be_had() -> None:
    class Away:
        def find(self, key_id: str) -> None:
            raise Unavailable(key_id)

    world = World(answers)
    world.put_in(keyring=Away())
    body = json.dumps({"group_id": "t", "content": {"type": "wake"}, "message_id": "wake:t:1", "auth": "k.x"})
    result = run(world, record("hello", "b", 1), record("x", "t", 2, body=body), record("y", "t", 3))
    assert result.failed == ("r2", "r3")
    assert len(world.thread("b").entries) == 2


def test_a_first_receive_that_waited_long_gets_its_visibility_back_before_it_starts() -> None:
    world = World(answers, visibility_s=30)
    world.system.inputs.send(Sending("t", "d1", record("hello").body))
    (received,) = world.system.inputs.receive()
    world.clock.advance(20)
    seen: list[int | None] = []
    world.model.script = ()

    def model(_: ModelRequest) -> Completion:
        seen.append(world.system.inputs.next_visible_ms())
        return says("Hello.")

    world.put_in(model=World(model).model)
    run_batch([received.record], world.system.workers, 300)
    assert seen == [world.clock.now_ms() + 30_000]


def test_a_visibility_that_cannot_be_changed_is_counted_as_what_it_is() -> None:
    class Refusing:
        def postpone(self, handles: Sequence[str], visibility_s: int) -> None:
            raise Misconfigured(f"{len(handles)}, {visibility_s}")

        def park(self, record: RawRecord, reason: str) -> None:
            raise AssertionError(record, reason)

    world = World(answers)
    workers = replace(world.system.workers, input_queue=Refusing())
    result = run_batch([record("unlucky")], workers, 300)
    assert (result.failed, "misconfigured" in result.counted) == (("r1",), True)
    assert "defect" not in result.counted


def test_a_group_that_came_often_is_not_begun_without_time_to_end_it() -> None:
    world = World(answers)
    records = [record("hello", "a", 1, receive_count=3), record("hello", "b", 2)]
    assert run_batch(records, world.system.workers, 15).failed == ("r1",)


def test_giving_up_is_counted() -> None:
    world = World([PermanentError()])
    assert "gave_up_model_refused" in run(world, record("hello")).counted


def test_how_long_the_oldest_call_has_been_running_is_told() -> None:
    world = World(lambda request: calls("run_build") if len(request.messages) == 1 else says("Hello."))
    assert run(world, record("build", number=1)).oldest_call_s == 0
    world.clock.advance(3_600)
    assert run(world, record("hello", number=2), record("hi", "b", 3)).oldest_call_s == 3_600
