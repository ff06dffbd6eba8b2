"""The emulator and its functions live by a clock that can be moved while they run: what follows it, one by one."""

import io
import json
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from scripts.offline_stack import emulator
from scripts.offline_stack.clock import StackClock
from scripts.offline_stack.emulator import ClientSettings, client_settings
from scripts.offline_stack.supervisor import Supervisor
from tests.offline_stack.function_code import zipped

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient

MINUTE_S, DAY_S = 60, 86_400
# Far less than any move here, far more than any step of a test takes.
NEAR_S = 30.0
PATIENCE_S = 20.0

READS_CLOCKS = """
import time
from datetime import datetime
from time import time as kept_by_name

def handler(event, context):
    return {
        "time": time.time(),
        "time_ns": time.time_ns() / 1e9,
        "by_name": kept_by_name(),
        "datetime": datetime.now().timestamp(),
        "monotonic": time.monotonic(),
        "left_s": context.get_remaining_time_in_millis() / 1000,
    }
"""


SLEEPS_AN_HOUR = """
import time

def handler(event, context):
    began = time.time()
    time.sleep(3600)
    return {"time": time.time() - began}
"""


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> StackClock:
    return StackClock(tmp_path_factory.mktemp("clock") / "clock")


@pytest.fixture(scope="module")
def settings(clock: StackClock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientSettings]:
    supervisor, folder = Supervisor(), tmp_path_factory.mktemp("emulator")
    try:
        running = emulator.start(supervisor, folder / "tmp", folder / "emulator.log", clock)
        yield client_settings(emulator.endpoint_of(running))
    finally:
        supervisor.stop_children()


@pytest.fixture
def sqs(settings: ClientSettings) -> "SQSClient":
    return boto3.client("sqs", **settings)


def test_a_message_postponed_for_five_minutes_comes_back_when_they_are_over(
    clock: StackClock, sqs: "SQSClient"
) -> None:
    url = _queue(sqs)
    sqs.send_message(QueueUrl=url, MessageBody="again")
    (message,) = _received(sqs, url)
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=300)

    clock.move(240)
    assert _received(sqs, url) == []
    clock.move(61)
    (back,) = _received(sqs, url)
    assert (back["Body"], back["Attributes"]["ApproximateReceiveCount"]) == ("again", "2")


def test_a_delayed_message_comes_when_its_delay_is_over(clock: StackClock, sqs: "SQSClient") -> None:
    url = _queue(sqs)
    sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=900)

    clock.move(840)
    assert _received(sqs, url) == []
    clock.move(61)
    assert [message["Body"] for message in _received(sqs, url)] == ["later"]


def test_a_deduplication_id_is_good_again_after_five_minutes(clock: StackClock, sqs: "SQSClient") -> None:
    url = _queue(sqs, FifoQueue="true")

    def send(body: str) -> None:
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=body, MessageDeduplicationId="same")

    send("first")
    clock.move(4 * MINUTE_S)
    send("too early")
    clock.move(2 * MINUTE_S)
    send("second")

    assert [message["Body"] for message in _received(sqs, url)] == ["first", "second"]


def test_a_message_is_dropped_when_its_retention_is_over(clock: StackClock, sqs: "SQSClient") -> None:
    url = _queue(sqs, MessageRetentionPeriod=str(14 * DAY_S))
    sqs.send_message(QueueUrl=url, MessageBody="old")
    clock.move(13 * DAY_S)
    sqs.send_message(QueueUrl=url, MessageBody="new")
    clock.move(1.5 * DAY_S)

    assert [message["Body"] for message in _received(sqs, url)] == ["new"]


def test_a_schedule_forty_days_out_fires_after_the_move(
    clock: StackClock, settings: ClientSettings, sqs: "SQSClient"
) -> None:
    url = _queue(sqs)
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    due = datetime.fromtimestamp(clock.now(), UTC) + timedelta(days=40)
    boto3.client("scheduler", **settings).create_schedule(
        Name="far",
        ScheduleExpression=f"at({due:%Y-%m-%dT%H:%M:%S})",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": arn, "RoleArn": "arn:aws:iam::000000000000:role/any", "Input": "due"},
    )

    clock.move(39 * DAY_S)
    time.sleep(1.5 * emulator.SCHEDULER_TICK_S)
    assert _received(sqs, url) == []
    clock.move(DAY_S + 1)
    assert _eventually(lambda: _received(sqs, url))[0]["Body"] == "due"


def test_a_function_reads_the_moved_time_in_a_process_that_runs_and_in_a_new_one(
    clock: StackClock, settings: ClientSettings
) -> None:
    warm = made(settings, "warm", READS_CLOCKS)
    before = warm()
    clock.move(DAY_S)
    after, cold = warm(), made(settings, "cold", READS_CLOCKS)()

    for name in ("time", "time_ns", "by_name", "datetime"):
        assert DAY_S <= after[name] - before[name] < DAY_S + NEAR_S, name
        assert abs(cold[name] - clock.now()) < NEAR_S, name
    # What measures durations does not jump, and a new invocation has all its time.
    assert 0 <= after["monotonic"] - before["monotonic"] < NEAR_S
    assert after["left_s"] > 300 - NEAR_S


def test_a_sleep_is_over_when_the_clock_has_passed_its_end(clock: StackClock, settings: ClientSettings) -> None:
    asleep_for_an_hour = made(settings, "sleeper", SLEEPS_AN_HOUR)
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        asleep = pool.submit(asleep_for_an_hour)
        while not asleep.done() and time.monotonic() < began + PATIENCE_S:
            clock.move(10 * MINUTE_S)
            time.sleep(0.2)
    # Not a minute was waited for, but at least an hour has passed there.
    assert asleep.result()["time"] > 3600


def test_the_clock_never_goes_back(clock: StackClock) -> None:
    moved_s = clock.moved_s
    with pytest.raises(ValueError, match="down and up"):
        clock.move(-1)
    assert clock.moved_s == moved_s


def test_a_clock_that_nobody_moved_tells_this_machines_time(tmp_path: Path) -> None:
    clock = StackClock(tmp_path / "clock")
    assert (clock.moved_s, abs(clock.now() - time.time()) < NEAR_S) == (0, True)


def made(settings: ClientSettings, name: str, code: str) -> Callable[[], dict[str, float]]:
    """Make a function of this code and return what invokes it."""
    functions = boto3.client("lambda", **settings)
    functions.create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role="arn:aws:iam::000000000000:role/any",
        Handler="told.handler",
        Timeout=300,
        Code={"ZipFile": zipped("told.py", code)},
    )
    return lambda: json.load(io.BytesIO(functions.invoke(FunctionName=name)["Payload"].read()))


def _queue(sqs: "SQSClient", **attributes: str) -> str:
    name = uuid.uuid4().hex + (".fifo" if "FifoQueue" in attributes else "")
    return sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]  # type: ignore[arg-type]


def _received(sqs: "SQSClient", url: str) -> list[Any]:
    answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"])
    return list(answer.get("Messages", []))


def _eventually(ask: Callable[[], list[Any]]) -> list[Any]:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := ask()):
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.1)
    return found
