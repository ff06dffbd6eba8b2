"""Callbacks: the capability a tool server gets with a call, and what its POST to it means.

A callback URL lets its holder speak about one call of one thread, until it expires, and nothing else. It is verified
without a database, so a stateless receiver can tell an answer from a forgery. Everything here is pure.
"""

import json
from dataclasses import dataclass
from typing import Literal, assert_never

from runtime.identity import (
    choice_message_id,
    event_message_id,
    oauth_message_id,
    result_message_id,
    view_output_id,
)
from runtime.mac import authentication_code, decode_base64url, encode_base64url, is_authentic
from runtime.model.choices import View
from runtime.model.entries import JsonObject, Origin
from runtime.model.messages import (
    ChoiceContent,
    Content,
    EventContent,
    Message,
    MessageKey,
    OauthContent,
    ResultContent,
)
from runtime.model.outputs import Output
from runtime.ports import Key, Keyring
from runtime.wire.contents import message_type
from runtime.wire.messages import body_hash
from runtime.wire.rap import Callback, ChoiceCallback, EventCallback, OauthCallback, ResultCallback, ViewCallback
from runtime.wire.text import decode_json

CALLBACK_PATH = "/cb/"
# Longer than any of ours, whose parts are at most 128 characters each. What is longer is not worth a hash.
_MAX_TOKEN_CHARS = 2_048

TokenFault = Literal["malformed", "forged"]
CallCallback = ResultCallback | EventCallback | OauthCallback | ChoiceCallback


@dataclass(frozen=True, slots=True)
class Capability:
    """What a valid token allows: to speak about this call of this thread. `expires_at_ms` is epoch milliseconds."""

    root_id: str
    thread_id: str
    call_id: str
    toolset: str
    expires_at_ms: int


@dataclass(frozen=True, slots=True)
class Expired:
    """A token that was ours and whose time is over. It allows nothing; it tells who still calls."""

    capability: Capability


def callback_url(receiver_url: str, token: str) -> str:
    """Return the URL that a tool server is given. The token is in the path, because clients do strip queries."""
    return f"{receiver_url.rstrip('/')}{CALLBACK_PATH}{token}"


def make_token(key: Key, *, root_id: str, thread_id: str, call_id: str, toolset: str, expires_at_ms: int) -> str:
    """Return base64url(JSON array) `.` base64url(code). The same parts give the same token, so a repeat does too."""
    parts = [key.key_id, root_id, thread_id, call_id, toolset, expires_at_ms]
    payload = encode_base64url(json.dumps(parts, separators=(",", ":")).encode())
    return f"{payload}.{authentication_code(key.secret, 'callback', payload.encode())}"


def read_token(token: str, keyring: Keyring, now_ms: int) -> Capability | Expired | TokenFault:
    """Return what the token allows now, or what is wrong with it.

    Raises:
        RetryableError: the key that would tell is not to be had now.
    """
    payload, _, code = token.rpartition(".")
    parts = _parts(payload) if len(token) <= _MAX_TOKEN_CHARS else None
    if parts is None:
        return "malformed"
    key_id, capability = parts
    key = keyring.find(key_id)
    if key is None or not is_authentic(key.secret, "callback", payload.encode(), code):
        return "forged"
    return capability if now_ms < capability.expires_at_ms else Expired(capability)


def _parts(payload: str) -> tuple[str, Capability] | None:
    try:
        parts = decode_json(decode_base64url(payload))
    except ValueError:
        return None
    match parts:
        case [str(key_id), str(root_id), str(thread_id), str(call_id), str(toolset), int(expires_at_ms)]:
            return key_id, Capability(root_id, thread_id, call_id, toolset, expires_at_ms)
        case _:
            return None


def is_allowed(callback: Callback, capability: Capability) -> bool:
    """Return whether the callback is about the token's own thread and, where it is about a call, that call."""
    if callback.group_id != capability.thread_id:
        return False
    return isinstance(callback, ViewCallback) or callback.id == capability.call_id


def callback_message(callback: CallCallback, capability: Capability, event_key: str, now_ms: int) -> Message:
    """Return the message that brings the callback to its thread.

    A result is named after the call, so however often a server calls back, and with whatever, it is one result. All
    else is named after the call and `event_key`, of which there may be many.
    """
    content = _content(callback, capability, now_ms)
    key = MessageKey(message_type(content), _message_id(callback, event_key))
    return Message(capability.thread_id, key, content, body_hash(content), now_ms)


def _content(callback: CallCallback, capability: Capability, now_ms: int) -> Content:
    call_id = capability.call_id
    origin = Origin(capability.toolset, call_id, now_ms)
    match callback:
        case ResultCallback(items=items, subscription=subscription, display_as=display_as):
            return ResultContent(call_id, items, subscription, None, origin, display_as)
        case EventCallback(items=items, associative=associative, final=final):
            return EventContent(call_id, items, associative, final, None, origin)
        case OauthCallback(auth_url=auth_url):
            return OauthContent(call_id, auth_url)
        case ChoiceCallback(prompt=prompt, choices=choices, default=default, response_url=response_url):
            return ChoiceContent(call_id, prompt, tuple(choices), default, response_url, origin)
        case _:
            assert_never(callback)


def _message_id(callback: CallCallback, event_key: str) -> str:
    match callback:
        case ResultCallback(id=call_id):
            return result_message_id(call_id)
        case EventCallback(id=call_id):
            return event_message_id(call_id, event_key)
        case OauthCallback(id=call_id):
            return oauth_message_id(call_id, event_key)
        case ChoiceCallback(id=call_id):
            return choice_message_id(call_id, event_key)
        case _:
            assert_never(callback)


def view_output(view: View, root_id: str, content_hash: str, event_key: str) -> Output:
    """Return what front ends are told. A repeat under the same key has the same id.

    `content` is null where the payload store has it, under `payload`.
    """
    fields: JsonObject = {"view_type": view.view_type, "content": view.content}
    if view.payload is not None:
        fields = {**fields, "payload": {"key": view.payload.key, "size_bytes": view.payload.size_bytes}}
    output_id = view_output_id(view.thread_id, view.view_type, content_hash, event_key)
    return Output(output_id, "view_update", view.thread_id, root_id, None, None, fields)
