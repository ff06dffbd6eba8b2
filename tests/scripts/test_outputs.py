"""How scripts/chat reads the output queue."""

import json

import pytest

from scripts.commands.chat import render
from scripts.commands.outputs import Output, OutputOrder, read_output


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
        ({"type": "thread_spawned"}, "thread_spawned"),
    ],
)
def test_an_output_is_one_line_for_people(fields: dict[str, object], shown: str) -> None:
    body = {"id": "1", "thread_id": "t", "root_thread_id": "t", "seq": 16, "metadata": None, **fields}
    assert render(read_output(json.dumps(body), sent_at=0.0)).plain == shown


def test_an_output_of_a_child_says_so() -> None:
    child = Output("1", "text", "child", "root", 16, {"text": "hello"}, sent_at=0.0)
    assert render(child).plain == "[child] agent  hello"
