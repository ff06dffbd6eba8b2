"""Choices, in memory and in DynamoDB."""

from dataclasses import replace

import pytest

from runtime.adapters.aws.dynamodb_choices import DynamoChoices
from runtime.adapters.memory.choices import MemoryChoices
from runtime.model.choices import Choice
from runtime.ports import Choices
from tests.support.clients import create_state_table, dynamodb_client
from tests.support.samples import THREAD

CHOICE = Choice(
    thread_id=THREAD,
    choice_id="ch_1",
    call_id="call_1",
    toolset="builds",
    prompt="Which färbe?",
    choices=("red", "", "grün"),
    default=2,
    response_url="https://builds.example/choose",
)


@pytest.fixture(params=["memory", "dynamodb"])
def choices(request: pytest.FixtureRequest) -> Choices:
    if request.param == "memory":
        return MemoryChoices()
    client = dynamodb_client(request.getfixturevalue("aws_endpoint"))
    return DynamoChoices(client, create_state_table(client))


def test_a_choice_nobody_has_put_is_unknown(choices: Choices) -> None:
    assert choices.get(THREAD, "ch_1") is None
    assert choices.of_thread(THREAD) == ()


def test_a_choice_comes_back_as_it_was(choices: Choices) -> None:
    choices.put(CHOICE)

    assert choices.get(THREAD, "ch_1") == CHOICE
    assert choices.of_thread(THREAD) == (CHOICE,)


def test_a_choice_begins_open(choices: Choices) -> None:
    choices.put(replace(CHOICE, answered=1, completed=True))

    assert choices.get(THREAD, "ch_1") == CHOICE


def test_a_choice_that_is_put_again_stays_as_it_was(choices: Choices) -> None:
    choices.put(CHOICE)
    choices.put(replace(CHOICE, prompt="Something else?"))
    assert choices.get(THREAD, "ch_1") == CHOICE

    choices.complete(THREAD, "ch_1", 1)
    choices.put(CHOICE)
    assert choices.get(THREAD, "ch_1") == replace(CHOICE, answered=1, completed=True)


@pytest.mark.parametrize("answered", [0, 2, None])
def test_a_completed_choice_says_what_was_taken_and_is_no_longer_open(choices: Choices, answered: int | None) -> None:
    choices.put(CHOICE)
    choices.complete(THREAD, "ch_1", answered)

    assert choices.get(THREAD, "ch_1") == replace(CHOICE, answered=answered, completed=True)
    assert choices.of_thread(THREAD) == ()


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 0), (1, None), (None, 1)])
def test_the_first_completion_counts(choices: Choices, first: int | None, second: int | None) -> None:
    choices.put(CHOICE)
    choices.complete(THREAD, "ch_1", first)
    choices.complete(THREAD, "ch_1", second)

    assert choices.get(THREAD, "ch_1") == replace(CHOICE, answered=first, completed=True)


def test_completing_what_is_not_there_makes_nothing(choices: Choices) -> None:
    choices.complete(THREAD, "ch_1", 1)

    assert choices.get(THREAD, "ch_1") is None


def test_a_call_may_ask_more_than_once_and_each_of_its_choices_is_apart(choices: Choices) -> None:
    asked = [replace(CHOICE, choice_id=f"ch_{number}") for number in (3, 1, 2)]
    for choice in asked:
        choices.put(choice)
    choices.put(replace(CHOICE, choice_id="ch_4", call_id="call_2"))
    choices.complete(THREAD, "ch_2", 0)

    assert choices.of_thread(THREAD)[:2] == (asked[1], asked[0])
    assert [each.choice_id for each in choices.of_thread(THREAD)[2:]] == ["ch_4"]


def test_threads_do_not_see_each_others_choices(choices: Choices) -> None:
    choices.put(CHOICE)
    choices.complete("another", "ch_1", 1)

    assert choices.get("another", "ch_1") is None
    assert choices.of_thread("another") == ()
    assert choices.get(THREAD, "ch_1") == CHOICE
