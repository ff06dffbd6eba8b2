"""Whoever asks is known by one message: the id of one never goes with the metadata of another."""

from runtime.identity import digest
from runtime.model.messages import Message, MessageKey, TextContent
from tests.support.values import says
from tests.support.world import World


def test_of_two_messages_of_the_same_millisecond_one_says_both_who_asks_and_what_comes_back() -> None:
    world = World([says("hello"), says("hello")])
    for name in ("ada", "bob"):
        content = TextContent("hi", {"user_id": name})
        message = Message("t", MessageKey("text", f"user:{name}"), content, digest(name), world.clock.now_ms())
        world.ports.queues.send_inputs([message])
        world.settle()
    person = world.thread().row.person
    assert person.metadata == {"user_id": person.user_id}
