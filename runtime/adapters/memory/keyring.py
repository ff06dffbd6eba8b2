"""Keys that are simply given."""

from runtime.ports import Key


class FixedKeyring:
    def __init__(self, *keys: Key) -> None:
        self._keys = keys

    def signing(self, now_ms: int) -> Key:
        """Return the newest key that may sign; while none may yet, the one that will be the first."""
        ready = [key for key in self._keys if key.signs_from_ms <= now_ms]
        if ready:
            return max(ready, key=lambda key: key.signs_from_ms)
        return min(self._keys, key=lambda key: key.signs_from_ms)

    def find(self, key_id: str) -> Key | None:
        return next((key for key in self._keys if key.key_id == key_id), None)
