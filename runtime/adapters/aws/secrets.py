"""Signing keys and bearer tokens in Secrets Manager, kept in the environment and read again now and then."""

import json
import logging
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING

from runtime.adapters.aws.errors import translated
from runtime.adapters.keys import newest_ready
from runtime.errors import Misconfigured, RetryableError, Unavailable
from runtime.ports import Clock, Key

if TYPE_CHECKING:
    from types_boto3_secretsmanager import SecretsManagerClient

logger = logging.getLogger(__name__)

# A long-lived environment must see that a secret was changed, or that a key was added or taken away.
REFRESH_MS = 15 * 60 * 1000
# A key id that nobody knows is new, or made up by a stranger: strangers cause at most one read in this time.
PAUSE_MS = 30 * 1000


class SecretsKeyring:
    """The token secret: `{"keys": [{"id", "key", "signs_from" (epoch seconds)}, …]}`. Safe to share between threads.

    A key signs `key_rest_s` after its `signs_from`, so that every environment knows it by then; it verifies for as
    long as it stands in the secret. While the secret cannot be read, the keys last read are used.
    """

    def __init__(self, client: "SecretsManagerClient", secret_arn: str, key_rest_s: int, clock: Clock) -> None:
        self._client = client
        self._secret_arn = secret_arn
        self._rest_ms = key_rest_s * 1000
        self._clock = clock
        self._known = _Known()
        self._lock = Lock()

    def signing(self, now_ms: int) -> Key:
        return newest_ready(self._last_known().values(), now_ms)

    def find(self, key_id: str) -> Key | None:
        key = self._last_known().get(key_id)
        return key if key is not None else self._keys(PAUSE_MS).get(key_id)

    def _last_known(self) -> Mapping[str, Key]:
        try:
            return self._keys(REFRESH_MS)
        except RetryableError:
            if not self._known.keys:
                raise
            logger.warning("token secret not read again")
            return self._known.keys

    def _keys(self, age_limit_ms: int) -> Mapping[str, Key]:
        """Return keys that were read within this time.

        Raises:
            RetryableError: they cannot be read, or could not be a moment ago.
        """
        with self._lock:
            known, now_ms = self._known, self._clock.now_ms()
            if known.keys and now_ms - known.read_ms < age_limit_ms:
                return known.keys
            if known.keys and now_ms - known.tried_ms < PAUSE_MS:
                raise Unavailable("the token secret could not be read a moment ago")
            known.tried_ms = now_ms
            known.keys = _keys_in(secret_text(self._client, self._secret_arn), self._rest_ms)
            known.read_ms = now_ms
            return known.keys


class BearerTokens:
    """Secrets that are a token and nothing else. Safe to share between threads."""

    def __init__(self, client: "SecretsManagerClient", clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._read: dict[str, tuple[str, int]] = {}

    def token(self, secret_arn: str) -> str:
        """Return the token, at most a quarter of an hour old."""
        now_ms = self._clock.now_ms()
        text, read_ms = self._read.get(secret_arn, ("", 0))
        if not text or now_ms - read_ms >= REFRESH_MS:
            text = secret_text(self._client, secret_arn)
            self._read[secret_arn] = (text, now_ms)
        return text


class _Known:
    """What was read last, when, and when it was tried last; guarded by its owner's lock."""

    __slots__ = ("keys", "read_ms", "tried_ms")

    def __init__(self) -> None:
        self.keys: Mapping[str, Key] = {}
        self.read_ms = 0
        self.tried_ms = 0


def secret_text(client: "SecretsManagerClient", secret_arn: str) -> str:
    """Return the current value of a secret.

    Raises:
        RetryableError: it cannot be had, or is not text.
    """
    with translated():
        answer = client.get_secret_value(SecretId=secret_arn)
    text = answer.get("SecretString", "")
    if not text:
        raise Misconfigured("a secret has no text")
    return text


def _keys_in(text: str, rest_ms: int) -> Mapping[str, Key]:
    try:
        keys = {
            str(entry["id"]): Key(str(entry["id"]), _secret(entry["key"]), int(entry["signs_from"]) * 1000 + rest_ms)
            for entry in json.loads(text)["keys"]
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        # Without the cause: it would quote the secret.
        raise Misconfigured("the token secret is not of the expected form") from None
    if not keys:
        raise Misconfigured("the token secret holds no key")
    return keys


def _secret(given: str) -> bytes:
    if not given:
        raise ValueError("empty")
    return given.encode()
