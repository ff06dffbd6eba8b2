"""Deployed functions, changed for a while: quicker than a deployment of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from scripts.offline_stack.configured import SLICE, configured
from scripts.offline_stack.stack import OfflineStack

TOOL_SERVER_ADDRESS = "INFINITY_EXAMPLE_FUNCTION_URL_BASE"


@contextmanager
def slices_at_once(stack: OfflineStack, number: int) -> Iterator[None]:
    """Let so many slices run at once, and no more: on this machine each is a process, which has to begin first."""
    functions, name = stack.client("lambda"), stack.outputs[SLICE]
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=number)
    try:
        yield
    finally:
        functions.delete_function_concurrency(FunctionName=name)


@contextmanager
def tool_server_at(stack: OfflineStack, origin: str) -> Iterator[None]:
    """Have the example tool server take this for its own address, in place of the emulator's: it tells it to those
    whom it asks back.
    """
    address = stack.outputs["ExampleToolsetUrl"].rpartition("/")[0].replace(stack.endpoint, origin)
    with configured(stack, {TOOL_SERVER_ADDRESS: address}, "ExampleToolsetFunctionName"):
        yield
