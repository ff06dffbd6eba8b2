"""The last word of a child, on its way while the thread that hears it would end: one that was made for an event."""

from dataclasses import replace

from runtime import phrases
from runtime.batch import run_batch
from runtime.identity import child_id, event_message_id
from runtime.items import plain_text
from runtime.model.entries import Event
from runtime.model.turns import Completion, ModelRequest
from tests.support.values import calls, result_message, says
from tests.support.world import World
from tests.unit.test_subscriptions import call_of, confirmation, event, send


class Answers:
    """A model with a script for the root, one for the thread of an event, and one for the child of that."""

    def __init__(self) -> None:
        self.of_root = [calls("run_build"), says("I watch.")]
        self.of_event: list[Completion] = []
        self.of_child = [calls("run_build")]

    def __call__(self, request: ModelRequest) -> Completion:
        seen = str(request.messages)
        if "Its task is yours" in seen:
            return self.of_child.pop(0)
        return (self.of_event if phrases.HANDLE_ONE_EVENT in seen else self.of_root).pop(0)


class Overtaken:
    """The thread of an event has been handed what somebody says, when its child closes with a last word."""

    def __init__(self) -> None:
        self.model = Answers()
        self.world = World(self.model)
        self.world.say("watch it")
        self.world.settle()
        send(self.world, confirmation(call_of(self.world)))
        self.thread_id = child_id("t", event_message_id(call_of(self.world), "1"))
        spawns = calls("spawn_thread", {"instructions": "look", "child_of": ["t", self.thread_id]})
        self.model.of_event = [spawns, says("I wait for it.")]
        send(self.world, event(call_of(self.world)))
        self.world.system.agent(self.thread_id).send_text("hello")
        self.handed_out = self.world.system.inputs.receive()
        self._close_child()

    def _close_child(self) -> None:
        child = self.world.thread(self.thread_id).family.children[0].thread_id
        self.model.of_child = [calls("close_thread", {"thread_id": child, "report_to_parent": "found it"})]
        built = result_message(self.world.calls[1].call_id)
        self.world.ports.queues.send_inputs([replace(built, thread_id=child)])
        self.world.settle()
        assert self.world.thread(child).row.closed

    def handle(self) -> None:
        """Let the thread handle what it has been handed, and nothing else."""
        run_batch([one.record for one in self.handed_out], self.world.system.workers, 300)
        for one in self.handed_out:
            self.world.system.inputs.delete(one.record.handle)

    @property
    def is_closed(self) -> bool:
        return self.world.thread(self.thread_id).row.closed

    @property
    def heard(self) -> list[str]:
        bodies = [entry.body for entry in self.world.thread(self.thread_id).entries]
        return [plain_text(body.items) for body in bodies if isinstance(body, Event) and body.source == "report"]


def test_a_thread_of_an_event_hears_a_last_word_that_was_on_its_way_when_its_turn_ended() -> None:
    overtaken = Overtaken()
    overtaken.model.of_event = [says("Hello."), says("It has found it.")]
    overtaken.handle()
    assert not overtaken.is_closed
    overtaken.world.settle()
    assert [text.splitlines()[-1] for text in overtaken.heard] == ["found it"]
    assert overtaken.is_closed


def test_a_thread_of_an_event_may_wait_for_a_last_word_that_is_on_its_way() -> None:
    overtaken = Overtaken()
    overtaken.model.of_event = [calls("sleep_until_event_or_input"), says("It has found it.")]
    overtaken.handle()
    overtaken.world.settle()
    assert len(overtaken.heard) == 1
    assert overtaken.is_closed
