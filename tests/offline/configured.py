"""Settings of the deployed slice function, changed for a while: quicker than a deployment of its own for each."""

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.settings import PREFIX
from scripts.offline_stack.stack import OfflineStack


@contextmanager
def configured(stack: OfflineStack, **settings: object) -> Iterator[None]:
    """Give the function these settings, as context does at a deployment; its processes are ended by the change.

    Nothing may be in flight at the beginning and at the end.
    """
    functions, name = stack.client("lambda"), stack.outputs["SliceFunctionName"]
    before = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    changed = {f"{PREFIX}{setting.upper()}": str(value) for setting, value in settings.items()}
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": {**before, **changed}})
    try:
        yield
    finally:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": before})
