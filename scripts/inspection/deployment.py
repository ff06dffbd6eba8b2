"""The stores of a deployment, as an operator reaches them: with rights of their own, and to read only."""

import argparse
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError
from psycopg.conninfo import conninfo_to_dict

from runtime.adapters.aws.dsql_connection import DsqlConnection
from runtime.adapters.aws.dsql_endpoint import Endpoint, token_source
from runtime.adapters.clock import SystemClock
from scripts.commands.target import Target, TargetError, deployed_target, offline_target
from scripts.offline_stack.stack import OfflineStack

if TYPE_CHECKING:
    from types_boto3_dynamodb.client import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Deployment:
    """`now_ms` is the deployment's own time, which on this machine may have been moved."""

    target: Target
    connection: DsqlConnection
    schema: str
    dynamodb: "DynamoDBClient"
    now_ms: int

    @property
    def state_table(self) -> str:
        return self.target.outputs["StateTableName"]


def add_database_options(parser: argparse.ArgumentParser) -> None:
    """Let a command be told how to sign in to the database; `opened` reads the answer."""
    parser.add_argument(
        "--database-user",
        default="admin",
        metavar="USER",
        help="on AWS: whom to connect as; your own IAM identity must be allowed to (default: admin)",
    )
    parser.add_argument("--schema", default="infinity", metavar="NAME", help="as it was deployed (default: infinity)")


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Deployment]:
    """Reach the stores of the deployment that the options name; nothing is connected to before it is asked.

    Raises: TargetError when there is no such deployment.
    """
    with closing_stores(offline_stores(OfflineStack()) if arguments.offline else _deployed_stores(arguments)) as found:
        yield found


@contextmanager
def closing_stores(deployment: Deployment) -> Iterator[Deployment]:
    """Give the connection to the database up at the end."""
    with closing(deployment.connection):
        yield deployment


def offline_stores(stack: OfflineStack, schema: str = "infinity") -> Deployment:
    """The stores of a stack on this machine. Raises: TargetError when it is not up."""
    target = offline_target(stack)
    parts = conninfo_to_dict(stack.database_dsn)
    endpoint = Endpoint(
        str(parts["host"]), str(parts["user"]), int(str(parts["port"])), tls="off", database=str(parts["dbname"])
    )
    connection = DsqlConnection(endpoint, lambda: "any token", SystemClock())
    return Deployment(target, connection, schema, stack.client("dynamodb"), round(stack.now() * 1000))


def _deployed_stores(arguments: argparse.Namespace) -> Deployment:
    target = deployed_target(arguments.stack)
    endpoint = Endpoint(target.outputs["DatabaseEndpoint"], arguments.database_user)
    try:
        token = token_source(boto3.client("dsql"), endpoint)
        connection = DsqlConnection(endpoint, token, SystemClock())
        return Deployment(target, connection, arguments.schema, boto3.client("dynamodb"), round(time.time() * 1000))
    except BotoCoreError as error:
        raise TargetError(str(error)) from error
