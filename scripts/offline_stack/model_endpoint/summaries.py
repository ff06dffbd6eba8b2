"""How the scripted model sums a conversation up when it is asked to: what was said first and last, and how much."""

import re

from scripts.offline_stack.model_endpoint.request import ConverseRequest, Text
from scripts.offline_stack.model_endpoint.script import without_scripts

_ASKED = re.compile(r"\bwrite a summary\b", re.IGNORECASE)
_QUOTED_CHARACTERS = 40


def asks_for_summary(text: str) -> bool:
    return _ASKED.search(text) is not None


def summary_of(request: ConverseRequest) -> str:
    """Return a few words about everything in front of the text that asks for them."""
    texts = [
        without_scripts(block.text)
        for message in request.messages
        if message.role == "user"
        for block in message.blocks
        if isinstance(block, Text)
    ][:-1]
    told = f", from {_quoted(texts[0])} to {_quoted(texts[-1])}" if texts else ""
    return f"A summary of {len(request.messages)} messages{told}."


def _quoted(text: str) -> str:
    return f'"{" ".join(text.split())[:_QUOTED_CHARACTERS]}"'
