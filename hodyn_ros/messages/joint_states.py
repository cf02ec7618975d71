"""sensor_msgs/JointState as bytes: one message per cycle, or all of a bag.

The joint states of one driver differ only in their stamps and numbers, so the first message shows
where the numbers are in all messages. Numbers are read and written in place, without decoding or
building a message in each cycle.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array, Stamps
from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages import cdr
from hodyn_ros.messages.topic_names import JointFinder

MESSAGE_TYPE = 'sensor_msgs/msg/JointState'

_MOST_LAYOUTS = 8  # number of layouts that are kept: a topic has few senders
_FIELDS = ('position', 'velocity', 'effort')


@dataclass(frozen=True)
class Layout:
    """Byte offsets of the numbers in messages with equal frame, names and array lengths."""

    names: tuple[str, ...]  #: Joint names in the order of the message
    order: str  #: Byte order, ``<`` or ``>``
    size: int  #: Number of bytes of a message
    encapsulation: bytes  #: The bytes before the stamp, the same in all these messages
    #: Byte offset of each of the arrays `position`, `velocity` and `effort` that is not empty
    offsets: dict[str, int]
    #: tuple of (offset, bytes): the other constant bytes: frame, names and the lengths of the
    #: arrays
    fixed: tuple[tuple[int, bytes], ...]

    @classmethod
    def of(cls, data: bytes) -> 'Layout':
        """Return the layout of a message; raises HodynError if it is not a joint state."""
        data = bytes(data)
        cursor = cdr.Cursor.after_stamp(data)
        offsets, fixed = {}, []
        begin = cdr.AFTER_STAMP
        with cdr.reading(data, 'a joint state'):
            cursor.text()
            count = cursor.count()
            if count > cdr.MAX_JOINTS:
                raise HodynError(f'{count} joints; at most {cdr.MAX_JOINTS} are read')
            names = tuple(cursor.text() for _ in range(count))
            for field in _FIELDS:
                length = cursor.count()
                fixed.append((begin, data[begin:cursor.at]))
                if length:
                    if length != count:
                        raise HodynError(f'{count} names but {length} entries of {field}')
                    offsets[field] = cdr.aligned(cursor.at, 8)
                    cursor.at = offsets[field] + 8 * length
                begin = cursor.at
        if cursor.at > len(data):
            raise HodynError('a joint state cut short')
        return cls(
            names, cursor.order, len(data), data[:cdr.ENCAPSULATION], offsets, tuple(fixed))

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of a message: `sec`, `nanosec` and the arrays that are not empty."""
        numbers = {field: (f'{self.order}f8', (len(self.names),)) for field in self.offsets}
        return np.dtype({
            'names': ['sec', 'nanosec', *numbers],
            'formats': [f'{self.order}i4', f'{self.order}u4', *numbers.values()],
            'offsets': [cdr.ENCAPSULATION, cdr.ENCAPSULATION + 4, *self.offsets.values()],
            'itemsize': self.size})

    def fits(self, data: bytes) -> bool:
        """Return whether a message has this layout."""
        if len(data) != self.size or not data.startswith(self.encapsulation):
            return False
        for at, fixed in self.fixed:  # noqa: SIM110 - a generator takes twice as long
            if not data.startswith(fixed, at):
                return False
        return True

    def field(self, data: bytes | bytearray, field: str) -> Array:
        """Return a view of an array, (names,), in a message of this layout.

        The view is writeable if the message is. Raises KeyError if the array is empty.
        """
        values: Array = np.frombuffer(
            data, f'{self.order}f8', len(self.names), self.offsets[field])
        return values

    def read(self, messages: list[bytes]) -> tuple[Stamps, dict[str, Array]]:
        """Return header stamps (T,), ns, and the arrays (T, names) of messages of this layout."""
        table = np.frombuffer(b''.join(messages), self.dtype)
        stamps = table['sec'].astype(np.int64) * 1_000_000_000 + table['nanosec']
        return stamps, {field: table[field].astype(np.float64) for field in self.offsets}


def template(names: tuple[str, ...]) -> bytes:
    """Return a little-endian joint state with these names, stamp 0 and zeros in all arrays."""
    message = cdr.Builder()
    message.count(0)
    message.count(0)
    message.text('')  # the frame
    message.count(len(names))
    for name in names:
        message.text(name)
    for _ in _FIELDS:
        message.doubles(len(names))
    return bytes(message.data)


def blank(names: tuple[str, ...], count: int) -> NDArray[Any]:
    """Return `count` joint states with these names, stamp 0 and zeros, as a structured array.

    Its fields `sec`, `nanosec`, (count,), and `position`, `velocity`, `effort`, (count, names),
    can be written; ``.tobytes()`` are the messages one after the other, ``.itemsize`` bytes each.
    """
    message = template(names)
    # The bytes are repeated: repeating a NumPy record would not copy the bytes between fields.
    return np.frombuffer(bytearray(message * count), Layout.of(message).dtype)


class JointStateReader:
    """Reads a robot's joints from serialized joint states, in the robot's order."""

    def __init__(self, names: JointFinder, *, measured: bool = False) -> None:
        """Take the finder of joints, and whether the joint states are measured.

        Measured states are accepted from the arm of the first message only. If any of their
        velocities is NaN, all count as missing: joint_state_broadcaster writes NaN for joints
        whose hardware measures no velocity.
        """
        self._joint_names = names
        self._are_measured = measured
        self._layout: Layout | None = None
        self._indices = np.empty(0, dtype=np.intp)

    @property
    def names(self) -> list[str]:
        """The sender's names of the joints, in the robot's order; empty before the first state."""
        return [] if self._layout is None else [self._layout.names[i] for i in self._indices]

    def state(self, data: bytes) -> tuple[Array, Array | None]:
        """Return the joint positions, (n,), rad, and velocities, rad/s, or None if it has none.

        Raises HodynError, with joint and field, if the message cannot be used.
        """
        layout = self._map(data)
        position = self._field(data, layout, 'position')
        if 'velocity' not in layout.offsets:
            return position, None
        velocity: Array = layout.field(data, 'velocity').take(self._indices)
        if self._are_measured and np.isnan(velocity).any():
            return position, None
        return position, self._checked(velocity, 'velocity')

    def other_positions(self, data: bytes) -> dict[str, float]:
        """Return the positions, rad or m, by name, of joints that are not the robot's, unchecked.

        Raises the same errors as `state`.
        """
        layout = self._map(data)
        if len(layout.names) == self._indices.size or 'position' not in layout.offsets:
            return {}
        positions, own = layout.field(data, 'position').tolist(), set(self.names)
        return {name: at for name, at in zip(layout.names, positions, strict=True)
                if name not in own}

    def effort(self, data: bytes) -> Array:
        """Return the efforts, (n,); raises the same errors as `state`."""
        return self._field(data, self._map(data), 'effort')

    def _map(self, data: bytes) -> Layout:
        layout = self._layout
        if layout is None or not layout.fits(data):
            layout = Layout.of(data)
            indices = self._joint_names.indices(layout.names)
            first = self.names[:1]
            if self._are_measured and first and layout.names[indices[0]] != first[0]:
                raise HodynError(
                    f'{layout.names[indices[0]]!r} and the others are of another arm than '
                    f'{first[0]!r}; choose one by joint_prefix')
            self._indices, self._layout = indices, layout
        return layout

    def _field(self, data: bytes, layout: Layout, field: str) -> Array:
        if field not in layout.offsets:
            raise HodynError(f'{len(layout.names)} names but 0 entries of {field}')
        return self._checked(layout.field(data, field).take(self._indices), field)

    def _checked(self, values: Array, field: str) -> Array:
        magnitudes = np.abs(values)
        i = int(magnitudes.argmax())  # the index of a NaN, if there is one
        if magnitudes.size and not magnitudes.item(i) <= cdr.MAX_VALUE:
            raise HodynError(f'{field} of joint {self.names[i]!r} {cdr.fault_of(values[i])}')
        return values


class SomePositions:
    """Reads the positions of some joints from all joint states that name them.

    `find` takes the names in a message and returns the index of each wanted joint among them.
    """

    def __init__(self, find: Callable[[Sequence[str]], dict[str, int]]) -> None:
        self._find = find
        self._known: list[tuple[Layout, dict[str, int]]] = []

    def read(self, data: bytes) -> dict[str, float]:
        """Return the finite positions, rad or m, by joint; HodynError if it is no joint state."""
        known = next((known for known in self._known if known[0].fits(data)), None)
        if known is None:
            layout = Layout.of(data)
            known = layout, self._find(layout.names) if 'position' in layout.offsets else {}
            self._known = [*self._known[1 - _MOST_LAYOUTS:], known]
        layout, indices = known
        if not indices:
            return {}
        values = layout.field(data, 'position')
        return {joint: value for joint, i in indices.items()
                if abs(value := values.item(i)) <= cdr.MAX_VALUE}


class JointStateWriter:
    """A serialized joint state, built once, whose arrays are written in place."""

    def __init__(self, names: Sequence[str]) -> None:
        message = bytearray(template(tuple(names)))
        layout = Layout.of(bytes(message))
        self._message = message
        #: `position`, `velocity`, `effort`: (n,): views of the message's fields
        self.position, self.velocity, self.effort = (
            layout.field(message, field) if names else np.empty(0) for field in _FIELDS)

    def at(self, stamp: int) -> bytes:
        """Return the message with a stamp, ns."""
        cdr.set_stamp(self._message, stamp)
        return bytes(self._message)
