"""The migration function: a custom resource that brings the database's schema up to date while deploying.

CloudFormation may call it twice, with older properties during a rollback, and waits for its answer at a URL: whatever
happens is answered there, or a deployment would hang for as long as its service timeout.
"""

import json
import os
from contextlib import closing
from typing import Any, Literal
from urllib.request import Request, urlopen

import boto3
from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel, ConfigDict, Field, field_validator

from handlers.logs import write_runtime_logs_through
from runtime.adapters.aws.clients import client_config
from runtime.adapters.aws.dsql_connection import DsqlConnection
from runtime.adapters.aws.dsql_endpoint import Endpoint, token_source
from runtime.adapters.aws.migrations import SCHEMA_VERSION, grant_slice, migrate
from runtime.adapters.clock import SystemClock
from runtime.errors import RetryableError
from runtime.ports import Clock
from runtime.settings import Settings

# A role's new rights reach the database some seconds after CloudFormation has them. What lasts longer is a mistake.
WAIT_S = 5
PATIENCE_S = 120
# What is left of the function's time for giving up and saying so.
RESERVE_S = 30
ANSWER_TRIES = 3
ANSWER_TIMEOUT_S = 10

logger = Logger(service="migrate")


class Properties(BaseModel):
    """What the template passes. A property that an older template lacks has a default."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    version: str | None = Field(None, alias="Version")
    database_role: str = Field("infinity_slice", alias="DatabaseRole", pattern=r"^[a-z_][a-z0-9_]{0,62}$")
    slice_role_arn: str | None = Field(None, alias="SliceRoleArn")
    settings: dict[str, str] = Field(default_factory=dict, alias="Settings")

    @field_validator("settings", mode="before")
    @classmethod
    def _read(cls, given: object) -> object:
        return json.loads(given) if isinstance(given, str) else given


class Change(BaseModel):
    """CloudFormation's request ("Custom resource request objects" in its user guide)."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    kind: Literal["Create", "Update", "Delete"] = Field(alias="RequestType")
    answer_url: str = Field(alias="ResponseURL", pattern="^https?://")
    stack_id: str = Field(alias="StackId")
    request_id: str = Field(alias="RequestId")
    logical_id: str = Field(alias="LogicalResourceId")
    properties: dict[str, Any] = Field(alias="ResourceProperties")


def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Migrate and grant on every creation and update; a deletion leaves all data. Answers CloudFormation itself.

    Raises only when the answer could not be given: Lambda then calls again.
    """
    write_runtime_logs_through(logger)
    change = Change.model_validate(event)
    try:
        if change.kind != "Delete":
            _change_schema(change, context.get_remaining_time_in_millis() / 1000 - RESERVE_S)
    except Exception as error:  # whatever it is, CloudFormation waits for an answer
        logger.exception("schema not changed")
        _answer(change, failure=f"{type(error).__name__}: {error}"[:1000])
    else:
        logger.info("schema is up to date", extra={"schema_version": SCHEMA_VERSION, "request": change.kind})
        _answer(change, failure=None)


def _change_schema(change: Change, time_left_s: float) -> None:
    properties = Properties.model_validate(change.properties)
    if properties.version == os.environ.get("CODE_VERSION"):
        Settings.check(properties.settings)  # in a rollback they are another version's, which knows its own
    settings = Settings.from_environment(os.environ)
    endpoint = Endpoint(settings.dsql_endpoint, "admin", settings.dsql_port, settings.dsql_tls)
    token = token_source(boto3.client("dsql", config=client_config(connections=1)), endpoint)
    clock = SystemClock()
    with closing(DsqlConnection(endpoint, token, clock)) as connection:
        migrate_patiently(connection, settings, properties, clock, time_left_s)


def migrate_patiently(
    connection: DsqlConnection, settings: Settings, properties: Properties, clock: Clock, time_left_s: float
) -> None:
    """Migrate and grant, again and again while the database cannot be had and time is left. Every step is repeatable.

    Raises:
        RetryableError: it could not be had to the end.
        PermanentError: repeating will not help.
    """
    give_up_ms = clock.now_ms() + min(time_left_s, PATIENCE_S) * 1000
    # A database without TLS is a stand-in on this machine: it knows no IAM.
    iam_role_arn = properties.slice_role_arn if settings.dsql_tls != "off" else None
    while True:
        try:
            migrate(connection, settings.dsql_schema, clock)
            return grant_slice(connection, settings.dsql_schema, properties.database_role, iam_role_arn)
        except RetryableError as error:
            if clock.now_ms() + WAIT_S * 1000 > give_up_ms:
                raise
            logger.warning("database not ready", extra={"code": error.code})
            clock.sleep(WAIT_S)


def _answer(change: Change, failure: str | None) -> None:
    """Put the outcome where CloudFormation looks for it. The URL is a capability and is never logged."""
    answer = {
        "Status": "SUCCESS" if failure is None else "FAILED",
        "Reason": failure or "the schema is up to date",
        "PhysicalResourceId": "infinity-schema",  # never changes, so that nothing is ever replaced and deleted
        "StackId": change.stack_id,
        "RequestId": change.request_id,
        "LogicalResourceId": change.logical_id,
        "Data": {"SchemaVersion": str(SCHEMA_VERSION)},
    }
    # The URL is signed for an empty content type, which urllib would fill in.
    request = Request(  # noqa: S310 - `Change` lets http and https pass, nothing else
        change.answer_url, json.dumps(answer).encode(), {"Content-Type": ""}, method="PUT"
    )
    for tries_left in reversed(range(ANSWER_TRIES)):
        try:
            with urlopen(request, timeout=ANSWER_TIMEOUT_S):  # noqa: S310 - as above
                return
        except OSError:
            if not tries_left:
                raise
