"""How much is asked of the model, and how it shall be sampled."""

from scripts.offline_stack.model_endpoint.document import as_number
from scripts.offline_stack.model_endpoint.request import ConverseRequest
from scripts.offline_stack.model_endpoint.tokens import input_tokens

_SMALLEST_BUDGET_TOKENS = 1024  # the smallest fixed thinking budget the service takes


def max_tokens_is_set(request: ConverseRequest) -> str | None:
    """Stricter than the service, which then reserves the model's whole output limit against the account's quota."""
    if request.inference.get("maxTokens") is None:
        return "The maxTokens field in inferenceConfig must be set: unset, it reserves the model's whole output limit."
    return None


def max_tokens_is_within_the_models_limit(request: ConverseRequest) -> str | None:
    asked = as_number(request.inference.get("maxTokens"))
    limit = request.limits.output_tokens
    if asked is None or asked <= limit:
        return None
    return (
        f"The maximum tokens you requested exceeds the model limit of {limit}. "
        f"Try again with a maximum tokens value that is lower than {limit}."
    )


def one_way_of_sampling_is_asked(request: ConverseRequest) -> str | None:
    if request.inference.get("temperature") is None or request.inference.get("topP") is None:
        return None
    return (
        "The model returned the following errors: `temperature` and `top_p` cannot both be specified for this model. "
        "Please use only one."
    )


def a_thinking_budget_fits(request: ConverseRequest) -> str | None:
    budget = request.thinking_budget_tokens
    max_tokens = as_number(request.inference.get("maxTokens"))
    if budget is None or (budget >= _SMALLEST_BUDGET_TOKENS and (max_tokens is None or budget < max_tokens)):
        return None
    return (
        "The model returned the following errors: `thinking.budget_tokens` must be at least "
        f"{_SMALLEST_BUDGET_TOKENS} and less than `max_tokens`."
    )


def thinking_leaves_temperature_alone(request: ConverseRequest) -> str | None:
    if request.thinking_budget_tokens is None or as_number(request.inference.get("temperature")) in (None, 1):
        return None
    return "The model returned the following errors: `temperature` may only be set to 1 when thinking is enabled."


def input_fits_the_window(request: ConverseRequest) -> str | None:
    if input_tokens(request) > request.limits.window_tokens:
        return "Input is too long for requested model."
    return None
