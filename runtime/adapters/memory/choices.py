"""Choices and views, in memory."""

from dataclasses import replace
from threading import Lock

from runtime.model.choices import Choice, View


class MemoryChoices:
    """Safe to share between threads."""

    def __init__(self) -> None:
        self._choices: dict[tuple[str, str], Choice] = {}
        self._lock = Lock()

    def put(self, choice: Choice) -> None:
        is_open = replace(choice, answered=None, completed=False)
        with self._lock:
            self._choices.setdefault((choice.thread_id, choice.choice_id), is_open)

    def get(self, thread_id: str, choice_id: str) -> Choice | None:
        return self._choices.get((thread_id, choice_id))

    def of_thread(self, thread_id: str) -> tuple[Choice, ...]:
        with self._lock:
            found = [each for each in self._choices.values() if each.thread_id == thread_id]
        return tuple(sorted((each for each in found if not each.completed), key=lambda each: each.choice_id))

    def complete(self, thread_id: str, choice_id: str, answered: int | None) -> None:
        with self._lock:
            choice = self._choices.get((thread_id, choice_id))
            if choice is not None and not choice.completed:
                self._choices[thread_id, choice_id] = replace(choice, answered=answered, completed=True)


class MemoryViews:
    """Safe to share between threads."""

    def __init__(self) -> None:
        self._views: dict[tuple[str, str], View] = {}
        self._lock = Lock()

    def put(self, view: View) -> bool:
        with self._lock:
            known = self._views.get((view.thread_id, view.view_type))
            if known is not None and known.received_ms > view.received_ms:
                return False
            self._views[view.thread_id, view.view_type] = view
            return True

    def of_thread(self, thread_id: str) -> tuple[View, ...]:
        with self._lock:
            found = [view for view in self._views.values() if view.thread_id == thread_id]
        return tuple(sorted(found, key=lambda view: view.view_type))
