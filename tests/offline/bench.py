"""A deployed stack with tool servers of our own attached: calls that wait until a test answers them."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scripts.commands.messages import TextMessage
from scripts.commands.target import offline_target
from scripts.offline_stack.stack import OfflineStack
from tests.offline.attached import attached, manifest, offers
from tests.offline.callers import Call, Receiver
from tests.offline.outside import Outside
from tests.support.tool_server import Got, ScriptedServer, scripted_server

PATIENCE_S = 30.0
CALL = '[[script: [{"call": "TOOL", "input": {}}]]]'


@dataclass(frozen=True)
class Bench:
    """The server `waits` takes calls of `wait` and answers none; `quick` with `quick_wait` does as it is planned to."""

    outside: Outside
    server: ScriptedServer
    receiver: Receiver

    def begin(self, name: str, tool: str = "wait") -> str:
        """Have a thread call a tool; return the thread's id."""
        thread_id = f"{self.outside.run}-{name}"
        self.outside.send(thread_id, TextMessage(thread_id, self.text_for(thread_id, tool)).body)
        return thread_id

    def text_for(self, thread_id: str, tool: str) -> str:
        """What to say to have the model call a tool. The thread's id in it is found again in the model's log."""
        return f"I am in {thread_id}. {CALL.replace('TOOL', tool)}"

    def requests_of(self, thread_id: str, server: str = "waits") -> list[Got]:
        """The calls of a thread as they came to the tool server."""
        found = self.server.requests(f"/{server}/call")
        return [got for got in found if json.loads(got.body)["group_id"] == thread_id]

    def call_of(self, thread_id: str, server: str = "waits") -> Call:
        """Wait for the call of a thread to reach the tool server."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := self.requests_of(thread_id, server)):
            assert time.monotonic() < deadline, f"no call of {thread_id} came within {PATIENCE_S:.0f} s"
            time.sleep(0.05)
        body = json.loads(found[0].body)
        return Call(body["group_id"], body["id"], body["callback_url"])

    def waiting_call(self, name: str) -> Call:
        call = self.call_of(self.begin(name))
        self.outside.settle()
        return call

    def results(self, call: Call) -> list[str]:
        """What history holds as results of the call, placeholders and events too."""
        return [entry.text for entry in self.outside.history(call.thread_id) if entry.kind in ("tool_result", "event")]


@contextmanager
def bench_on(stack: OfflineStack) -> Iterator[Bench]:
    outside = Outside(stack, offline_target(stack))
    outside.settle()
    with scripted_server() as server:
        offers(server, "waits", manifest("wait"))
        offers(server, "quick", manifest("quick_wait"))
        with attached(stack, server.url, ["waits", "quick"]):
            yield Bench(outside, server, Receiver(stack.outputs["ReceiverUrl"]))
            outside.settle()
