"""The input and output queues over FIFO queues in memory."""

from collections.abc import Sequence
from dataclasses import replace

from runtime.adapters.memory.fifo import FifoQueue
from runtime.adapters.memory.fifo_limits import MESSAGE_LIMIT_BYTES, Sending
from runtime.identity import digest
from runtime.model.messages import Message
from runtime.model.outputs import Output
from runtime.ports import Clock, Keyring, RawRecord
from runtime.wire.messages import message_body, message_deduplication_id
from runtime.wire.outputs import output_body


class MemoryQueues:
    def __init__(self, inputs: FifoQueue, outputs: FifoQueue, keyring: Keyring, clock: Clock) -> None:
        self._inputs = inputs
        self._outputs = outputs
        self._keyring = keyring
        self._clock = clock

    def send_inputs(self, messages: Sequence[Message]) -> None:
        for message in messages:
            body = message_body(message, self._keyring.signing(self._clock.now_ms()))
            self._inputs.send(Sending(message.thread_id, message_deduplication_id(message), body))

    def send_outputs(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            self._outputs.send(Sending(output.root_id, output.output_id, output_body(output)))


class MemoryInputQueue:
    def __init__(self, inputs: FifoQueue, dead_letters: FifoQueue) -> None:
        self._inputs = inputs
        self._dead_letters = dead_letters

    def postpone(self, handles: Sequence[str], visibility_s: int) -> None:
        for handle in handles:
            self._inputs.change_visibility(handle, visibility_s)

    def park(self, record: RawRecord, reason: str) -> None:
        parked = Sending(record.group_id, digest("park", record.record_id, length=64), record.body, {"reason": reason})
        # The reason counts towards the limit of a message, and a body may fill it alone.
        fits = parked.size_bytes <= MESSAGE_LIMIT_BYTES
        self._dead_letters.send(parked if fits else replace(parked, attributes={}))
