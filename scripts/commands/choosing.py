"""Which of the choices that were shown a typed line answers."""

import threading
from dataclasses import dataclass

from scripts.commands.messages import ChoiceAnswer, TextMessage, UserMessage
from scripts.commands.outputs import Output


@dataclass(frozen=True, slots=True)
class _Asked:
    thread_id: str
    choice_id: str
    count: int


class OpenChoices:
    """The choices shown and not answered yet, the newest first to be answered. Shared by who shows and who types."""

    def __init__(self) -> None:
        self._asked: dict[str, _Asked] = {}
        self._lock = threading.Lock()

    def see(self, output: Output) -> None:
        """Take note of a choice that is asked for, or that is closed."""
        choice_id, choices = output.text_of("choice_id"), output.fields.get("choices")
        with self._lock:
            if output.type == "user_choice_required" and isinstance(choices, list):
                self._asked[choice_id] = _Asked(output.thread_id, choice_id, len(choices))
            elif output.type == "user_choice_complete":
                self._asked.pop(choice_id, None)

    def message_of(self, thread_id: str, line: str) -> UserMessage:
        """Return what the line says to the thread: the number of a choice answers it, everything else is a text.

        Raises: MessageError when it cannot be sent as it is.
        """
        with self._lock:
            newest = next(reversed(self._asked.values()), None)
            if newest is None or not _is_number_up_to(newest.count, line.strip()):
                return TextMessage(thread_id, line)
            del self._asked[newest.choice_id]
        return ChoiceAnswer(newest.thread_id, newest.choice_id, int(line))


def _is_number_up_to(count: int, line: str) -> bool:
    return line.isascii() and line.isdigit() and len(line) <= len(str(count)) and 1 <= int(line) <= count
