"""What the node reads and writes as bytes is what ROS's own serialization makes of it."""
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: no ROS 2 here')

from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from serialized import assert_read_in_the_robots_order
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import hodyn_ros as hd
from hodyn_ros.messages.commands import CommandWriter
from hodyn_ros.messages.joint_states import JointStateReader, JointStateWriter
from hodyn_ros.messages.joint_trajectory import decode
from hodyn_ros.messages.wrench_message import frame_and_wrench
from hodyn_ros.robot.joint_names import JointNames

NAMES = [f'fer_joint{i}' for i in range(1, 8)]


def test_states_are_read_in_the_robots_order():
    assert_read_in_the_robots_order(
        JointStateReader(JointNames(hd.load_robot('panda'))), NAMES,
        lambda k, name, position, velocity: serialize_message(JointState(
            name=name, position=position, velocity=velocity)))


def test_messages_written_in_place():
    writer = JointStateWriter(NAMES)
    writer.position[:], writer.velocity[:], writer.effort[:] = np.arange(21.0).reshape(3, 7)
    first = writer.at(1_500_000_000)
    writer.effort[:] = -1.0
    message = deserialize_message(first, JointState)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)
    assert list(message.name) == NAMES
    assert [*message.position, *message.velocity, *message.effort] == list(range(21))
    command = CommandWriter(np.array([2, 0, 1])).of(np.array([1.0, 2.0, 3.0]))
    assert list(deserialize_message(command, Float64MultiArray).data) == [2.0, 3.0, 1.0]


def test_a_wrench_and_a_trajectory_as_ros_serializes_them():
    message = WrenchStamped(wrench=Wrench(
        force=Vector3(x=1.0, y=2.0, z=3.0), torque=Vector3(x=4.0, y=5.0, z=6.0)))
    message.header.frame_id = 'link7'
    frame, wrench = frame_and_wrench(serialize_message(message))
    assert frame == 'link7'
    assert wrench.tolist() == [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]
    message.wrench.force.y = float('nan')
    with pytest.raises(ValueError, match="on 'link7' is not finite"):
        frame_and_wrench(serialize_message(message))
    point = JointTrajectoryPoint(positions=[0.5] * 7)
    point.time_from_start.sec = 4
    trajectory = decode(serialize_message(JointTrajectory(joint_names=NAMES, points=[point])))
    assert trajectory.names == tuple(NAMES)
    np.testing.assert_array_equal(trajectory.times, 4.0)
    np.testing.assert_array_equal(trajectory.positions, [[0.5] * 7])
