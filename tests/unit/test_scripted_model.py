"""What only the scripted model has: functions, and an end of its script."""

import pytest

from runtime.adapters.memory.model import ScriptedModel
from runtime.model.entries import Usage
from runtime.model.turns import Completion, ModelMessage, ModelRequest, SaidText, TextBlock


def asking(text: str) -> ModelRequest:
    return ModelRequest("", (), (ModelMessage("user", (TextBlock(text),)),), max_tokens=100)


def saying(text: str) -> Completion:
    return Completion((SaidText(text),), "end_turn", Usage(1, 1))


def test_a_function_answers_from_the_request_alone() -> None:
    model = ScriptedModel(lambda request: saying(str(len(request.messages))))
    assert model.complete(asking("a"), 1) == model.complete(asking("b"), 1) == saying("1")


def test_one_request_more_than_the_script_has_answers_is_a_mistake_of_its_writer() -> None:
    model = ScriptedModel([saying("only")])
    model.complete(asking("a"), 1)
    with pytest.raises(LookupError, match="no further answer"):
        model.complete(asking("b"), 1)
