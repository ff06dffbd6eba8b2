"""Outputs as lines for people. Apart from `scripts/chat`, because other commands show conversations, too."""

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from scripts.commands.messages import JsonValue
from scripts.commands.outputs import Output
from scripts.commands.terminal import harmless

SHOWN_CHARACTERS = 500


# What child threads need a person for.
_OF_CHILDREN = frozenset({"user_choice_required", "user_choice_complete", "oauth_required", "view_update", "error"})


@dataclass(frozen=True, slots=True)
class Screen:
    """Where outputs are shown. What child threads do and say among themselves is for those who ask for it."""

    console: Console
    shows_children: bool = False

    def show(self, output: Output) -> None:
        if not output.is_of_child or output.type in _OF_CHILDREN or self.shows_children:
            self.console.print(render(output), soft_wrap=True)  # a link that a newline breaks is none


def render(output: Output) -> Text:
    """One output as a line for people. The output's own text is never read as markup, nor by the terminal."""
    line = _render(output)
    line.plain = harmless(line.plain)
    return line


def _render(output: Output) -> Text:
    prefix = f"[{output.thread_id}] " if output.is_of_child else ""
    match output.type:
        case "text":
            return Text.assemble((f"{prefix}agent  ", "bold green"), output.text_of("text"))
        case "tool_call":
            call = f"{output.text_of('name')} {output.text_of('arguments')}"
            return Text.assemble((f"{prefix}calls  ", "bold cyan"), call)
        case "tool_result":
            return Text.assemble((f"{prefix}result ", "cyan"), output.text_of("display")[:SHOWN_CHARACTERS])
        case "error":
            retrying = " (trying again)" if output.fields.get("retrying") else ""
            said = f"{output.text_of('code')}: {output.text_of('message')}{retrying}"
            return Text.assemble((f"{prefix}error  ", "bold red"), said)
        case "turn_done":
            return Text(f"{prefix}turn done{_tokens(output.fields.get('usage'))}", style="dim")
        case _:
            return _render_news(output, prefix)


def _render_news(output: Output, prefix: str) -> Text:
    """What tools ask of their user, and what becomes of threads."""
    match output.type:
        case "oauth_required":
            return Text.assemble((f"{prefix}login  ", "bold yellow"), output.text_of("auth_url"))
        case "user_choice_required":
            return Text.assemble((f"{prefix}choose ", "bold yellow"), _question(output))
        case "user_choice_complete":
            return Text(f"{prefix}choice {output.text_of('choice_id')} is closed", style="dim")
        case "view_update":
            seen = output.text_of("content" if "payload" not in output.fields else "payload")
            return Text.assemble((f"{prefix}view   ", "magenta"), f"{output.text_of('view_type')}: ", _short(seen))
        case "thread_spawned":
            task = f"{output.text_of('child_thread_id')}: {_short(output.text_of('task'))}"
            return Text.assemble((f"{prefix}begins ", "magenta"), task)
        case "report":
            return Text.assemble((f"{prefix}report ", "magenta"), _short(output.text_of("text")))
        case "thread_closed":
            return Text(f"{prefix}closed", style="magenta")
        case other:
            return Text(f"{prefix}{other}", style="magenta")


def render_user(text: str) -> Text:
    """What the user said, as a line beside those of `render`."""
    return Text.assemble(("user   ", "bold"), harmless(text))


def _question(output: Output) -> str:
    choices = output.fields.get("choices")
    lines = [
        f"\n         {number}  {choice}{' (default)' if number - 1 == output.fields.get('default') else ''}"
        for number, choice in enumerate(choices if isinstance(choices, list) else [], start=1)
    ]
    return "".join([output.text_of("prompt"), f"  ({output.text_of('choice_id')})", *lines])


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]} …"


def _tokens(usage: JsonValue) -> str:
    if not isinstance(usage, dict):
        return ""
    return ", " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in usage.items() if count)
