"""Common Data Representation (CDR), the bytes of ROS messages: alignment and plain fields.

Positions in a message are byte offsets from its beginning, encapsulation header included.
"""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
import struct
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError

ENCAPSULATION = 4  # bytes of the header; alignment counts from its end
AFTER_STAMP = 12  # bytes of encapsulation, seconds and nanoseconds
# Largest accepted magnitude, rad, rad/s, N m …: larger numbers are errors of the sender, and the
# computation with them could overflow.
MAX_VALUE = 1e6
MAX_JOINTS = 1000
# Errors that unpacking raises if the bytes are another message, or cut short.
MALFORMED = (struct.error, UnicodeDecodeError, IndexError)

_STAMP = {'<': struct.Struct('<iI'), '>': struct.Struct('>iI')}


@contextmanager
def reading(data: bytes, what: str) -> Iterator[None]:
    """Turn errors of MALFORMED in this context into a HodynError: the bytes are not `what`."""
    try:
        yield
    except MALFORMED:
        raise HodynError(f'{len(data)} bytes that are not {what}') from None


def check_size(data: bytes, most: int) -> None:
    """Refuse a message of more than `most` bytes."""
    if len(data) > most:
        raise HodynError(f'{len(data)} bytes; at most {most} are read')


def check_values(
    values: Array, names: Sequence[str], largest: ArrayLike = MAX_VALUE,
) -> None:
    """Raise HodynError, with the name, if a value is not finite or beyond ±`largest`."""
    wrong = ~(np.abs(values) <= largest)
    if wrong.any():
        i = int(wrong.argmax())
        most = np.broadcast_to(largest, wrong.shape)
        raise HodynError(f'{names[i]} {fault_of(values[i], most[i])}')


def fault_of(value: float, largest: float = MAX_VALUE) -> str:
    """Return the fault of a value, as text: not finite, or beyond ±`largest`."""
    return f'is {value:g}, beyond {largest:g}' if np.isfinite(value) else 'is not finite'


def byte_order(data: bytes) -> str:
    """Return the byte order of a message, ``<`` or ``>``; HodynError if it is not plain CDR."""
    if len(data) < ENCAPSULATION or data[0] != 0 or data[1] > 1:
        raise HodynError(f'{len(data)} bytes that are not a message in plain CDR')
    return '<' if data[1] else '>'


def stamp(data: bytes) -> int:
    """Return the stamp, ns, of a message that begins with a header; HodynError without one."""
    order = byte_order(data)
    if len(data) < AFTER_STAMP:
        raise HodynError(f'{len(data)} bytes that are not a message with a header')
    seconds, nanoseconds = _STAMP[order].unpack_from(data, ENCAPSULATION)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def set_stamp(data: bytearray, stamp: int) -> None:
    """Write a stamp, ns, into a little-endian message that begins with a header."""
    _STAMP['<'].pack_into(data, ENCAPSULATION, *divmod(stamp, 1_000_000_000))


def nanoseconds(time: Any) -> int:
    """Return a builtin_interfaces/Time, an object of rclpy or of rosbags, as nanoseconds."""
    return int(time.sec) * 1_000_000_000 + int(time.nanosec)


def aligned(at: int, size: int) -> int:
    """Return the first position, `at` or later, that is aligned for a number of `size` bytes."""
    return at + (ENCAPSULATION - at) % size


@dataclass
class Cursor:
    """Reads a message field by field; raises one of MALFORMED if the bytes do not fit."""

    data: bytes  #: The message
    order: str  #: Byte order of the message, ``<`` or ``>``
    at: int  #: Position of the next field, before alignment

    @classmethod
    def of(cls, data: bytes) -> 'Cursor':
        """Return a cursor at the first field; raises HodynError if data is not plain CDR."""
        return cls(data, byte_order(data), ENCAPSULATION)

    @classmethod
    def after_stamp(cls, data: bytes) -> 'Cursor':
        """Return a cursor at the frame of a message that begins with a header.

        Raises HodynError if data is not plain CDR.
        """
        return cls(data, byte_order(data), AFTER_STAMP)

    def count(self) -> int:
        """Return the length of the sequence that begins here."""
        at = aligned(self.at, 4)
        self.at = at + 4
        count: int = struct.unpack_from(f'{self.order}I', self.data, at)[0]
        return count

    def text(self) -> str:
        """Return the string that begins here."""
        length = self.count()
        begin, self.at = self.at, self.at + length
        if self.at > len(self.data):
            raise IndexError
        return self.data[begin:self.at].rstrip(b'\x00').decode()

    def doubles(self, count: int) -> tuple[float, ...]:
        """Return the `count` doubles that begin here."""
        at = aligned(self.at, 8)
        self.at = at + 8 * count
        return struct.unpack_from(f'{self.order}{count}d', self.data, at)

    def sequence(self) -> tuple[float, ...]:
        """Return the doubles of the sequence that begins here."""
        count = self.count()
        return self.doubles(count) if count else ()  # an empty sequence has no padding

    def time(self) -> tuple[int, int]:
        """Return the seconds and nanoseconds of the time or duration that begins here."""
        at = aligned(self.at, 4)
        self.at = at + 8
        seconds, nanoseconds = _STAMP[self.order].unpack_from(self.data, at)
        return seconds, nanoseconds


class Builder:
    """Makes a little-endian message field by field, with zeros as doubles."""

    def __init__(self) -> None:
        self.data = bytearray(b'\x00\x01\x00\x00')

    def count(self, value: int) -> None:
        """Append the length of a sequence, or another unsigned integer of 32 bits."""
        self._align(4)
        self.data.extend(struct.pack('<I', value))

    def text(self, value: str) -> None:
        """Append a string."""
        raw = value.encode() + b'\x00'
        self.count(len(raw))
        self.data.extend(raw)

    def doubles(self, length: int) -> int:
        """Append a sequence of zeros; return the position of the first, if any."""
        self.count(length)
        return self.numbers(length)

    def numbers(self, length: int) -> int:
        """Append `length` zeros as single fields; return the position of the first, if any."""
        if length:
            self._align(8)
        at = len(self.data)
        self.data.extend(bytes(8 * length))
        return at

    def time(self, value: int) -> None:
        """Append a time or duration, ns."""
        self._align(4)
        self.data.extend(_STAMP['<'].pack(*divmod(value, 1_000_000_000)))

    def _align(self, size: int) -> None:
        self.data.extend(bytes(aligned(len(self.data), size) - len(self.data)))
