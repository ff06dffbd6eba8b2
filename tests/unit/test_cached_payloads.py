"""What is not read twice."""

import pytest

from runtime.adapters.cached_payloads import CachedPayloads
from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.errors import PermanentError


def emptied(limit_bytes: int, *contents: bytes) -> list[bytes]:
    """Put these into a cached store, then lose what is behind the cache; return what can still be read."""
    behind = LossyPayloads()
    cached = CachedPayloads(behind, limit_bytes)
    refs = [cached.put("t", content) for content in contents]
    behind.lose()
    still: list[bytes] = []
    for ref in refs:
        try:
            still.append(cached.get(ref))
        except PermanentError:
            continue
    return still


class LossyPayloads(MemoryPayloads):
    def lose(self) -> None:
        self._contents.clear()


def test_what_was_put_or_read_is_not_read_again() -> None:
    assert emptied(10, b"aaaa", b"bbbb") == [b"aaaa", b"bbbb"]


def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    behind = LossyPayloads()
    cached = CachedPayloads(behind, limit_bytes=8)
    first, second = cached.put("t", b"aaaa"), cached.put("t", b"bbbb")
    cached.get(first)
    cached.put("t", b"cccc")
    behind.lose()
    assert cached.get(first) == b"aaaa"
    with pytest.raises(PermanentError):
        cached.get(second)


def test_what_is_larger_than_the_cache_is_not_kept_and_what_was_put_twice_counts_once() -> None:
    assert emptied(10, b"x" * 11) == []
    assert emptied(10, b"aaaa", b"aaaa", b"bbbb") == [b"aaaa", b"aaaa", b"bbbb"]
