"""Between serialized messages and arrays: names mapped, lengths and numbers checked.

The node takes and publishes bytes. A driver's joint states all look alike, so the numbers are read
where those of the first one stood, and written where those of a template stand: no message is
unpacked or made in a cycle.
"""
from collections.abc import Sequence

from builtin_interfaces.msg import Time
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.messages import cdr
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.joint_names import JointNames

Array = NDArray[np.float64]

# rad, rad/s, N m, …: a number beyond is an error of the sender, and its powers would overflow.
MAX_VALUE = 1e6


def nanoseconds(time: Time) -> int:
    """Return a stamp as integer nanoseconds."""
    return int(time.sec) * 1_000_000_000 + int(time.nanosec)


class JointStateReader:
    """Reads a robot's joints from serialized joint states, in the robot's order."""

    def __init__(self, names: JointNames, *, one_sender: bool = False) -> None:
        """Take how names are mapped, and whether the first sender's prefix is the only one."""
        self._joint_names = names
        self._one_sender = one_sender
        self._layout: cdr.Layout | None = None
        self._indices = np.empty(0, dtype=np.intp)

    @property
    def names(self) -> list[str]:
        """The sender's names of the joints, in the robot's order; empty before the first state."""
        return [] if self._layout is None else [self._layout.names[i] for i in self._indices]

    @property
    def sent_joints(self) -> int:
        """How many joints the last message named, the robot's and others."""
        return 0 if self._layout is None else len(self._layout.names)

    def state(self, data: bytes) -> tuple[Array, Array | None]:
        """Return the joint positions, (n,), rad, and velocities, rad/s, None if there are none.

        Raises NoKnownJointError when the message names none of the joints, and HodynError, naming
        joint and field, when it cannot be used.
        """
        layout = self._map(data)
        position = self._field(data, layout, 'position')
        if 'velocity' not in layout.offsets:
            return position, None
        return position, self._field(data, layout, 'velocity')

    def effort(self, data: bytes) -> Array:
        """Return the efforts, (n,). Raises as `state` does."""
        return self._field(data, self._map(data), 'effort')

    def _map(self, data: bytes) -> cdr.Layout:
        layout = self._layout
        if layout is None or not layout.fits(data):
            layout = cdr.Layout.of(data)
            indices = self._joint_names.indices(layout.names)
            first = self.names[:1]
            if self._one_sender and first and layout.names[indices[0]] != first[0]:
                raise HodynError(
                    f'{layout.names[indices[0]]!r} and the others are of another arm than '
                    f'{first[0]!r}; choose one by joint_prefix')
            self._indices, self._layout = indices, layout
        return layout

    def _field(self, data: bytes, layout: cdr.Layout, field: str) -> Array:
        if field not in layout.offsets:
            raise HodynError(f'{len(layout.names)} names but 0 entries of {field}')
        values: Array = layout.field(data, field)[self._indices]
        possible = np.abs(values) <= MAX_VALUE
        if not possible.all():
            i = int(np.argmin(possible))
            what = f'is {values[i]:g}' if np.isfinite(values[i]) else 'is not finite'
            raise HodynError(f'{field} of joint {self.names[i]!r} {what}')
        return values


class JointStateWriter:
    """One serialized joint state, made once, whose arrays are written in place.

    Attributes
    ----------
    position, velocity, effort : (n,) arrays
        Views of the message's fields.

    """

    def __init__(self, names: Sequence[str]) -> None:
        message = bytearray(cdr.template(tuple(names)))
        layout = cdr.Layout.of(bytes(message))
        self._message = message
        self.position, self.velocity, self.effort = (
            layout.field(message, field) if names else np.empty(0)
            for field in ('position', 'velocity', 'effort'))

    def at(self, stamp: int) -> bytes:
        """Return the message with a stamp, ns, ready to be published."""
        cdr.set_stamp(self._message, stamp)
        return bytes(self._message)


class CommandWriter:
    """One serialized command, made once: a value for each joint of a controller, in its order."""

    def __init__(self, order: NDArray[np.intp]) -> None:
        """Take where each value of ours stands in the command."""
        self._order = order
        template, at = cdr.array_template(len(order))
        self._message = bytearray(template)
        self._data: Array = np.frombuffer(self._message, count=len(order), offset=at)

    def of(self, values: Array) -> bytes:
        """Return the command with values that are given in our order."""
        self._data[self._order] = values
        return bytes(self._message)


def command_order(joints: Sequence[str], names: JointNames) -> NDArray[np.intp]:
    """Return where the robot's joints stand in a controller's list; ours if it is empty.

    Raises HodynError when the controller's joints are not the robot's.
    """
    given = [joint for joint in joints if joint]
    if not given:
        return np.arange(names.robot.n)
    if len(given) != names.robot.n:
        raise HodynError(
            f'command_joints names {len(given)} joints; {names.robot.name!r} has {names.robot.n}')
    return names.indices(given)


def frame_and_wrench(data: bytes) -> tuple[str, Array]:
    """Return the frame of a serialized WrenchStamped and (moment, force), (6,), in its axes.

    Raises HodynError if it is none, or not finite.
    """
    frame, numbers = cdr.frame_and_numbers(data, 6)
    wrench = np.array([*numbers[3:], *numbers[:3]])
    if not (np.abs(wrench) <= MAX_VALUE).all():
        raise HodynError(
            f'a component of the wrench on {frame!r} is not finite, or beyond {MAX_VALUE:g}')
    return frame, wrench
