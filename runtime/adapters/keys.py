"""Which of several keys signs: one rule, wherever they are kept."""

from collections.abc import Collection

from runtime.ports import Key


def newest_ready(keys: Collection[Key], now_ms: int) -> Key:
    """Return the newest key that may sign; while none may yet, the one that will be the first."""
    ready = [key for key in keys if key.signs_from_ms <= now_ms]
    return max(ready, key=_signs_from) if ready else min(keys, key=_signs_from)


def _signs_from(key: Key) -> int:
    return key.signs_from_ms
