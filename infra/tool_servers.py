"""The tool servers of a deployment: how each is named in context, what the slice is told of it and may do to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from infra.context import ConfigError

REQUIRED = {"name", "url", "auth"}
OPTIONAL = {"secret_arn", "arn"}
AUTHS = ("sigv4", "bearer", "none")


@dataclass(frozen=True, slots=True)
class Right:
    """Actions on one resource, and the conditions under which."""

    actions: list[str]
    resource: str
    conditions: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ToolServer:
    """One tool server.

    `auth` is "sigv4" for a Function URL or an API Gateway, "bearer" for a token that is the text of `secret_arn`, or
    "none". `arn` is for "sigv4": the function behind the URL, or the `execute-api` ARN of the API, that the slice may
    then invoke; it can be left out where the server's own policy lets the slice in.
    """

    name: str
    url: str
    auth: str
    secret_arn: str | None = None
    arn: str | None = None

    @classmethod
    def read(cls, item: object) -> Self:
        """Read one item of the context's list.

        Raises:
            ConfigError: a field is missing, unknown, not a text, or goes with another `auth`.
        """
        if not isinstance(item, dict) or not all(isinstance(value, str) for value in item.values()):
            raise ConfigError(f"tool_servers holds objects of texts, not {item!r}")
        if not REQUIRED <= item.keys() <= REQUIRED | OPTIONAL:
            raise ConfigError("a tool server has a name, a url and an auth; and a secret_arn or an arn where needed")
        server = cls(**{str(key): str(value) for key, value in item.items()})
        server.check()
        return server

    def check(self) -> None:
        if self.auth not in AUTHS:
            raise ConfigError(f"the auth of tool server {self.name} must be one of {', '.join(AUTHS)}")
        if (self.auth == "bearer") != (self.secret_arn is not None):
            raise ConfigError(f"tool server {self.name}: secret_arn goes with auth bearer, and only with it")
        if self.arn is not None and self.auth != "sigv4":
            raise ConfigError(f"tool server {self.name}: arn goes with auth sigv4 only")

    @property
    def told(self) -> dict[str, str]:
        """What the slice is told; the ARN is for the stack alone."""
        known = {"name": self.name, "url": self.url, "auth": self.auth}
        return known if self.secret_arn is None else {**known, "secret_arn": self.secret_arn}

    @property
    def rights(self) -> list[Right]:
        """What the slice needs to be let in."""
        rights = [] if self.secret_arn is None else [Right(["secretsmanager:GetSecretValue"], self.secret_arn)]
        if self.arn is None:
            return rights
        if ":execute-api:" in self.arn:
            return [*rights, Right(["execute-api:Invoke"], self.arn)]
        return [*rights, *function_url_rights(self.arn)]


def function_url_rights(function_arn: str) -> list[Right]:
    """Both rights that a signed request to a Function URL needs since October 2025."""
    return [
        Right(["lambda:InvokeFunctionUrl"], function_arn, {"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}}),
        Right(["lambda:InvokeFunction"], function_arn, {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}),
    ]
