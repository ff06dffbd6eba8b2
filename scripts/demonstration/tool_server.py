"""Which address the example tool server takes for its own, changed for a while: it tells it to those it asks back."""

from collections.abc import Iterator
from contextlib import contextmanager

from scripts.offline_stack.stack import OfflineStack

ADDRESS = "INFINITY_EXAMPLE_FUNCTION_URL_BASE"


@contextmanager
def known_as(stack: OfflineStack, origin: str) -> Iterator[None]:
    """Have it say that it is at this origin, in place of the emulator's.

    Its processes are ended by the change: none of its calls may be in flight at the beginning and at the end.
    """
    functions, name = stack.client("lambda"), stack.outputs["ExampleToolsetFunctionName"]
    before = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    changed = {**before, ADDRESS: before[ADDRESS].replace(stack.endpoint, origin)}
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": changed})
    try:
        yield
    finally:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": before})
