"""The one place where the ports get their AWS implementations. Called once per Lambda execution environment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import LifoQueue
from typing import TYPE_CHECKING

import boto3

from runtime.adapters.aws import bedrock, clients
from runtime.adapters.aws.bedrock_request import BedrockOptions
from runtime.adapters.aws.dsql_connection import DsqlConnection
from runtime.adapters.aws.dsql_endpoint import Endpoint, token_source
from runtime.adapters.aws.dsql_history import DsqlHistory
from runtime.adapters.aws.dynamodb import DynamoManifests, DynamoReceipts
from runtime.adapters.aws.dynamodb_choices import DynamoChoices
from runtime.adapters.aws.s3 import S3Payloads
from runtime.adapters.aws.scheduler import SchedulerTimers, TimerTargets
from runtime.adapters.aws.secrets import BearerTokens, SecretsKeyring
from runtime.adapters.aws.signing import SigV4Signer
from runtime.adapters.aws.sqs import SqsInputQueue, SqsQueues
from runtime.adapters.cached_payloads import CachedPayloads
from runtime.adapters.clock import SystemClock
from runtime.adapters.http.servers import HttpToolServers
from runtime.batch import Workers
from runtime.ports import Clock, History, Ports
from runtime.run import Environment
from runtime.settings import Settings
from runtime.tools.offers import Offers
from runtime.tools.toolsets import Toolsets

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient

# A small part of a slice function's memory, and enough for the images of several conversations.
_CACHED_PAYLOADS_BYTES = 64_000_000


def workers_on_aws(settings: Settings) -> Workers:
    """Return the workers of a slice function. Nothing is connected to before it is used.

    Each worker has a database connection of its own, which serves one thread; everything else is shared.
    """
    clock, config = SystemClock(), clients.client_config(settings.worker_threads)
    sqs = boto3.client("sqs", config=config)
    token = token_source(boto3.client("dsql", config=config), _endpoint(settings))
    with_history = _shared_ports(settings, sqs, clock)
    offers = Offers(Toolsets(settings.tool_servers, settings.manifest_refetch_s))
    idle: LifoQueue[Environment] = LifoQueue()
    for _ in range(settings.worker_threads):
        idle.put(Environment(with_history(history=_history(settings, token, clock)), settings, offers))
    return Workers(
        idle=idle,
        executor=ThreadPoolExecutor(settings.worker_threads, thread_name_prefix="slice"),
        input_queue=SqsInputQueue(sqs, settings.input_queue_url, settings.dead_letter_queue_url, clock),
        clock=clock,
        visibility_s=settings.visibility_s,
        alone_from_receive=settings.mark_from_receive,
    )


def _shared_ports(settings: Settings, sqs: "SQSClient", clock: Clock) -> partial[Ports]:
    """Return what makes the ports of a worker out of its history."""
    config = clients.client_config(settings.worker_threads)
    secrets, dynamodb = boto3.client("secretsmanager", config=config), boto3.client("dynamodb", config=config)
    keyring = SecretsKeyring(secrets, settings.token_secret_arn, settings.key_rest_s, clock)
    bucket = S3Payloads(boto3.client("s3", config=config), settings.payload_bucket)
    scheduler = boto3.client("scheduler", config=config)
    return partial(
        Ports,
        receipts=DynamoReceipts(dynamodb, settings.state_table, clock, settings.receipt_life_s),
        choices=DynamoChoices(dynamodb, settings.state_table),
        manifests=DynamoManifests(dynamodb, settings.state_table, clock, settings.manifest_life_s),
        queues=SqsQueues(sqs, settings.input_queue_url, settings.output_queue_url, keyring, clock),
        timers=SchedulerTimers(sqs, scheduler, _timer_targets(settings), keyring, clock),
        payloads=CachedPayloads(bucket, _CACHED_PAYLOADS_BYTES),
        model=_model(settings),
        servers=HttpToolServers(settings, SigV4Signer(), BearerTokens(secrets, clock), clock),
        keyring=keyring,
        clock=clock,
    )


def _timer_targets(settings: Settings) -> TimerTargets:
    return TimerTargets(
        settings.timer_queue_url,
        settings.timer_queue_arn,
        settings.schedule_group,
        settings.scheduler_role_arn,
        settings.scheduler_dlq_arn,
        settings.timer_delay_limit_s,
    )


def _model(settings: Settings) -> bedrock.BedrockModel:
    return bedrock.BedrockModel(
        boto3.client("bedrock-runtime", config=bedrock.client_config(settings.worker_threads)),
        BedrockOptions(settings.model_id, settings.model_thinking, settings.model_cache_points, settings.model_stall_s),
    )


def _endpoint(settings: Settings) -> Endpoint:
    return Endpoint(settings.dsql_endpoint, settings.dsql_user, settings.dsql_port, settings.dsql_tls)


def _history(settings: Settings, token: Callable[[], str], clock: Clock) -> History:
    return DsqlHistory(DsqlConnection(_endpoint(settings), token, clock), settings.dsql_schema)
