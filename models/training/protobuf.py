"""Writes protobuf messages: the few wire types that Lc0's network files use."""

import struct


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
