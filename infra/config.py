"""What a deployment may choose, and what it gets when it chooses nothing.

Values come from CDK context: `cdk deploy -c name=value`, or `context` in cdk.json. All of them are checked before
anything is synthesized, since AWS would refuse most mistakes only in the middle of a deployment.
"""

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from infra.context import ConfigError, Context
from infra.tool_servers import EXAMPLE, ToolServer

# Limits of AWS. SQS: retention 14 days, per-message delay 900 s, receive count 1,000. Lambda: 900 s, 10,240 MB, FIFO
# batches of 10, event source concurrency 2 to 1,000, requests of 6 MB.
LAMBDA_TIMEOUT_S = 900
QUEUE_DELAY_S = 900
LOG_RETENTIONS_DAYS = (1, 7, 30, 90, 365)  # a choice from the periods that CloudWatch Logs knows
SETTING = re.compile(r"[a-z][a-z0-9_]*")
SQL_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class DatabaseConfig:
    """The database: a cluster of our own where `endpoint` is None, else an existing one with its ARN for grants."""

    endpoint: str | None
    cluster_arn: str | None
    port: int
    tls: str
    schema: str
    user: str

    @classmethod
    def read(cls, context: Context, *, offline: bool) -> Self:
        config = cls(
            endpoint=context.optional_text("dsql_endpoint"),
            cluster_arn=context.optional_text("dsql_cluster_arn"),
            port=context.number("dsql_port", 5432, least=1, most=65_535),
            tls=context.choice("dsql_tls", "verify-full", ("verify-full", "off")),
            schema=_sql_name(context, "dsql_schema", "infinity"),
            user=_sql_name(context, "dsql_user", "infinity_slice"),
        )
        if offline and config.endpoint is None:
            raise ConfigError("offline needs dsql_endpoint: the local stack makes no cluster")
        if not offline and config.tls == "off":
            raise ConfigError("dsql_tls=off is for the offline stack only: a real cluster refuses it")
        if not offline and (config.endpoint is None) != (config.cluster_arn is None):
            raise ConfigError("dsql_endpoint and dsql_cluster_arn are given together: one connects, one grants")
        return config


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The model: a Bedrock model id, an inference profile id, or the ARN of either."""

    model_id: str
    endpoint: str | None

    @classmethod
    def read(cls, context: Context) -> Self:
        return cls(
            model_id=context.text("model_id", "global.anthropic.claude-sonnet-4-6"),
            endpoint=context.optional_text("model_endpoint"),
        )


@dataclass(frozen=True, slots=True)
class SliceConfig:
    """One slice: how long it may take, how large it is, how many run at once."""

    timeout_s: int
    completion_reserve_s: int
    memory_mb: int
    batch_size: int
    max_concurrency: int

    @classmethod
    def read(cls, context: Context) -> Self:
        config = cls(
            timeout_s=context.number("slice_timeout_s", 300, least=1, most=LAMBDA_TIMEOUT_S),
            completion_reserve_s=context.number("completion_reserve_s", 90, least=0, most=LAMBDA_TIMEOUT_S),
            memory_mb=context.number("slice_memory_mb", 1_024, least=128, most=10_240),
            batch_size=context.number("slice_batch_size", 10, least=1, most=10),
            max_concurrency=context.number("slice_max_concurrency", 100, least=2, most=1_000),
        )
        if config.completion_reserve_s >= config.timeout_s:
            raise ConfigError("completion_reserve_s must be below slice_timeout_s, or no completion would ever start")
        return config


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """The queues: how long they keep, how long a receive hides, how often a message is tried."""

    visibility_s: int
    retention_days: int
    output_retention_days: int
    max_receive_count: int
    timer_delay_limit_s: int

    @classmethod
    def read(cls, context: Context, *, slice_timeout_s: int) -> Self:
        config = cls(
            visibility_s=context.number("queue_visibility_s", slice_timeout_s + 30, least=1, most=43_200),
            retention_days=context.number("queue_retention_days", 14, least=1, most=14),
            output_retention_days=context.number("output_retention_days", 14, least=1, most=14),
            max_receive_count=context.number("max_receive_count", 20, least=1, most=1_000),
            timer_delay_limit_s=context.number("timer_delay_limit_s", QUEUE_DELAY_S, least=0, most=QUEUE_DELAY_S),
        )
        if config.visibility_s < slice_timeout_s:
            raise ConfigError("queue_visibility_s must not be below slice_timeout_s: Lambda refuses such a mapping")
        return config


@dataclass(frozen=True, slots=True)
class ReachConfig:
    """Who talks to whom over HTTP: our public addresses, the tool servers, what may be reached."""

    receiver_base_url: str | None
    function_url_base: str | None
    callback_body_limit_bytes: int
    tool_servers: tuple[ToolServer, ...]
    allowed_private_networks: tuple[str, ...]
    example_toolset: bool

    @classmethod
    def read(cls, context: Context) -> Self:
        return cls(
            receiver_base_url=_base_url(context, "receiver_base_url"),
            function_url_base=_base_url(context, "function_url_base"),
            callback_body_limit_bytes=context.number(
                "callback_body_limit_bytes", 4 * 1024 * 1024, least=1_024, most=6 * 1024 * 1024
            ),
            tool_servers=_tool_servers(context),
            allowed_private_networks=tuple(_network(item) for item in context.items("allowed_private_networks")),
            example_toolset=context.flag("example_toolset", default=True),
        )


@dataclass(frozen=True, slots=True)
class OperationConfig:
    """How the deployment is looked after: alarms, logs, migrations, and what a deleted stack leaves behind.

    A migration may wait for an index on a table that has grown; an empty local database has nothing to wait for.
    """

    alarm_topic_arn: str | None
    log_retention_days: int
    migration_timeout_s: int
    retain_state: bool

    @classmethod
    def read(cls, context: Context, *, offline: bool) -> Self:
        return cls(
            alarm_topic_arn=context.optional_text("alarm_topic_arn"),
            log_retention_days=_log_retention(context),
            migration_timeout_s=context.number(
                "migration_timeout_s", 60 if offline else 600, least=60, most=LAMBDA_TIMEOUT_S
            ),
            retain_state=context.flag("retain_state", default=not offline),
        )


@dataclass(frozen=True, slots=True)
class DeployConfig:
    """Everything one deployment is made from.

    `offline` is the local stack: see `scripts/offline`. `settings` are further settings of the runtime, by their own
    names, for whoever wants other budgets or limits than its defaults: `-c 'settings={"completions_per_slice": 4}'`.
    """

    offline: bool
    database: DatabaseConfig
    model: ModelConfig
    slice: SliceConfig
    queues: QueueConfig
    reach: ReachConfig
    operation: OperationConfig
    settings: Mapping[str, str]

    @classmethod
    def from_context(cls, values: Mapping[str, object]) -> Self:
        """Read and check every value; keys of the CDK's own are passed over.

        Raises:
            ConfigError: a value is unknown, of the wrong kind, out of range or contradicts another.
        """
        context = Context(values)
        offline = context.flag("offline", default=False)
        slice_config = SliceConfig.read(context)
        config = cls(
            offline=offline,
            database=DatabaseConfig.read(context, offline=offline),
            model=ModelConfig.read(context),
            slice=slice_config,
            queues=QueueConfig.read(context, slice_timeout_s=slice_config.timeout_s),
            reach=ReachConfig.read(context),
            operation=OperationConfig.read(context, offline=offline),
            settings=_settings(context),
        )
        context.refuse_unasked()
        return config


def _sql_name(context: Context, name: str, default: str) -> str:
    value = context.text(name, default)
    if not SQL_NAME.fullmatch(value):
        raise ConfigError(f"{name} must be lower-case letters, digits and _, not {value!r}")
    return value


def _log_retention(context: Context) -> int:
    days = context.number("log_retention_days", 30, least=1, most=365)
    if days not in LOG_RETENTIONS_DAYS:
        raise ConfigError(f"log_retention_days must be one of {', '.join(map(str, LOG_RETENTIONS_DAYS))}, not {days}")
    return days


def _base_url(context: Context, name: str) -> str | None:
    value = context.optional_text(name)
    if value is not None and not value.startswith(("http://", "https://")):
        raise ConfigError(f"{name} must start with http:// or https://, not {value!r}")
    return value.rstrip("/") if value else None


def _tool_servers(context: Context) -> tuple[ToolServer, ...]:
    servers = tuple(ToolServer.read(item) for item in context.items("tool_servers"))
    names = [server.name for server in servers]
    if len({*names, EXAMPLE}) <= len(names):
        raise ConfigError(f"every tool server has a name of its own, and {EXAMPLE} is the one that comes with it")
    return servers


def _settings(context: Context) -> dict[str, str]:
    """As the environment wants them: texts as they are, everything else as JSON."""
    given = context.table("settings")
    wrong = [name for name in given if not SETTING.fullmatch(name)]
    if wrong:
        raise ConfigError(f"settings are named like thread_depth, not {', '.join(wrong)}")
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}


def _network(item: object) -> str:
    try:
        return str(ipaddress.ip_network(str(item)))
    except ValueError as error:
        raise ConfigError(f"allowed_private_networks holds networks like 10.0.0.0/8, not {item!r}") from error
