"""Who may do what: every role's rights, exactly, and on what."""

import pytest

from tests.infra.conftest import SynthesizeWith
from tests.infra.synthesized import Resource, Stack, listed, points_to, texts

LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
RECEIVE = {
    "sqs:ReceiveMessage",
    "sqs:ChangeMessageVisibility",
    "sqs:GetQueueUrl",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
}
STATE = {
    "dynamodb:BatchGetItem",
    "dynamodb:GetItem",
    "dynamodb:Query",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
}
ALLOWED = {
    "slice": LOGS
    | RECEIVE
    | STATE
    | {
        "sqs:SendMessage",
        "s3:GetObject",
        "s3:PutObject",
        "s3:ListBucket",
        "secretsmanager:GetSecretValue",
        "dsql:DbConnect",
        "scheduler:CreateSchedule",
        "scheduler:DeleteSchedule",
        "iam:PassRole",
        "bedrock:InvokeModelWithResponseStream",
        "lambda:InvokeFunctionUrl",
        "lambda:InvokeFunction",
    },
    "receiver": LOGS | {"sqs:SendMessage", "s3:PutObject", "dynamodb:PutItem", "secretsmanager:GetSecretValue"},
    "timer_relay": LOGS | RECEIVE | {"sqs:SendMessage"},
    "migrate": LOGS | {"dsql:DbConnectAdmin"},
    "example_toolset": LOGS | {"lambda:InvokeFunction"},
}


@pytest.mark.parametrize("handler", ALLOWED)
def test_a_function_may_do_what_it_is_for_and_nothing_else(cloud: Stack, handler: str) -> None:
    assert cloud.actions(cloud.role_of(handler)) == ALLOWED[handler]


@pytest.mark.parametrize("handler", ALLOWED)
def test_a_function_has_no_managed_policy_and_only_lambda_may_take_its_role(either: Stack, handler: str) -> None:
    role = either.resources("AWS::IAM::Role")[either.role_of(handler)]["Properties"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]

    assert "ManagedPolicyArns" not in role
    assert trust["Principal"] == {"Service": "lambda.amazonaws.com"}


def test_no_statement_anywhere_is_about_every_resource(either: Stack) -> None:
    for policy in either.resources("AWS::IAM::Policy").values():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            assert "*" not in listed(statement["Resource"])
            assert not any("*" in action for action in listed(statement["Action"]))


def test_nobody_but_the_migration_can_become_the_databases_admin(cloud: Stack) -> None:
    admins = [handler for handler in ALLOWED if "dsql:DbConnectAdmin" in cloud.actions(cloud.role_of(handler))]

    assert admins == ["migrate"]
    for action, handler in (("dsql:DbConnect", "slice"), ("dsql:DbConnectAdmin", "migrate")):
        statement = cloud.statement(cloud.role_of(handler), action)
        assert points_to(statement["Resource"], "DatabaseCluster")


def test_the_slice_sends_to_the_four_queues_it_has_business_with(either: Stack) -> None:
    names = ("InputQueueUrl", "OutputQueueUrl", "InputDeadLetterQueueUrl", "TimerQueueUrl")
    expected = {either.outputs[name]["Ref"] for name in names}

    resources = either.statement(either.role_of("slice"), "sqs:SendMessage")["Resource"]
    assert {resource["Fn::GetAtt"][0] for resource in resources} == expected


def test_the_receiver_and_the_relay_cannot_reach_dead_letters_or_history(cloud: Stack) -> None:
    reachable = {"receiver": ("InputQueueUrl", "OutputQueueUrl"), "timer_relay": ("InputQueueUrl", "TimerQueueUrl")}

    for handler, names in reachable.items():
        statement = cloud.statement(cloud.role_of(handler), "sqs:SendMessage")
        queues = {resource["Fn::GetAtt"][0] for resource in listed(statement["Resource"])}
        assert queues == {cloud.outputs[name]["Ref"] for name in names}
        assert not points_to(cloud.statements(cloud.role_of(handler)), "Database")


def test_the_receiver_may_write_beside_threads_and_not_change_which_tools_agents_are_offered(either: Stack) -> None:
    statement = either.statement(either.role_of("receiver"), "dynamodb:PutItem")

    assert points_to(statement["Resource"], "StateTable")
    assert statement["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["thread#*"]}}


def test_everyone_who_may_use_the_receivers_address_may_invoke_the_receiver_through_it(either: Stack) -> None:
    name, _ = either.function("receiver")
    permissions = [
        permission["Properties"]
        for permission in either.resources("AWS::Lambda::Permission").values()
        if points_to(permission["Properties"]["FunctionName"], name)
    ]

    rights = {permission["Action"]: permission for permission in permissions}
    assert set(rights) == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}
    assert rights["lambda:InvokeFunctionUrl"]["Principal"] == rights["lambda:InvokeFunction"]["Principal"] == "*"
    assert rights["lambda:InvokeFunctionUrl"]["FunctionUrlAuthType"] == "NONE"
    assert rights["lambda:InvokeFunction"]["InvokedViaFunctionUrl"] is True


def test_the_slice_may_use_the_example_toolsets_address_and_invoke_it_through_it(either: Stack) -> None:
    name, _ = either.function("example_toolset")
    role = either.role_of("slice")
    by_url = either.statement(role, "lambda:InvokeFunctionUrl")
    through_url = either.statement(role, "lambda:InvokeFunction")

    assert by_url["Resource"] == through_url["Resource"] == {"Fn::GetAtt": [name, "Arn"]}
    assert by_url["Condition"] == {"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}}
    assert through_url["Condition"] == {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}


def test_every_address_is_open_to_everyone_or_asks_for_signed_requests(either: Stack) -> None:
    urls = either.resources("AWS::Lambda::Url").values()
    receiver, toolset = either.function("receiver")[0], either.function("example_toolset")[0]

    auth = {url["Properties"]["TargetFunctionArn"]["Fn::GetAtt"][0]: url["Properties"]["AuthType"] for url in urls}
    assert auth == {receiver: "NONE", toolset: "AWS_IAM"}


def test_the_example_toolset_may_invoke_itself_and_nobody_else(either: Stack) -> None:
    name, _ = either.function("example_toolset")

    statement = either.statement(either.role_of("example_toolset"), "lambda:InvokeFunction")
    assert statement["Resource"] == {"Fn::GetAtt": [name, "Arn"]}


def test_the_scheduler_may_send_to_the_timer_queue_and_its_own_dead_letters_only(either: Stack) -> None:
    (role,) = (name for name in either.resources("AWS::IAM::Role") if "SchedulerRole" in name)
    (statement,) = either.statements(role)

    queues = {resource["Fn::GetAtt"][0] for resource in statement["Resource"]}
    failures = either.environment("slice")["INFINITY_SCHEDULER_DLQ_ARN"]["Fn::GetAtt"][0]
    assert statement["Action"] == "sqs:SendMessage"
    assert queues == {either.outputs["TimerQueueUrl"]["Ref"], failures}


def test_only_schedules_of_this_accounts_own_group_can_take_the_schedulers_role(either: Stack) -> None:
    role = either.one("AWS::IAM::Role", "SchedulerRole")["Properties"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    (group,) = either.resources("AWS::Scheduler::ScheduleGroup")

    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"] == {
        "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}},
        "ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": [group, "Arn"]}},
    }


def test_the_slice_makes_and_deletes_schedules_in_its_own_group_and_hands_its_role_to_the_scheduler_only(
    either: Stack,
) -> None:
    role = either.role_of("slice")
    (group,) = either.resources("AWS::Scheduler::ScheduleGroup")
    passing = either.statement(role, "iam:PassRole")

    for action in ("scheduler:CreateSchedule", "scheduler:DeleteSchedule"):
        schedules = either.statement(role, action)["Resource"]
        assert "".join(texts(schedules)).endswith(f":schedule/{group}/*")
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
    assert points_to(passing["Resource"], "SchedulerRole")


def test_an_inference_profile_is_allowed_and_its_model_only_through_it(cloud: Stack) -> None:
    profile, model = _model_statements(cloud)

    assert "".join(texts(profile["Resource"])).endswith(":inference-profile/global.anthropic.claude-sonnet-4-6")
    assert "".join(texts(model["Resource"])).endswith(":bedrock:*::foundation-model/anthropic.claude-sonnet-4-6")
    assert model["Condition"] == {"ArnEquals": {"bedrock:InferenceProfileArn": profile["Resource"]}}


def test_a_model_that_needs_no_profile_is_allowed_in_the_deployments_region_alone(
    synthesize_with: SynthesizeWith,
) -> None:
    (statement,) = _model_statements(synthesize_with({"model_id": "amazon.nova-pro-v1:0"}))

    resource = statement["Resource"]["Fn::Join"][1]
    assert {"Ref": "AWS::Region"} in resource
    assert resource[-1] == "::foundation-model/amazon.nova-pro-v1:0"


def test_an_application_inference_profile_is_named_by_its_arn(synthesize_with: SynthesizeWith) -> None:
    arn = "arn:aws:bedrock:eu-west-1:111122223333:application-inference-profile/abc123"
    profile, models = _model_statements(synthesize_with({"model_id": arn}))

    assert profile["Resource"] == arn
    assert models["Condition"] == {"ArnEquals": {"bedrock:InferenceProfileArn": arn}}


def test_the_slice_reads_the_bearer_tokens_of_the_tool_servers_that_have_one(synthesize_with: SynthesizeWith) -> None:
    secret = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:tools-AbCdEf"
    servers = [{"name": "mine", "url": "https://tools.example.com", "auth": "bearer", "secret_arn": secret}]
    stack = synthesize_with({"tool_servers": servers})

    readable = [
        one["Resource"]
        for one in stack.statements(stack.role_of("slice"))
        if points_to(one["Action"], "GetSecretValue")
    ]
    assert len(readable) == 2
    assert secret in readable


def test_a_tool_server_behind_a_function_url_is_invoked_when_its_function_is_named(
    synthesize_with: SynthesizeWith,
) -> None:
    arn = "arn:aws:lambda:eu-west-1:111122223333:function:tools"
    server = {"name": "mine", "url": "https://abc.lambda-url.eu-west-1.on.aws", "auth": "sigv4", "arn": arn}
    stack = synthesize_with({"tool_servers": [server], "example_toolset": False})

    role = stack.role_of("slice")
    assert stack.statement(role, "lambda:InvokeFunctionUrl")["Resource"] == arn
    assert stack.statement(role, "lambda:InvokeFunction")["Condition"] == {
        "Bool": {"lambda:InvokedViaFunctionUrl": "true"}
    }
    assert "function:tools" not in stack.environment("slice")["INFINITY_TOOL_SERVERS"]


def test_a_tool_server_behind_an_api_gateway_is_invoked_when_its_api_is_named(synthesize_with: SynthesizeWith) -> None:
    arn = "arn:aws:execute-api:eu-west-1:111122223333:abc/prod/POST/tools"
    server = {"name": "mine", "url": "https://abc.execute-api.eu-west-1.amazonaws.com", "auth": "sigv4", "arn": arn}
    stack = synthesize_with({"tool_servers": [server]})

    assert stack.statement(stack.role_of("slice"), "execute-api:Invoke")["Resource"] == arn


def test_nothing_reads_a_secret_by_a_pattern(either: Stack) -> None:
    for handler in ("slice", "receiver"):
        resources = either.statement(either.role_of(handler), "secretsmanager:GetSecretValue")["Resource"]
        assert listed(resources)[0]["Fn::GetAtt"][1] == "Id"


def _model_statements(stack: Stack) -> list[Resource]:
    statements = stack.statements(stack.role_of("slice"))
    return [one for one in statements if one["Action"] == "bedrock:InvokeModelWithResponseStream"]
