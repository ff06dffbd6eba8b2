"""The choices of a deployment: what is accepted, and how a mistake is named."""

import re

import pytest

from infra.config import DeployConfig
from infra.context import ConfigError

OFFLINE = {"offline": "true", "dsql_endpoint": "127.0.0.1"}


def test_nothing_chosen_gives_the_documented_defaults() -> None:
    config = DeployConfig.from_context({})

    assert not config.offline
    assert (config.slice.timeout_s, config.queues.visibility_s, config.slice.batch_size) == (300, 330, 10)
    assert (config.slice.memory_mb, config.slice.max_concurrency) == (1_024, 100)
    assert (config.queues.max_receive_count, config.queues.retention_days) == (20, 14)
    assert config.reach.callback_body_limit_bytes == 4 * 1024 * 1024
    assert config.slice.completion_reserve_s == 90
    assert config.operation.retain_state


def test_texts_of_the_command_line_and_json_of_a_file_read_the_same() -> None:
    typed = {"offline": True, "dsql_endpoint": "db", "dsql_port": 5499, "allowed_private_networks": ["10.0.0.0/8"]}
    text = {"offline": "true", "dsql_endpoint": "db", "dsql_port": "5499", "allowed_private_networks": '["10.0.0.0/8"]'}

    assert DeployConfig.from_context(typed) == DeployConfig.from_context(text)


def test_keys_of_the_cdk_itself_are_passed_over() -> None:
    given = {"@aws-cdk/core:checkSecretUsage": True, "aws:cdk:version-reporting": True, "cli-telemetry": False}

    assert DeployConfig.from_context(given) == DeployConfig.from_context({})


def test_the_visibility_follows_a_longer_slice() -> None:
    assert DeployConfig.from_context({"slice_timeout_s": "600"}).queues.visibility_s == 630


def test_a_database_elsewhere_may_have_any_address_offline() -> None:
    config = DeployConfig.from_context({**OFFLINE, "dsql_tls": "off"})

    assert config.database.endpoint == "127.0.0.1"
    assert config.database.cluster_arn is None


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"dsql_endpont": "x"}, "unknown context dsql_endpont"),
        ({"offline": "yes"}, "offline must be true or false, not 'yes'"),
        ({"offline": "true"}, "offline needs dsql_endpoint"),
        ({"dsql_tls": "off"}, "dsql_tls=off is for the offline stack only"),
        ({"dsql_tls": "prefer"}, "dsql_tls must be one of verify-full, off"),
        ({"dsql_endpoint": "db.example"}, "dsql_endpoint and dsql_cluster_arn are given together"),
        ({"dsql_cluster_arn": "arn:aws:dsql:::cluster/x"}, "dsql_endpoint and dsql_cluster_arn are given together"),
        ({"dsql_port": "0"}, "dsql_port must be a whole number from 1 to 65,535"),
        ({"dsql_port": "true"}, "dsql_port must be a whole number"),
        ({"dsql_schema": 'a"b'}, "dsql_schema must be lower-case letters"),
        ({"model_id": 5}, "model_id must be a text"),
        ({"slice_timeout_s": "901"}, "slice_timeout_s must be a whole number from 1 to 900"),
        ({"slice_batch_size": "11"}, "slice_batch_size must be a whole number from 1 to 10"),
        ({"slice_max_concurrency": "1"}, "slice_max_concurrency must be a whole number from 2 to 1,000"),
        ({"completion_reserve_s": "300"}, "completion_reserve_s must be below slice_timeout_s"),
        ({"queue_visibility_s": "299"}, "queue_visibility_s must not be below slice_timeout_s"),
        ({"queue_retention_days": "15"}, "queue_retention_days must be a whole number from 1 to 14"),
        ({"timer_delay_limit_s": "901"}, "timer_delay_limit_s must be a whole number from 0 to 900"),
        ({"receiver_base_url": "callbacks.example.com"}, "receiver_base_url must start with http"),
        ({"allowed_private_networks": '["10.0.0.0/33"]'}, "allowed_private_networks holds networks"),
        ({"allowed_private_networks": "10.0.0.0/8"}, "allowed_private_networks must be a JSON list"),
        ({"settings": "[]"}, "settings must be a JSON object"),
        ({"settings": '{"Thread-Depth": 5}'}, "settings are named like thread_depth"),
        ({"log_retention_days": "2"}, "log_retention_days must be one of 1, 7, 30, 90, 365"),
        ({"tool_servers": '["https://x"]'}, "tool_servers holds objects"),
        ({"tool_servers": '[{"name": "a", "url": "https://x"}]'}, "a tool server has a name, a url and an auth"),
        (
            {"tool_servers": '[{"name": "a", "url": "https://x", "auth": "basic"}]'},
            "must be one of sigv4, bearer, none",
        ),
        ({"tool_servers": '[{"name": "a", "url": "https://x", "auth": "bearer"}]'}, "secret_arn goes with auth bearer"),
        (
            {"tool_servers": '[{"name": "a", "url": "https://x", "auth": "none", "arn": "b"}]'},
            "arn goes with auth sigv4",
        ),
        *(
            (
                {"tool_servers": [{"name": "a", "url": "https://x", "auth": "none", "result_timeout_s": timeout_s}]},
                "a tool server's result_timeout_s is a whole number from 1 to 31,536,000",
            )
            for timeout_s in (0, 31_536_001, 1.5, "60", True)
        ),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        DeployConfig.from_context(given)
