"""The functions: where they run, what wakes them and what they are told."""

import json

import pytest

from runtime.settings import Settings
from tests.infra.conftest import SynthesizeWith
from tests.infra.synthesized import Stack, points_to

HANDLERS = ("slice", "receiver", "timer_relay", "migrate", "example_toolset")
DATABASE = {"INFINITY_DSQL_ENDPOINT", "INFINITY_DSQL_PORT", "INFINITY_DSQL_TLS", "INFINITY_DSQL_SCHEMA"}
TOLD = {
    "slice": DATABASE
    | {
        "INFINITY_INPUT_QUEUE_URL",
        "INFINITY_OUTPUT_QUEUE_URL",
        "INFINITY_TIMER_QUEUE_URL",
        "INFINITY_TIMER_QUEUE_ARN",
        "INFINITY_DEAD_LETTER_QUEUE_URL",
        "INFINITY_STATE_TABLE",
        "INFINITY_PAYLOAD_BUCKET",
        "INFINITY_DSQL_USER",
        "INFINITY_TOKEN_SECRET_ARN",
        "INFINITY_SCHEDULE_GROUP",
        "INFINITY_SCHEDULER_ROLE_ARN",
        "INFINITY_SCHEDULER_DLQ_ARN",
        "INFINITY_RECEIVER_URL",
        "INFINITY_MODEL_ID",
        "INFINITY_TOOL_SERVERS",
        "INFINITY_ALLOWED_PRIVATE_NETWORKS",
        "INFINITY_VISIBILITY_S",
        "INFINITY_COMPLETION_RESERVE_S",
        "INFINITY_TIMER_DELAY_LIMIT_S",
    },
    "receiver": {
        "INFINITY_INPUT_QUEUE_URL",
        "INFINITY_OUTPUT_QUEUE_URL",
        "INFINITY_STATE_TABLE",
        "INFINITY_PAYLOAD_BUCKET",
        "INFINITY_TOKEN_SECRET_ARN",
        "INFINITY_CALLBACK_BODY_LIMIT_BYTES",
    },
    "timer_relay": {
        "INFINITY_INPUT_QUEUE_URL",
        "INFINITY_TIMER_QUEUE_URL",
        "INFINITY_TIMER_DELAY_LIMIT_S",
    },
    "migrate": DATABASE | {"CODE_VERSION"},
    "example_toolset": {"INFINITY_EXAMPLE_ALLOWED_CALLBACK_HOST"},
}


@pytest.mark.parametrize("handler", HANDLERS)
def test_every_function_runs_python_3_13_on_arm_with_a_role_and_a_log_group_of_its_own(
    either: Stack, handler: str
) -> None:
    _, function = either.function(handler)
    roles = [either.role_of(other) for other in HANDLERS]

    assert function["Properties"]["Runtime"] == "python3.13"
    assert function["Properties"]["Architectures"] == ["arm64"]
    assert roles.count(either.role_of(handler)) == 1
    logs = either.resources("AWS::Logs::LogGroup")[function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]]
    assert logs["Properties"]["RetentionInDays"] == 30


@pytest.mark.parametrize("handler", HANDLERS)
def test_every_function_is_told_what_it_needs_and_nothing_else_in_the_cloud(cloud: Stack, handler: str) -> None:
    assert set(cloud.environment(handler)) == TOLD[handler]


@pytest.mark.parametrize("handler", ["slice", "receiver", "timer_relay", "migrate"])
def test_every_function_is_told_only_what_the_runtime_knows(cloud: Stack, handler: str) -> None:
    known = {f"INFINITY_{name.upper()}" for name in Settings.model_fields}

    assert set(cloud.environment(handler)) - {"CODE_VERSION"} <= known


@pytest.mark.parametrize("handler", HANDLERS)
def test_the_local_stack_adds_nothing_but_addresses(offline: Stack, handler: str) -> None:
    added = {
        "slice": {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME"},
        "example_toolset": {"INFINITY_EXAMPLE_FUNCTION_URL_BASE"},
    }

    assert set(offline.environment(handler)) == TOLD[handler] | added.get(handler, set())


def test_the_defaults_are_the_documented_ones(cloud: Stack) -> None:
    environment = cloud.environment("slice")

    assert environment["INFINITY_DSQL_PORT"] == "5432"
    assert environment["INFINITY_DSQL_TLS"] == "verify-full"
    assert environment["INFINITY_DSQL_SCHEMA"] == "infinity"
    assert environment["INFINITY_VISIBILITY_S"] == "330"
    assert environment["INFINITY_COMPLETION_RESERVE_S"] == "90"
    assert environment["INFINITY_TIMER_DELAY_LIMIT_S"] == "900"
    assert environment["INFINITY_ALLOWED_PRIVATE_NETWORKS"] == "[]"
    assert cloud.environment("receiver")["INFINITY_CALLBACK_BODY_LIMIT_BYTES"] == "4194304"


def test_what_was_chosen_for_the_local_stack_reaches_its_functions(offline: Stack) -> None:
    environment = offline.environment("slice")

    assert environment["INFINITY_DSQL_PORT"] == "5499"
    assert environment["INFINITY_DSQL_TLS"] == "off"
    assert environment["INFINITY_COMPLETION_RESERVE_S"] == "10"
    assert environment["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] == "http://127.0.0.1:5498"
    assert json.loads(environment["INFINITY_ALLOWED_PRIVATE_NETWORKS"]) == ["127.0.0.0/8"]
    assert offline.environment("timer_relay")["INFINITY_TIMER_DELAY_LIMIT_S"] == "5"


def test_further_settings_reach_the_functions_that_read_them(synthesize_with: SynthesizeWith) -> None:
    stack = synthesize_with({"settings": '{"completions_per_slice": 4, "system_prompt": "Be brief."}'})

    for handler in ("slice", "receiver", "timer_relay"):
        assert stack.environment(handler)["INFINITY_COMPLETIONS_PER_SLICE"] == "4"
        assert stack.environment(handler)["INFINITY_SYSTEM_PROMPT"] == "Be brief."
    assert set(stack.environment("migrate")) == TOLD["migrate"]


def test_a_slice_has_the_time_memory_and_company_it_was_designed_for(either: Stack) -> None:
    name, function = either.function("slice")
    mapping = either.one("AWS::Lambda::EventSourceMapping", "SlicesSlice")["Properties"]

    assert function["Properties"]["Timeout"] == 300
    assert function["Properties"]["MemorySize"] == 1024
    assert mapping["FunctionName"] == {"Ref": name}
    assert points_to(mapping["EventSourceArn"], either.outputs["InputQueueUrl"]["Ref"])
    assert mapping["BatchSize"] == 10
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 100}


def test_both_queue_consumers_report_single_messages_as_failed(either: Stack) -> None:
    mappings = either.resources("AWS::Lambda::EventSourceMapping")

    assert len(mappings) == 2
    for mapping in mappings.values():
        assert mapping["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_no_mapping_filters_messages_since_what_is_filtered_out_is_deleted(either: Stack) -> None:
    for mapping in either.resources("AWS::Lambda::EventSourceMapping").values():
        assert "FilterCriteria" not in mapping["Properties"]


def test_the_timer_queue_wakes_the_relay(either: Stack) -> None:
    name, function = either.function("timer_relay")
    mapping = either.one("AWS::Lambda::EventSourceMapping", "TimerRelay")["Properties"]

    assert mapping["FunctionName"] == {"Ref": name}
    assert points_to(mapping["EventSourceArn"], either.outputs["TimerQueueUrl"]["Ref"])
    assert either.queue("TimerQueueUrl")["VisibilityTimeout"] == 6 * function["Properties"]["Timeout"]


def test_lambda_polls_the_queues_in_the_cloud_and_leaves_it_to_the_local_poller_offline(
    cloud: Stack, offline: Stack
) -> None:
    for stack, enabled in ((cloud, True), (offline, False)):
        for mapping in stack.resources("AWS::Lambda::EventSourceMapping").values():
            assert mapping["Properties"]["Enabled"] is enabled


@pytest.mark.parametrize("handler", ["slice", "timer_relay", "receiver"])
def test_a_thread_may_go_round_more_than_sixteen_times(either: Stack, handler: str) -> None:
    _, function = either.function(handler)

    assert function["Properties"]["RecursiveLoop"] == "Allow"


@pytest.mark.parametrize("handler", ["migrate", "example_toolset"])
def test_functions_outside_the_loop_keep_lambdas_guard(either: Stack, handler: str) -> None:
    _, function = either.function(handler)

    assert "RecursiveLoop" not in function["Properties"]


@pytest.mark.parametrize("handler", HANDLERS)
def test_the_local_stack_runs_the_deployed_runtime_layer_and_leaves_only_third_parties_out(
    cloud: Stack, offline: Stack, handler: str
) -> None:
    deployed, local = (_layers(stack, handler) for stack in (cloud, offline))

    assert len(deployed) == 2
    assert local == deployed[:1]


def test_the_schema_is_migrated_before_the_first_slice_and_whenever_the_code_changed(either: Stack) -> None:
    name, migrate = either.function("migrate")
    (schema_name,) = either.resources("Custom::InfinitySchema")
    schema = either.one("Custom::InfinitySchema")["Properties"]
    _, slice_function = either.function("slice")

    assert points_to(schema["ServiceToken"], name)
    assert schema["Version"].startswith("runtime-")
    assert schema["SliceRoleArn"] == {"Fn::GetAtt": [either.role_of("slice"), "Arn"]}
    assert schema["DatabaseRole"] == "infinity_slice"
    assert schema_name in slice_function["DependsOn"]
    assert int(schema["ServiceTimeout"]) <= migrate["Properties"]["Timeout"]


def test_callbacks_come_to_the_receivers_public_address(cloud: Stack, offline: Stack) -> None:
    assert _text(cloud.outputs["ReceiverUrl"]) == "https://<host>"
    assert _text(offline.outputs["ReceiverUrl"]) == "http://127.0.0.1:5497/_aws/lambda-url/<id>"
    for stack in (cloud, offline):
        assert stack.environment("slice")["INFINITY_RECEIVER_URL"] == stack.outputs["ReceiverUrl"]


def test_another_public_address_can_be_put_in_front_of_the_receiver(synthesize_with: SynthesizeWith) -> None:
    stack = synthesize_with({"receiver_base_url": "https://callbacks.example.com/"})

    assert stack.environment("slice")["INFINITY_RECEIVER_URL"] == "https://callbacks.example.com"
    host = stack.environment("example_toolset")["INFINITY_EXAMPLE_ALLOWED_CALLBACK_HOST"]
    assert host == "callbacks.example.com"


def test_the_example_toolset_is_offered_to_the_agents_with_signed_requests(cloud: Stack) -> None:
    parts = cloud.environment("slice")["INFINITY_TOOL_SERVERS"]["Fn::Join"][1]
    text = "".join(part if isinstance(part, str) else "HOST" for part in parts)

    assert json.loads(text) == [{"name": "example", "url": "https://HOST", "auth": "sigv4"}]


def test_where_function_urls_are_paths_the_example_toolset_is_told_below_which(offline: Stack) -> None:
    told = offline.environment("example_toolset")

    assert told["INFINITY_EXAMPLE_FUNCTION_URL_BASE"] == "http://127.0.0.1:5497/_aws/lambda-url"


def test_a_deployment_can_do_without_the_example_toolset(synthesize_with: SynthesizeWith) -> None:
    server = {"name": "mine", "url": "https://tools.example.com", "auth": "none"}
    stack = synthesize_with({"example_toolset": "false", "tool_servers": json.dumps([server])})

    assert json.loads(stack.environment("slice")["INFINITY_TOOL_SERVERS"]) == [server]
    assert not any("Example" in name for name in (*stack.outputs, *stack.template["Resources"]))


def test_the_slice_is_told_how_long_a_tool_servers_results_are_waited_for(synthesize_with: SynthesizeWith) -> None:
    server = {"name": "mine", "url": "https://tools.example.com", "auth": "none", "result_timeout_s": 3_600}
    stack = synthesize_with({"example_toolset": "false", "tool_servers": json.dumps([server])})

    assert json.loads(stack.environment("slice")["INFINITY_TOOL_SERVERS"]) == [server]


def _layers(stack: Stack, handler: str) -> list[str]:
    """The hashed content of a function's layers, in order."""
    _, function = stack.function(handler)
    layers = stack.resources("AWS::Lambda::LayerVersion")
    return [layers[layer["Ref"]]["Properties"]["Content"]["S3Key"] for layer in function["Properties"]["Layers"]]


def _text(value: object) -> str:
    """A joined URL, with what is known only while deploying in angle brackets."""
    assert isinstance(value, dict)
    parts = value["Fn::Join"][1]
    return "".join(part if isinstance(part, str) else _chosen(part) for part in parts)


def _chosen(part: dict[str, list[object]]) -> str:
    index, split = part["Fn::Select"]
    assert isinstance(split, dict)
    return {"2/": "<host>", "0.": "<id>"}[f"{index}{split['Fn::Split'][0]}"]
