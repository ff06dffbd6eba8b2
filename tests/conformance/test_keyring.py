"""Signing keys, given and from Secrets Manager."""

import json
from collections.abc import Callable

import pytest

from runtime.adapters.aws.secrets import SecretsKeyring
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.keyring import FixedKeyring
from runtime.ports import Key, Keyring
from tests.support.clients import fresh_name, secrets_client

REST_S = 900
NOW_MS = 1_800_000_000_000

KeyringOf = Callable[..., Keyring]


def fixed(*keys: Key) -> Keyring:
    return FixedKeyring(*keys)


@pytest.fixture(params=["memory", "secrets manager"])
def keyring_of(request: pytest.FixtureRequest) -> KeyringOf:
    if request.param == "memory":
        return fixed
    client = secrets_client(request.getfixturevalue("aws_endpoint"))

    def stored(*keys: Key) -> Keyring:
        written = [
            {"id": key.key_id, "key": key.secret.decode(), "signs_from": key.signs_from_ms // 1000 - REST_S}
            for key in keys
        ]
        arn = client.create_secret(Name=fresh_name("token"), SecretString=json.dumps({"keys": written}))["ARN"]
        return SecretsKeyring(client, arn, REST_S, ManualClock(NOW_MS))

    return stored


def key(key_id: str, starts_in_s: int = 0) -> Key:
    return Key(key_id, f"secret of {key_id}".encode(), NOW_MS + 1000 * starts_in_s)


def test_the_only_key_signs(keyring_of: KeyringOf) -> None:
    assert keyring_of(key("k1")).signing(NOW_MS) == key("k1")


def test_the_newest_key_that_may_sign_signs(keyring_of: KeyringOf) -> None:
    ring = keyring_of(key("k3", 0), key("k1", -7_200), key("k2", -3_600))

    assert ring.signing(NOW_MS) == key("k3", 0)


def test_a_new_key_rests_before_it_signs(keyring_of: KeyringOf) -> None:
    ring = keyring_of(key("old", -7_200), key("new", 1))

    assert ring.signing(NOW_MS) == key("old", -7_200)
    assert ring.signing(NOW_MS + 1_000) == key("new", 1)


def test_a_key_signs_without_rest_where_there_is_no_other(keyring_of: KeyringOf) -> None:
    assert keyring_of(key("k1", 900)).signing(NOW_MS) == key("k1", 900)


def test_of_keys_that_all_rest_the_first_to_be_ready_signs(keyring_of: KeyringOf) -> None:
    assert keyring_of(key("k2", 900), key("k1", 600)).signing(NOW_MS) == key("k1", 600)


def test_every_key_is_found_also_those_that_do_not_sign(keyring_of: KeyringOf) -> None:
    ring = keyring_of(key("old", -7_200), key("now", 0), key("resting", 900))

    assert [ring.find(key_id) for key_id in ("old", "now", "resting")] == [
        key("old", -7_200),
        key("now", 0),
        key("resting", 900),
    ]


@pytest.mark.parametrize("key_id", ["unknown", "", "K1", "k1 "])
def test_an_id_that_no_key_has_is_not_found(keyring_of: KeyringOf, key_id: str) -> None:
    assert keyring_of(key("k1")).find(key_id) is None
