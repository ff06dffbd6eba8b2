"""How often a thread has asked the model since something last came from outside. Pure."""

import json

from runtime.draft import Draft

STEPS = "steps_since_input"


def steps_since_input(draft: Draft, up_to: int | None = None) -> int:
    """Count completions since a message last entered history; only answers of the runtime's own have no cause.

    With `up_to`, those that a summary of everything up to there hides. Earlier ones say in their state what they hide.
    """
    turns = set[int]()
    for entry in reversed(draft.own_entries()):
        if getattr(entry.body, "cause", None) is not None:
            return len(turns)
        if up_to is None or entry.position <= up_to:
            turns.add(entry.turn)
    return len(turns) + _hidden(draft)


def _hidden(draft: Draft) -> int:
    summary = draft.summary_in_use()
    if summary is None or summary.state is None or summary.ref.up_to <= draft.row.birth.inherited:
        return 0
    return int(json.loads(summary.state).get(STEPS, 0))
