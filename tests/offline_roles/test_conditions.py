"""Each condition in a role refuses what it is there to refuse, and lets pass what the function does."""

import json
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from scripts.offline_stack.stack import OfflineStack
from tests.offline_roles.rights import Roles

VIEW = {"pk": {"S": "thread#conditions"}, "sk": {"S": "view#conditions"}}
MANIFEST = {"pk": {"S": "toolsets#conditions"}, "sk": {"S": "server#conditions"}}

NAME = "conditions"


def is_refused(act: Callable[[], Any]) -> bool:
    """Whether it is refused for want of a right. Any other failure is one of the test."""
    try:
        act()
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("AccessDenied", "AccessDeniedException"):
            raise
        return True
    return False


def test_the_receiver_writes_beside_threads_and_not_which_tools_there_are(stack: OfflineStack, roles: Roles) -> None:
    table, write = stack.outputs["StateTableName"], roles.acting_as("receiver")("dynamodb").put_item

    write(TableName=table, Item=VIEW)

    assert is_refused(lambda: write(TableName=table, Item=MANIFEST))


def test_the_slice_makes_schedules_of_its_own_group_and_role_only(roles: Roles) -> None:
    told, scheduler = roles.told("slice"), roles.acting_as("slice")("scheduler")
    own_group, own_role = told["INFINITY_SCHEDULE_GROUP"], told["INFINITY_SCHEDULER_ROLE_ARN"]

    def make(group: str, role: str) -> None:
        target = {"Arn": told["INFINITY_TIMER_QUEUE_ARN"], "RoleArn": role, "Input": json.dumps({"group_id": NAME})}
        scheduler.create_schedule(
            Name=NAME,
            GroupName=group,
            ScheduleExpression="at(2100-01-01T00:00:00)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target=target,
        )

    make(own_group, own_role)
    scheduler.delete_schedule(Name=NAME, GroupName=own_group)

    assert is_refused(lambda: make("default", own_role))
    assert is_refused(lambda: make(own_group, roles.arn_of("migration")))


def test_the_slice_reaches_the_example_tools_by_their_address_only(stack: OfflineStack, roles: Roles) -> None:
    functions, name = roles.acting_as("slice")("lambda"), stack.outputs["ExampleToolsetFunctionName"]

    assert is_refused(lambda: functions.invoke(FunctionName=name, Payload=b"{}"))
