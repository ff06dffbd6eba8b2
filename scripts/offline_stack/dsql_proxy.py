"""Aurora DSQL's rules in front of PostgreSQL: ministack's proxy in a process of its own, repaired in three places.

usage: python -m scripts.offline_stack.dsql_proxy --backend-port N [--port N]

1. It listens on 127.0.0.1; the stock one listens on every interface.
2. DSQL never waits for a lock. PostgreSQL does, briefly (`lock_timeout`), and the proxy reports that timeout, and a
   deadlock, as what DSQL says: 40001. DSQL says it at COMMIT, this one at the statement: no caller may depend on where.
3. A refused statement inside a pipeline is answered in its place. The stock proxy answers at once, before the results
   of the statements in front of it, which leaves the client waiting for ever.

The repairs replace private functions of ministack, so its version is pinned here and every name is checked first.
"""

import argparse
import asyncio
import logging
import re
import signal
import struct
from typing import Any

from ministack.core import pgproxy  # type: ignore[import-untyped]

from scripts.offline_stack.pinned import check_function, check_version

PRIVATE_NAMES = {
    "_handle_client": ["cluster_id", "backend_host", "backend_port", "c_reader", "c_writer"],
    "_handle_extended": ["conn", "type_byte", "payload", "b_writer", "c_writer"],
    "_ext_forward": ["conn", "b_writer", "type_byte", "payload"],
    "_ext_error": ["conn", "c_writer", "err"],
    "_backend_relay": ["conn", "b_reader", "c_writer"],
    "_read_frame": ["reader"],
    "_frame": ["type_byte", "payload"],
    "_error_response": ["sqlstate", "message", "detail"],
}
CONFLICT_STATES = (b"55P03", b"40P01")  # lock_not_available, deadlock_detected
CONFLICT = ("40001", "change conflicts with another transaction, please retry: (OC000)")
REFUSAL_MARK = re.compile(rb"dsql_refusal_(\d+)_")
FRAME_HEADER_BYTES = 5  # one type byte and a length of four

# `conn` below is ministack's own connection object, which has no types; hence Any.


class Repairs:
    """What replaces ministack's functions. Remembers the refusals whose answers have not passed by yet."""

    def __init__(self) -> None:
        self._handle_extended = pgproxy._handle_extended
        self._refusals: dict[int, Any] = {}
        self._last_refusal = 0

    def install(self) -> None:
        """Put the repairs in place.

        Raises:
            RuntimeError: this is not the ministack they were written for.
        """
        check_version()
        for name, parameters in PRIVATE_NAMES.items():
            check_function(pgproxy, name, parameters)
        pgproxy._handle_extended = self.handle_extended
        pgproxy._ext_error = self.refuse_in_place
        pgproxy._backend_relay = self.relay

    async def handle_extended(self, conn: Any, type_byte: bytes, payload: bytes, backend: Any, client: Any) -> None:
        conn.backend_of_refusals = backend
        await self._handle_extended(conn, type_byte, payload, backend, client)

    async def refuse_in_place(self, conn: Any, _client: Any, refusal: Any) -> None:
        """Let PostgreSQL fail at this point of the pipeline; `relay` puts our reason into its answer.

        The transaction is then aborted in PostgreSQL itself, so nothing has to pretend that it is.
        """
        self._last_refusal += 1
        self._refusals[self._last_refusal] = refusal
        statement = f"dsql_refusal_{self._last_refusal}_".encode()
        await pgproxy._ext_forward(
            conn, conn.backend_of_refusals, b"P", b"\0" + statement + b"\0" + struct.pack("!H", 0)
        )
        conn.ext_skip = True

    async def relay(self, conn: Any, backend: Any, client: Any) -> None:
        """Pass PostgreSQL's frames to the client, with refusals and conflicts worded as DSQL words them."""
        while True:
            type_byte, payload = await pgproxy._read_frame(backend)
            if type_byte == b"E":
                payload = self.translated(payload)
            if type_byte == b"Z" and payload:
                conn.txn.note_backend_status(payload[:1])
            if conn.capture is not None:
                conn.capture.put_nowait((type_byte, payload))
            else:
                client.write(pgproxy._frame(type_byte, payload))
                await client.drain()

    def translated(self, error: bytes) -> bytes:
        mark = REFUSAL_MARK.search(error)
        refusal = self._refusals.pop(int(mark[1]), None) if mark else None
        if refusal is not None:
            return error_payload(refusal.sqlstate, refusal.message, refusal.detail)
        if any(b"\0C" + state + b"\0" in error for state in CONFLICT_STATES):
            return error_payload(*CONFLICT)
        return error


def error_payload(sqlstate: str, message: str, detail: str | None = None) -> bytes:
    return bytes(pgproxy._error_response(sqlstate, message, detail)[FRAME_HEADER_BYTES:])


async def serve(port: int, backend_port: int) -> None:
    """Serve until SIGTERM or SIGINT; prints `READY <port>` when it listens."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await pgproxy._handle_client("local", "127.0.0.1", backend_port, reader, writer)

    server = await asyncio.start_server(handle, "127.0.0.1", port)
    stopped = asyncio.Event()
    for stop_signal in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(stop_signal, stopped.set)
    print("READY", server.sockets[0].getsockname()[1], flush=True)
    await stopped.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Aurora DSQL's rules in front of PostgreSQL")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--backend-port", type=int, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    Repairs().install()
    asyncio.run(serve(arguments.port, arguments.backend_port))


if __name__ == "__main__":
    main()
