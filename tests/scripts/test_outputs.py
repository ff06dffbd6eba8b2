"""How scripts/chat reads the output queue."""

import io
import json

import pytest
from rich.console import Console

from scripts.commands.messages import JsonObject
from scripts.commands.outputs import Output, OutputOrder, read_output
from scripts.commands.rendering import Screen, render


def output(name: str, seq: int | None, thread_id: str = "root") -> Output:
    return Output(name, "text", thread_id, "root", seq, {"text": name}, sent_at=0.0)


def ids(outputs: list[Output]) -> list[str]:
    return [each.id for each in outputs]


def test_outputs_of_a_thread_are_shown_by_their_number() -> None:
    assert ids(OutputOrder().arrange([output("b", 32), output("a", 16)])) == ["a", "b"]


def test_outputs_of_several_threads_keep_the_places_in_which_they_arrived() -> None:
    arrived = [output("b", 32), output("x", 16, "child"), output("a", 16)]
    assert ids(OutputOrder().arrange(arrived)) == ["a", "x", "b"]


def test_an_output_without_a_number_stays_behind_the_one_it_followed() -> None:
    arrived = [output("a", 16), output("error", None), output("c", 48), output("b", 32)]
    assert ids(OutputOrder().arrange(arrived)) == ["a", "error", "b", "c"]


def test_an_output_that_is_known_is_dropped_also_when_it_comes_much_later() -> None:
    order = OutputOrder()
    order.arrange([output("a", 16)])
    assert ids(order.arrange([output("a", 16), output("b", 32), output("b", 32)])) == ["b"]


def test_a_body_is_read_with_the_fields_of_its_type() -> None:
    body = {"id": "1", "type": "text", "thread_id": "t", "root_thread_id": "t", "seq": 16, "metadata": None}
    read = read_output(json.dumps({**body, "text": "hello"}), sent_at=12.5)
    assert (read.id, read.seq, read.sent_at, read.text_of("text")) == ("1", 16, 12.5, "hello")


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"type": "text", "text": "[bold]as it is[/bold]"}, "agent  [bold]as it is[/bold]"),
        ({"type": "tool_call", "name": "run_build", "arguments": {"seconds": 5}}, 'calls  run_build {"seconds": 5}'),
        ({"type": "tool_result", "display": "done"}, "result done"),
        ({"type": "error", "code": "model", "message": "busy", "retrying": True}, "error  model: busy (trying again)"),
        ({"type": "oauth_required", "auth_url": "https://login.example/"}, "login  https://login.example/"),
        ({"type": "user_choice_complete", "choice_id": "c-1"}, "choice c-1 is closed"),
        ({"type": "view_update", "view_type": "board", "content": {"rows": [1]}}, 'view   board: {"rows": [1]}'),
        (
            {"type": "view_update", "view_type": "board", "content": None, "payload": {"key": "a/b", "size_bytes": 5}},
            'view   board: {"key": "a/b", "size_bytes": 5}',
        ),
        ({"type": "thread_spawned", "child_thread_id": "c", "task": "look"}, "begins c: look"),
        ({"type": "report", "text": "found it"}, "report found it"),
        ({"type": "thread_closed"}, "closed"),
        ({"type": "compacted", "up_to": 7}, "compacted"),
        ({"type": "of_tomorrow"}, "of_tomorrow"),
    ],
)
def test_an_output_is_one_line_for_people(fields: dict[str, object], shown: str) -> None:
    body = {"id": "1", "thread_id": "t", "root_thread_id": "t", "seq": 16, "metadata": None, **fields}
    assert render(read_output(json.dumps(body), sent_at=0.0)).plain == shown


def test_an_output_of_a_child_says_so() -> None:
    child = Output("1", "text", "child", "root", 16, {"text": "hello"}, sent_at=0.0)
    assert render(child).plain == "[child] agent  hello"


def test_what_is_to_be_chosen_is_numbered_from_one_with_its_default_and_its_name() -> None:
    fields: JsonObject = {"choice_id": "c-1", "prompt": "Which?", "choices": ["this", "that"], "default": 1}
    question = Output("1", "user_choice_required", "root", "root", None, fields, sent_at=0.0)
    assert render(question).plain == "choose Which?  (c-1)\n         1  this\n         2  that (default)"


@pytest.mark.parametrize(("shows_children", "shown"), [(False, []), (True, ["agent  hello", "report found it"])])
def test_what_children_do_is_shown_to_whoever_asks_for_it_and_what_they_need_a_person_for_to_everybody(
    shows_children: bool, shown: list[str]
) -> None:
    seen = io.StringIO()
    screen = Screen(Console(file=seen, width=20), shows_children)
    screen.show(Output("1", "text", "child", "root", 16, {"text": "hello"}, sent_at=0.0))
    screen.show(Output("2", "report", "child", "root", 32, {"text": "found it"}, sent_at=0.0))
    screen.show(Output("3", "oauth_required", "child", "root", None, {"auth_url": "https://a.example/"}, sent_at=0.0))
    assert seen.getvalue().splitlines() == [f"[child] {line}" for line in (*shown, "login  https://a.example/")]


def test_what_an_output_would_do_to_the_terminal_is_shown_instead() -> None:
    hostile = Output("1", "text", "root", "root", 16, {"text": "\x1b[2J\x9b31m\u202egnp.exe"}, sent_at=0.0)
    seen = io.StringIO()
    Screen(Console(file=seen, width=200, force_terminal=True, color_system=None)).show(hostile)
    assert seen.getvalue() == "agent  ␛[2J\ufffd31m\ufffdgnp.exe\n"
