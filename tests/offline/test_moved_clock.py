"""The whole deployment follows its clock: what is due tomorrow is seen here in seconds."""

import uuid

from scripts.commands.target import Target
from scripts.demonstration.evidence import read_entries
from scripts.demonstration.scenarios import Conversation, wait_until_idle
from scripts.offline_stack.stack import OfflineStack

DAY_S = 86_400
EVERY_TOKEN_OF_A_DAY = '[[script: [{"say": "Done."}, {"usage": {"inputTokens": 20000000}}]]]'


def test_an_agent_that_has_used_up_its_tokens_of_the_day_goes_on_by_itself_the_next_day(
    stack: OfflineStack, target: Target
) -> None:
    conversation = Conversation(
        target, f"spender-{uuid.uuid4().hex[:8]}", on_output=lambda _: None, on_word=lambda _: None, now=stack.now
    )
    conversation.say(f"Use them up. {EVERY_TOKEN_OF_A_DAY}")
    conversation.wait_for("turn_done")
    conversation.say("And now?")
    conversation.wait_for("error")
    wait_until_idle(stack)
    tomorrow = (stack.now() // DAY_S + 1) * DAY_S

    stack.move_clock(tomorrow - stack.now() + 1)
    conversation.wait_for("turn_done")

    kinds = [entry.kind for entry in read_entries(stack.database_dsn, conversation.thread_id)]
    assert kinds == ["user", "assistant", "user", "assistant"]
    (stopped,) = [output for output in conversation.outputs if output.type == "error"]
    assert stopped.text_of("code") == "tokens_of_day_used"
    assert stopped.sent_at < tomorrow <= conversation.outputs[-1].sent_at
