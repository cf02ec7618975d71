"""Between messages and arrays: names mapped, lengths and numbers checked, no copies per cycle."""
from collections.abc import Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from hodyn_ros.joint_names import JointNames

Array = NDArray[np.float64]

MOST_JOINTS = 1000
# rad, rad/s, N m, …: a number beyond is an error of the sender, and its powers would overflow.
MOST_VALUE = 1e6


def nanoseconds(time: Time) -> int:
    """Return a stamp as integer nanoseconds."""
    return int(time.sec) * 1_000_000_000 + int(time.nanosec)


class JointStateReader:
    """Reads a robot's joints from joint states, in the robot's order."""

    def __init__(self, names: JointNames, *, one_sender: bool = False) -> None:
        """Take how names are mapped, and whether the first sender's prefix is the only one."""
        self._joint_names = names
        self._one_sender = one_sender
        self._names: list[str] | None = None
        self._indices = np.empty(0, dtype=np.intp)

    @property
    def names(self) -> list[str]:
        """The sender's names of the joints, in the robot's order; empty before the first state."""
        return [] if self._names is None else [self._names[i] for i in self._indices]

    def position(self, message: JointState) -> Array:
        """Return the joint positions, (n,), rad.

        Raises NoKnownJointError when the state names none of the joints, and ValueError, naming
        joint and field, when it cannot be used.
        """
        self._map(message)
        return self._field(message, 'position')

    def velocity(self, message: JointState) -> Array | None:
        """Return the joint velocities, (n,), rad/s, of a message whose position was read.

        None where it has none. Raises ValueError as `position` does.
        """
        return self._field(message, 'velocity') if message.velocity else None

    def effort(self, message: JointState) -> Array:
        """Return the efforts, (n,), of a message whose names need not come with positions."""
        self._map(message)
        return self._field(message, 'effort')

    def _map(self, message: JointState) -> None:
        if message.name != self._names:
            if len(message.name) > MOST_JOINTS:
                raise ValueError(f'{len(message.name)} joints; at most {MOST_JOINTS} are read')
            indices = self._joint_names.indices(message.name)
            first = self.names[:1]
            if self._one_sender and first and message.name[indices[0]] != first[0]:
                raise ValueError(
                    f'{message.name[indices[0]]!r} and the others are of another arm than '
                    f'{first[0]!r}; choose one by joint_prefix')
            self._indices, self._names = indices, list(message.name)

    def _field(self, message: JointState, field: str) -> Array:
        values = np.frombuffer(getattr(message, field))
        if len(values) != len(message.name):
            raise ValueError(f'{len(message.name)} names but {len(values)} entries of {field}')
        values = values[self._indices]
        possible = np.abs(values) <= MOST_VALUE
        if not possible.all():
            i = int(np.argmin(possible))
            what = f'is {values[i]:g}' if np.isfinite(values[i]) else 'is not finite'
            raise ValueError(f'{field} of joint {self.names[i]!r} {what}')
        return values


class JointStateWriter:
    """One joint state message, made once, whose arrays are written in place.

    Attributes
    ----------
    position, velocity, effort : (n,) arrays
        Views of the message's fields.

    """

    def __init__(self, names: Sequence[str]) -> None:
        zeros = [0.0] * len(names)
        self.message = JointState(
            name=list(names), position=zeros, velocity=zeros, effort=zeros)
        self.position: Array = np.frombuffer(self.message.position)
        self.velocity: Array = np.frombuffer(self.message.velocity)
        self.effort: Array = np.frombuffer(self.message.effort)


class CommandWriter:
    """One command message, made once: a value for each joint of a controller, in its order."""

    def __init__(self, order: NDArray[np.intp]) -> None:
        """Take where each value of ours stands in the command."""
        self._order = order
        self.message = Float64MultiArray(data=[0.0] * len(order))
        self._data: Array = np.frombuffer(self.message.data)

    def write(self, values: Array) -> None:
        """Write values in our order."""
        self._data[self._order] = values


def command_order(joints: Sequence[str], names: JointNames) -> NDArray[np.intp]:
    """Return where the robot's joints stand in a controller's list; ours if it is empty.

    Raises ValueError when the controller's joints are not the robot's.
    """
    given = [joint for joint in joints if joint]
    if not given:
        return np.arange(names.robot.n)
    if len(given) != names.robot.n:
        raise ValueError(
            f'command_joints names {len(given)} joints; {names.robot.name!r} has {names.robot.n}')
    return names.indices(given)


def wrench_of(message: WrenchStamped) -> Array:
    """Return (moment, force), (6,), in the axes of its frame; raise ValueError if not finite."""
    torque, force = message.wrench.torque, message.wrench.force
    wrench = np.array([torque.x, torque.y, torque.z, force.x, force.y, force.z])
    if not (np.abs(wrench) <= MOST_VALUE).all():
        raise ValueError(
            f'a component of the wrench on {message.header.frame_id!r} is not finite, or beyond '
            f'{MOST_VALUE:g}')
    return wrench
