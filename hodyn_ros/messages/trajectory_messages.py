"""Messages with a joint trajectory, also MoveIt's, as bytes."""
from collections.abc import Callable, Mapping

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages import cdr
from hodyn_ros.messages.joint_trajectory import MESSAGE_TYPE, JointWaypoints, decode, read


def _display_trajectory(data: bytes) -> JointWaypoints:
    cursor = cdr.Cursor.of(data)
    with cdr.reading(data, 'a DisplayTrajectory'):
        cursor.text()  # the model
        parts = cursor.count()
    if parts != 1:
        raise HodynError(f'a DisplayTrajectory with {parts} trajectories; send one')
    return _read_robot_trajectory(cursor)


def _read_robot_trajectory(cursor: cdr.Cursor) -> JointWaypoints:
    waypoints = read(cursor)
    with cdr.reading(cursor.data, 'a RobotTrajectory'):
        cursor.time()
        cursor.text()
        for _ in range(cursor.count()):
            cursor.text()
        base_points = cursor.count()
    if base_points:
        raise HodynError(
            'multi_dof_joint_trajectory has points: the base moves, and only joints can be '
            'checked')
    return waypoints


DECODERS: Mapping[str, Callable[[bytes], JointWaypoints]] = {
    MESSAGE_TYPE: decode,
    'moveit_msgs/msg/RobotTrajectory': lambda data: _read_robot_trajectory(cdr.Cursor.of(data)),
    'moveit_msgs/msg/DisplayTrajectory': _display_trajectory,
}
"""Decoders by message type: each returns the trajectory in a message, or raises HodynError."""
