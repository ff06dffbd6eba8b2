"""What becomes of a POST to a callback URL: an answer for the caller, and a message for the thread.

The checks stand in one order: is there anything here (404, 405), is it too large (413), may the caller (403), does the
body make sense (400), is it about the call the caller may answer (403). The token comes before the body, so that a
stranger's JSON is never parsed.
"""

from dataclasses import dataclass, replace
from typing import Literal

from runtime.callbacks import CALLBACK_PATH, Capability, TokenFault, read_token, result_message
from runtime.model.messages import Message, ResultContent
from runtime.ports import Clock, Keyring, Payloads, Queues
from runtime.wire.items import pack_items
from runtime.wire.messages import body_hash
from runtime.wire.rap import BadBody, read_callback
from runtime.wire.text import canonical_json

Reason = Literal["no_such_path", "method", "too_large", TokenFault, "bad_body", "not_the_tokens_call"]


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """`body_bytes` is what a callback may weigh, `inline_bytes` what of it travels inside a queue message."""

    body_bytes: int
    inline_bytes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What the caller is told. `reason` is for the count of refusals; None when the callback was accepted."""

    status: int
    body: str
    reason: Reason | None = None
    thread_id: str | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReceiverPorts:
    """The receiver has no database: a token says all it needs."""

    keyring: Keyring
    queues: Queues
    payloads: Payloads
    clock: Clock


def receive(request: Request, ports: ReceiverPorts, limits: Limits) -> Answer:
    """Answer a request. 200 is said only when the queue has accepted the message; a repeat is accepted again.

    Raises:
        RetryableError: the keys, the queue or the payload store did not answer; nothing was promised.
    """
    now_ms = ports.clock.now_ms()
    judged = judge(request, ports.keyring, now_ms, limits.body_bytes)
    if isinstance(judged, Answer):
        return judged
    ports.queues.send_inputs([_by_reference_if_large(judged, ports.payloads, limits.inline_bytes)])
    return Answer(200, '{"ok":true}', thread_id=judged.thread_id, call_id=_call_id(judged))


def judge(request: Request, keyring: Keyring, now_ms: int, limit_bytes: int) -> Message | Answer:
    """Return the message the request stands for, or the answer that refuses it."""
    token = request.path.removeprefix(CALLBACK_PATH)
    if not request.path.startswith(CALLBACK_PATH) or not token or "/" in token:
        return _refuse(404, "no_such_path", "there is nothing here")
    if request.method != "POST":
        return _refuse(405, "method", "use POST")
    if len(request.body) > limit_bytes:
        return _refuse(413, "too_large", f"the body is larger than {limit_bytes} bytes")
    capability = read_token(token, keyring, now_ms)
    if not isinstance(capability, Capability):
        return _refuse(403, capability, f"the token is {capability}")
    return _message(request.body, capability, now_ms)


def _message(body: bytes, capability: Capability, now_ms: int) -> Message | Answer:
    try:
        callback = read_callback(body)
    except BadBody as error:
        return replace(_refuse(400, "bad_body", str(error)), thread_id=capability.thread_id, call_id=capability.call_id)
    message = result_message(callback, capability, now_ms)
    if message is None:
        refused = _refuse(403, "not_the_tokens_call", "group_id or id is not the token's")
        return replace(refused, thread_id=capability.thread_id, call_id=capability.call_id)
    return message


def _refuse(status: int, reason: Reason, error: str) -> Answer:
    return Answer(status, canonical_json({"error": error}), reason)


def _by_reference_if_large(message: Message, payloads: Payloads, inline_bytes: int) -> Message:
    """Return the message as it fits the queue. The payload's key names its content, so a repeat stays a repeat."""
    content = message.content
    assert isinstance(content, ResultContent)
    packed = pack_items(content.items)
    if len(packed) <= inline_bytes:
        return message
    light = replace(content, items=(), payload=payloads.put(message.thread_id, packed))
    return replace(message, content=light, body_hash=body_hash(light))


def _call_id(message: Message) -> str:
    assert isinstance(message.content, ResultContent)
    return message.content.call_id
