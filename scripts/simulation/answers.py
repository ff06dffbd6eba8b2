"""The model of a run: what it says is chosen by whoever chooses the moves, within what its provider allows."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache

from runtime.adapters.aws.bedrock_request import BedrockOptions, converse_arguments
from runtime.errors import CutByDeadline, Misconfigured, ModelUnavailable, PermanentError, RuntimeProblem, TooLong
from runtime.model.turns import Completion, ModelRequest, SaidText, TextBlock
from scripts.offline_stack.model_endpoint.request import ModelLimits, read_request
from scripts.offline_stack.model_endpoint.rules import Refusal, refusal_of
from scripts.simulation.process import Call
from scripts.simulation.turns import Scene, turn
from scripts.simulation.violation import require

POISON = "poison"  # whoever asks the model about it dies
REFUSED = "forbidden"  # the provider refuses it
HUGE = "huge"  # the provider finds whatever shows it too long
SAID_BADLY = (POISON, REFUSED, HUGE)

FAILURES: Mapping[str, Callable[[], RuntimeProblem]] = {
    "is overloaded": ModelUnavailable,
    "is cut by the deadline": CutByDeadline,
    "is misconfigured": Misconfigured,
    "refuses for no reason": PermanentError,
    "finds it too long": TooLong,
}


class Answers:
    """Everything it says is said once, so that text of a discarded attempt can be told from what was kept."""

    def __init__(self) -> None:
        self._number = 0

    def complete(self, request: ModelRequest, timeout_s: float) -> Completion:  # noqa: ARG002 - it takes no time
        """Say something, unless the request is one that is refused."""
        check(request)
        if shows(request, REFUSED):
            raise PermanentError
        if shows(request, HUGE):
            raise TooLong
        return self.turn("says", Scene(()))

    def turn(self, chosen: str, scene: Scene) -> Completion:
        """Return the turn of this name, taken by whom the scene shows."""
        self._number += 1
        return turn(chosen, SaidText(f"said {self._number}"), scene)


def kills(call: Call) -> bool:
    """Return whether no process survives this call."""
    if call.name == "model.complete":
        return shows(call.arguments[0], POISON)
    return call.name == "servers.invoke" and bool(call.arguments[0].body.get("operation") == "explode")


def shows(request: ModelRequest, word: str) -> bool:
    return any(
        isinstance(block, TextBlock) and word in block.text for message in request.messages for block in message.blocks
    )


def check(request: ModelRequest) -> None:
    """Judge the request by the rules of the model endpoint.

    Raises:
        Violation: the strictest provider would refuse it.
    """
    body = converse_arguments(request, BedrockOptions("simulated.model"))
    found = _refusal(json.dumps(body))
    require(found is None, "every request is valid for the strictest provider", str(found))


@lru_cache(maxsize=4_096)
def _refusal(body_json: str) -> Refusal | None:
    """Return the first refusal. Runs that differ a little ask the same again and again."""
    return refusal_of(read_request("simulated.model", json.loads(body_json), ModelLimits()))
