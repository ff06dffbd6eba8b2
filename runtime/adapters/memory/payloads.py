"""Large content, in memory."""

from runtime.errors import PermanentError
from runtime.identity import payload_key
from runtime.model.entries import PayloadRef


class MemoryPayloads:
    """Safe to share between threads: every access is one operation of a dict."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def put(self, thread_id: str, content: bytes) -> PayloadRef:
        key = payload_key(thread_id, content)
        self._contents[key] = content
        return PayloadRef(key, len(content))

    def get(self, ref: PayloadRef) -> bytes:
        try:
            return self._contents[ref.key]
        except KeyError:
            raise PermanentError("there is no payload under this key") from None
