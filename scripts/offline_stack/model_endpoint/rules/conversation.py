"""Whose turn it is, and that nothing said is empty."""

import json
from collections.abc import Iterable
from itertools import pairwise

from scripts.offline_stack.model_endpoint.request import Block, ConverseRequest, Text, ToolResult


def conversation_starts_with_user(request: ConverseRequest) -> str | None:
    if request.messages and request.messages[0].role == "user":
        return None
    return (
        "A conversation must start with a user message. Try again with a conversation that starts with a user message."
    )


def roles_alternate(request: ConverseRequest) -> str | None:
    if all(one.role != other.role for one, other in pairwise(request.messages)):
        return None
    return (
        "A conversation must alternate between user and assistant roles. "
        "Make sure the conversation alternates between user and assistant roles and try again."
    )


def only_user_and_assistant_speak(request: ConverseRequest) -> str | None:
    """The role ``system`` inside messages, which only adds and removes tools, is for few models."""
    for message in request.messages:
        if message.role == "system":
            return f"This model does not support the role system at {message.path}."
    return None


def conversation_ends_with_user(request: ConverseRequest) -> str | None:
    if not request.messages or request.messages[-1].role != "assistant":
        return None
    return (
        "The model returned the following errors: This model does not support assistant message prefill. "
        "The conversation must end with a user message."
    )


def messages_are_not_empty(request: ConverseRequest) -> str | None:
    for message in request.messages:
        if not message.blocks:
            return (
                f"The content field in the Message object at {message.path} is empty. "
                "Add a ContentBlock object to the content field and try again."
            )
    return None


def texts_are_not_blank(request: ConverseRequest) -> str | None:
    return _first_blank((path, block) for path, _, block in request.placed_blocks())


def system_texts_are_not_blank(request: ConverseRequest) -> str | None:
    return _first_blank((f"system.{index}", block) for index, block in enumerate(request.system))


def result_texts_are_not_blank(request: ConverseRequest) -> str | None:
    return _first_blank(
        (f"{path}.toolResult.content.{index}", inner)
        for path, _, block in request.placed_blocks()
        if isinstance(block, ToolResult)
        for index, inner in enumerate(block.content)
    )


def texts_are_unicode(request: ConverseRequest) -> str | None:
    """Half of a surrogate pair can be written in JSON, and is no character."""
    try:
        json.dumps(request.body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "The model returned the following errors: The request body is not valid JSON: no low surrogate in string"
    return None


def _first_blank(placed_blocks: Iterable[tuple[str, Block]]) -> str | None:
    for path, block in placed_blocks:
        if isinstance(block, Text) and not block.text.strip():
            return (
                f"The text field in the ContentBlock object at {path} is blank. "
                "Add text to the text field, and try again."
            )
    return None
