"""Requests that ask too much, or too vaguely."""

from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.request import ModelLimits
from scripts.offline_stack.model_endpoint.rules import (
    inference,
)
from tests.model_endpoint.broken.broken_request import BrokenRequest
from tests.model_endpoint.support import (
    HELLO,
    body,
    text,
    user,
)


def _thinking(budget_tokens: int) -> JsonObject:
    return {"thinking": {"type": "enabled", "budget_tokens": budget_tokens}}


INFERENCE: tuple[BrokenRequest, ...] = (
    BrokenRequest(
        "no limit of the output",
        inference.max_tokens_is_set,
        "The maxTokens field in inferenceConfig must be set",
        {"messages": [HELLO]},
    ),
    BrokenRequest(
        "a limit of the output over the model's",
        inference.max_tokens_is_within_the_models_limit,
        "The maximum tokens you requested exceeds the model limit of 900.",
        body(HELLO),
        ModelLimits(output_tokens=900),
    ),
    BrokenRequest(
        "two ways of sampling",
        inference.one_way_of_sampling_is_asked,
        "`temperature` and `top_p` cannot both be specified",
        {**body(HELLO), "inferenceConfig": {"maxTokens": 10, "temperature": 0.5, "topP": 0.5}},
    ),
    BrokenRequest(
        "a thinking budget as large as the output",
        inference.a_thinking_budget_fits,
        "`thinking.budget_tokens` must be at least 1024 and less than `max_tokens`.",
        {
            **body(HELLO),
            "inferenceConfig": {"maxTokens": 2000},
            "additionalModelRequestFields": _thinking(2000),
        },
    ),
    BrokenRequest(
        "thinking at another temperature",
        inference.thinking_leaves_temperature_alone,
        "`temperature` may only be set to 1 when thinking is enabled.",
        {
            **body(HELLO),
            "inferenceConfig": {"maxTokens": 5000, "temperature": 0.5},
            "additionalModelRequestFields": _thinking(2000),
        },
    ),
    BrokenRequest(
        "more than the window holds",
        inference.input_fits_the_window,
        "Input is too long for requested model.",
        body(user(text("a" * 1000))),
        ModelLimits(window_tokens=200),
    ),
)
