"""A payload store with a memory: a conversation's images are read again for every completion."""

import threading
from collections import OrderedDict

from runtime.model.entries import PayloadRef
from runtime.ports import Payloads


class CachedPayloads:
    """Keeps what was put or read last, up to `limit_bytes`, for all threads of the process.

    A key names its content, so nothing that is kept can become wrong.
    """

    def __init__(self, payloads: Payloads, limit_bytes: int) -> None:
        self._payloads = payloads
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._lock = threading.Lock()

    def put(self, thread_id: str, content: bytes) -> PayloadRef:
        ref = self._payloads.put(thread_id, content)
        self._keep(ref.key, content)
        return ref

    def get(self, ref: PayloadRef) -> bytes:
        with self._lock:
            if ref.key in self._kept:
                self._kept.move_to_end(ref.key)
                return self._kept[ref.key]
        content = self._payloads.get(ref)
        self._keep(ref.key, content)
        return content

    def _keep(self, key: str, content: bytes) -> None:
        with self._lock:
            self._kept_bytes += len(content) - len(self._kept.pop(key, b""))
            self._kept[key] = content
            while self._kept_bytes > self._limit_bytes:
                _, forgotten = self._kept.popitem(last=False)
                self._kept_bytes -= len(forgotten)
