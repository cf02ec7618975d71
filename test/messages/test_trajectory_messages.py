"""Trajectories in MoveIt's messages, by serializations of rosbags from MoveIt's definitions."""
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from serialized import header

from hodyn_ros.messages.trajectory_messages import DECODERS
from hodyn_ros.plans.files import read_trajectory
from hodyn_ros.robot import HodynError

STORE = get_typestore(Stores.ROS2_JAZZY)
ROBOT, DISPLAY = 'moveit_msgs/msg/RobotTrajectory', 'moveit_msgs/msg/DisplayTrajectory'
for name, text in {
    ROBOT: 'trajectory_msgs/JointTrajectory joint_trajectory\n'
           'trajectory_msgs/MultiDOFJointTrajectory multi_dof_joint_trajectory',
    # The state that follows is longer; nothing of it is read.
    DISPLAY: 'string model_id\nmoveit_msgs/RobotTrajectory[] trajectory\n'
             'sensor_msgs/JointState trajectory_start',
}.items():
    STORE.register(get_types_from_msg(text, name))
T = STORE.types


def robot_trajectory(frame, base_points):
    def point(kind, values, second, nanosec):
        return T[f'trajectory_msgs/msg/{kind}'](
            *values, T['builtin_interfaces/msg/Duration'](second, nanosec))

    none = np.zeros(0)
    joints = [
        point('JointTrajectoryPoint', (np.array(position), np.zeros(2), none, none), second,
              500_000_000)
        for second, position in ((0, [0.1, 0.2]), (2, [0.3, -0.4]))]
    base = [point('MultiDOFJointTrajectoryPoint', ([], [], []), 0, 0)] * base_points
    return T[ROBOT](
        T['trajectory_msgs/msg/JointTrajectory'](
            header((5, 7), frame), ['joint1', 'joint2'], joints),
        T['trajectory_msgs/msg/MultiDOFJointTrajectory'](header((5, 7), 'world'), ['base'], base))


def message(kind, *, base_points=0, parts=1, model='panda', frame='world'):
    inner = robot_trajectory(frame, base_points)
    if kind == ROBOT:
        return inner
    none = np.zeros(0)
    return T[DISPLAY](model, [inner] * parts, T['sensor_msgs/msg/JointState'](
        header((5, 7), 'world'), [], none, none, none))


def serialized(kind, *, little_endian=True, **arguments):
    return bytes(STORE.serialize_cdr(
        message(kind, **arguments), kind, little_endian=little_endian))


@pytest.mark.parametrize('kind', [ROBOT, DISPLAY])
@pytest.mark.parametrize('little_endian', [True, False])
@pytest.mark.parametrize('text', ['', 'a', 'abcd', 'abcde'])
def test_a_trajectory_of_moveit_is_read(kind, little_endian, text):
    data = serialized(kind, little_endian=little_endian, model=text, frame=text)
    waypoints = DECODERS[kind](data)
    assert waypoints.names == ('joint1', 'joint2')
    assert list(waypoints.times) == [0.5, 2.5]
    assert [list(row) for row in waypoints.positions] == [[0.1, 0.2], [0.3, -0.4]]


@pytest.mark.parametrize('kind', [ROBOT, DISPLAY])
def test_what_is_no_trajectory_of_joints_is_refused(kind):
    with pytest.raises(HodynError, match='points: the base moves'):
        DECODERS[kind](serialized(kind, base_points=1))
    whole = serialized(kind)
    end = len(whole) if kind == ROBOT else whole.rindex(b'base') + 8
    for length in range(end):
        with pytest.raises(HodynError):
            DECODERS[kind](whole[:length])


@pytest.mark.parametrize('parts', [0, 2])
def test_one_trajectory_at_a_time_is_displayed(parts):
    with pytest.raises(HodynError, match=f'DisplayTrajectory with {parts} trajectories'):
        DECODERS[DISPLAY](serialized(DISPLAY, parts=parts))


@pytest.mark.parametrize('kind', [ROBOT, DISPLAY])
def test_a_bag_of_moveits_trajectories_is_a_plan(tmp_path: Path, kind):
    with Writer(tmp_path / 'bag', version=9) as writer:
        connection = writer.add_connection('/display_planned_path', kind, typestore=STORE)
        writer.write(connection, 1, serialized(kind))
    assert list(read_trajectory(tmp_path / 'bag').times) == [0.5, 2.5]
