"""The rights of the deployed functions, one by one: read from their roles, taken away, given back."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import boto3

from scripts.demonstration.evidence import json_lines
from scripts.offline_stack import emulator
from scripts.offline_stack.access import RECORD, SCHEDULER
from scripts.offline_stack.stack import OfflineStack

FUNCTIONS = {
    "slice": "SliceFunctionName",
    "receiver": "ReceiverFunctionName",
    "timer relay": "TimerRelayFunctionName",
    "example toolset": "ExampleToolsetFunctionName",
    "migration": "MigrateFunctionName",
}

# Policies are JSON of AWS's own shape, and clients are of any service; hence Any.
Statement = Mapping[str, Any]
Client = Callable[[str], Any]


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One action on one resource, which the role of a function, or of the Scheduler, allows."""

    function: str
    action: str
    resource: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What a function asked for, and whether it was allowed."""

    function: str
    action: str
    resource: str
    allowed: bool

    def is_about(self, right: Right) -> bool:
        same = (self.function, self.action) == (right.function, right.action)
        return same and fnmatchcase(self.resource, right.resource)


@dataclass(frozen=True)
class Roles:
    """The roles of all functions and of the Scheduler, by who has them.

    `policies` are those they were deployed with, by role and name.
    """

    stack: OfflineStack
    names: Mapping[str, str]
    policies: Mapping[tuple[str, str], Sequence[Statement]]

    @classmethod
    def of(cls, stack: OfflineStack) -> "Roles":
        iam = stack.client("iam")
        deployed = {function: configuration_of(stack, function) for function in FUNCTIONS}
        arns = {function: configuration["Role"] for function, configuration in deployed.items()}
        arns["scheduler"] = deployed["slice"]["Environment"]["Variables"]["INFINITY_SCHEDULER_ROLE_ARN"]
        names = {who: arn.rpartition("/")[2] for who, arn in arns.items()}
        policies = {
            (role, name): iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]["Statement"]
            for role in names.values()
            for name in iam.list_role_policies(RoleName=role)["PolicyNames"]
        }
        return cls(stack, names, policies)

    @cached_property
    def granted(self) -> frozenset[Right]:
        """Every right that was deployed."""
        return frozenset(
            right
            for (role, _), statements in self.policies.items()
            for statement in statements
            for right in self._rights(role, statement)
        )

    def restrict_to(self, rights: Collection[Right]) -> None:
        """Leave the functions these of their rights, each under its own condition, and no others."""
        iam = self.stack.client("iam")
        for (role, name), statements in self.policies.items():
            left = [
                {**statement, "Action": right.action, "Resource": right.resource}
                for statement in statements
                for right in self._rights(role, statement)
                if right in rights
            ]
            # A policy without a statement is none.
            kept = left or [{"Effect": "Deny", "Action": "none:None", "Resource": "*"}]
            iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=_document(kept))

    def restore(self) -> None:
        self.restrict_to(self.granted)

    def decisions(self) -> list[Decision]:
        """Everything the functions were allowed and refused so far, in order."""
        functions = {self.stack.outputs[output]: function for function, output in FUNCTIONS.items()}
        functions[SCHEDULER] = "scheduler"
        return [
            Decision(functions[line["session"]], line["action"], line["resource"], line["what"] == "allowed")
            for line in json_lines(self.stack.invocation_log_path.with_name(RECORD))
            if line["session"] in functions
        ]

    def acting_as(self, function: str) -> Client:
        """Return what makes clients that may do what this function may. (Root can take any role here.)"""
        security = self.stack.client("sts")
        keys = security.assume_role(RoleArn=self.arn_of(function), RoleSessionName="somebody")["Credentials"]
        session = boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], emulator.REGION)
        return lambda service: session.client(service, endpoint_url=self.stack.endpoint)  # type: ignore[call-overload]

    def arn_of(self, function: str) -> str:
        arn: str = self.stack.client("iam").get_role(RoleName=self.names[function])["Role"]["Arn"]
        return arn

    def told(self, function: str) -> dict[str, str]:
        """The environment that the function was deployed with."""
        return dict(configuration_of(self.stack, function)["Environment"]["Variables"])

    def _rights(self, role: str, statement: Statement) -> Iterator[Right]:
        (function,) = [function for function, name in self.names.items() if name == role]
        for action in _listed(statement["Action"]):
            for resource in _listed(statement["Resource"]):
                yield Right(function, action, resource)


def configuration_of(stack: OfflineStack, function: str) -> dict[str, Any]:
    name = stack.outputs[FUNCTIONS[function]]
    return dict(stack.client("lambda").get_function_configuration(FunctionName=name))


def _document(statements: Sequence[Statement]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _listed(one_or_more: str | list[str]) -> list[str]:
    return [one_or_more] if isinstance(one_or_more, str) else one_or_more
