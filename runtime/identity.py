"""Deterministic names: whoever repeats a step gives the same thing the same name.

One hash for all of them: SHA-256 over a compact JSON array of the named parts. A JSON array, because joining
with a separator would let ("a", "b:c") and ("a:b", "c") collide.
"""

import hashlib
import json
import re
import uuid

_MAX_CLIENT_ID_BYTES = 200
# What a tool server names an event with becomes part of ids and keys, also of ids that clients send back.
_PLAIN_KEY = re.compile(r"[!-~]{1,200}")
# Ours alone, so that no other use of the same names gives the same ids.
_THREADS = uuid.UUID("6d2c5d0e-5f0b-4a51-9a86-0d6f6c2a7f3e")


def digest(*parts: str | int | None, length: int = 32) -> str:
    """Return `length` hex characters that name these parts, in this order. 64 for SQS deduplication ids."""
    compact = json.dumps(parts, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(compact.encode()).hexdigest()[:length]


def payload_key(thread_id: str, content: bytes) -> str:
    """Return the key of content in the payload store: the same bytes of a thread always lie in the same place."""
    return f"{digest(thread_id)}/{hashlib.sha256(content).hexdigest()}"


def call_id_at(thread_id: str, position: int) -> str:
    """Return the id of the call stored at this position. Always ours: models do repeat the ids they make up."""
    return f"call_{digest(thread_id, position, length=24)}"


def event_id_at(thread_id: str, position: int) -> str:
    """Return the tool-use id under which the event at this position is shown to the model."""
    return f"evt_{digest(thread_id, position, length=24)}"


def seed_id_at(thread_id: str, position: int) -> str:
    """Return the tool-use id of the call that a thread begins with at this position, which no model ever made."""
    return f"seed_{digest(thread_id, position, length=24)}"


def child_id(parent_id: str, cause: str | int) -> str:
    """Return the id of the thread that a thread's call, message or commit begins: a UUIDv5."""
    return str(uuid.uuid5(_THREADS, json.dumps([parent_id, cause], separators=(",", ":"))))


def deduplication_id(thread_id: str, message_type: str, message_id: str, body_hash: str | None = None) -> str:
    """Return the SQS deduplication id of a message; results add the body, so that a different one is seen too."""
    if body_hash is None:
        return digest(thread_id, message_type, message_id, length=64)
    return digest(thread_id, message_type, message_id, body_hash, length=64)


def entry_output_id(thread_id: str, position: int, output_type: str, index: int) -> str:
    """Return the id of an output that an entry gives rise to."""
    return digest(thread_id, position, output_type, index)


def message_output_id(thread_id: str, message_id: str, output_type: str, code: str) -> str:
    """Return the id of an output that no entry stands behind."""
    return digest(thread_id, message_id, output_type, code)


def client_message_id(given: str) -> str:
    """Return the stored identity of a client's message. Prefixed, so that no client can suppress a message of ours."""
    if len(given.encode()) > _MAX_CLIENT_ID_BYTES:
        given = digest(given, length=64)
    return f"user:{given}"


def event_key(given: str) -> str:
    """Return the key under which something a tool server sent is known: as given, or the hash of what is no key."""
    return given if _PLAIN_KEY.fullmatch(given) else digest(given, length=64)


def view_output_id(thread_id: str, view_type: str, content_hash: str, key: str) -> str:
    """Return the id of the output that shows a view."""
    return digest(thread_id, "view_update", view_type, content_hash, key)


def result_message_id(call_id: str) -> str:
    return f"result:{call_id}"


def undelivered_message_id(call_id: str) -> str:
    return f"undelivered:{call_id}"


def timer_message_id(call_id: str) -> str:
    return f"timer:{call_id}"


def event_message_id(call_id: str, event_key: str) -> str:
    return f"event:{call_id}:{event_key}"


def oauth_message_id(call_id: str, event_key: str) -> str:
    return f"oauth:{call_id}:{event_key}"


def choice_message_id(call_id: str, event_key: str) -> str:
    return f"choice:{call_id}:{event_key}"


def answer_message_id(choice_id: str) -> str:
    return f"answer:{choice_id}"


def report_message_id(child_id: str, position: int) -> str:
    return f"report:{child_id}:{position}"


def stopped_message_id(child_id: str, version: int) -> str:
    return f"report:{child_id}:stopped:{version}"


def closed_message_id(child_id: str) -> str:
    return f"closed:{child_id}"


def parent_message_id(call_id: str) -> str:
    return f"parent:{call_id}"


def bounce_message_id(call_id: str) -> str:
    return f"bounce:{call_id}"


def compacted_message_id(compaction_id: str) -> str:
    return f"compacted:{compaction_id}"


def wake_message_id(thread_id: str, version: int) -> str:
    """Return the id of the wake for this version. Every commit raises the version, so no wake swallows a later one."""
    return f"wake:{thread_id}:{version}"
