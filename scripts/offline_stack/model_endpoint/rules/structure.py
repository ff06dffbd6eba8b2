"""The constraints of the service's published model: one rule for each kind."""

from scripts.offline_stack.model_endpoint.request import ConverseRequest
from scripts.offline_stack.model_endpoint.service_model import Constraint


def values_have_their_types(request: ConverseRequest) -> str | None:
    return _first(request, "type")


def required_members_are_present(request: ConverseRequest) -> str | None:
    return _first(request, "required")


def unions_hold_one_member(request: ConverseRequest) -> str | None:
    """Among others: a cache point is a block of its own, and none stands inside a tool result."""
    return _first(request, "union")


def fixed_words_are_known(request: ConverseRequest) -> str | None:
    """Roles, image formats, result states, kinds and lives of cache points."""
    return _first(request, "enum")


def names_and_ids_match_their_patterns(request: ConverseRequest) -> str | None:
    return _first(request, "pattern")


def lengths_are_within_limits(request: ConverseRequest) -> str | None:
    """Tool names and tool-use ids of 1 to 64 characters, at least one tool, no empty description."""
    return _first(request, "length")


def numbers_are_within_limits(request: ConverseRequest) -> str | None:
    """``maxTokens`` from 1, ``temperature`` and ``topP`` from 0 to 1."""
    return _first(request, "range")


def _first(request: ConverseRequest, constraint: Constraint) -> str | None:
    found = (violation.message for violation in request.violations if violation.constraint == constraint)
    return next(found, None)
