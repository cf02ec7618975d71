"""trajectory_msgs/JointTrajectory as bytes; no ROS installation is needed."""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages import cdr
from hodyn_ros.messages.message_types import TYPES

Array = NDArray[np.float64]
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
        s from the start of the trajectory, one a point.
    positions, velocities, accelerations : sequences of rows
        One row a point; an empty row gives nothing.
    efforts : sequence of rows
        The same; no plan is made of them.

    """

    names: tuple[str, ...]
    times: Sequence[float]
    positions: Rows
    velocities: Rows = ()
    accelerations: Rows = ()
    efforts: Rows = ()


def decode(data: bytes) -> JointWaypoints:
    """Return the content of a serialized JointTrajectory; raise HodynError if it is none."""
    joints, points = _names_and_points(data)
    if joints > cdr.MAX_JOINTS:
        raise HodynError(f'{joints} joints; at most {cdr.MAX_JOINTS} are read')
    if points > MAX_POINTS:
        raise HodynError(f'{points} points; at most {MAX_POINTS} are read')
    definition = TYPES.get_msgdef(MESSAGE_TYPE)
    try:
        read = (
            definition.deserialize_cdr_le if cdr.byte_order(data) == '<'
            else definition.deserialize_cdr_be)
        # What rclpy serializes may end in some bytes too many, which `deserialize_cdr` refuses.
        message, _ = read(memoryview(data)[cdr.ENCAPSULATION:], 0, definition.cls, TYPES)
    except Exception as error:  # rosbags lets through whatever its decoder raises
        raise HodynError(f'not a serialized {MESSAGE_TYPE}: {error}') from None
    return _content(message)


def is_empty(data: bytes) -> bool:
    """Return whether a serialized JointTrajectory has no points; HodynError if it is none."""
    return _names_and_points(data)[1] == 0


def encode(
    names: Sequence[str], times: Array, motion: Array, effort: Array, stamp: int = 0,
) -> bytes:
    """Return a serialized JointTrajectory.

    Parameters
    ----------
    names : sequence of str
        Joint names, n.
    times : (T,) array
        s from the start of the trajectory.
    motion : (T, 3 or more, n) array
        Positions, velocities and accelerations; higher derivatives have no place in the message.
    effort : (T, n) array
        Joint torques or forces.
    stamp : int
        When it starts, ns; 0 for at once.

    """
    types = TYPES.types
    duration = types['builtin_interfaces/msg/Duration']
    point = types['trajectory_msgs/msg/JointTrajectoryPoint']
    points = [
        point(
            *(np.ascontiguousarray(row) for row in (*derivatives[:3], efforts)),
            duration(*divmod(round(time * 1e9), 1_000_000_000)))
        for time, derivatives, efforts in zip(times.tolist(), motion, effort, strict=True)]
    header = types['std_msgs/msg/Header'](
        types['builtin_interfaces/msg/Time'](*divmod(stamp, 1_000_000_000)), '')
    return bytes(TYPES.serialize_cdr(
        types[MESSAGE_TYPE](header, list(names), points), MESSAGE_TYPE))


def _names_and_points(data: bytes) -> tuple[int, int]:
    """Return how many joints and points the bytes announce; HodynError if they are no message."""
    cursor = cdr.Cursor.after_stamp(data)
    try:
        cursor.text()
        names = cursor.count()
        if names > cdr.MAX_JOINTS:
            return names, 0
        for _ in range(names):
            cursor.text()
        return names, cursor.count()
    except cdr.MALFORMED:
        raise HodynError(f'{len(data)} bytes that are no trajectory') from None


def _content(message: Any) -> JointWaypoints:
    points = message.points
    return JointWaypoints(
        tuple(message.joint_names),
        [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points],
        [p.positions for p in points],
        [p.velocities for p in points],
        [p.accelerations for p in points],
        [p.effort for p in points])
