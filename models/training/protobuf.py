"""Writes and reads protobuf messages: the few wire types that Lc0's network files use."""

import struct
from collections.abc import Iterator


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """A uint32 or an enumeration."""
    return _varint(field << 3) + _varint(value)


def fixed32(field: int, value: int) -> bytes:
    """A fixed32."""
    return _varint(field << 3 | 5) + struct.pack("<I", value)


def floating(field: int, value: float) -> bytes:
    """A float."""
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def data(field: int, content: bytes) -> bytes:
    """Bytes, or a message that is written already."""
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def text(field: int, content: str) -> bytes:
    """A string."""
    return data(field, content.encode())


def _read_varint(message: bytes, offset: int) -> tuple[int, int]:
    """A number, and the offset behind it."""
    number = shift = 0
    while True:
        byte = message[offset]
        offset += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, offset


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields each field's number and value: an integer, or the bytes of a fixed32, of a string, of data or of a message."""
    offset = 0
    while offset < len(message):
        key, offset = _read_varint(message, offset)
        wire = key & 7
        if wire == 0:
            value, offset = _read_varint(message, offset)
        elif wire in (2, 5):
            length, offset = _read_varint(message, offset) if wire == 2 else (4, offset)
            value, offset = message[offset : offset + length], offset + length
        else:
            raise ValueError(f"wire type {wire} in field {key >> 3}")
        yield key >> 3, value
