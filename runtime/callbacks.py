"""Callbacks: the capability a tool server gets with a call, and what its POST to it means.

A callback URL lets its holder answer one call of one thread, until it expires, and nothing else. It is verified
without a database, so a stateless receiver can tell an answer from a forgery. Everything here is pure.
"""

import json
from dataclasses import dataclass
from typing import Literal

from runtime.identity import result_message_id
from runtime.mac import authentication_code, decode_base64url, encode_base64url, is_authentic
from runtime.model.entries import Origin
from runtime.model.messages import Message, MessageKey, ResultContent
from runtime.ports import Key, Keyring
from runtime.wire.messages import body_hash
from runtime.wire.rap import ResultCallback
from runtime.wire.text import decode_json

CALLBACK_PATH = "/cb/"
# Longer than any of ours, whose parts are at most 128 characters each. What is longer is not worth a hash.
_MAX_TOKEN_CHARS = 2_048

TokenFault = Literal["malformed", "forged", "expired"]


@dataclass(frozen=True, slots=True)
class Capability:
    """What a valid token allows: to answer this call of this thread. `expires_at_ms` is epoch milliseconds."""

    root_id: str
    thread_id: str
    call_id: str
    toolset: str
    expires_at_ms: int


def callback_url(receiver_url: str, token: str) -> str:
    """Return the URL that a tool server is given. The token is in the path, because clients do strip queries."""
    return f"{receiver_url.rstrip('/')}{CALLBACK_PATH}{token}"


def make_token(key: Key, *, root_id: str, thread_id: str, call_id: str, toolset: str, expires_at_ms: int) -> str:
    """Return base64url(JSON array) `.` base64url(code). The same parts give the same token, so a repeat does too."""
    parts = [key.key_id, root_id, thread_id, call_id, toolset, expires_at_ms]
    payload = encode_base64url(json.dumps(parts, separators=(",", ":")).encode())
    return f"{payload}.{authentication_code(key.secret, 'callback', payload.encode())}"


def read_token(token: str, keyring: Keyring, now_ms: int) -> Capability | TokenFault:
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
    return capability if now_ms < capability.expires_at_ms else "expired"


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


def result_message(callback: ResultCallback, capability: Capability, now_ms: int) -> Message | None:
    """Return the message that brings this result to its thread; None if the token is another call's.

    It is named after the call, so however often a server calls back, and with whatever, it is one result.
    """
    if callback.group_id != capability.thread_id or callback.id != capability.call_id:
        return None
    content = ResultContent(
        call_id=capability.call_id,
        items=callback.items,
        subscription=callback.subscription,
        origin=Origin(capability.toolset, capability.call_id, now_ms),
        display_as=callback.display_as,
    )
    key = MessageKey("tool_result", result_message_id(capability.call_id))
    return Message(capability.thread_id, key, content, body_hash(content), now_ms)
