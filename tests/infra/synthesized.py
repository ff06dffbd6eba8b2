"""A synthesized stack, and questions to its template in the words of the deployment."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.app import STACK_NAME, build
from infra.report import Acknowledged, acknowledged

CLOUD: Mapping[str, object] = {}
OFFLINE: Mapping[str, object] = {
    "offline": "true",
    "dsql_endpoint": "127.0.0.1",
    "dsql_port": "5499",
    "dsql_tls": "off",
    "model_endpoint": "http://127.0.0.1:5498",
    "function_url_base": "http://127.0.0.1:5497/_aws/lambda-url",
    "allowed_private_networks": '["127.0.0.0/8"]',
    "timer_delay_limit_s": "5",
    "completion_reserve_s": "10",
}

# Templates are JSON of any shape; what a test expects of one place is stated in that test.
Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack as CloudFormation would get it."""

    assembly: Path
    template: dict[str, Any]

    @property
    def template_path(self) -> Path:
        return self.assembly / f"{STACK_NAME}.template.json"

    @property
    def outputs(self) -> dict[str, Any]:
        return {name: output["Value"] for name, output in self.template["Outputs"].items()}

    @property
    def exceptions(self) -> list[Acknowledged]:
        return acknowledged(self.assembly)

    def resources(self, kind: str) -> dict[str, Resource]:
        """Every resource of one CloudFormation type, by its logical id."""
        every: dict[str, Resource] = self.template["Resources"]
        return {name: resource for name, resource in every.items() if resource["Type"] == kind}

    def one(self, kind: str, name_part: str = "") -> Resource:
        """The only resource of this type whose logical id has this in it."""
        found = [resource for name, resource in self.resources(kind).items() if name_part in name]
        assert len(found) == 1, f"{len(found)} resources of {kind} with {name_part!r} in their name"
        return found[0]

    def queue(self, output: str) -> Resource:
        """The properties of the queue whose URL is in this output."""
        queue: Resource = self.resources("AWS::SQS::Queue")[self.outputs[output]["Ref"]]["Properties"]
        return queue

    def function(self, handler: str) -> tuple[str, Resource]:
        """The logical id and the resource of the function that runs `handlers.<handler>.handler`."""
        for name, resource in self.resources("AWS::Lambda::Function").items():
            if resource["Properties"]["Handler"] == f"handlers.{handler}.handler":
                return name, resource
        raise LookupError(handler)

    def environment(self, handler: str) -> dict[str, Any]:
        _, function = self.function(handler)
        variables: dict[str, Any] = function["Properties"]["Environment"]["Variables"]
        return variables

    def role_of(self, handler: str) -> str:
        _, function = self.function(handler)
        return str(function["Properties"]["Role"]["Fn::GetAtt"][0])

    def statements(self, role: str) -> list[dict[str, Any]]:
        """All statements of all policies of one role."""
        policies = [
            policy["Properties"]
            for policy in self.resources("AWS::IAM::Policy").values()
            if {"Ref": role} in policy["Properties"]["Roles"]
        ]
        return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]

    def actions(self, role: str) -> set[str]:
        return {action for statement in self.statements(role) for action in listed(statement["Action"])}

    def statement(self, role: str, action: str) -> dict[str, Any]:
        """The only statement of a role that allows an action."""
        found = [statement for statement in self.statements(role) if action in listed(statement["Action"])]
        assert len(found) == 1, f"{len(found)} statements of {role} allow {action}"
        return found[0]


def synthesize(context: Mapping[str, object], assembly: Path) -> Stack:
    """Build and synthesize the app, cdk-nag included, as the CDK's command line would."""
    # Assets are hashed but not copied beside the template: a layer of 60 MB for each synth would be for nothing.
    app = build({**context, "aws:cdk:disable-asset-staging": True}, str(assembly))
    app.synth()
    return Stack(assembly, json.loads((assembly / f"{STACK_NAME}.template.json").read_text()))


def listed(value: object) -> list[Any]:
    """IAM writes one thing without its list."""
    return value if isinstance(value, list) else [value]


def texts(value: object) -> Iterator[str]:
    """Every text in a template's value, however deep: what a joined ARN is made of."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from texts(item)
        case list():
            for item in value:
                yield from texts(item)
        case _:
            return


def points_to(value: object, name_part: str) -> bool:
    """Whether a reference goes to the resource with this in its logical id."""
    return any(name_part in text for text in texts(value))
