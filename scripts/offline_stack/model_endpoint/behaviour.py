"""How the scripted model answers: by a script if the user wrote one, else by a few rules. From the request alone."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scripts.offline_stack.model_endpoint.document import JsonValue, as_object
from scripts.offline_stack.model_endpoint.news import News, Outcome, newest_text_in, news_for
from scripts.offline_stack.model_endpoint.request import ConverseRequest
from scripts.offline_stack.model_endpoint.script import Script, UnreadableScript, script_in, without_scripts
from scripts.offline_stack.model_endpoint.standpoint import standpoint_of
from scripts.offline_stack.model_endpoint.steps import Call, Refuse, Say, Step
from scripts.offline_stack.model_endpoint.summaries import asks_for_summary, summary_of
from scripts.offline_stack.model_endpoint.wishes import wish_in

_QUOTED_CHARACTERS = 20_000
_SHORT_CHARACTERS = 120
_CHUNKS = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer, and in a few words why it is this one (for the log)."""

    steps: tuple[Step, ...]
    why: str


def decide(request: ConverseRequest, times_seen: Callable[[str], int], asked_at: float) -> Decision:
    """Return what to answer to a valid request.

    ``times_seen`` counts one more request for a text and returns how many came before it; it is called only for a
    script that asks for it, as ``asked_at`` is looked at, in epoch seconds. Everything else depends on nothing but the
    request.
    """
    try:
        scripted = _scripted(request, times_seen, asked_at)
    except UnreadableScript as error:
        return Decision((Refuse("ValidationException", f"The script cannot be read: {error}.", 400),), "bad script")
    return Decision(scripted, "script") if scripted is not None else _by_rule(request)


def _scripted(request: ConverseRequest, times_seen: Callable[[str], int], asked_at: float) -> tuple[Step, ...] | None:
    asked = newest_text_in(request)
    script = script_in(asked.text) if asked else None
    if asked is None or script is None:
        return None
    if script.times:
        return script.turns[0] if script.times[0] <= asked_at < script.times[1] else None
    if script.first:
        return _first_or_then(script, asked.turns_since, lambda: times_seen(asked.text))
    turns = script.events if asked.for_event else script.turns
    return _filled(turns[asked.turns_since], request) if asked.turns_since < len(turns) else None


def _filled(steps: Sequence[Step], request: ConverseRequest) -> tuple[Step, ...]:
    """Return the steps with what they leave open of the conversation."""
    here, results = standpoint_of(request), news_for(request).results
    news = results[-1].text if results else ""

    def filled(step: Step) -> Step:
        match step:
            case Say(chunks):
                return Say(tuple(str(here.filled(chunk, news)) for chunk in chunks))
            case Call(fragments=(whole,)) if "<" in whole and (input_ := as_object(_read(whole))):
                return replace(step, fragments=(json.dumps(here.filled(input_, news)),))
            case _:
                return step

    return tuple(map(filled, steps))


def _read(fragment: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(fragment)
    except ValueError:  # broken on purpose
        return None
    return value


def _first_or_then(script: Script, turns_since: int, times_seen: Callable[[], int]) -> tuple[Step, ...] | None:
    if turns_since:
        return None
    return script.turns[0] if times_seen() < script.first else script.then


def _by_rule(request: ConverseRequest) -> Decision:
    news = news_for(request)
    if news.texts and asks_for_summary(news.texts[-1]):
        return Decision(_said([summary_of(request)]), "summary")
    wish = wish_in(without_scripts(news.texts[-1])) if news.texts else None
    sentences = [_sentence_for(outcome) for outcome in news.results]
    if wish is None:
        sentences += _reply_to_texts(news)
        return Decision(_said(sentences), "quote" if news.results else "text")
    tool = next((tool for tool in request.offered_tools() if tool.name == wish.tool_name), None)
    if tool is None:
        sentences.append(f"You asked for {wish.what}, but no tool named {wish.tool_name} is offered to me.")
        return Decision(_said(sentences), "missing tool")
    arguments = wish.arguments_json(tool.schema)
    call = Call(tool.name, _pieces(arguments) if arguments != "{}" else ())
    return Decision((*_said(sentences), call), f"call {tool.name}")


def _reply_to_texts(news: News) -> list[str]:
    sentences = []
    if news.running_tools and (news.texts or not news.results):
        sentences.append(f"The call of {' and '.join(news.running_tools)} is still running.")
    if news.texts:
        said = " and ".join(f'"{_shortened(without_scripts(text))}"' for text in news.texts)
        sentences.append(f"I am a scripted model. You said: {said}.")
    return sentences or ([] if news.results else ["I am a scripted model, and nothing new was said."])


def _sentence_for(outcome: Outcome) -> str:
    quoted = outcome.text[:_QUOTED_CHARACTERS]
    if outcome.is_error:
        return f"The call of {outcome.tool_name} failed: {quoted}"
    if outcome.is_event:
        return f"Something arrived from {outcome.tool_name}: {quoted}"
    return f"The result of {outcome.tool_name} is: {quoted}"


def _said(sentences: Sequence[str]) -> tuple[Step, ...]:
    return (Say(_pieces("\n".join(sentences))),) if sentences else ()


def _pieces(text: str) -> tuple[str, ...]:
    # A few chunks, as a model streams; the cuts fall anywhere, so that nothing can rely on where they fall.
    size = max(1, -(-len(text) // _CHUNKS))
    return tuple(text[start : start + size] for start in range(0, len(text), size))


def _shortened(text: str) -> str:
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= _SHORT_CHARACTERS else f"{text[:_SHORT_CHARACTERS]}…"
