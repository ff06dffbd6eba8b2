"""From a request to the answer it gets: judged first, then decided; and what the log says of it."""

from collections.abc import Callable
from dataclasses import dataclass

from scripts.offline_stack.model_endpoint.behaviour import decide
from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.request import ConverseRequest
from scripts.offline_stack.model_endpoint.rules import refusal_of
from scripts.offline_stack.model_endpoint.steps import Break, Call, Refuse, Say, Step
from scripts.offline_stack.model_endpoint.stream import stop_reason_of

_UNKNOWN_MODEL_PREFIX = "missing."


@dataclass(frozen=True, slots=True)
class Answer:
    """The steps to play, why they are these, and the rule that refused the request, if one did."""

    steps: tuple[Step, ...]
    why: str
    refused_by: str | None = None


def answer_to(request: ConverseRequest, times_seen: Callable[[str], int], asked_at: float) -> Answer:
    """Return the answer. No script is looked at before the request has passed every rule."""
    if request.model_id.startswith(_UNKNOWN_MODEL_PREFIX):
        message = "Could not resolve the foundation model from the provided model identifier."
        return Answer((Refuse("ResourceNotFoundException", message, 404),), "unknown model")
    refusal = refusal_of(request)
    if refusal is not None:
        return Answer((Refuse("ValidationException", refusal.message, 400),), "refused", refusal.rule)
    decision = decide(request, times_seen, asked_at)
    return Answer(decision.steps, decision.why)


def noted(answer: Answer) -> JsonObject:
    """Return what the log keeps: the reason, the rule, what was said and called, and how it ended."""
    failures = [step for step in answer.steps if isinstance(step, Refuse | Break)]
    return {
        "why": answer.why,
        "refused_by": answer.refused_by,
        "text": "".join("".join(step.chunks) for step in answer.steps if isinstance(step, Say)),
        "calls": [
            {"name": step.name, "input": "".join(step.fragments)} for step in answer.steps if isinstance(step, Call)
        ],
        "stop": None if failures else stop_reason_of(answer.steps),
        "exception": failures[0].exception if failures else None,
        "message": failures[0].message if failures else None,
    }
