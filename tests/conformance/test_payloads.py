"""Large content, in memory, in S3, and behind a cache."""

import pytest

from runtime.adapters.aws.s3 import S3Payloads
from runtime.adapters.cached_payloads import CachedPayloads
from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.errors import PermanentError
from runtime.model.entries import PayloadRef
from runtime.ports import Payloads
from tests.support.clients import fresh_name, s3_client


@pytest.fixture(params=["memory", "cached", "s3"])
def payloads(request: pytest.FixtureRequest) -> Payloads:
    if request.param == "memory":
        return MemoryPayloads()
    if request.param == "cached":
        return CachedPayloads(MemoryPayloads(), limit_bytes=1_000)
    client = s3_client(request.getfixturevalue("aws_endpoint"))
    bucket = fresh_name("payloads")
    client.create_bucket(Bucket=bucket)
    return S3Payloads(client, bucket)


@pytest.mark.parametrize("content", [b"", b"\x00\xff plain", b"x" * 5_000_000], ids=["empty", "binary", "5 MB"])
def test_content_comes_back_as_it_was(payloads: Payloads, content: bytes) -> None:
    ref = payloads.put("thread-1", content)

    assert ref.size_bytes == len(content)
    assert payloads.get(ref) == content


def test_the_same_content_of_a_thread_lies_in_the_same_place(payloads: Payloads) -> None:
    assert payloads.put("thread-1", b"content") == payloads.put("thread-1", b"content")


def test_other_content_or_another_thread_lies_elsewhere(payloads: Payloads) -> None:
    refs = {payloads.put(thread_id, content).key for thread_id in ("a", "b") for content in (b"x", b"y")}

    assert len(refs) == 4


def test_a_key_holds_nothing_of_the_threads_name(payloads: Payloads) -> None:
    ref = payloads.put("../secret thread/é", b"content")

    assert set(ref.key) <= set("0123456789abcdef/")
    assert payloads.get(ref) == b"content"


def test_a_key_with_nothing_under_it_is_a_permanent_error(payloads: Payloads) -> None:
    with pytest.raises(PermanentError):
        payloads.get(PayloadRef("no/such-key", 1))
