"""A request for a summary, made smaller until it may fit."""

from runtime import phrases
from runtime.model.entries import ImageItem, Item, TextItem
from runtime.model.turns import Block, CallBlock, ModelMessage, ModelRequest, ResultBlock, TextBlock
from runtime.shrinking import shrunk
from tests.support.values import tool

SUMMARY = TextBlock(f"{phrases.SUMMARY_BEGINS}\n\n{'s' * 9_000}")
LEFT_OUT = (TextItem(phrases.LEFT_OUT_OF_SUMMARY),)


def request(*turns: list[Block]) -> ModelRequest:
    """A request of these turns, users' and assistant's in turn, behind which a summary is asked for."""
    messages = [ModelMessage("assistant" if number % 2 else "user", tuple(turn)) for number, turn in enumerate(turns)]
    return ModelRequest("", (), (*messages, ModelMessage("user", (TextBlock(phrases.SUMMARISE),))), 100)


def built(item: Item, name: str = "c") -> tuple[list[Block], list[Block]]:
    return [CallBlock(name, "run_build", {})], [ResultBlock(name, (item,), "success")]


def text(chars: int) -> list[Block]:
    return [TextBlock("t" * chars)]


def results_of(made: ModelRequest) -> list[tuple[Item, ...]]:
    return [block.items for message in made.messages for block in message.blocks if isinstance(block, ResultBlock)]


def test_what_fits_stays_as_it_is() -> None:
    whole = request(text(30), *built(TextItem("x" * 300)), text(30))
    assert shrunk(whole, 400) == whole


def test_old_results_go_first_and_no_more_of_them_than_have_to() -> None:
    large = TextItem("x" * 9_000)
    made = shrunk(request(text(30), *built(large, "c1"), *built(large, "c2"), *built(large, "c3"), text(30)), 6_300)
    assert results_of(made) == [LEFT_OUT, (large,), (large,)]


def test_an_image_counts_as_large() -> None:
    made = shrunk(request(text(30), *built(ImageItem("aGk=", "image/png")), text(30)), 4_000)
    assert results_of(made) == [LEFT_OUT]


def test_a_result_that_is_smaller_than_what_would_stand_for_it_stays() -> None:
    made = shrunk(request(text(30), *built(TextItem("ok")), text(9_000)), 1_000)
    assert results_of(made) == [(TextItem("ok"),)]


def test_then_long_texts_and_arguments_are_cut_and_everything_keeps_its_place() -> None:
    call = CallBlock("c", "write", {"text": "x" * 9_000})
    whole = request(text(9_000), [call], [ResultBlock("c", (TextItem("ok"),), "success")], text(30))
    made = shrunk(whole, 1_000)
    assert [(message.role, len(message.blocks)) for message in made.messages] == [
        (message.role, len(message.blocks)) for message in whole.messages
    ]
    first, second = made.messages[0].blocks[0], made.messages[1].blocks[0]
    assert isinstance(first, TextBlock)
    assert first.text.startswith("t" * 2_000)
    assert len(first.text) < 2_100
    assert second == CallBlock("c", "write", {"arguments": phrases.LEFT_OUT_OF_SUMMARY})


def test_at_last_whole_exchanges_go_oldest_first() -> None:
    made = shrunk(request(*[text(1_500)] * 10), 2_200)
    assert len(made.messages) == 5
    assert made.messages[0] == ModelMessage("user", (TextBlock(phrases.LEFT_OUT_OF_SUMMARY), *text(1_500)))
    assert made.messages[-1].blocks == (TextBlock(phrases.SUMMARISE),)


def test_an_exchange_never_begins_with_a_result() -> None:
    made = shrunk(request(text(1_500), *built(TextItem("ok")), text(1_500), text(1_500), text(1_500)), 1_500)
    assert results_of(made) == []
    assert made.messages[0].blocks[-1] == text(1_500)[0]


def test_an_earlier_summary_stays_whatever_goes() -> None:
    made = shrunk(request([SUMMARY, *text(1_500)], *[text(1_500)] * 9), 4_000)
    assert made.messages[0].blocks[:2] == (SUMMARY, TextBlock(phrases.LEFT_OUT_OF_SUMMARY))


def test_tools_and_system_prompt_count() -> None:
    described = tool("run_build", {"type": "object", "description": "d" * 9_000})
    whole = request(text(30), *built(TextItem("x" * 9_000)), text(30))
    assert results_of(shrunk(whole, 4_000)) == [(TextItem("x" * 9_000),)]
    with_tools = ModelRequest("", (described,), whole.messages, 100)
    assert results_of(shrunk(with_tools, 4_000)) == [LEFT_OUT]
    with_prompt = ModelRequest("p" * 9_000, (), whole.messages, 100)
    assert results_of(shrunk(with_prompt, 4_000)) == [LEFT_OUT]
