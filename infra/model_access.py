"""Which Bedrock resources a model id stands for, as narrow as IAM allows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Stack

# A system-defined inference profile is a model id behind a geography.
PROFILE = re.compile(r"(?:global|us|us-gov|eu|apac|jp|au|ca)\.(?P<model>.+)")


@dataclass(frozen=True, slots=True)
class ModelGrant:
    """Resources that may be invoked, and the conditions under which."""

    resources: list[str]
    conditions: Mapping[str, object] | None = None


def model_grants(model_id: str, stack: Stack) -> list[ModelGrant]:
    """What a function needs to invoke `model_id`: a model's id, an inference profile's id, or the ARN of either.

    A profile passes each request on to its model in a Region of its own choice, and IAM checks that as well: the model
    is then allowed in any Region, but only through this profile.
    """
    if model_id.startswith("arn:"):
        return _by_arn(model_id, stack)
    profile = PROFILE.fullmatch(model_id)
    if profile is None:
        return [ModelGrant([f"arn:{stack.partition}:bedrock:{stack.region}::foundation-model/{model_id}"])]
    arn = f"arn:{stack.partition}:bedrock:{stack.region}:{stack.account}:inference-profile/{model_id}"
    return _through_profile(arn, profile["model"], stack)


def _by_arn(arn: str, stack: Stack) -> list[ModelGrant]:
    if "inference-profile/" not in arn:
        return [ModelGrant([arn])]
    profile = PROFILE.fullmatch(arn.rpartition("/")[2])
    # The name of an application inference profile does not tell its model.
    return _through_profile(arn, profile["model"] if profile else "*", stack)


def _through_profile(profile_arn: str, model: str, stack: Stack) -> list[ModelGrant]:
    models = f"arn:{stack.partition}:bedrock:*::foundation-model/{model}"
    only_through = {"ArnEquals": {"bedrock:InferenceProfileArn": profile_arn}}
    return [ModelGrant([profile_arn]), ModelGrant([models], only_through)]
