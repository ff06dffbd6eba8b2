"""Requests in which the wrong side speaks, or nothing is said."""

from scripts.offline_stack.model_endpoint.rules import (
    conversation,
)
from tests.model_endpoint.broken.broken_request import BrokenRequest
from tests.model_endpoint.support import (
    HELLO,
    answered,
    assistant,
    body,
    text,
    use,
    user,
    with_tools,
)

_CALLED = (HELLO, assistant(use("call_1")))

CONVERSATION: tuple[BrokenRequest, ...] = (
    BrokenRequest(
        "half a character",
        conversation.texts_are_unicode,
        "no low surrogate in string",
        body(user(text("half a pair: \ud83d"))),
    ),
    BrokenRequest(
        "a system message among the others",
        conversation.only_user_and_assistant_speak,
        "does not support the role system at messages.1",
        body(HELLO, {"role": "system", "content": [text("be kind")]}, HELLO),
    ),
    BrokenRequest(
        "the assistant speaks first",
        conversation.conversation_starts_with_user,
        "A conversation must start with a user message.",
        body(assistant(text("hi")), HELLO),
    ),
    BrokenRequest(
        "no message",
        conversation.conversation_starts_with_user,
        "A conversation must start with a user message.",
        body(),
    ),
    BrokenRequest(
        "the user speaks twice",
        conversation.roles_alternate,
        "A conversation must alternate between user and assistant roles.",
        body(HELLO, HELLO),
    ),
    BrokenRequest(
        "the assistant speaks last",
        conversation.conversation_ends_with_user,
        "The conversation must end with a user message.",
        body(HELLO, assistant(text("hi"))),
    ),
    BrokenRequest(
        "a message without content",
        conversation.messages_are_not_empty,
        "The content field in the Message object at messages.1 is empty.",
        body(HELLO, assistant(), HELLO),
    ),
    BrokenRequest(
        "an empty text",
        conversation.texts_are_not_blank,
        "The text field in the ContentBlock object at messages.1.content.0 is blank.",
        body(HELLO, assistant(text("")), HELLO),
    ),
    BrokenRequest(
        "a text of white space",
        conversation.texts_are_not_blank,
        "at messages.0.content.1 is blank",
        body(user(text("hello"), text(" \n "))),
    ),
    BrokenRequest(
        "a blank system prompt",
        conversation.system_texts_are_not_blank,
        "at system.0 is blank",
        body(HELLO, system=[text(" ")]),
    ),
    BrokenRequest(
        "a blank text in a result",
        conversation.result_texts_are_not_blank,
        "at messages.2.content.0.toolResult.content.0 is blank",
        with_tools(*_CALLED, user(answered("call_1", ""))),
    ),
)
