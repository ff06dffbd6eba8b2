"""What a tool lets its user choose, and what it shows beside the conversation."""

from dataclasses import dataclass

from runtime.model.entries import JsonObject, PayloadRef


@dataclass(frozen=True, slots=True)
class Choice:
    """An open or answered choice. `default` is an index into `choices`; `answered` is the one taken, None while open.

    Keyed by an id of its own: a call may ask more than once.
    """

    thread_id: str
    choice_id: str
    call_id: str
    toolset: str
    prompt: str
    choices: tuple[str, ...]
    default: int
    response_url: str
    answered: int | None = None
    completed: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """The newest content of one kind that a tool wants shown beside a thread, never interpreted.

    `payload` stands for content that is kept in the payload store.
    """

    thread_id: str
    view_type: str
    content: JsonObject | list[object] | str | float | bool | None
    received_ms: int
    payload: PayloadRef | None = None
