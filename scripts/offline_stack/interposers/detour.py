"""Leads the slice function of a running stack past our endpoints, by its configuration alone, and back again."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.offline_stack.configured import configured, variables_of
from scripts.offline_stack.interposers.database_endpoint import DatabaseEndpoint
from scripts.offline_stack.interposers.http_endpoint import HttpEndpoint
from scripts.offline_stack.interposers.processes import Children
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.journal import Journal
from scripts.offline_stack.stack import EMULATOR, OfflineStack
from scripts.offline_stack.supervisor import StackError

DATABASE_PORT = "INFINITY_DSQL_PORT"
MODEL_URL = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
TOOL_SERVERS = "INFINITY_TOOL_SERVERS"
# botocore's own variables for the endpoint of one service.
SERVICE_URLS = ("AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_DYNAMODB")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What stands between the function and its services; `services` is in front of the whole emulator."""

    database: DatabaseEndpoint
    model: HttpEndpoint
    services: HttpEndpoint


def wire_log_of(stack: OfflineStack) -> Path:
    """Where a scenario keeps its wire log: beside the other logs of the stack."""
    return stack.invocation_log_path.with_name("wire.jsonl")


@contextmanager
def detour(stack: OfflineStack, wire_log: Path) -> Iterator[Watch]:
    """Have everything that the slice function exchanges with others pass by us for as long as the block runs.

    New processes of the function take this way; those that run are ended when the way changes, so nothing may be in
    flight at the beginning and at the end. `wire_log` is written anew: see `watch`.

    Raises:
        StackError: the stack is not up.
    """
    emulator = stack.status()[EMULATOR]
    if emulator is None:
        raise StackError("The offline stack is not up: start it with scripts/offline up.")
    wire_log.unlink(missing_ok=True)
    watch = Watch(Children(emulator.identity), Journal(wire_log, stack.now))
    direct = variables_of(stack)
    with ExitStack() as opened:
        endpoints = Endpoints(
            database=DatabaseEndpoint(int(direct[DATABASE_PORT]), watch),
            model=_serving(opened, HttpEndpoint(direct[MODEL_URL], watch)),
            services=_serving(opened, HttpEndpoint(stack.endpoint, watch)),
        )
        endpoints.database.start()
        opened.callback(endpoints.database.close)
        opened.enter_context(configured(stack, led_past(endpoints, direct, stack.endpoint)))
        yield watch


def led_past(endpoints: Endpoints, direct: Mapping[str, str], services_url: str) -> dict[str, str]:
    """The variables that name the function's services, with our endpoints in their place."""
    return {
        DATABASE_PORT: str(endpoints.database.port),
        MODEL_URL: endpoints.model.url,
        TOOL_SERVERS: direct[TOOL_SERVERS].replace(services_url, endpoints.services.url),
        **dict.fromkeys(SERVICE_URLS, endpoints.services.url),
    }


def _serving(opened: ExitStack, endpoint: HttpEndpoint) -> HttpEndpoint:
    threading.Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    opened.callback(endpoint.close)
    return endpoint
