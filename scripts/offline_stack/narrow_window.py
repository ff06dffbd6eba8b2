"""A model with a small window for the slice function of a running stack, so that a short conversation fills it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from scripts.offline_stack.clock import StackClock
from scripts.offline_stack.configured import configured
from scripts.offline_stack.interposers.detour import MODEL_URL
from scripts.offline_stack.pieces import OwnPieces
from scripts.offline_stack.stack import OfflineStack
from scripts.offline_stack.supervisor import Supervisor

# What the setting `model_window_tokens` becomes when it is given as context of the CDK.
WINDOW = "INFINITY_MODEL_WINDOW_TOKENS"


@contextmanager
def narrow_window(stack: OfflineStack, window_tokens: int) -> Iterator[None]:
    """Have the slice function ask a model of this window, and know it, for as long as the block runs.

    The model is one more endpoint beside the stack's own; it counts tokens, refuses what is too long, and writes to the
    same log. Processes of the function are ended when it changes, so nothing may be in flight then.

    Raises:
        StackError: the stack is not up, or the endpoint does not start.
    """
    supervisor = Supervisor()
    options = ("--port", "0", "--log", str(stack.model_log_path), "--window-tokens", str(window_tokens))
    pieces = OwnPieces(supervisor, stack.folder, StackClock(stack.folder / "clock"))
    with ExitStack() as opened:
        model = pieces.start("narrow-model", "model_endpoint", options)
        opened.callback(supervisor.stop, model.identity)
        changes = {MODEL_URL: f"http://127.0.0.1:{model.port}", WINDOW: str(window_tokens)}
        opened.enter_context(configured(stack, changes))
        yield
