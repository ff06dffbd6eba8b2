"""Agents in this process, as whoever embeds them uses them."""

import threading

from runtime.local import LocalCall, LocalSystem, LocalTool
from runtime.model.turns import Completion, ModelRequest, ResultBlock, TextBlock
from tests.support.values import calls, says

WAIT_S = 20  # far more than anything here takes


def model_that_builds(request: ModelRequest) -> Completion:
    last = request.messages[-1].blocks[0]
    if isinstance(last, ResultBlock):
        return says("It is green.")
    assert isinstance(last, TextBlock)
    return calls("get_build_status", {"build": 42}) if "green" in last.text else says(f"You said {last.text}.")


class Models:
    def complete(self, request: ModelRequest, timeout_s: float) -> Completion:
        assert timeout_s > 0
        return model_that_builds(request)


def test_an_agent_answers_through_a_tool_that_works_in_a_thread_of_its_own() -> None:
    def start(call: LocalCall) -> None:
        threading.Thread(target=call.answer, args=(f"build {call.arguments['build']}: green",)).start()

    tool = LocalTool("get_build_status", "Tells how a build is.", {"type": "object"}, start)
    with LocalSystem(Models(), [tool]) as system:
        agent = system.agent()
        agent.send_text("Is build 42 green yet?")
        said = []
        for output in agent.outputs(timeout_s=WAIT_S):
            said.append((output["type"], output.get("text") or output.get("display")))
            if output["type"] == "turn_done":
                break
    assert said == [
        ("tool_call", None),
        ("tool_result", "build 42: green"),
        ("text", "It is green."),
        ("turn_done", None),
    ]


def test_many_agents_speak_side_by_side_each_with_its_own_history() -> None:
    with LocalSystem(Models()) as system:
        agents = [system.agent(f"agent-{number}") for number in range(20)]
        for agent in agents:
            agent.send_text(f"I am {agent.thread_id}")
        said = {agent.thread_id: next(agent.outputs(timeout_s=WAIT_S))["text"] for agent in agents}
    assert said == {agent.thread_id: f"You said I am {agent.thread_id}." for agent in agents}


def test_a_long_answer_of_a_tool_travels_by_reference_and_is_shown_cut() -> None:
    tool = LocalTool("get_build_status", "Tells.", {"type": "object"}, lambda call: call.answer("x" * 2_000_000))
    system = LocalSystem(Models(), [tool])
    agent = system.agent()
    agent.send_text("is it green?")
    system.settle()
    assert [output["type"] for output in agent.outputs()] == ["tool_call", "tool_result", "text", "turn_done"]


def test_a_tool_that_cannot_be_started_is_told_to_the_model() -> None:
    tool = LocalTool("get_build_status", "Tells.", {"type": "object"}, lambda call: call.arguments["none"])
    system = LocalSystem(Models(), [tool])
    agent = system.agent()
    agent.send_text("is it green?")
    system.settle()
    assert "could not be started (KeyError)" in str(list(agent.outputs()))


def test_nobody_hears_what_is_said_to_another() -> None:
    system = LocalSystem(Models())
    system.agent("a").send_text("hello")
    system.settle()
    assert list(system.agent("b").outputs()) == []
    assert [output["thread_id"] for output in system.agent("a").outputs()] == ["a", "a"]
