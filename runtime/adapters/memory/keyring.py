"""Keys that are simply given."""

from runtime.adapters.keys import newest_ready
from runtime.ports import Key


class FixedKeyring:
    def __init__(self, *keys: Key) -> None:
        self._keys = keys

    def signing(self, now_ms: int) -> Key:
        return newest_ready(self._keys, now_ms)

    def find(self, key_id: str) -> Key | None:
        return next((key for key in self._keys if key.key_id == key_id), None)
