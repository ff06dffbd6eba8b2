"""The tool servers of a deployment: how each is named in context, what the slice is told of it and may do to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from infra.context import ConfigError

REQUIRED = {"name", "url", "auth"}
OPTIONAL = {"secret_arn", "arn", "allowed_hosts", "sign_as", "result_timeout_s"}
NOT_TEXTS = {"allowed_hosts", "result_timeout_s"}
SIGNED_SERVICES = ("lambda", "execute-api")
EXAMPLE = "example"  # the name of the tool server that comes with the deployment
AUTHS = ("sigv4", "bearer", "none")
LONGEST_TIMEOUT_S = 365 * 86_400  # as for a sleep


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
    `result_timeout_s` is how long a conversation waits for a result; not given, as long as it takes.
    """

    name: str
    url: str
    auth: str
    secret_arn: str | None = None
    arn: str | None = None
    sign_as: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    result_timeout_s: int | None = None

    @classmethod
    def read(cls, item: object) -> Self:
        """Read one item of the context's list.

        Raises:
            ConfigError: a field is missing, unknown, of the wrong kind, or goes with another `auth`.
        """
        if not isinstance(item, dict):
            raise ConfigError(f"tool_servers holds objects, not {item!r}")
        if not REQUIRED <= item.keys() <= REQUIRED | OPTIONAL:
            optional = ", ".join(sorted(OPTIONAL))
            raise ConfigError(f"a tool server has a name, a url and an auth; and, where needed, {optional}")
        hosts = item.get("allowed_hosts", [])
        texts = {str(key): value for key, value in item.items() if key not in NOT_TEXTS}
        if not isinstance(hosts, list) or not all(isinstance(value, str) for value in [*hosts, *texts.values()]):
            raise ConfigError("a tool server's fields are texts, and its allowed_hosts a list of texts")
        timeout_s = _timeout_s(item.get("result_timeout_s"))
        server = cls(**texts, allowed_hosts=tuple(hosts), result_timeout_s=timeout_s)
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
        optional = {
            "secret_arn": self.secret_arn,
            "sign_as": self.sign_as,
            "allowed_hosts": list(self.allowed_hosts),
            "result_timeout_s": self.result_timeout_s,
        }
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


def _timeout_s(given: object) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= LONGEST_TIMEOUT_S:
        raise ConfigError(f"a tool server's result_timeout_s is a whole number from 1 to {LONGEST_TIMEOUT_S:,}")
    return given


def function_url_rights(function_arn: str) -> list[Right]:
    """Both rights that a signed request to a Function URL needs since October 2025."""
    return [
        Right(["lambda:InvokeFunctionUrl"], function_arn, {"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}}),
        Right(["lambda:InvokeFunction"], function_arn, {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}),
    ]
