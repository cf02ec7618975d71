"""nav_msgs/Odometry as bytes."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages import cdr

Array = NDArray[np.float64]

LENGTH_TOLERANCE = 1e-3
"""How far a quaternion may be from length 1."""
_COVARIANCE = 36
_FIELDS = (
    *(f'pose.pose.position.{axis}' for axis in 'xyz'),
    *(f'pose.pose.orientation.{axis}' for axis in 'xyzw'),
    *(f'twist.twist.linear.{axis}' for axis in 'xyz'),
    *(f'twist.twist.angular.{axis}' for axis in 'xyz'))


def read_odometry(data: bytes) -> tuple[str, str, Array, Array, Array, int]:
    """Return what a serialized Odometry says, without its position and covariances.

    The frame, the child frame, its orientation in the frame (w, x, y, z), its velocity and angular
    velocity in its own axes, (3,) each, and the stamp, ns.

    Raises HodynError if it is none, for a value that is no number or too large, and for an
    orientation that is no unit quaternion.
    """
    stamp = cdr.stamp(data)
    cursor = cdr.Cursor.after_stamp(data)
    try:
        frame, child = cursor.text(), cursor.text()
        pose = cursor.doubles(7)
        cursor.doubles(_COVARIANCE)
        twist = cursor.doubles(6)
        cursor.doubles(_COVARIANCE)
    except cdr.MALFORMED:
        raise HodynError(f'{len(data)} bytes that are no Odometry') from None
    values = np.array(pose + twist)
    largest = np.full(values.shape, cdr.MAX_VALUE)
    largest[:3] = 1e12  # of a grid or of the Earth; positions are not used
    wrong = ~(np.abs(values) <= largest)
    if wrong.any():
        i = int(wrong.argmax())
        what = f'{values[i]:g}' if np.isfinite(values[i]) else 'not finite'
        raise HodynError(f'{_FIELDS[i]} is {what}')
    length = float(np.linalg.norm(values[3:7]))
    if abs(length - 1.0) > LENGTH_TOLERANCE:
        raise HodynError(
            f'pose.pose.orientation is no unit quaternion: its length is {length:.4g}')
    return frame, child, values[[6, 3, 4, 5]] / length, values[7:10], values[10:], stamp
