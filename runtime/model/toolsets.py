"""Tool servers as configured, and what they offer."""

from dataclasses import dataclass
from typing import Literal

from runtime.model.entries import JsonObject
from runtime.model.turns import ToolSpec


@dataclass(frozen=True, slots=True)
class ToolServer:
    """A configured tool server. `url` is the base its discovery path is appended to, without a trailing slash.

    `auth`: "sigv4" signs as the slice's own role, "bearer" sends the secret stored under `secret_arn`, "none" nothing.
    `allowed_hosts` are further hosts its endpoint may be on; credentials go there too. `sign_as` is the service to sign
    for where the host does not tell: a domain of one's own in front of a Function URL or an API Gateway.
    `result_timeout_s`: a thread waits so long for a result, and then goes on without it; None: as long as it takes.
    """

    name: str
    url: str
    auth: Literal["sigv4", "bearer", "none"] = "none"
    secret_arn: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    sign_as: Literal["lambda", "execute-api"] | None = None
    result_timeout_s: int | None = None


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """`on_interrupt` is the annotation `x-on-interrupt`: what a message that arrives meanwhile does to a call."""

    spec: ToolSpec
    on_interrupt: Literal["continue", "cancel"] = "continue"


@dataclass(frozen=True, slots=True)
class Toolset:
    """A validated manifest. `name` is the configured server's name, under which calls remember it.

    `result_timeout_s` is the server's.
    """

    name: str
    endpoint: str
    tools: tuple[OfferedTool, ...]
    result_timeout_s: int | None = None


@dataclass(frozen=True, slots=True)
class CachedManifest:
    """The last good manifest of one server, as its bytes came. `fetched_ms` is when."""

    server: str
    manifest_json: str
    fetched_ms: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a server, or one of its tools, is not offered. `manifest_hash` makes the report once per content."""

    server: str
    manifest_hash: str
    reason: str


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call handed to its server: the body of `POST <endpoint>` and the key that makes a repeat harmless."""

    server: ToolServer
    endpoint: str
    body: JsonObject
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A best-effort word to a server: `POST <base><path>`, one try, nobody depends on it."""

    server: ToolServer
    path: Literal["/close_thread", "/cancel_tool_call"]
    body: JsonObject
