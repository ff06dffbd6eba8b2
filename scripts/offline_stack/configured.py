"""The environment of a deployed function, changed for a while: quicker than a deployment of its own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scripts.offline_stack.stack import OfflineStack

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient

SLICE = "SliceFunctionName"


def variables_of(stack: OfflineStack, function_output: str = SLICE) -> dict[str, str]:
    """The function's environment variables, as they are now. `function_output` is what the stack calls its name."""
    name = stack.outputs[function_output]
    configuration = stack.client("lambda").get_function_configuration(FunctionName=name)
    return dict(configuration["Environment"]["Variables"])


@contextmanager
def configured(stack: OfflineStack, changes: Mapping[str, str], function_output: str = SLICE) -> Iterator[None]:
    """Give the function these variables beside its others. Its processes are ended by the change, at the beginning and
    at the end: nothing of it may be in flight then.
    """
    functions, name, before = (
        stack.client("lambda"),
        stack.outputs[function_output],
        variables_of(stack, function_output),
    )
    try:
        _configure(functions, name, {**before, **changes})
        yield
    finally:
        _configure(functions, name, before)


def _configure(functions: "LambdaClient", name: str, variables: Mapping[str, str]) -> None:
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
    functions.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 30})
