"""PostgreSQL's frames on a socket: a letter, a length that counts itself, a payload (manual: "Message Formats")."""

import contextlib
import socket
import struct
from typing import BinaryIO


def read_frame(frames: BinaryIO) -> tuple[bytes, bytes]:
    """Return the letter and the payload of the next frame. Raises: EOFError when the other side has closed."""
    kind = exactly(frames, 1)
    return kind, exactly(frames, number(exactly(frames, 4)) - 4)


def frame_bytes(kind: bytes, payload: bytes) -> bytes:
    return kind + struct.pack("!I", len(payload) + 4) + payload


def first_value(bind: bytes) -> bytes | None:
    """Return the first value of a Bind: names of portal and statement, counted formats, counted values."""
    _, _, rest = bind.split(b"\0", 2)
    formats = int.from_bytes(rest[:2], "big")
    values = rest[2 + 2 * formats :]
    size = int.from_bytes(values[2:6], "big", signed=True)
    return values[6 : 6 + size] if values[:2] != b"\0\0" and size >= 0 else None


def exactly(frames: BinaryIO, size: int) -> bytes:
    read = frames.read(size)
    if len(read) < size:
        raise EOFError
    return read


def number(four_bytes: bytes) -> int:
    return int.from_bytes(four_bytes, "big")


def close(open_socket: socket.socket) -> None:
    """Close it, and shut it down first: a thread that waits in it would wait for ever."""
    with contextlib.suppress(OSError):
        open_socket.shutdown(socket.SHUT_RDWR)
    open_socket.close()
