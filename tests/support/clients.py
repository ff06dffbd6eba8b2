"""boto3 clients of the emulator, set up as the deployed ones are, and fresh resources in it."""

import json
import uuid

import boto3
from types_boto3_dynamodb import DynamoDBClient
from types_boto3_s3 import S3Client
from types_boto3_scheduler import EventBridgeSchedulerClient
from types_boto3_secretsmanager import SecretsManagerClient
from types_boto3_sqs import SQSClient
from types_boto3_sqs.literals import QueueAttributeNameType

from runtime.adapters.aws.clients import client_config
from scripts.offline_stack.emulator import client_settings

CONNECTIONS = 4


def sqs_client(endpoint: str) -> SQSClient:
    return boto3.client("sqs", config=client_config(CONNECTIONS), **client_settings(endpoint))


def dynamodb_client(endpoint: str) -> DynamoDBClient:
    return boto3.client("dynamodb", config=client_config(CONNECTIONS), **client_settings(endpoint))


def s3_client(endpoint: str) -> S3Client:
    return boto3.client("s3", config=client_config(CONNECTIONS), **client_settings(endpoint))


def scheduler_client(endpoint: str) -> EventBridgeSchedulerClient:
    return boto3.client("scheduler", config=client_config(CONNECTIONS), **client_settings(endpoint))


def secrets_client(endpoint: str) -> SecretsManagerClient:
    return boto3.client("secretsmanager", config=client_config(CONNECTIONS), **client_settings(endpoint))


def fresh_name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:12]}"


def create_fifo_queue(client: SQSClient, visibility_s: int = 30, redrive_policy: str | None = None) -> str:
    """Create a FIFO queue as the deployment makes them, and return its URL."""
    attributes: dict[QueueAttributeNameType, str] = {
        "FifoQueue": "true",
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
        "VisibilityTimeout": str(visibility_s),
    }
    if redrive_policy is not None:
        attributes["RedrivePolicy"] = redrive_policy
    return client.create_queue(QueueName=f"{fresh_name('queue')}.fifo", Attributes=attributes)["QueueUrl"]


def create_standard_queue(client: SQSClient) -> str:
    return client.create_queue(QueueName=fresh_name("queue"))["QueueUrl"]


def queue_arn(client: SQSClient, url: str) -> str:
    return client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def redrive_policy(client: SQSClient, dead_letter_url: str, max_receives: int) -> str:
    return json.dumps({"deadLetterTargetArn": queue_arn(client, dead_letter_url), "maxReceiveCount": max_receives})


def create_state_table(client: DynamoDBClient) -> str:
    """Create a table as the deployment makes it, and return its name."""
    name = fresh_name("state")
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=name)
    return name
