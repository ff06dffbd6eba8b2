"""Which deployment a command talks to: a stack in an AWS account, or the offline one on this machine."""

import argparse
import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from scripts.offline_stack.stack import OfflineStack
from scripts.offline_stack.supervisor import StackError

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient

DEFAULT_STACK = "Infinity"
QUEUES = {"InputQueueUrl", "OutputQueueUrl"}


class TargetError(Exception):
    """There is no deployment to talk to. The message says how to get one."""


@dataclass(frozen=True)
class Target:
    """A deployment as its users see it: two queues, named by the stack's outputs."""

    sqs: "SQSClient"
    outputs: Mapping[str, str]

    @functools.cached_property
    def input_queue_url(self) -> str:
        return self.outputs["InputQueueUrl"]

    @functools.cached_property
    def output_queue_url(self) -> str:
        return self.outputs["OutputQueueUrl"]


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Let a command be pointed at a deployment; `choose_target` reads the answer."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--offline", action="store_true", help="the stack that scripts/offline runs on this machine")
    choice.add_argument("--stack", default=DEFAULT_STACK, metavar="NAME", help="a deployed stack (default: Infinity)")


def choose_target(arguments: argparse.Namespace) -> Target:
    """Find the deployment that the options name. Raises: TargetError when it cannot be reached or is none of ours."""
    return offline_target(OfflineStack()) if arguments.offline else deployed_target(arguments.stack)


def offline_target(stack: OfflineStack) -> Target:
    """A stack on this machine. Raises: TargetError when it is not up."""
    try:
        return Target(stack.client("sqs"), stack.outputs)
    except StackError as error:
        raise TargetError(str(error)) from error


def deployed_target(stack_name: str) -> Target:
    """A stack of the account and region that the usual AWS settings name. Raises: TargetError."""
    # What the AWS CLI and the CDK heed before `AWS_DEFAULT_REGION`, and boto3 does not heed at all.
    boto3.setup_default_session(region_name=os.environ.get("AWS_REGION"))
    try:
        found = boto3.client("cloudformation").describe_stacks(StackName=stack_name)["Stacks"][0]
        outputs = {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}
        require_queues(stack_name, outputs)
        return Target(boto3.client("sqs"), outputs)
    except (NoRegionError, NoCredentialsError) as error:
        said = str(error).rstrip(".")
        raise TargetError(f"{said}: set AWS_REGION and AWS_PROFILE, or use --offline") from error
    except (BotoCoreError, ClientError) as error:
        raise TargetError(f"stack {stack_name!r} cannot be read: {error}") from error


def require_queues(stack_name: str, outputs: Mapping[str, str]) -> None:
    """Refuse a stack that has other outputs than ours. Raises: TargetError."""
    if not outputs.keys() >= QUEUES:
        raise TargetError(f"stack {stack_name!r} is no agent runtime: name the one that was deployed with --stack")
