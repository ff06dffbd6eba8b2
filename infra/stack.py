"""The stack: which parts there are, what each function is told, and who may do what."""

import json
from collections.abc import Mapping

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from constructs import Construct

from infra.alarms import Alarms
from infra.config import DeployConfig
from infra.context import ConfigError
from infra.database import Database
from infra.example_toolset import ExampleToolset
from infra.functions import FunctionCode, FunctionDefaults, RuntimeFunction
from infra.migration import Migration
from infra.model_access import model_grants
from infra.queues import MessageQueues
from infra.receiver import Receiver, host_of
from infra.slices import Slices
from infra.storage import PayloadBucket, StateTable, TokenSecret
from infra.timer_relay import TimerRelay
from infra.timers import Timers
from infra.tool_servers import EXAMPLE, ToolServer


class InfinityStack(Stack):
    """One deployment of the agent runtime."""

    def __init__(self, scope: Construct, construct_id: str, *, config: DeployConfig) -> None:
        super().__init__(scope, construct_id, description="Infinity: agents that cost nothing while they wait")
        self.config = config
        kept = RemovalPolicy.RETAIN if config.operation.retain_state else RemovalPolicy.DESTROY
        code = FunctionCode(self, "Code", offline=config.offline)
        self.defaults = FunctionDefaults(code=code, log_retention_days=config.operation.log_retention_days)

        self.queues = MessageQueues(self, "Queues", config=config.queues)
        self.timers = Timers(self, "Timers", config=config.queues)
        self.state = StateTable(self, "State", removal_policy=kept).table
        self.payloads = PayloadBucket(self, "Payloads", removal_policy=kept).bucket
        self.token_secret = TokenSecret(self, "TokenSecret", removal_policy=kept)
        self.database = Database(self, "Database", config=config.database, removal_policy=kept)

        self.receiver = self._receiver()
        self.relay = self._timer_relay()
        self.toolset = self._example_toolset()
        self.slices = self._slices()
        self.migration = self._migration()
        # A slice only checks the schema's version, so the schema comes first.
        self.slices.slice.function.node.add_dependency(self.migration.resource)

        self._grant_receiver()
        self._grant_timer_relay()
        self._grant_slice()
        self._grant_migration()
        self._alarms()
        self._outputs()

    @property
    def functions(self) -> list[RuntimeFunction]:
        """Every function of the stack."""
        functions = [self.receiver.receiver, self.relay.relay, self.slices.slice, self.migration.migrate]
        return functions if self.toolset is None else [*functions, self.toolset.toolset]

    # The parts that run, and what each is told.

    def _with_settings(self, environment: Mapping[str, str]) -> dict[str, str]:
        """What a function is told by the stack, and the further settings that were chosen for this deployment."""
        settings = {f"INFINITY_{name.upper()}": value for name, value in self.config.settings.items()}
        decided = sorted(settings.keys() & environment.keys())
        if decided:
            raise ConfigError(f"settings hold {', '.join(decided)}, which the stack decides: see the README's context")
        return {**settings, **environment}

    def _receiver(self) -> Receiver:
        reach = self.config.reach
        return Receiver(
            self,
            "Callbacks",
            defaults=self.defaults,
            base_url=reach.receiver_base_url,
            function_url_base=reach.function_url_base,
            environment=self._with_settings(
                {
                    "INFINITY_INPUT_QUEUE_URL": self.queues.input.queue_url,
                    "INFINITY_OUTPUT_QUEUE_URL": self.queues.output.queue_url,
                    "INFINITY_STATE_TABLE": self.state.table_name,
                    "INFINITY_PAYLOAD_BUCKET": self.payloads.bucket_name,
                    "INFINITY_TOKEN_SECRET_ARN": self.token_secret.arn,
                    "INFINITY_CALLBACK_BODY_LIMIT_BYTES": str(reach.callback_body_limit_bytes),
                }
            ),
        )

    def _timer_relay(self) -> TimerRelay:
        return TimerRelay(
            self,
            "TimerRelay",
            defaults=self.defaults,
            queue=self.timers.queue,
            polled_by_lambda=not self.config.offline,
            environment=self._with_settings(
                {
                    "INFINITY_INPUT_QUEUE_URL": self.queues.input.queue_url,
                    "INFINITY_TIMER_QUEUE_URL": self.timers.queue.queue_url,
                    "INFINITY_TIMER_DELAY_LIMIT_S": str(self.config.queues.timer_delay_limit_s),
                }
            ),
        )

    def _example_toolset(self) -> ExampleToolset | None:
        if not self.config.reach.example_toolset:
            return None
        return ExampleToolset(
            self,
            "ExampleToolset",
            defaults=self.defaults,
            function_url_base=self.config.reach.function_url_base,
            environment={"INFINITY_EXAMPLE_ALLOWED_CALLBACK_HOST": host_of(self.receiver.base_url)},
        )

    def _slices(self) -> Slices:
        return Slices(
            self,
            "Slices",
            defaults=self.defaults,
            config=self.config.slice,
            queue=self.queues.input,
            polled_by_lambda=not self.config.offline,
            environment=self._with_settings(self._slice_environment()),
        )

    def _slice_environment(self) -> dict[str, str]:
        config = self.config
        environment = {
            **self.database.environment,
            "INFINITY_DSQL_USER": config.database.user,
            "INFINITY_INPUT_QUEUE_URL": self.queues.input.queue_url,
            "INFINITY_OUTPUT_QUEUE_URL": self.queues.output.queue_url,
            "INFINITY_DEAD_LETTER_QUEUE_URL": self.queues.dead_letters.queue_url,
            "INFINITY_TIMER_QUEUE_URL": self.timers.queue.queue_url,
            "INFINITY_TIMER_QUEUE_ARN": self.timers.queue.queue_arn,
            "INFINITY_SCHEDULE_GROUP": self.timers.schedule_group.ref,
            "INFINITY_SCHEDULER_ROLE_ARN": self.timers.scheduler_role.role_arn,
            "INFINITY_SCHEDULER_DLQ_ARN": self.timers.schedule_failures.queue_arn,
            "INFINITY_STATE_TABLE": self.state.table_name,
            "INFINITY_PAYLOAD_BUCKET": self.payloads.bucket_name,
            "INFINITY_TOKEN_SECRET_ARN": self.token_secret.arn,
            "INFINITY_RECEIVER_URL": self.receiver.base_url,
            "INFINITY_MODEL_ID": config.model.model_id,
            "INFINITY_TOOL_SERVERS": self.to_json_string([server.told for server in self._tool_servers()]),
            "INFINITY_ALLOWED_PRIVATE_NETWORKS": json.dumps(config.reach.allowed_private_networks),
            "INFINITY_VISIBILITY_S": str(config.queues.visibility_s),
            "INFINITY_COMPLETION_RESERVE_S": str(config.slice.completion_reserve_s),
            "INFINITY_TIMER_DELAY_LIMIT_S": str(config.queues.timer_delay_limit_s),
        }
        if config.model.endpoint is not None:
            # botocore's own variable for one service's endpoint, so it stands without our prefix.
            environment["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] = config.model.endpoint
        return environment

    def _tool_servers(self) -> list[ToolServer]:
        servers = list(self.config.reach.tool_servers)
        if self.toolset is not None:
            arn = self.toolset.toolset.function.function_arn
            # Behind another base the host no longer tells that it is a Function URL.
            sign_as = None if self.config.reach.function_url_base is None else "lambda"
            example = ToolServer(name=EXAMPLE, url=self.toolset.base_url, auth="sigv4", arn=arn, sign_as=sign_as)
            servers.append(example)
        return servers

    def _migration(self) -> Migration:
        return Migration(
            self,
            "Migration",
            defaults=self.defaults,
            environment=self.database.environment,
            slice_role_arn=self.slices.slice.role.role_arn,
            database_user=self.config.database.user,
            settings=self.config.settings,
            timeout_s=self.config.operation.migration_timeout_s,
        )

    # Who may do what. A mapping to a queue grants receiving from it by itself.

    def _grant_receiver(self) -> None:
        receiver = self.receiver.receiver
        receiver.allow(["sqs:SendMessage"], [self.queues.input.queue_arn, self.queues.output.queue_arn])
        # Views stand beside their thread. The manifests in the same table tell agents which tools there are: not these.
        of_threads = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["thread#*"]}}
        receiver.allow(["dynamodb:PutItem"], [self.state.table_arn], of_threads)
        receiver.allow(["s3:PutObject"], [self.payloads.arn_for_objects("*")])
        receiver.allow(["secretsmanager:GetSecretValue"], [self.token_secret.arn])

    def _grant_timer_relay(self) -> None:
        self.relay.relay.allow(["sqs:SendMessage"], [self.queues.input.queue_arn, self.timers.queue.queue_arn])

    def _grant_slice(self) -> None:
        self._grant_slice_stores()
        self._grant_slice_timers()
        self._grant_slice_tools()
        for grant in model_grants(self.config.model.model_id, self):
            self.slices.slice.allow(["bedrock:InvokeModelWithResponseStream"], grant.resources, grant.conditions)

    def _grant_slice_stores(self) -> None:
        allow = self.slices.slice.allow
        queues = (self.queues.input, self.queues.output, self.queues.dead_letters, self.timers.queue)
        allow(["sqs:SendMessage"], [queue.queue_arn for queue in queues])
        actions = ("BatchGetItem", "GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem")
        allow([f"dynamodb:{action}" for action in actions], [self.state.table_arn])
        allow(["s3:GetObject", "s3:PutObject"], [self.payloads.arn_for_objects("*")])
        # Without it S3 answers 403 for an object that is not there, which would look like a missing right.
        allow(["s3:ListBucket"], [self.payloads.bucket_arn])
        if self.database.cluster_arn is not None:
            allow(["dsql:DbConnect"], [self.database.cluster_arn])

    def _grant_slice_timers(self) -> None:
        allow = self.slices.slice.allow
        group = self.timers.schedule_group.ref
        schedules = self.format_arn(service="scheduler", resource="schedule", resource_name=f"{group}/*")
        allow(["scheduler:CreateSchedule", "scheduler:DeleteSchedule"], [schedules])
        passed_to = {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
        allow(["iam:PassRole"], [self.timers.scheduler_role.role_arn], passed_to)

    def _grant_slice_tools(self) -> None:
        self.slices.slice.allow(["secretsmanager:GetSecretValue"], [self.token_secret.arn])
        for server in self._tool_servers():
            for right in server.rights:
                self.slices.slice.allow(right.actions, [right.resource], right.conditions)

    def _grant_migration(self) -> None:
        if self.database.cluster_arn is not None:
            self.migration.migrate.allow(["dsql:DbConnectAdmin"], [self.database.cluster_arn])

    def _alarms(self) -> None:
        Alarms(
            self,
            "Alarms",
            topic_arn=self.config.operation.alarm_topic_arn,
            dead_letters={
                "InputDeadLetters": self.queues.dead_letters,
                "TimerDeadLetters": self.timers.dead_letters,
                "ScheduleFailures": self.timers.schedule_failures,
            },
        )

    def _outputs(self) -> None:
        outputs = {
            "InputQueueUrl": self.queues.input.queue_url,
            "OutputQueueUrl": self.queues.output.queue_url,
            "TimerQueueUrl": self.timers.queue.queue_url,
            "InputDeadLetterQueueUrl": self.queues.dead_letters.queue_url,
            "TimerDeadLetterQueueUrl": self.timers.dead_letters.queue_url,
            "StateTableName": self.state.table_name,
            "PayloadBucketName": self.payloads.bucket_name,
            "ReceiverUrl": self.receiver.base_url,
            "SliceFunctionName": self.slices.slice.function.function_name,
            "ReceiverFunctionName": self.receiver.receiver.function.function_name,
            "TimerRelayFunctionName": self.relay.relay.function.function_name,
            "MigrateFunctionName": self.migration.migrate.function.function_name,
            "TokenSecretArn": self.token_secret.arn,
            "DatabaseEndpoint": self.database.endpoint,
        }
        if self.toolset is not None:
            outputs["ExampleToolsetUrl"] = self.toolset.base_url
            outputs["ExampleToolsetFunctionName"] = self.toolset.toolset.function.function_name
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
