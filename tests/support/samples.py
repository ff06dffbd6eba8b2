"""Messages, records and outputs to try things with."""

from runtime.adapters.memory.keyring import FixedKeyring
from runtime.model.entries import TextItem
from runtime.model.messages import Content, Message, MessageKey, ResultContent, TextContent, WakeContent
from runtime.model.outputs import Output
from runtime.ports import Key
from runtime.wire.contents import message_type
from runtime.wire.messages import body_hash

THREAD = "thread-1"
KEY = Key("k1", b"a secret of a test", 0)


def keyring() -> FixedKeyring:
    return FixedKeyring(KEY)


def message(content: Content, message_id: str, thread_id: str = THREAD) -> Message:
    return Message(thread_id, MessageKey(message_type(content), message_id), content, body_hash(content))


def text(said: str, message_id: str = "user:1", thread_id: str = THREAD) -> Message:
    return message(TextContent(said), message_id, thread_id)


def wake(version: int = 1, thread_id: str = THREAD) -> Message:
    return message(WakeContent(), f"wake:{thread_id}:{version}", thread_id)


def result(call_id: str, said: str, thread_id: str = THREAD) -> Message:
    return message(ResultContent(call_id, (TextItem(said),)), f"result:{call_id}", thread_id)


def output(output_id: str, said: str = "hello", root_id: str = THREAD, seq: int | None = 1) -> Output:
    return Output(output_id, "text", root_id, root_id, seq, None, {"text": said})
