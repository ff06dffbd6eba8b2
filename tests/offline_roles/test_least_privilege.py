"""Every function does all of its work under its own role, and no role allows what its function does not need."""

from collections.abc import Iterable

from scripts.offline_stack.stack import OfflineStack
from tests.offline.outside import Outside
from tests.offline_roles.flow import Flow
from tests.offline_roles.learning import Learning
from tests.offline_roles.rights import FUNCTIONS, Right, Roles

POLLED = ("slice", "timer relay")
# What roles allow and nobody asks the emulator about: why, who may do what, and to what, where it is a part of that.
# `tests/infra` holds these rights to the template.
UNASKED = {
    "Lambda writes the lines that a function prints; the emulator keeps them itself": {
        (function, f"logs:{action}", "") for function in FUNCTIONS for action in ("CreateLogStream", "PutLogEvents")
    },
    "Lambda polls a queue under the role of its function; here a poller of ours does, as root": {
        (function, f"sqs:{action}", "")
        for function in POLLED
        for action in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl")
    },
    "The same, for what the slice does by itself, too": {("timer relay", "sqs:ChangeMessageVisibility", "")},
    "Bedrock is a model endpoint of ours": {("slice", "bedrock:InvokeModelWithResponseStream", "")},
    "Without it S3 does not tell that an object is missing; the emulator tells everybody": {
        ("slice", "s3:ListBucket", "")
    },
    "The emulator gives up what the Scheduler cannot send": {("scheduler", "sqs:SendMessage", "ScheduleFailures")},
}


def unasked(rights: Iterable[Right]) -> set[Right]:
    return {right for right in rights if any(is_meant(right, *named) for names in UNASKED.values() for named in names)}


def is_meant(right: Right, function: str, action: str, part: str) -> bool:
    return (right.function, right.action) == (function, action) and part in right.resource


def test_everything_comes_out_as_it_should_and_nothing_is_refused(outside: Outside, roles: Roles) -> None:
    flow = Flow(outside)

    flow.play()

    assert [decision for decision in roles.decisions() if not decision.allowed] == []
    assert flow.unfinished() == []


def test_functions_that_begin_with_no_right_at_all_come_to_need_every_one_that_they_were_deployed_with(
    stack: OfflineStack, roles: Roles
) -> None:
    learning = Learning(stack, roles)

    left_undone = learning.learn()

    assert left_undone == []
    assert sorted(roles.granted - learning.given - unasked(roles.granted)) == [], "rights that nothing needs"
    assert sorted(learning.given & unasked(roles.granted)) == [], "rights that are asked about after all"


def test_no_reason_is_given_for_a_right_that_nobody_has(roles: Roles) -> None:
    named = set().union(*UNASKED.values())

    assert [one for one in named if not any(is_meant(right, *one) for right in roles.granted)] == []
