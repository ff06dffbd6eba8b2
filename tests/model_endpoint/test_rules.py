import pytest

from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.rules import RULES, refusal_of
from scripts.offline_stack.model_endpoint.signing import signature_of
from tests.model_endpoint.broken import BROKEN_REQUESTS
from tests.model_endpoint.broken.broken_request import BrokenRequest
from tests.model_endpoint.support import (
    CACHE_POINT,
    GET_TIME,
    HELLO,
    answered,
    assistant,
    body,
    image,
    png,
    read,
    reasoning,
    result,
    text,
    use,
    user,
    with_tools,
)

_each_broken_request = pytest.mark.parametrize("broken", BROKEN_REQUESTS, ids=lambda broken: broken.wrong)


@_each_broken_request
def test_a_broken_request_is_refused_by_its_rule_in_the_services_words(broken: BrokenRequest) -> None:
    refusal = refusal_of(read(broken.body, broken.limits))

    assert refusal is not None
    assert refusal.rule == broken.rule.__name__
    assert broken.told in refusal.message


@_each_broken_request
def test_a_broken_request_passes_when_just_its_rule_is_left_out(broken: BrokenRequest) -> None:
    other_rules = [rule for rule in RULES if rule is not broken.rule]

    assert refusal_of(read(broken.body, broken.limits), other_rules) is None


def test_every_rule_of_the_table_has_a_request_it_refuses() -> None:
    assert {rule.__name__ for rule in RULES} == {broken.rule.__name__ for broken in BROKEN_REQUESTS}


SOUND_REQUESTS: dict[str, JsonObject] = {
    "a first word": body(HELLO),
    "a call answered, then a text": with_tools(
        HELLO, assistant(text("a moment"), use("call_1")), user(answered("call_1", "noon"), text("and in Paris?"))
    ),
    "two calls answered in another order": with_tools(
        HELLO, assistant(use("a.b:c-1"), use("call_2")), user(answered("call_2", "1"), answered("a.b:c-1", "2"))
    ),
    "an error with content": with_tools(HELLO, assistant(use("c")), user(result("c", text("no"), status="error"))),
    "a result that is JSON or an image": with_tools(
        HELLO, assistant(use("c")), user(result("c", {"json": {"time": "noon"}}, image(png())))
    ),
    "four cache points": body(
        HELLO,
        assistant(text("hi"), CACHE_POINT),
        user(text("go on"), CACHE_POINT),
        system=[text("be kind"), CACHE_POINT],
        toolConfig={"tools": [GET_TIME, CACHE_POINT]},
    ),
    "reasoning as it came": body(
        HELLO, assistant(reasoning("because", signature_of("because", "because")), text("hi")), HELLO
    ),
    "reasoning that was not shown": body(
        HELLO, assistant(reasoning("", signature_of("because", "")), text("hi")), HELLO
    ),
    "adaptive thinking": body(HELLO, additionalModelRequestFields={"thinking": {"type": "adaptive"}}),
    "twenty images": body(user(*[image(png(8_000, 8_000))] * 20)),
}


@pytest.mark.parametrize("sound", SOUND_REQUESTS.values(), ids=SOUND_REQUESTS.keys())
def test_a_sound_request_passes_every_rule(sound: JsonObject) -> None:
    assert refusal_of(read(sound)) is None


ODD_BODIES: dict[str, JsonObject] = {
    "nothing": {},
    "messages that are a number": {"messages": 5},
    "a message that is text": {"messages": ["hello"]},
    "content that is text": {"messages": [{"role": "user", "content": "hello"}]},
    "a block that is a list": {"messages": [{"role": "user", "content": [[]]}]},
    "a tool use that is text": {"messages": [{"role": "user", "content": [{"toolUse": "x"}]}]},
    "an image that is no base64": {
        "messages": [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": "?"}}}]}]
    },
}


@pytest.mark.parametrize("odd", ODD_BODIES.values(), ids=ODD_BODIES.keys())
def test_a_body_of_any_shape_is_refused_and_breaks_nothing(odd: JsonObject) -> None:
    assert refusal_of(read(odd)) is not None
    for rule in RULES:
        rule(read(odd))
