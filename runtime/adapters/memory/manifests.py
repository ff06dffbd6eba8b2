"""The last good manifests of each root, in memory."""

from collections.abc import Sequence

from runtime.model.toolsets import CachedManifest
from runtime.ports import Clock


class MemoryManifests:
    """Safe to share between threads: every access is one operation of a dict."""

    def __init__(self, clock: Clock, manifest_life_s: int) -> None:
        self._clock = clock
        self._life_ms = manifest_life_s * 1000
        self._kept: dict[str, tuple[int, tuple[CachedManifest, ...]]] = {}

    def read(self, root_id: str) -> tuple[CachedManifest, ...]:
        expires_ms, manifests = self._kept.get(root_id, (0, ()))
        return manifests if expires_ms > self._clock.now_ms() else ()

    def write(self, root_id: str, manifests: Sequence[CachedManifest]) -> None:
        self._kept[root_id] = (self._clock.now_ms() + self._life_ms, tuple(manifests))
