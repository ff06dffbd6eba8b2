"""Authentication codes. One secret serves several purposes, each under a key of its own derived from it.

Without that, what was signed for one purpose could be presented for another.
"""

import base64
import hmac
from typing import Literal

Purpose = Literal["message", "callback"]


def authentication_code(secret: bytes, purpose: Purpose, signed: bytes) -> str:
    """Return HMAC-SHA256 of the bytes under the key for this purpose, as base64url without padding."""
    derived = hmac.digest(secret, f"infinity/v1/{purpose}".encode(), "sha256")
    return encode_base64url(hmac.digest(derived, signed, "sha256"))


def is_authentic(secret: bytes, purpose: Purpose, signed: bytes, code: str) -> bool:
    """Return whether the code belongs to these bytes, in a time that does not tell how much of it was right."""
    return hmac.compare_digest(authentication_code(secret, purpose, signed).encode(), code.encode(errors="replace"))


def encode_base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Return the bytes.

    Raises:
        ValueError: not base64url, or not the one spelling of it that `encode_base64url` writes.
    """
    content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if encode_base64url(content) != text:
        raise ValueError("not canonical base64url")
    return content
