"""Messages serialized by rosbags: another implementation of CDR than the package's."""
import numpy as np
from recordings import TYPES

from hodyn_ros.messages.joint_states import MESSAGE_TYPE
from hodyn_ros.messages.multi_dof_trajectory import MESSAGE_TYPE as BASE_TYPE

CLASSES = TYPES.types


def header(stamp, frame):
    return CLASSES['std_msgs/msg/Header'](
        CLASSES['builtin_interfaces/msg/Time'](*stamp), frame)


def joint_state(stamp, frame, names, *fields, little_endian=True):
    message = CLASSES[MESSAGE_TYPE](
        header(stamp, frame), names, *(np.asarray(field, float) for field in fields))
    return bytes(TYPES.serialize_cdr(message, MESSAGE_TYPE, little_endian=little_endian))


def base_trajectory(
    times, poses, *, stamp=0, frame='odom', names=('deck',), little_endian=True, twists=0,
):
    """Serialize a MultiDOFJointTrajectory of poses (x, y, z, qx, qy, qz, qw); stamp in ns."""
    vector, quaternion, transform, twist, point = (CLASSES[name] for name in (
        'geometry_msgs/msg/Vector3', 'geometry_msgs/msg/Quaternion',
        'geometry_msgs/msg/Transform', 'geometry_msgs/msg/Twist',
        'trajectory_msgs/msg/MultiDOFJointTrajectoryPoint'))
    still = [twist(vector(9.0, 9.0, 9.0), vector(9.0, 9.0, 9.0))] * twists
    duration = CLASSES['builtin_interfaces/msg/Duration']
    points = [
        point([transform(vector(*pose[:3]), quaternion(*pose[3:]))], still, still,
              duration(*divmod(round(time * 1e9), 10**9)))
        for time, pose in zip(times, np.asarray(poses, float).tolist(), strict=True)]
    message = CLASSES[BASE_TYPE](header(divmod(stamp, 10**9), frame), list(names), points)
    return bytes(TYPES.serialize_cdr(message, BASE_TYPE, little_endian=little_endian))


def assert_read_in_the_robots_order(reader, names, serialize):
    """Read states in any order, with a finger and some without velocities."""
    rng = np.random.default_rng(0)
    for k in range(20):
        q, v = rng.normal(size=(2, 7))
        order = rng.permutation(7) if k % 3 else np.arange(7)
        data = serialize(
            k, [names[i] for i in order] + ['finger'], [*q[order].tolist(), 0.5],
            [*v[order].tolist(), 0.0] if k % 2 else [])
        position, velocity = reader.state(data)
        np.testing.assert_array_equal(position, q)
        assert (velocity is None) == (k % 2 == 0)
        if velocity is not None:
            np.testing.assert_array_equal(velocity, v)
        assert reader.names == names
        assert reader.other_positions(data) == {'finger': 0.5}
