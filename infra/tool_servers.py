"""The tool servers of a deployment: how each is named in context, what the slice is told of it and may do to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from infra.context import ConfigError

REQUIRED = {"name", "url", "auth"}
OPTIONAL = {"secret_arn", "arn", "allowed_hosts", "sign_as"}
SIGNED_SERVICES = ("lambda", "execute-api")
EXAMPLE = "example"  # the name of the tool server that comes with the deployment
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
    then invoke; it can be left out where the server's own policy lets the slice in. `sign_as` names the service to sign
    for when the host is a domain of one's own. `allowed_hosts` are further hosts the server's endpoint may be on.
    """

    name: str
    url: str
    auth: str
    secret_arn: str | None = None
    arn: str | None = None
    sign_as: str | None = None
    allowed_hosts: tuple[str, ...] = ()

    @classmethod
    def read(cls, item: object) -> Self:
        """Read one item of the context's list.

        Raises:
            ConfigError: a field is missing, unknown, not a text, or goes with another `auth`.
        """
        if not isinstance(item, dict):
            raise ConfigError(f"tool_servers holds objects, not {item!r}")
        if not REQUIRED <= item.keys() <= REQUIRED | OPTIONAL:
            optional = ", ".join(sorted(OPTIONAL))
            raise ConfigError(f"a tool server has a name, a url and an auth; and, where needed, {optional}")
        hosts = item.get("allowed_hosts", [])
        texts = {str(key): value for key, value in item.items() if key != "allowed_hosts"}
        if not isinstance(hosts, list) or not all(isinstance(value, str) for value in [*hosts, *texts.values()]):
            raise ConfigError("a tool server's fields are texts, and its allowed_hosts a list of texts")
        server = cls(**texts, allowed_hosts=tuple(hosts))
        server.check()
        return server

    def check(self) -> None:
        if not self.url.startswith(("http://", "https://")) and "${" not in self.url:
            raise ConfigError(f"the url of tool server {self.name} must start with https:// or http://")
        if self.auth not in AUTHS:
            raise ConfigError(f"the auth of tool server {self.name} must be one of {', '.join(AUTHS)}")
        if (self.auth == "bearer") != (self.secret_arn is not None):
            raise ConfigError(f"tool server {self.name}: secret_arn goes with auth bearer, and only with it")
        if self.sign_as is not None and (self.auth != "sigv4" or self.sign_as not in SIGNED_SERVICES):
            raise ConfigError(
                f"tool server {self.name}: sign_as is lambda or execute-api, and goes with auth sigv4 only"
            )
        if self.arn is not None and self.auth != "sigv4":
            raise ConfigError(f"tool server {self.name}: arn goes with auth sigv4 only")

    @property
    def told(self) -> dict[str, object]:
        """What the slice is told; the ARN is for the stack alone."""
        optional = {"secret_arn": self.secret_arn, "sign_as": self.sign_as, "allowed_hosts": list(self.allowed_hosts)}
        given = {name: value for name, value in optional.items() if value}
        return {"name": self.name, "url": self.url, "auth": self.auth, **given}

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
