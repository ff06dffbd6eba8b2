"""How choices that a tool leaves to its user are answered, by the line in scripts/chat and by scripts/enqueue."""

import json

import pytest

from runtime.model.messages import ChoiceAnswerContent, MessageKey
from runtime.ports import RawRecord
from runtime.wire.messages import message_deduplication_id, parse_message
from scripts.commands.choosing import OpenChoices
from scripts.commands.enqueue import message_of, parser
from scripts.commands.messages import ChoiceAnswer, JsonValue, MessageError, TextMessage, UserMessage
from scripts.commands.outputs import Output
from tests.support.samples import keyring


def output(output_type: str, choice_id: str, thread_id: str = "root", **fields: JsonValue) -> Output:
    return Output("1", output_type, thread_id, "root", None, {"choice_id": choice_id, **fields}, sent_at=0.0)


def asked(choice_id: str, count: int, thread_id: str = "root") -> Output:
    return output("user_choice_required", choice_id, thread_id, choices=["this"] * count)


def said(choices: OpenChoices, line: str) -> UserMessage:
    return choices.message_of("root", line)


def test_the_number_of_an_open_choice_answers_it_in_the_thread_that_asks() -> None:
    choices = OpenChoices()
    choices.see(asked("c-1", 3, "child"))
    assert said(choices, " 3 ") == ChoiceAnswer("child", "c-1", 3)


@pytest.mark.parametrize("line", ["0", "4", "-1", "03", "2nd", "two", "³", "1.0"])
def test_what_is_no_number_of_a_choice_is_a_text(line: str) -> None:
    choices = OpenChoices()
    choices.see(asked("c-1", 3))
    message = said(choices, line)
    assert isinstance(message, TextMessage)
    assert message.text == line


def test_a_number_is_a_text_where_nothing_is_asked() -> None:
    assert isinstance(said(OpenChoices(), "1"), TextMessage)


def test_of_several_choices_the_newest_is_answered_first_and_each_once() -> None:
    choices = OpenChoices()
    for choice_id in ("c-1", "c-2"):
        choices.see(asked(choice_id, 2))
    assert said(choices, "1") == ChoiceAnswer("root", "c-2", 1)
    assert said(choices, "1") == ChoiceAnswer("root", "c-1", 1)
    assert isinstance(said(choices, "1"), TextMessage)


def test_a_choice_that_is_closed_is_not_answered_any_more() -> None:
    choices = OpenChoices()
    choices.see(asked("c-1", 2))
    choices.see(output("user_choice_complete", "c-1"))
    assert isinstance(said(choices, "1"), TextMessage)


def test_the_runtime_reads_the_answer_counted_from_zero_and_knows_it_by_the_choice() -> None:
    answer = ChoiceAnswer("t", "choice:call_1:k", 2)
    message = parse_message(RawRecord("sqs-id", "handle", "t", answer.body, 1, 0, 0), keyring())
    assert message.key == MessageKey("user_choice_answer", answer.message_id)
    assert message.content == ChoiceAnswerContent("choice:call_1:k", 1)
    assert message_deduplication_id(message) == answer.deduplication_id


def test_the_second_answer_to_a_choice_is_a_repeat_of_the_first_to_the_queue() -> None:
    first, second = (ChoiceAnswer("t", "c-1", number) for number in (1, 2))
    assert first.deduplication_id == second.deduplication_id
    assert first.deduplication_id != ChoiceAnswer("t", "c-2", 1).deduplication_id


@pytest.mark.parametrize(("thread_id", "choice_id", "number"), [("two words", "c", 1), ("t", "", 1), ("t", "c", 0)])
def test_an_answer_that_could_answer_nothing_is_refused_before_it_is_sent(
    thread_id: str, choice_id: str, number: int
) -> None:
    with pytest.raises(MessageError):
        ChoiceAnswer(thread_id, choice_id, number)


def enqueued(words: str) -> UserMessage:
    return message_of(parser().parse_args(["--thread", "t", *words.split()]))


def test_enqueue_says_a_text_or_answers_a_choice() -> None:
    text = enqueued("--text yes --message-id m-1")
    assert isinstance(text, TextMessage)
    assert json.loads(text.body)["message_id"] == "m-1"
    assert enqueued("--choice c-1 --select 2") == ChoiceAnswer("t", "c-1", 2)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--choice c-1", "--select"),
        ("--text yes --select 1", "--choice"),
        ("--choice c-1 --select 1 --message-id m", "--message-id"),
        ("--choice c-1 --select 1 --metadata {}", "--metadata"),
    ],
)
def test_words_that_do_not_go_together_are_refused(words: str, named: str) -> None:
    with pytest.raises(MessageError, match=named):
        enqueued(words)
