"""How often secrets are read, and what becomes of them while they cannot be."""

import json
from dataclasses import dataclass

import pytest

from runtime.adapters.aws.secrets import PAUSE_MS, REFRESH_MS, BearerTokens, SecretsKeyring
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import Misconfigured, RetryableError
from tests.support.aws_wire import Answer, Wire, error
from tests.support.clients import secrets_client

ARN = "arn:aws:secretsmanager:us-east-1:000000000000:secret:token"
# The client gives up after three.
AWAY = [error(500, "InternalServiceError")] * 3


@dataclass(frozen=True, slots=True)
class Asked:
    """A keyring and bearer tokens whose requests are answered by the test."""

    keyring: SecretsKeyring
    tokens: BearerTokens
    wire: Wire
    clock: ManualClock

    @property
    def reads(self) -> int:
        return len(self.wire.operations)


@pytest.fixture
def asked() -> Asked:
    # Nothing listens there: a request that the test does not answer fails at once.
    client = secrets_client("http://127.0.0.1:9")
    clock = ManualClock()
    return Asked(SecretsKeyring(client, ARN, 900, clock), BearerTokens(client, clock), Wire(client), clock)


def secret(text: str) -> Answer:
    return Answer(200, {"ARN": ARN, "Name": "token", "SecretString": text})


def keys(*key_ids: str) -> Answer:
    return secret(json.dumps({"keys": [{"id": key_id, "key": "secret", "signs_from": 0} for key_id in key_ids]}))


def test_the_secret_is_read_once_for_many_signatures_and_checks(asked: Asked) -> None:
    asked.wire.answer_next(keys("k1"))

    for _ in range(100):
        asked.keyring.signing(asked.clock.now_ms())
        asked.keyring.find("k1")

    assert asked.reads == 1


def test_an_unknown_key_is_found_by_reading_the_secret_again(asked: Asked) -> None:
    asked.wire.answer_next(keys("k1"), keys("k1", "k2"))
    asked.keyring.find("k1")
    asked.clock.advance(PAUSE_MS / 1000)

    found = asked.keyring.find("k2")

    assert found is not None
    assert found.key_id == "k2"


def test_forged_key_ids_cause_one_read_in_half_a_minute(asked: Asked) -> None:
    asked.wire.answer_next(keys("k1"), keys("k1"), keys("k1"))
    asked.keyring.find("k1")
    asked.clock.advance(PAUSE_MS / 1000)

    for number in range(1_000):
        assert asked.keyring.find(f"forged-{number}") is None
    assert asked.reads == 2

    asked.clock.advance(PAUSE_MS / 1000)
    assert asked.keyring.find("forged") is None
    assert asked.reads == 3


def test_a_key_that_was_taken_away_is_forgotten_within_a_quarter_of_an_hour(asked: Asked) -> None:
    asked.wire.answer_next(keys("k1", "leaked"), keys("k1"), keys("k1"))
    assert asked.keyring.find("leaked") is not None

    asked.clock.advance(REFRESH_MS / 1000)

    assert asked.keyring.find("leaked") is None


def test_known_keys_go_on_while_the_secret_cannot_be_read(asked: Asked) -> None:
    asked.wire.answer_next(keys("k1"))
    asked.keyring.find("k1")
    asked.clock.advance(REFRESH_MS / 1000)
    asked.wire.answer_next(*AWAY)

    assert asked.keyring.find("k1") is not None
    reads = asked.reads
    assert asked.keyring.signing(asked.clock.now_ms()).key_id == "k1"

    assert asked.reads == reads  # a service that is away is not asked again for a while


def test_a_key_that_is_not_known_while_the_secret_cannot_be_read_is_not_called_unknown(asked: Asked) -> None:
    asked.wire.answer_next(keys("k1"))
    asked.keyring.find("k1")
    asked.clock.advance(PAUSE_MS / 1000)
    asked.wire.answer_next(*AWAY)

    with pytest.raises(RetryableError):
        asked.keyring.find("k2")
    with pytest.raises(RetryableError):
        asked.keyring.find("k2")


def test_without_any_key_nothing_is_signed(asked: Asked) -> None:
    asked.wire.answer_next(*AWAY)

    with pytest.raises(RetryableError):
        asked.keyring.signing(asked.clock.now_ms())


@pytest.mark.parametrize(
    "text",
    [
        "not json, but private",
        "[]",
        '{"keys": []}',
        '{"keys": [{"id": "k1"}]}',
        '{"keys": [{"id": "k1", "key": "", "signs_from": 0}]}',
        '{"keys": [{"id": "k1", "key": 7, "signs_from": 0}]}',
        '{"keys": [{"id": "k1", "key": "private", "signs_from": "soon"}]}',
    ],
)
def test_a_secret_of_another_form_is_for_a_person_to_look_at_and_is_not_repeated(asked: Asked, text: str) -> None:
    asked.wire.answer_next(secret(text))

    with pytest.raises(Misconfigured) as caught:
        asked.keyring.signing(asked.clock.now_ms())

    assert "private" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_bearer_token_is_read_again_after_a_quarter_of_an_hour(asked: Asked) -> None:
    asked.wire.answer_next(secret("first"), secret("second"))
    assert asked.tokens.token(ARN) == "first"
    assert asked.tokens.token(ARN) == "first"

    asked.clock.advance(REFRESH_MS / 1000)

    assert asked.tokens.token(ARN) == "second"
    assert asked.reads == 2


def test_a_secret_without_text_is_for_a_person_to_look_at(asked: Asked) -> None:
    asked.wire.answer_next(Answer(200, {"ARN": ARN, "SecretBinary": "AAAA"}))

    with pytest.raises(Misconfigured):
        asked.tokens.token(ARN)
