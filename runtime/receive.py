"""What becomes of a POST to a callback URL: an answer for the caller, and a message for the thread or a view beside it.

The checks stand in one order: is there anything here (404, 405), is it too large (413), may the caller (403), does the
body make sense (400), is it about the call the caller may speak about (403). The token comes before the body, so that a
stranger's JSON is never parsed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from runtime.callbacks import (
    CALLBACK_PATH,
    Capability,
    Expired,
    TokenFault,
    callback_message,
    is_allowed,
    read_token,
    view_output,
)
from runtime.identity import digest, event_key
from runtime.model.choices import View
from runtime.model.messages import EventContent, Message, ResultContent
from runtime.ports import Clock, Keyring, Payloads, Queues, Views
from runtime.wire.items import pack_items
from runtime.wire.messages import body_hash
from runtime.wire.rap import BadBody, Callback, ResultCallback, ViewCallback, read_callback
from runtime.wire.text import canonical_json

Reason = Literal["no_such_path", "method", "too_large", TokenFault, "expired", "bad_body", "not_the_tokens_call"]


@dataclass(frozen=True, slots=True)
class Request:
    """`headers` by their names in lower case."""

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReceiverLimits:
    """`body_bytes` is what a callback may weigh, `inline_bytes` what of it travels inside a queue message."""

    body_bytes: int
    inline_bytes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What the caller is told. `reason` is for the count of refusals; None when the callback was accepted.

    `about` is what the token is for, where it was one of ours.
    """

    status: int
    body: str
    reason: Reason | None = None
    about: Capability | None = None


@dataclass(frozen=True, slots=True)
class Permitted:
    """A callback whose token allows it."""

    callback: Callback
    capability: Capability


@dataclass(frozen=True, slots=True)
class ReceiverPorts:
    """The receiver has no database: a token says all it needs."""

    keyring: Keyring
    queues: Queues
    payloads: Payloads
    views: Views
    clock: Clock


def receive(request: Request, ports: ReceiverPorts, limits: ReceiverLimits) -> Answer:
    """Answer a request. 200 is said only when queue and stores have accepted it all; a repeat is accepted again.

    Raises:
        RetryableError: the keys, the queue or a store did not answer; nothing was promised.
    """
    now_ms = ports.clock.now_ms()
    judged = judge(request, ports.keyring, now_ms, limits.body_bytes)
    if isinstance(judged, Answer):
        return judged
    callback, capability = judged.callback, judged.capability
    key = _event_key(request, callback, ports.clock)
    if isinstance(callback, ViewCallback):
        view = View(capability.thread_id, callback.view_type, callback.content, now_ms)
        _show(view, capability.root_id, key, ports, limits.inline_bytes)
    else:
        message = callback_message(callback, capability, key, now_ms)
        ports.queues.send_inputs([_by_reference_if_large(message, ports.payloads, limits.inline_bytes)])
    return Answer(200, '{"ok":true}', about=capability)


def judge(request: Request, keyring: Keyring, now_ms: int, limit_bytes: int) -> Permitted | Answer:
    """Return the callback that the request stands for, or the answer that refuses it."""
    token = request.path.removeprefix(CALLBACK_PATH)
    if not request.path.startswith(CALLBACK_PATH) or not token or "/" in token:
        return _refuse(404, "no_such_path", "there is nothing here")
    if request.method != "POST":
        return _refuse(405, "method", "use POST")
    if len(request.body) > limit_bytes:
        return _refuse(413, "too_large", f"the body is larger than {limit_bytes} bytes")
    capability = read_token(token, keyring, now_ms)
    if isinstance(capability, Expired):
        return _refuse(403, "expired", "the token is expired", capability.capability)
    if not isinstance(capability, Capability):
        return _refuse(403, capability, f"the token is {capability}")
    return _permitted(request.body, capability)


def _permitted(body: bytes, capability: Capability) -> Permitted | Answer:
    try:
        callback = read_callback(body)
    except BadBody as error:
        return _refuse(400, "bad_body", str(error), capability)
    if not is_allowed(callback, capability):
        return _refuse(403, "not_the_tokens_call", "the group or the call is not the token's", capability)
    return Permitted(callback, capability)


def _refuse(status: int, reason: Reason, error: str, about: Capability | None = None) -> Answer:
    return Answer(status, canonical_json({"error": error}), reason, about)


def _event_key(request: Request, callback: Callback, clock: Clock) -> str:
    """Return what tells a repeat of this callback from another one: where its sender does not say, each is another."""
    named = None if isinstance(callback, ResultCallback) else callback.event_id
    return event_key(request.headers.get("idempotency-key") or named or clock.fresh_id())


def _by_reference_if_large(message: Message, payloads: Payloads, inline_bytes: int) -> Message:
    """Return the message as it fits the queue. The payload's key names its content, so a repeat stays a repeat."""
    content = message.content
    if not isinstance(content, ResultContent | EventContent):
        return message
    packed = pack_items(content.items)
    if len(packed) <= inline_bytes:
        return message
    light = replace(content, items=(), payload=payloads.put(message.thread_id, packed))
    return replace(message, content=light, body_hash=body_hash(light))


def _show(view: View, root_id: str, key: str, ports: ReceiverPorts, inline_bytes: int) -> None:
    """Keep the view and tell front ends. One that a later one overtook is kept from both, so none goes back in time.

    The store comes first: who was told of a view finds it there, and a POST that failed in between is sent again.
    """
    packed = canonical_json(view.content)
    if len(packed) > inline_bytes:
        view = replace(view, content=None, payload=ports.payloads.put(view.thread_id, packed.encode()))
    if ports.views.put(view):
        ports.queues.send_outputs([view_output(view, root_id, digest(packed), key)])
