"""Tool servers of a test's own, which a deployed slice function is told of for a while."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from scripts.offline_stack.configured import configured, variables_of
from scripts.offline_stack.stack import OfflineStack
from tests.support.tool_server import ScriptedServer, Step

TOOL_SERVERS = "INFINITY_TOOL_SERVERS"
DISCOVERY = "/.well-known/rap-toolset"


@contextmanager
def attached(stack: OfflineStack, base_url: str, names: Iterable[str]) -> Iterator[None]:
    """Attach the paths `/<name>` below a URL, each as a tool server of that name, in front of what there is.

    What the function runs is ended by the change, as by any change of its configuration: nothing may be in flight.
    """
    more = [{"name": name, "url": f"{base_url}/{name}", "auth": "none"} for name in names]
    servers = json.dumps([*more, *json.loads(variables_of(stack)[TOOL_SERVERS])])
    with configured(stack, {TOOL_SERVERS: servers}):
        yield


def manifest(*tools: str, **fields: Any) -> dict[str, Any]:
    """A manifest that offers these tools, with further fields or others."""
    return {"name": "A server", "endpoint": "call", "tools": [tool(name) for name in tools], **fields}


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": f"This is {name}.", "inputSchema": {"type": "object"}, **fields}


def offers(server: ScriptedServer, name: str, offered: object) -> None:
    """Have the server of this name offer a manifest, or what stands in its place; every call is accepted."""
    body = offered if isinstance(offered, str) else json.dumps(offered)
    server.plan(f"/{name}{DISCOVERY}", Step(body=body))
    server.plan(f"/{name}/call", Step(202))
