"""What must have become of what tools asked their users for, once nothing moves any more."""

from runtime.identity import digest
from runtime.model.calls import ASKING_STATES
from runtime.model.choices import Choice
from runtime.model.messages import ChoiceContent, MessageKey, OauthContent
from scripts.simulation.conversation import Conversation
from scripts.simulation.system import System
from scripts.simulation.violation import require


def check_wishes(system: System, conversation: Conversation) -> None:
    """Look at what was asked in one thread.

    Raises:
        Violation: somebody was not asked, or what was chosen has not come to the tool.
    """
    if conversation.closed:
        return
    shown = [output.type for output in system.ledger.outputs.values() if output.thread_id == conversation.thread_id]
    logins = 0
    for (thread_id, key), message in system.ledger.messages.items():
        content = message.content
        if thread_id != conversation.thread_id or not isinstance(content, ChoiceContent | OauthContent):
            continue
        if conversation.calls[content.call_id].state not in ASKING_STATES:
            continue  # it was asked for while somebody waited, or too late
        if isinstance(content, ChoiceContent):
            is_kept = digest(thread_id, key.message_id) in system.ledger.choices
            require(is_kept, "what a tool lets its user choose is kept", f"{thread_id} {key}")
        logins += isinstance(content, OauthContent)
    require(shown.count("oauth_required") >= logins, "who is to log in is told", conversation.thread_id)
    for choice in system.ledger.choices.values():
        if choice.thread_id == conversation.thread_id:
            _check_choice(system, conversation, choice)


def _check_choice(system: System, conversation: Conversation, choice: Choice) -> None:
    """A choice is open, or the tool was told what was chosen, or it was taken back with its call."""
    answer = MessageKey("user_choice_answer", f"answer:{choice.choice_id}")
    stored = system.ports.choices.get(choice.thread_id, choice.choice_id)
    told = [body["selected"] for body in system.tools.chosen.get(digest(answer.message_id), ())]
    state = conversation.calls[choice.call_id].state
    at = f"{choice.thread_id} {choice.choice_id}: {stored}, told {told}, {state}"
    shown = [(each.type, each.fields.get("choice_id")) for each in system.ledger.outputs.values()]
    failed = (choice.thread_id, "choice_not_handed_over") in system.ledger.errors
    was_shown = ("user_choice_required", choice.choice_id) in shown
    require(was_shown or state not in ASKING_STATES, "a choice is shown while somebody waits for it", at)
    require(len(set(told)) <= 1, "who asked is told one choice, whatever is chosen later", at)
    if stored is not None and stored.completed:
        # One that failed is offered again, under another id.
        taken_back = stored.answered is None and (failed or state in ("cancelled", "ended"))
        require(taken_back or stored.answered in told, "who asked is told what was chosen", at)
        require(("user_choice_complete", choice.choice_id) in shown, "that a choice is over is said", at)
        return
    made = (choice.thread_id, answer) in system.ledger.messages
    require(not made or failed, "what was chosen comes to the tool, or its failure is said", at)
    require(state != "cancelled", "what a cancelled call asked is taken back", at)
