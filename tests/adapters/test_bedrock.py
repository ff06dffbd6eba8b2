"""The Bedrock adapter's conversation with the network: time limits, silence, one request per call, kept connections."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from runtime.adapters.aws.bedrock_request import BedrockOptions
from runtime.errors import CutByDeadline, ModelUnavailable
from runtime.model.entries import TextItem
from runtime.model.turns import (
    Block,
    CachePoint,
    CallBlock,
    ModelMessage,
    ModelRequest,
    Part,
    ReasoningBlock,
    ResultBlock,
    SaidText,
    TextBlock,
    Thought,
    ToolSpec,
    WantedCall,
)
from scripts.offline_stack.model_endpoint.eventstream import event_frame, exception_frame
from tests.support.bedrock import asking, model_at, request_playing, serving

QUICK = BedrockOptions("test.model", stall_s=0.3)
PATIENT = BedrockOptions("test.model", stall_s=60)
HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nTransfer-Encoding: chunked\r\n\r\n"
UNCHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nConnection: close\r\n\r\n"
HALF_AN_ANSWER = event_frame("messageStart", {"role": "assistant"}) + event_frame(
    "contentBlockDelta", {"delta": {"text": "half"}, "contentBlockIndex": 0}
)

Behaviour = Callable[[socket.socket, Event], None]


class RawServer:
    """A server that knows no protocol: it hands every connection to a behaviour, and counts what came."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.closing = Event()
        self.connections = 0
        self.requests = 0
        self.listener = socket.create_server(("127.0.0.1", 0))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        threads = []
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                break
            self.connections += 1
            threads.append(Thread(target=self._answer, args=(connection,)))
            threads[-1].start()
        for thread in threads:
            thread.join()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(5)
            try:
                read_request(connection)
                self.requests += 1
                self.behaviour(connection, self.closing)
            except OSError:
                pass  # the client hung up, as it should


def read_request(connection: socket.socket) -> None:
    """Take one whole request off the connection, which may arrive in any number of pieces."""
    reader = connection.makefile("rb")
    size_bytes = 0
    while (line := reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size_bytes = int(value)
    if len(reader.read(size_bytes)) != size_bytes or not size_bytes:
        raise ConnectionError("the client hung up")


@contextmanager
def raw_server(behaviour: Behaviour) -> Iterator[RawServer]:
    server = RawServer(behaviour)
    thread = Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        thread.join()


def says_nothing(_connection: socket.socket, closing: Event) -> None:
    closing.wait(30)


def hangs_up(_connection: socket.socket, _closing: Event) -> None:
    return


def sends(content: bytes) -> Behaviour:
    def behaviour(connection: socket.socket, closing: Event) -> None:
        connection.sendall(content)
        closing.wait(30)

    return behaviour


def sends_and_closes(content: bytes) -> Behaviour:
    def behaviour(connection: socket.socket, _closing: Event) -> None:
        connection.sendall(content)

    return behaviour


def drips(connection: socket.socket, closing: Event) -> None:
    """A byte at a time, so that no single wait is ever long."""
    connection.sendall(in_a_chunk(HALF_AN_ANSWER) + b"%x\r\n" % 10_000)
    while not closing.wait(0.02):
        connection.sendall(b"x")


def floods(connection: socket.socket, closing: Event) -> None:
    """More and more of a good answer, without a pause in which anybody would notice the time."""
    chunk = b"%x\r\n%b\r\n" % (len(HALF_AN_ANSWER), HALF_AN_ANSWER) * 50
    connection.sendall(HEADERS)
    while not closing.is_set():
        connection.sendall(chunk)


def in_a_chunk(content: bytes) -> bytes:
    return HEADERS + b"%x\r\n%b\r\n" % (len(content), content)


@contextmanager
def taking_at_most(seconds: float) -> Iterator[None]:
    started_s = time.monotonic()
    yield
    assert time.monotonic() - started_s < seconds


def test_an_endpoint_silent_for_longer_than_a_read_timeout_gets_one_request() -> None:
    with raw_server(says_nothing) as server, taking_at_most(8), pytest.raises(ModelUnavailable) as raised:
        model_at(server.url, QUICK).complete(asking("a"), 60)
    assert type(raised.value) is ModelUnavailable
    assert (server.connections, server.requests) == (1, 1)


def test_an_endpoint_that_never_answers_is_left_when_the_time_is_over() -> None:
    with raw_server(says_nothing) as server, taking_at_most(8), pytest.raises(ModelUnavailable) as raised:
        model_at(server.url, PATIENT).complete(asking("a"), 0.5)
    assert type(raised.value) is ModelUnavailable


def test_an_endpoint_that_answers_with_nothing_but_headers_is_not_available() -> None:
    with raw_server(sends(HEADERS)) as server, taking_at_most(8), pytest.raises(ModelUnavailable) as raised:
        model_at(server.url, PATIENT).complete(asking("a"), 0.5)
    assert type(raised.value) is ModelUnavailable


def test_a_stream_that_falls_silent_is_given_up_after_the_stall_limit() -> None:
    behaviour = sends(in_a_chunk(HALF_AN_ANSWER))
    with raw_server(behaviour) as server, taking_at_most(8), pytest.raises(ModelUnavailable) as raised:
        model_at(server.url, QUICK).complete(asking("a"), 60)
    assert type(raised.value) is ModelUnavailable


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(sends(in_a_chunk(HALF_AN_ANSWER)), id="thinking"),
        pytest.param(drips, id="dripping"),
        pytest.param(floods, id="flooding"),
        pytest.param(sends(UNCHUNKED + HALF_AN_ANSWER * 1_000), id="without chunks"),
    ],
)
def test_an_answer_that_has_begun_is_cut_when_the_time_is_over(behaviour: Behaviour) -> None:
    with raw_server(behaviour) as server, taking_at_most(8), pytest.raises(CutByDeadline):
        model_at(server.url, PATIENT).complete(asking("a"), 0.5)


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(hangs_up, id="at once"),
        pytest.param(sends_and_closes(HEADERS), id="after the headers"),
        pytest.param(sends_and_closes(in_a_chunk(HALF_AN_ANSWER)), id="within the answer"),
        pytest.param(sends_and_closes(in_a_chunk(HALF_AN_ANSWER)[:-20]), id="within a frame"),
        pytest.param(sends_and_closes(in_a_chunk(HALF_AN_ANSWER) + b"0\r\n\r\n"), id="in good order"),
        pytest.param(sends_and_closes(in_a_chunk(b"<html>Bad gateway</html>") + b"0\r\n\r\n"), id="with a web page"),
        pytest.param(sends_and_closes(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops"), id="by a proxy"),
        pytest.param(sends_and_closes(b"This is no HTTP.\r\n\r\n"), id="in another protocol"),
    ],
)
def test_a_connection_that_ends_without_an_answer_gets_no_second_request(behaviour: Behaviour) -> None:
    with raw_server(behaviour) as server, pytest.raises(ModelUnavailable) as raised:
        model_at(server.url, QUICK).complete(asking("a"), 5)
    assert type(raised.value) is ModelUnavailable
    assert server.requests == 1


def test_a_stream_that_failed_is_hung_up_so_that_nothing_more_is_generated() -> None:
    hung_up = Event()
    failure = exception_frame("throttlingException", {"message": "slow down"})

    def fails_and_listens(connection: socket.socket, _closing: Event) -> None:
        connection.sendall(in_a_chunk(HALF_AN_ANSWER + failure))
        if connection.recv(1) == b"":
            hung_up.set()

    with raw_server(fails_and_listens) as server, pytest.raises(ModelUnavailable) as raised:
        model_at(server.url, PATIENT).complete(asking("a"), 30)
    assert raised.value.__cause__ is not None  # what holds the stream is still alive
    assert hung_up.is_set()


def test_nobody_listening_is_a_model_that_is_not_available() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ModelUnavailable):
        model_at(url, QUICK).complete(asking("a"), 5)


def test_a_failed_request_is_repeated_only_by_the_caller() -> None:
    directive = '[[script: {"first": 1, "steps": [{"refuse": "ThrottlingException"}], "then": [{"say": "Now."}]}]]'
    with serving() as url:
        model = model_at(url)
        with pytest.raises(ModelUnavailable):
            model.complete(asking(directive), 5)
        assert model.complete(asking(directive), 5).parts == (SaidText("Now."),)


def test_a_stream_read_to_its_end_leaves_its_connection_for_the_next_request() -> None:
    answer = in_a_chunk(HALF_AN_ANSWER + event_frame("messageStop", {"stopReason": "end_turn"})) + b"0\r\n\r\n"

    def answers_twice(connection: socket.socket, _closing: Event) -> None:
        connection.sendall(answer)
        read_request(connection)
        connection.sendall(answer)

    with raw_server(answers_twice) as server:
        model = model_at(server.url, QUICK)
        assert [model.complete(asking("a"), 5).parts for _ in range(2)] == [(SaidText("half"),)] * 2
        assert server.connections == 1


def test_an_answer_cut_by_its_deadline_does_not_touch_another_of_the_same_client() -> None:
    slow_but_whole = request_playing([{"say": "first"}, {"wait": 1}, {"say": "last"}])
    answers: list[tuple[Part, ...]] = []
    with serving() as url:
        model = model_at(url, PATIENT)
        other = Thread(target=lambda: answers.append(model.complete(slow_but_whole, 20).parts))
        other.start()
        for _ in range(2):
            with pytest.raises(CutByDeadline):
                model.complete(request_playing([{"say": "first"}, {"wait": 20}]), 0.4)
        other.join()
    assert answers == [(SaidText("first"), SaidText("last"))]


def test_a_turn_goes_back_into_the_next_request_and_the_service_finds_no_fault_in_it() -> None:
    clock = ToolSpec("get_time", "Tells the time.", {"type": "object"})
    steps = request_playing(
        [{"reason": ["Hm, ", "yes."]}, {"redacted": "x"}, {"say": "Let me look."}, {"call": "get_time"}]
    )
    with serving() as url:
        model = model_at(url)
        turn = model.complete(ModelRequest("Be brief.", (clock,), steps.messages, 512), 5)
        answered = ModelMessage("assistant", tuple(as_block(part) for part in turn.parts))
        result = ResultBlock("call_ours", (TextItem("noon"),), "success")
        following = ModelMessage("user", (TextBlock('Quick. [[script: [{"say": "Noon."}]]]'), result, CachePoint()))
        request = ModelRequest("Be brief.", (clock,), (*steps.messages, answered, following), 512)
        assert model.complete(request, 5).parts == (SaidText("Noon."),)


def as_block(part: Part) -> Block:
    match part:
        case SaidText(text):
            return TextBlock(text)
        case Thought(text, signature, redacted):
            return ReasoningBlock(text, signature, redacted)
        case WantedCall(_, name, _):
            return CallBlock("call_ours", name, {})
