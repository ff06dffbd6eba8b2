"""How a load test speaks and listens: against queues that answer at once, throttle, refuse, or stay silent."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from scripts.commands.target import Target
from scripts.load_testing.driving import TRIES, LoadError, drive
from scripts.load_testing.figures import Observed
from scripts.load_testing.ledger import Ledger
from scripts.load_testing.plan import Plan
from scripts.load_testing.sites import Pace, Site

PLAN = Plan(threads=12, messages=2)
PATIENCE_S = 50.0
# Requests and answers are boto3's own, open-ended; hence Any.
Answer = dict[str, Any]


def failure(code: str, status: int = 400) -> ClientError:
    answer: Answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(cast(Any, answer), "Request")


@dataclass
class AnsweringQueues:
    """An SQS behind which each message is answered as soon as it is there.

    `on_send` says what becomes of a sending, by its number: an error to raise, or the places of what is not taken.
    """

    on_send: Callable[[int], ClientError | set[int]] = lambda _: set()
    silent: bool = False
    unreadable: bool = False
    sendings: list[list[str]] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    outputs: list[Answer] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    answers: int = 0

    def send_message_batch(self, **request: Any) -> Answer:
        self.sendings.append([entry["MessageGroupId"] for entry in request["Entries"]])
        refused = self.on_send(len(self.sendings))
        if isinstance(refused, ClientError):
            raise refused
        for entry in request["Entries"]:
            if int(entry["Id"]) not in refused and entry["MessageDeduplicationId"] not in self.taken:
                self.taken.append(entry["MessageDeduplicationId"])
                self.answer(json.loads(entry["MessageBody"]))
        return {"Failed": [{"Id": str(place), "SenderFault": False, "Code": "Busy"} for place in sorted(refused)]}

    def receive_message(self, **_: Any) -> Answer:
        if self.unreadable:
            raise failure("AccessDenied", 403)
        found, self.outputs = self.outputs[:10], self.outputs[10:]
        return {"Messages": found}

    def delete_message_batch(self, **request: Any) -> Answer:
        self.deleted += [entry["ReceiptHandle"] for entry in request["Entries"]]
        return {}

    def answer(self, body: Answer) -> None:
        """Put a turn on the output queue that quotes the message."""
        self.answers += 1
        thread_id = body["group_id"]
        for place, (kind, said) in enumerate({"text": body["content"]["text"], "turn_done": ""}.items()):
            output = {"id": f"{self.answers}-{kind}", "type": kind, "thread_id": thread_id, "root_thread_id": thread_id}
            message = json.dumps({**output, "seq": self.answers * 16 + place, "text": said})
            attributes = {"MessageGroupId": thread_id, "SentTimestamp": "0"}
            if not self.silent:
                self.outputs.append({"Body": message, "ReceiptHandle": output["id"], "Attributes": attributes})


@dataclass
class Drive:
    """A run against such queues, in a time of its own: one second for each time somebody looks at the clock.

    `settle` is what happens when all is answered; then outputs are waited for until none came for `quiet_s`.
    """

    queues: AnsweringQueues
    plan: Plan = PLAN
    settle: Callable[[], None] = lambda: None
    quiet_s: float = 0.01
    rests: list[float] = field(default_factory=list)
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.plan, 0.0)

    def __call__(self) -> Ledger:
        target = Target(cast(Any, self.queues), {"InputQueueUrl": "in", "OutputQueueUrl": "out"})
        seconds = itertools.count(1.0)
        site = Site(
            target=target,
            pace=Pace(readers=1, wait_s=0, pause_s=0.001, quiet_s=self.quiet_s),
            now=lambda: next(seconds),
            settle=self.settle,
            observe=lambda _plan, _since: Observed(0),
            rest=self.rests.append,
        )
        drive(self.ledger, site, PATIENCE_S, lambda: None)
        return self.ledger


def test_every_message_is_sent_in_batches_of_ten_and_its_answer_taken() -> None:
    run = Drive(AnsweringQueues())
    assert run().tally().ok
    assert [len(each) for each in run.queues.sendings[:2]] == [10, 2]
    assert len(run.queues.taken) == PLAN.in_all
    assert len(run.queues.deleted) == 2 * PLAN.in_all
    assert all(len(set(groups)) == len(groups) for groups in run.queues.sendings)


def test_what_sqs_throttles_is_sent_again_after_a_rest() -> None:
    run = Drive(AnsweringQueues(lambda number: failure("RequestThrottled") if number < 3 else set()))
    assert run().tally().ok
    assert (run.ledger.throttles, len(run.rests), run.rests[0] < run.rests[1]) == (2, 2, True)


def test_what_sqs_does_not_take_of_a_batch_is_sent_again_alone() -> None:
    run = Drive(AnsweringQueues(lambda number: {1, 4} if number == 1 else set()))
    assert run().tally().ok
    first, again = run.queues.sendings[:2]
    assert again == [first[1], first[4]]


def test_an_account_that_stays_throttled_is_named_as_the_reason() -> None:
    run = Drive(AnsweringQueues(lambda number: failure("RequestThrottled") if number > 1 else set()))
    with pytest.raises(LoadError, match="throttled"):
        run()
    assert (run.ledger.tally().sent, run.ledger.throttles) == (10, TRIES)


def test_a_queue_that_may_not_be_sent_to_ends_the_test_at_once() -> None:
    run = Drive(AnsweringQueues(lambda _: failure("AccessDenied", 403)))
    with pytest.raises(LoadError, match="may you send to in"):
        run()
    assert len(run.queues.sendings) == 1


def test_an_output_queue_that_may_not_be_read_ends_the_test() -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        Drive(AnsweringQueues(unreadable=True))()


def test_when_nothing_comes_for_so_long_the_rest_is_unanswered() -> None:
    tally = Drive(AnsweringQueues(silent=True))().tally()
    assert (tally.sent, tally.unanswered, tally.ok) == (12, 12, False)


def test_a_second_answer_that_comes_late_is_still_seen() -> None:
    queues = AnsweringQueues()
    body = json.loads(PLAN.sayings_of(PLAN.thread_ids[0])[0].message.body)
    tally = Drive(queues, settle=lambda: queues.answer(body), quiet_s=1.0)().tally()
    assert (tally.answered, tally.doubled, tally.ok) == (PLAN.in_all, 1, False)
