"""The built-in tools, in the order they are offered."""

from runtime.phrases import INJECTED_TOOL
from runtime.tools.activity import CANCEL_SUBSCRIPTION, CANCEL_TOOL_CALL, LIST_ACTIVITY
from runtime.tools.offer import Builtin
from runtime.tools.sleeping import SLEEP, SLEEP_UNTIL, SLEEP_UNTIL_EVENT_OR_INPUT
from runtime.tools.threads import CLOSE_THREAD, REPORT_TO_PARENT, SEND_MESSAGE_TO_CHILD, SPAWN_THREAD

BUILTINS: tuple[Builtin, ...] = (
    SPAWN_THREAD,
    REPORT_TO_PARENT,
    CLOSE_THREAD,
    SEND_MESSAGE_TO_CHILD,
    CANCEL_SUBSCRIPTION,
    CANCEL_TOOL_CALL,
    LIST_ACTIVITY,
    SLEEP,
    SLEEP_UNTIL,
    SLEEP_UNTIL_EVENT_OR_INPUT,
)
# What no tool of a server may be called.
RESERVED_NAMES = frozenset({*(builtin.spec.name for builtin in BUILTINS), INJECTED_TOOL})
