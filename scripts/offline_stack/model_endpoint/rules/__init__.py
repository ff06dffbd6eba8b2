"""What the service refuses: a table of small pure rules, judged in order; the first that speaks is the answer.

A rule takes a request and returns the message of the ValidationException, or nothing. The wording follows the
service's, because clients decide by it. Where providers differ, the strictest one counts, so that whatever passes here
passes everywhere. Each rule has a request in the tests that passes when just that rule is taken out of the table.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from scripts.offline_stack.model_endpoint.request import ConverseRequest
from scripts.offline_stack.model_endpoint.rules import (
    cache_points,
    conversation,
    images,
    inference,
    pairing,
    reasoning,
    structure,
    tools,
)

Rule: TypeAlias = Callable[[ConverseRequest], str | None]

RULES: tuple[Rule, ...] = (
    structure.values_have_their_types,
    structure.required_members_are_present,
    structure.unions_hold_one_member,
    structure.fixed_words_are_known,
    structure.names_and_ids_match_their_patterns,
    structure.lengths_are_within_limits,
    structure.numbers_are_within_limits,
    conversation.texts_are_unicode,
    conversation.only_user_and_assistant_speak,
    conversation.conversation_starts_with_user,
    conversation.roles_alternate,
    conversation.messages_are_not_empty,
    conversation.texts_are_not_blank,
    conversation.system_texts_are_not_blank,
    conversation.result_texts_are_not_blank,
    tools.tools_are_declared_with_tool_blocks,
    tools.tool_names_are_unique,
    tools.tool_schemas_are_objects,
    tools.tool_schemas_describe_objects,
    tools.a_chosen_tool_is_offered,
    pairing.tool_blocks_stand_on_their_side,
    pairing.tool_inputs_are_objects,
    pairing.tool_use_ids_are_unique,
    pairing.tool_uses_are_answered_at_once,
    pairing.results_answer_the_turn_before,
    pairing.a_tool_use_has_a_single_result,
    pairing.results_come_first,
    pairing.error_results_have_content,
    conversation.conversation_ends_with_user,
    cache_points.cache_points_are_few,
    cache_points.cache_points_follow_content,
    cache_points.cache_points_do_not_follow_reasoning,
    cache_points.longer_cache_points_come_first,
    reasoning.reasoning_is_the_assistants,
    reasoning.reasoning_is_signed,
    reasoning.reasoning_is_unchanged,
    reasoning.reasoning_precedes_something,
    reasoning.a_thinking_turn_begins_with_reasoning,
    images.images_are_the_users,
    images.images_are_few,
    images.images_are_small,
    images.images_are_what_they_say,
    images.images_have_few_pixels,
    inference.max_tokens_is_set,
    inference.max_tokens_is_within_the_models_limit,
    inference.one_way_of_sampling_is_asked,
    inference.a_thinking_budget_fits,
    inference.thinking_leaves_temperature_alone,
    inference.input_fits_the_window,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused: the rule's name and the message for the client."""

    rule: str
    message: str


def refusal_of(request: ConverseRequest, rules: Iterable[Rule] = RULES) -> Refusal | None:
    """Return the first refusal in the order of the table, nothing if the request is fine."""
    for rule in rules:
        message = rule(request)
        if message is not None:
            return Refusal(rule.__name__, message)
    return None
