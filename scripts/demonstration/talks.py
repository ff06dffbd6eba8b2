"""One conversation of several, as it was left."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scripts.commands.outputs import Output
from scripts.commands.target import Target
from scripts.demonstration.evidence import StoredCall, StoredEntry, count_wakes, read_calls, read_entries
from scripts.demonstration.scenarios import Conversation
from scripts.demonstration.time_lapse import waiting
from scripts.offline_stack.model_endpoint.script import without_scripts
from scripts.offline_stack.stack import OfflineStack


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as it was left. `wakes`: how many wakes its history consumed."""

    thread_id: str
    entries: Sequence[StoredEntry]
    calls: Sequence[StoredCall]
    outputs: Sequence[Output]
    wakes: int

    @property
    def plain_entries(self) -> list[StoredEntry]:
        """The history with the texts as they are quoted, without their scripts."""
        return [
            replace(entry, body={**entry.body, "text": without_scripts(entry.text)}) if entry.kind == "user" else entry
            for entry in self.entries
        ]

    @property
    def errors(self) -> list[Output]:
        return [output for output in self.outputs if output.type == "error"]


def left_behind(conversation: Conversation, stack: OfflineStack) -> Talk:
    conversation.collect()
    dsn, thread_id = stack.database_dsn, conversation.thread_id
    return Talk(
        thread_id,
        entries=read_entries(dsn, thread_id),
        calls=read_calls(dsn, thread_id),
        outputs=conversation.outputs,
        wakes=count_wakes(dsn, thread_id),
    )


def dead_letters(target: Target) -> int:
    """How many messages of anybody have been given up and lie there to be seen."""
    return waiting(target.sqs, target.outputs["InputDeadLetterQueueUrl"])
