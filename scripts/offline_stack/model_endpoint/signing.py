"""Signatures of the reasoning the scripted model gives, so that it can tell whether it came back unchanged.

The key is a constant: a signature must hold across restarts of the endpoint, and it protects nothing.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from hashlib import sha256
from hmac import compare_digest, digest

_KEY = b"reasoning of the scripted model"
_SEED_BYTES = 8
_MAC_BYTES = 32


def signature_of(hidden_text: str, shown_text: str) -> str:
    """Return a signature that holds for the shown text and differs with the hidden one, which may be longer."""
    seed = sha256(hidden_text.encode()).digest()[:_SEED_BYTES]
    return b64encode(seed + _mac(seed, shown_text.encode())).decode()


def is_signed(shown_text: str, signature: str) -> bool:
    """Say whether the signature is one of ours and made for exactly this text."""
    try:
        signed = b64decode(signature, validate=True)
    except Base64Error:
        return False
    seed, mac = signed[:_SEED_BYTES], signed[_SEED_BYTES:]
    return compare_digest(mac, _mac(seed, shown_text.encode()))


def redacted_content_of(hidden_text: str) -> bytes:
    """Return opaque bytes, not valid UTF-8 in general, that stand for reasoning nobody may read."""
    hidden = sha256(hidden_text.encode()).digest()
    return _mac(b"redacted", hidden) + hidden


def is_redacted_content(content: bytes) -> bool:
    """Say whether the bytes are redacted reasoning of ours, unchanged."""
    mac, hidden = content[:_MAC_BYTES], content[_MAC_BYTES:]
    return bool(hidden) and compare_digest(mac, _mac(b"redacted", hidden))


def _mac(seed: bytes, text: bytes) -> bytes:
    return digest(_KEY, seed + b"\0" + text, "sha256")
