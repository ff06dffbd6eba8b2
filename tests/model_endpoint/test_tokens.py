from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.tokens import input_tokens, usage_of
from tests.model_endpoint.support import CACHE_POINT, HELLO, assistant, body, image, png, read, text, user

LONG = text("a" * 8_000)


def test_four_characters_are_about_one_token() -> None:
    assert 2_000 <= input_tokens(read(body(user(LONG)))) < 2_010


def test_an_image_counts_the_same_whatever_its_bytes() -> None:
    small, large = (read(body(user(image(png() + bytes(size))))) for size in (0, 100_000))

    assert input_tokens(small) == input_tokens(large) == 1_600


def test_without_cache_points_nothing_is_cached() -> None:
    usage = usage_of(read(body(user(LONG))), output_tokens=5)

    assert (usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens) == (0, 0, 5)


def test_a_conversations_first_request_writes_its_prefix() -> None:
    request = read(body(HELLO, system=[LONG, CACHE_POINT]))

    usage = usage_of(request, output_tokens=5)

    assert usage.cache_read_tokens == 0
    assert usage.cache_write_tokens >= 2_000
    assert usage.input_tokens + usage.cache_write_tokens == input_tokens(request)


def test_a_later_request_reads_its_prefix_and_writes_what_is_new() -> None:
    messages: list[JsonObject] = [HELLO, assistant(text("hi")), user(LONG, CACHE_POINT)]
    request = read(body(*messages, system=[LONG, CACHE_POINT]))

    usage = usage_of(request, output_tokens=5)

    assert usage.cache_read_tokens >= 2_000
    assert usage.cache_write_tokens >= 2_000
    assert usage.as_event()["totalTokens"] == input_tokens(request) + 5


def test_a_prefix_too_short_to_cache_is_ignored_in_silence() -> None:
    usage = usage_of(read(body(user(text("hello"), CACHE_POINT))), output_tokens=5)

    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (0, 0)
