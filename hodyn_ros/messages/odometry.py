"""nav_msgs/Odometry as bytes."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages import cdr

LENGTH_TOLERANCE = 1e-3
"""Largest deviation of a quaternion's length from 1."""
_COVARIANCE = 36
_FIELDS = (
    *(f'pose.pose.position.{axis}' for axis in 'xyz'),
    *(f'pose.pose.orientation.{axis}' for axis in 'xyzw'),
    *(f'twist.twist.linear.{axis}' for axis in 'xyz'),
    *(f'twist.twist.angular.{axis}' for axis in 'xyz'))


def read_odometry(data: bytes) -> tuple[str, str, Array, Array, Array, Array, int]:
    """Return the content of a serialized Odometry without covariances.

    These are the frame, the child frame, the child's position (3,) and orientation (w, x, y, z) in
    the frame, its velocity and angular velocity in the child's axes, (3,) each, and the stamp, ns.

    Raises HodynError for other bytes, a value that is not finite or too large, or an orientation
    that is not a unit quaternion.
    """
    stamp = cdr.stamp(data)
    cursor = cdr.Cursor.after_stamp(data)
    with cdr.reading(data, 'an Odometry'):
        frame, child = cursor.text(), cursor.text()
        pose = cursor.doubles(7)
        cursor.doubles(_COVARIANCE)
        twist = cursor.doubles(6)
        cursor.doubles(_COVARIANCE)
    values = np.array(pose + twist)
    largest = np.full(values.shape, cdr.MAX_VALUE)
    largest[:3] = 1e12  # m, as in Earth frames: torques do not depend on positions
    cdr.check_values(values, _FIELDS, largest)
    turn = unit_quaternion(values[3:7], 'pose.pose.orientation')
    return frame, child, values[:3], turn, values[7:10], values[10:], stamp


def unit_quaternion(quaternion: Array, field: str) -> Array:
    """Return (w, x, y, z) of a message's (x, y, z, w), which must have length 1."""
    length = float(np.linalg.norm(quaternion))
    if not abs(length - 1.0) <= LENGTH_TOLERANCE:
        raise HodynError(f'{field} is not a unit quaternion: its length is {length:.4g}')
    return quaternion[[3, 0, 1, 2]] / length
