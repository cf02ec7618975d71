"""trajectory_msgs/MultiDOFJointTrajectory of one body as bytes."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages import cdr
from hodyn_ros.messages.joint_trajectory import read_header, read_time_from_start
from hodyn_ros.messages.odometry import unit_quaternion

MESSAGE_TYPE = 'trajectory_msgs/msg/MultiDOFJointTrajectory'
MAX_POSES = 300
"""Largest number of poses: the time and memory of a fit grow with its square."""
_TRANSFORM, _TWIST = 7, 6  # number of doubles in a transform and in a twist
_FIELDS = (
    *(f'translation.{axis}' for axis in 'xyz'), *(f'rotation.{axis}' for axis in 'xyzw'))


def frame_and_names(data: bytes) -> tuple[str, tuple[str, ...], int]:
    """Return frame, joint names and number of points; HodynError for other bytes."""
    return read_header(cdr.Cursor.of(data))


def read_poses(data: bytes) -> tuple[Array, Array, Array]:
    """Return times (m,) s, positions (m, 3) and orientations (m, 4), (w, x, y, z), of a body.

    Velocities and accelerations are not read. Raises HodynError for other bytes, too many points,
    a point without exactly one transform, a value that is not finite or too large, or an
    orientation that is not a unit quaternion.
    """
    cursor = cdr.Cursor.of(data)
    points = read_header(cursor)[2]
    if points > MAX_POSES:
        raise HodynError(
            f'{points} poses; at most {MAX_POSES} are read: send poses further apart; the '
            'motion between them is interpolated')
    times, positions, turns = np.empty(points), np.empty((points, 3)), np.empty((points, 4))
    with cdr.reading(data, f'a serialized {MESSAGE_TYPE}'):
        for i in range(points):
            if (count := cursor.count()) != 1:
                raise HodynError(f'point {i} has {count} transforms; expected one, of the base')
            values = np.array(cursor.doubles(_TRANSFORM))
            for _ in ('velocities', 'accelerations'):
                if twists := cursor.count():
                    cursor.doubles(_TWIST * twists)
            times[i] = read_time_from_start(cursor, i)
            place = f'point {i}, transforms[0]'
            cdr.check_values(values, [f'{place}.{field}' for field in _FIELDS])
            positions[i] = values[:3]
            turns[i] = unit_quaternion(values[3:], f'{place}.rotation')
    return times, positions, turns
