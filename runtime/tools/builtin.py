"""The built-in tools, in the order they are offered."""

from runtime.tools.activity import CANCEL_TOOL_CALL, LIST_ACTIVITY
from runtime.tools.offer import Builtin
from runtime.tools.sleeping import SLEEP_UNTIL_EVENT_OR_INPUT

BUILTINS: tuple[Builtin, ...] = (CANCEL_TOOL_CALL, LIST_ACTIVITY, SLEEP_UNTIL_EVENT_OR_INPUT)
