"""Every exception to the cdk-nag rules, in one place: which resource, which rule, why.

`python -m infra.report` lists and counts those of the last synth. A test holds this list to what the rules really find:
no exception without a finding.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import Acknowledgment, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from infra.model_access import model_grants
from infra.stack import InfinityStack

OTHER_SIDE_READS = "Whoever reads the outputs decides how often to try; a message nobody takes just ages out"
IS_DEAD_LETTER = "It is a dead-letter queue, of the schedules that are made at run time and so not seen here"
NO_ACCESS_LOGS = "Only two roles of this stack can use it; who did is in CloudTrail data events where that is wanted"
ROTATION = "A key must outlive the callback URLs it signed (400 days), so keys are added by a command, never replaced"
OBJECT_NAMES = "Objects are named by content hash at run time; the bucket itself is the boundary"
SCHEDULE_NAMES = "Schedules are named by a hash at run time; the deployment's own group is the boundary"
PROFILE_REGIONS = "The inference profile picks the Region; allowed only through that profile"
TESTED_RUNTIME = "Python 3.13 is what the pinned wheels are built for and tested with"


@dataclass(frozen=True, slots=True)
class NagException:
    """One rule that one resource may break, and the reason."""

    resource: IConstruct
    rule: str
    reason: str

    @property
    def path(self) -> str:
        return self.resource.node.path

    def acknowledge(self) -> None:
        Validations.of(self.resource).acknowledge(Acknowledgment(id=f"AwsSolutions::{self.rule}", reason=self.reason))


def exceptions(stack: InfinityStack) -> list[NagException]:
    """All exceptions of the stack, in the order of its parts."""
    return [*_resources(stack), *_wildcards(stack), *_runtimes(stack)]


def _resources(stack: InfinityStack) -> Iterator[NagException]:
    yield NagException(_resource(stack.queues.output), "AwsSolutions-SQS3", OTHER_SIDE_READS)
    yield NagException(_resource(stack.timers.schedule_failures), "AwsSolutions-SQS3", IS_DEAD_LETTER)
    yield NagException(_resource(stack.payloads), "AwsSolutions-S1", NO_ACCESS_LOGS)
    for secret in (stack.token_secret.material, stack.token_secret.secret):
        yield NagException(_resource(secret), "AwsSolutions-SMG4", ROTATION)


def _wildcards(stack: InfinityStack) -> Iterator[NagException]:
    slice_policy = _policy(stack.slices.slice.role)
    bucket = stack.resolve(stack.payloads.bucket_arn)["Fn::GetAtt"][0]
    objects = f"<{bucket}.Arn>/*"
    yield _wildcard(_policy(stack.receiver.receiver.role), objects, OBJECT_NAMES)
    yield _wildcard(slice_policy, objects, OBJECT_NAMES)
    account = "<AWS::Region>:<AWS::AccountId>"
    group = stack.get_logical_id(stack.timers.schedule_group)
    schedules = f"arn:<AWS::Partition>:scheduler:{account}:schedule/<{group}>/*"
    yield _wildcard(slice_policy, schedules, SCHEDULE_NAMES)
    for grant in model_grants(stack.config.model.model_id, stack):
        for resource in grant.resources:
            if "*" in resource:
                named = resource.replace(stack.partition, "<AWS::Partition>")
                yield _wildcard(slice_policy, named, PROFILE_REGIONS)


def _runtimes(stack: InfinityStack) -> Iterator[NagException]:
    for function in stack.functions:
        yield NagException(_resource(function.function), "AwsSolutions-L1", TESTED_RUNTIME)


def _wildcard(policy: IConstruct, resource: str, reason: str) -> NagException:
    return NagException(policy, f"AwsSolutions-IAM5[Resource::{resource}]", reason)


def _resource(construct: IConstruct) -> IConstruct:
    return construct.node.find_child("Resource")


def _policy(role: iam.Role) -> IConstruct:
    return _resource(role.node.find_child("DefaultPolicy"))
