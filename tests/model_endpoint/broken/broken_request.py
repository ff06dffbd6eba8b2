from dataclasses import dataclass, field

from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.request import ModelLimits
from scripts.offline_stack.model_endpoint.rules import Rule


@dataclass(frozen=True, slots=True)
class BrokenRequest:
    """A request, what is wrong with it, the rule that says so, and part of what the client is told."""

    wrong: str
    rule: Rule
    told: str
    body: JsonObject
    limits: ModelLimits = field(default_factory=ModelLimits)
