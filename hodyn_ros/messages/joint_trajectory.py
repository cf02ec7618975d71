"""trajectory_msgs/JointTrajectory as bytes; no ROS installation is needed."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import struct

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages import cdr

Rows = Sequence[Sequence[float]]

MESSAGE_TYPE = 'trajectory_msgs/msg/JointTrajectory'
MAX_POINTS = 200_000


@dataclass(frozen=True)
class JointWaypoints:
    """The content of a trajectory_msgs/JointTrajectory, unchecked.

    Attributes
    ----------
    names : tuple of str
        Joint names, in the order of the rows.
    times : sequence of float
        s from the start of the trajectory, one per point.
    positions, velocities, accelerations : sequences of rows
        One row per point; empty for a point without the quantity.
    efforts : sequence of rows
        Rows as for velocities; plans do not use them.
    units : mapping of str to (str, str)
        By joint: a column of the file that gives a unit, and the joint's unit, rad or m.

    """

    names: tuple[str, ...]
    times: Sequence[float]
    positions: Rows
    velocities: Rows = ()
    accelerations: Rows = ()
    efforts: Rows = ()
    units: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def decode(data: bytes) -> JointWaypoints:
    """Return the content of a serialized JointTrajectory; raises HodynError for other bytes."""
    return read(cdr.Cursor.of(data))


def read(cursor: cdr.Cursor) -> JointWaypoints:
    """Return the content of the JointTrajectory that begins at a cursor.

    Raises HodynError if the bytes are no JointTrajectory, or have too many points.
    """
    _, names, points = read_header(cursor)
    if points > MAX_POINTS:
        raise HodynError(f'{points} points; at most {MAX_POINTS} are read')
    times: list[float] = []
    positions, velocities, accelerations, efforts = rows = tuple(
        list[Sequence[float]]() for _ in range(4))
    try:
        for _ in range(points):
            for quantity in rows:
                quantity.append(cursor.sequence())
            times.append(read_time_from_start(cursor, len(times)))
    except cdr.MALFORMED as error:
        raise HodynError(
            f'not a serialized {MESSAGE_TYPE} of {points} points: point {len(times)}: {error}'
        ) from None
    return JointWaypoints(names, times, positions, velocities, accelerations, efforts)


def is_empty(data: bytes) -> bool:
    """Return whether a serialized JointTrajectory has no points; HodynError for other bytes."""
    return read_header(cdr.Cursor.of(data))[2] == 0


def encode(
    names: Sequence[str], times: Array, motion: Array, effort: Array, stamp: int = 0,
) -> bytes:
    """Return a serialized JointTrajectory.

    `times`, (T,), are in s from the start. The start is at the `stamp`, ns; 0 means at once.
    `motion`, (T, 3 or more, n), has positions, velocities and accelerations; the message has no
    field for higher derivatives. `effort`, (T, n), has joint torques or forces.
    """
    message = cdr.Builder()
    message.time(stamp)
    message.text('')
    message.count(len(names))
    for name in names:
        message.text(name)
    message.count(len(times))
    for time, derivatives, efforts in zip(times.tolist(), motion, effort, strict=True):
        for row in (*derivatives[:3], efforts):
            at = message.doubles(len(row))
            struct.pack_into(f'<{len(row)}d', message.data, at, *row)
        message.time(round(time * 1e9))
    return bytes(message.data)


def read_header(cursor: cdr.Cursor) -> tuple[str, tuple[str, ...], int]:
    """Return frame, joint names and number of points; the cursor is then at the first point.

    Raises HodynError if the bytes are not a trajectory, or have too many joints.
    """
    with cdr.reading(cursor.data, 'a trajectory'):
        cursor.time()
        frame = cursor.text()
        joints = cursor.count()
        if joints > cdr.MAX_JOINTS:
            raise HodynError(f'{joints} joints; at most {cdr.MAX_JOINTS} are read')
        return frame, tuple(cursor.text() for _ in range(joints)), cursor.count()


def read_time_from_start(cursor: cdr.Cursor, point: int) -> float:
    """Return the time_from_start, s, at a cursor; `point` is its index, for the HodynError."""
    return duration(*cursor.time(), f'point {point}, time_from_start')


def duration(
    seconds: float, nanoseconds: float, where: str, keys: tuple[str, str] = ('sec', 'nanosec'),
) -> float:
    """Return a duration, s, from its two fields; HodynError if nanoseconds exceed a second."""
    if not 0.0 <= nanoseconds < 1e9:
        raise HodynError(
            f'{where}, {keys[1]}: {nanoseconds:.10g} is not between 0 and 999999999; whole '
            f'seconds belong to {keys[0]}')
    return seconds + 1e-9 * nanoseconds
