"""Settings of the deployed slice function, changed for a while: quicker than a deployment of its own for each."""

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.settings import PREFIX
from scripts.offline_stack import configured as variables
from scripts.offline_stack.stack import OfflineStack


@contextmanager
def configured(stack: OfflineStack, **settings: object) -> Iterator[None]:
    """Give the function these settings, as context does at a deployment; its processes are ended by the change.

    Nothing may be in flight at the beginning and at the end.
    """
    with variables.configured(stack, {f"{PREFIX}{name.upper()}": str(value) for name, value in settings.items()}):
        yield
