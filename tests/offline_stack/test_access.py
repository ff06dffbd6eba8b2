"""Where policies are evaluated, a role may do what its policy allows: as AWS sees it, and not the emulator alone."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError
from botocore.httpsession import URLLib3Session

from scripts.offline_stack import emulator
from scripts.offline_stack.access import RECORD
from scripts.offline_stack.clock import StackClock
from scripts.offline_stack.supervisor import Supervisor
from tests.offline_stack.function_code import zipped

ARN = f"arn:aws:{{}}:{emulator.REGION}:{emulator.ACCOUNT}:{{}}"
ROLE_ARN = f"arn:aws:iam::{emulator.ACCOUNT}:role/{{}}"
QUEUE, TIMERS, TABLE, GROUP = "queue", "timers", "table", "group"
PATIENCE_S = 30
REFUSED = ("AccessDenied", "AccessDeniedException")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("emulator")


@pytest.fixture(scope="module")
def endpoint(logs: Path) -> Iterator[str]:
    supervisor = Supervisor()
    options = [emulator.EVALUATE_POLICIES]
    try:
        yield emulator.endpoint_of(
            emulator.start(supervisor, logs / "tmp", logs / "emulator.log", StackClock(logs / "clock"), options=options)
        )
    finally:
        supervisor.stop_children()


@pytest.fixture(scope="module")
def root(endpoint: str) -> Callable[[str], Any]:
    """Clients that may do everything, and what there is in the account."""

    def client(service: str) -> Any:
        return boto3.Session().client(service, **emulator.client_settings(endpoint))  # type: ignore[call-overload]

    client("sqs").create_queue(QueueName=QUEUE, Attributes={"Policy": _document(_refuses_what_is_not_encrypted())})
    client("scheduler").create_schedule_group(Name=GROUP)
    key = {"AttributeName": "pk", "AttributeType": "S"}
    client("dynamodb").create_table(
        TableName=TABLE,
        AttributeDefinitions=[key],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return client


def acting(root: Callable[[str], Any], *statements: dict[str, Any]) -> Callable[[str], Any]:
    """Clients of a new role with these rights and no others."""
    name = f"role-{uuid.uuid4().hex[:8]}"
    anybody = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    root("iam").create_role(RoleName=name, AssumeRolePolicyDocument=_document(anybody))
    if statements:
        root("iam").put_role_policy(RoleName=name, PolicyName="rights", PolicyDocument=_document(*statements))
    taken = root("sts").assume_role(RoleArn=ROLE_ARN.format(name), RoleSessionName=name)["Credentials"]
    session = boto3.Session(taken["AccessKeyId"], taken["SecretAccessKey"], taken["SessionToken"], emulator.REGION)
    return lambda service: session.client(service, endpoint_url=root("sts").meta.endpoint_url)  # type: ignore[call-overload]


def allow(action: str, resource: str, **conditions: Any) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    return {**statement, "Condition": conditions} if conditions else statement


def is_refused(act: Callable[[], Any]) -> bool:
    """Whether it is refused for want of a right. Any other failure is one of the test."""
    try:
        act()
    except ClientError as error:
        if error.response["Error"]["Code"] not in REFUSED:
            raise
        return True
    return False


def send_two(client: Callable[[str], Any]) -> None:
    sqs = client("sqs")
    url = sqs.meta.endpoint_url + f"/{emulator.ACCOUNT}/{QUEUE}"
    entries = [{"Id": name, "MessageBody": name} for name in ("one", "two")]
    assert len(sqs.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == 2


def schedule(
    client: Callable[[str], Any],
    *,
    group: str = GROUP,
    role: str = "sends",
    queue: str = QUEUE,
    at: str = "2100-01-01T00:00:00",
) -> None:
    """Have the role's name sent to the queue at this time."""
    client("scheduler").create_schedule(
        Name=f"{role}-{uuid.uuid4().hex[:8]}",
        GroupName=group,
        ScheduleExpression=f"at({at})",
        FlexibleTimeWindow={"Mode": "OFF"},
        ActionAfterCompletion="DELETE",
        Target={"Arn": ARN.format("sqs", queue), "RoleArn": ROLE_ARN.format(role), "Input": role},
    )


def wait_for_message(sqs: Any, queue: str) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := sqs.receive_message(QueueUrl=queue).get("Messages")):
        assert time.monotonic() < deadline, f"nothing came within {PATIENCE_S} s"
        time.sleep(0.1)
    return str(found[0]["Body"])


def put(client: Callable[[str], Any], key: str) -> None:
    client("dynamodb").put_item(TableName=TABLE, Item={"pk": {"S": key}})


def test_who_may_send_may_send_a_batch_and_nobody_else(root: Callable[[str], Any]) -> None:
    send_two(acting(root, allow("sqs:SendMessage", ARN.format("sqs", QUEUE))))
    assert is_refused(lambda: send_two(acting(root)))
    assert is_refused(lambda: send_two(acting(root, allow("sqs:SendMessage", ARN.format("sqs", "another")))))


def test_a_schedule_is_made_in_the_group_that_a_role_may_make_it_in(root: Callable[[str], Any]) -> None:
    makes = allow("scheduler:CreateSchedule", ARN.format("scheduler", f"schedule/{GROUP}/*"))
    client = acting(root, makes, allow("iam:PassRole", "*"))

    schedule(client)

    assert is_refused(lambda: schedule(client, group="default"))


def test_a_schedule_is_given_a_role_that_may_be_passed_on_to_the_scheduler(root: Callable[[str], Any]) -> None:
    makes = allow("scheduler:CreateSchedule", "*")
    passes = [
        allow(
            "iam:PassRole", ROLE_ARN.format("sends"), StringEquals={"iam:PassedToService": f"{service}.amazonaws.com"}
        )
        for service in ("scheduler", "lambda")
    ]
    client = acting(root, makes, passes[0])

    schedule(client)

    assert is_refused(lambda: schedule(client, role="administers"))
    assert is_refused(lambda: schedule(acting(root, makes, passes[1])))


def test_the_scheduler_sends_what_the_role_of_the_schedule_lets_it_send(root: Callable[[str], Any]) -> None:
    queue = root("sqs").create_queue(QueueName=TIMERS)["QueueUrl"]
    for name, its_queue in (("may-not-send", QUEUE), ("may-send", TIMERS)):
        root("iam").create_role(RoleName=name, AssumeRolePolicyDocument=_document())
        sends = _document(allow("sqs:SendMessage", ARN.format("sqs", its_queue)))
        root("iam").put_role_policy(RoleName=name, PolicyName="rights", PolicyDocument=sends)
        schedule(root, role=name, queue=TIMERS, at="2020-01-01T00:00:00")

    assert wait_for_message(root("sqs"), queue) == "may-send"
    assert root("scheduler").list_schedules(GroupName=GROUP, NamePrefix="may-")["Schedules"] == []


def test_an_item_is_written_under_the_partition_keys_that_a_role_may_write_to(root: Callable[[str], Any]) -> None:
    ours = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["ours#*"]}}
    client = acting(root, allow("dynamodb:PutItem", ARN.format("dynamodb", f"table/{TABLE}"), **ours))

    put(client, "ours#1")

    assert is_refused(lambda: put(client, "theirs#1"))


@pytest.mark.parametrize(("rights", "status"), [(("Url", ""), 200), (("Url",), 403), (("",), 403)])
def test_a_function_url_takes_both_rights(
    root: Callable[[str], Any], url: str, rights: Sequence[str], status: int
) -> None:
    through_url = {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}
    conditions = {"Url": {"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}}, "": through_url}
    client = acting(root, *[allow(f"lambda:InvokeFunction{one or ''}", "*", **conditions[one]) for one in rights])

    assert signed_get(url, client("lambda")) == status


def test_every_decision_about_a_role_is_recorded(root: Callable[[str], Any], logs: Path) -> None:
    client = acting(root, allow("dynamodb:PutItem", "*"))
    put(client, "recorded")
    assert is_refused(lambda: send_two(client))

    *_, allowed, refused = [json.loads(line) for line in (logs / RECORD).read_text().splitlines()]
    assert (allowed["what"], allowed["action"]) == ("allowed", "dynamodb:PutItem")
    assert allowed["resource"] == ARN.format("dynamodb", f"table/{TABLE}")
    assert (refused["what"], refused["action"]) == ("refused", "sqs:SendMessage")
    assert refused["role"] == allowed["role"] == refused["session"]


@pytest.fixture(scope="module")
def url(root: Callable[[str], Any]) -> str:
    """The address of a function that asks for signed requests."""
    root("iam").create_role(RoleName="runs", AssumeRolePolicyDocument=_document())
    functions = root("lambda")
    functions.create_function(
        FunctionName="called",
        Runtime="python3.13",
        Role=ROLE_ARN.format("runs"),
        Handler="called.handler",
        Code={"ZipFile": zipped("called.py", "def handler(event, context):\n    return {'statusCode': 200}\n")},
    )
    configured = functions.create_function_url_config(FunctionName="called", AuthType="AWS_IAM")["FunctionUrl"]
    return f"{functions.meta.endpoint_url}/_aws/lambda-url/{configured.split('//')[1].split('.')[0]}/"


def signed_get(url: str, client: Any) -> int:
    """Send a request that is signed with the keys of the client; return the status of the answer."""
    request = AWSRequest("GET", url)
    SigV4Auth(client._request_signer._credentials, "lambda", emulator.REGION).add_auth(request)
    return URLLib3Session().send(request.prepare()).status_code


def _document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _refuses_what_is_not_encrypted() -> dict[str, Any]:
    unencrypted = {"Bool": {"aws:SecureTransport": "false"}}
    return {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*", "Condition": unencrypted}
