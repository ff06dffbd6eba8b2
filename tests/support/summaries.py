"""A model for tests of compaction: what it says to a conversation, and what to whoever asks it for a summary."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runtime import phrases
from runtime.errors import RuntimeProblem
from runtime.identity import child_id
from runtime.model.entries import Usage
from runtime.model.turns import Block, CachePoint, Completion, ModelRequest, TextBlock
from tests.support.values import says

WINDOW = 1_000
Step = Completion | RuntimeProblem


class Summariser:
    """Has two scripts, and tells by the request which of them it is to go on with."""

    def __init__(self, conversation: Iterable[Step], summaries: Iterable[Step] = ()) -> None:
        self._conversation = iter(conversation)
        self._summaries = iter(summaries)

    def __call__(self, request: ModelRequest) -> Completion:
        step = next(self._summaries if asks_for_summary(request) else self._conversation, None)
        assert step is not None, "the script has no further answer"
        if isinstance(step, RuntimeProblem):
            raise step
        return step


def asks_for_summary(request: ModelRequest) -> bool:
    return phrases.SUMMARISE in texts_of(request)


def texts_of(request: ModelRequest) -> list[str]:
    return [block.text for message in request.messages for block in message.blocks if isinstance(block, TextBlock)]


def blocks_of(request: ModelRequest) -> list[tuple[str, Block]]:
    """Return all the blocks a provider compares with what it has cached, each with its role."""
    return [
        (message.role, block)
        for message in request.messages
        for block in message.blocks
        if not isinstance(block, CachePoint)
    ]


def summary_requests(seen: Sequence[ModelRequest]) -> list[ModelRequest]:
    return [request for request in seen if asks_for_summary(request)]


def full(completion: Completion | str) -> Completion:
    """Return the completion as one that read four fifths of the window, most of it from the cache."""
    completion = says(completion) if isinstance(completion, str) else completion
    return replace(completion, usage=Usage(100, 5, cache_read_tokens=600, cache_write_tokens=100))


def compaction_at(version: int, thread_id: str = "t") -> str:
    """Return the id of the compaction that the commit with this version began."""
    return child_id(thread_id, version)
