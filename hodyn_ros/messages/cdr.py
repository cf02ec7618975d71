"""Messages as bytes, in CDR: joint states above all, one in a cycle or a whole bag of them.

Joint states of one driver differ in their stamps and numbers only, so the bytes of one tell where
the numbers of all its like stand: they are read and written there, and no message is unpacked.
"""
from dataclasses import dataclass
import struct

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.errors import HodynError

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

MESSAGE_TYPE = 'sensor_msgs/msg/JointState'
MAX_JOINTS = 1000

_ENCAPSULATION = 4  # bytes before the payload, which alignment does not count
_NAMES_AT = 12  # encapsulation, seconds, nanoseconds
_FIELDS = ('position', 'velocity', 'effort')
_STAMP = {'<': struct.Struct('<iI'), '>': struct.Struct('>iI')}


@dataclass(frozen=True)
class Layout:
    """Where the numbers stand in messages with the same frame, names and array lengths.

    Attributes
    ----------
    names : tuple of str
        Joint names in the order of the message.
    order : str
        Byte order, ``<`` or ``>``.
    size : int
        Bytes of a message.
    encapsulation, text : bytes
        What stands before the stamp, and frame and names: the same in all these messages.
    offsets : dict
        Of the arrays `position`, `velocity` and `effort` that are not empty: their byte offset.
    counts : tuple of (offset, bytes)
        The lengths of the arrays, the same in all these messages.

    """

    names: tuple[str, ...]
    order: str
    size: int
    encapsulation: bytes
    text: bytes
    offsets: dict[str, int]
    counts: tuple[tuple[int, bytes], ...]

    @classmethod
    def of(cls, data: bytes) -> 'Layout':
        """Return the layout of one message; HodynError when it is not a joint state."""
        try:
            return cls._parse(bytes(data))
        except (struct.error, UnicodeDecodeError, IndexError):
            raise HodynError(f'{len(data)} bytes that are no joint state') from None

    @classmethod
    def _parse(cls, data: bytes) -> 'Layout':
        order = byte_order(data)
        at = _NAMES_AT
        _, at = _text(data, at, order)
        count, at = _count(data, at, order)
        if count > MAX_JOINTS:
            raise HodynError(f'{count} joints; at most {MAX_JOINTS} are read')
        names = []
        for _ in range(count):
            name, at = _text(data, at, order)
            names.append(name)
        text = data[_NAMES_AT:at]
        offsets, counts = {}, []
        for field in _FIELDS:
            length, end = _count(data, at, order)
            counts.append((end - 4, data[end - 4:end]))
            at = end
            if length:
                if length != count:
                    raise HodynError(f'{count} names but {length} entries of {field}')
                at = _aligned(at, 8)
                offsets[field] = at
                at += 8 * length
        if at > len(data):
            raise HodynError('a joint state cut short')
        return cls(
            tuple(names), order, len(data), data[:_ENCAPSULATION], text, offsets, tuple(counts))

    def fits(self, data: bytes) -> bool:
        """Return whether a message has this layout."""
        return (
            len(data) == self.size
            and data.startswith(self.text, _NAMES_AT)
            and data.startswith(self.encapsulation)
            and all(data.startswith(count, at) for at, count in self.counts))

    def field(self, data: bytes | bytearray, field: str) -> Array:
        """Return the view of an array, (names,), in a message of this layout.

        It can be written where the message can. Raises KeyError for an array that is empty.
        """
        values: Array = np.frombuffer(
            data, f'{self.order}f8', len(self.names), self.offsets[field])
        return values

    def read(self, messages: list[bytes]) -> tuple[Stamps, dict[str, Array]]:
        """Return header stamps (T,), ns, and the arrays (T, names) of messages of this layout."""
        table = np.frombuffer(b''.join(messages), dtype=np.uint8).reshape(-1, self.size)
        seconds, nanoseconds = (
            np.ascontiguousarray(table[:, at:at + 4]).view(f'{self.order}{kind}4')[:, 0]
            for at, kind in ((4, 'i'), (8, 'u')))
        stamps = seconds.astype(np.int64) * 1_000_000_000 + nanoseconds.astype(np.int64)
        width = 8 * len(self.names)
        fields = {
            field: np.ascontiguousarray(table[:, at:at + width])
            .view(f'{self.order}f8').astype(np.float64)
            for field, at in self.offsets.items()}
        return stamps, fields


def array_template(length: int) -> tuple[bytes, int]:
    """Return a little-endian Float64MultiArray of zeros, no dimensions named, and their offset."""
    head = b'\x00\x01\x00\x00' + struct.pack('<3I', 0, 0, length)
    at = _aligned(len(head), 8) if length else len(head)
    return head + bytes(at - len(head) + 8 * length), at


def byte_order(data: bytes) -> str:
    """Return the byte order of a message, ``<`` or ``>``; HodynError if it is not plain CDR."""
    if len(data) < _ENCAPSULATION or data[0] != 0 or data[1] > 1:
        raise HodynError(f'{len(data)} bytes that are not a message in plain CDR')
    return '<' if data[1] else '>'


def stamp(data: bytes) -> int:
    """Return the stamp, ns, of a message that begins with a header; HodynError if it is none."""
    order = byte_order(data)
    if len(data) < _NAMES_AT:
        raise HodynError(f'{len(data)} bytes that are no message with a header')
    seconds, nanoseconds = _STAMP[order].unpack_from(data, _ENCAPSULATION)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def set_stamp(data: bytearray, stamp: int) -> None:
    """Write a stamp, ns, into a little-endian message that begins with a header."""
    _STAMP['<'].pack_into(data, _ENCAPSULATION, *divmod(stamp, 1_000_000_000))


def frame_and_numbers(data: bytes, count: int) -> tuple[str, tuple[float, ...]]:
    """Return the frame and the numbers of a message that is a header and `count` doubles.

    Raises HodynError when it is not, a stamped vector or wrench say.
    """
    order = byte_order(data)
    try:
        frame, at = _text(data, _NAMES_AT, order)
        return frame, struct.unpack_from(f'{order}{count}d', data, _aligned(at, 8))
    except (struct.error, UnicodeDecodeError, IndexError):
        raise HodynError(f'{len(data)} bytes that are no header and {count} numbers') from None


def names_and_points(data: bytes) -> tuple[int, int]:
    """Return how many joints and points a JointTrajectory says that it has; HodynError if none."""
    order = byte_order(data)
    try:
        _, at = _text(data, _NAMES_AT, order)
        names, at = _count(data, at, order)
        for _ in range(min(names, MAX_JOINTS)):
            _, at = _text(data, at, order)
        return names, 0 if names > MAX_JOINTS else _count(data, at, order)[0]
    except (struct.error, UnicodeDecodeError, IndexError):
        raise HodynError(f'{len(data)} bytes that are no trajectory') from None


def template(names: tuple[str, ...], frame: str = '') -> bytes:
    """Return a little-endian joint state with these names, stamp 0 and zeros in all arrays."""
    out = bytearray(b'\x00\x01\x00\x00' + bytes(8))

    def count(value: int) -> None:
        out.extend(bytes(_aligned(len(out), 4) - len(out)) + struct.pack('<I', value))

    def text(value: str) -> None:
        raw = value.encode() + b'\x00'
        count(len(raw))
        out.extend(raw)

    text(frame)
    count(len(names))
    for name in names:
        text(name)
    for _ in _FIELDS:
        count(len(names))
        if names:
            out.extend(bytes(_aligned(len(out), 8) - len(out)) + bytes(8 * len(names)))
    return bytes(out)


def _aligned(at: int, size: int) -> int:
    return at + (_ENCAPSULATION - at) % size


def _count(data: bytes, at: int, order: str) -> tuple[int, int]:
    at = _aligned(at, 4)
    return struct.unpack_from(f'{order}I', data, at)[0], at + 4


def _text(data: bytes, at: int, order: str) -> tuple[str, int]:
    length, at = _count(data, at, order)
    if at + length > len(data):
        raise IndexError
    return data[at:at + length].rstrip(b'\x00').decode(), at + length
