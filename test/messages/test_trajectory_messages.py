"""Trajectories in MoveIt's messages, by serializations of rosbags from MoveIt's definitions."""
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

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


def header(frame='world'):
    return T['std_msgs/msg/Header'](
        stamp=T['builtin_interfaces/msg/Time'](sec=5, nanosec=7), frame_id=frame)


def robot_trajectory(frame='world', base_points=0):
    points = [
        T['trajectory_msgs/msg/JointTrajectoryPoint'](
            positions=np.array(position), velocities=np.zeros(2), accelerations=np.zeros(0),
            effort=np.zeros(0),
            time_from_start=T['builtin_interfaces/msg/Duration'](sec=second, nanosec=500_000_000))
        for second, position in ((0, [0.1, 0.2]), (2, [0.3, -0.4]))]
    return T[ROBOT](
        joint_trajectory=T['trajectory_msgs/msg/JointTrajectory'](
            header=header(frame), joint_names=['joint1', 'joint2'], points=points),
        multi_dof_joint_trajectory=T['trajectory_msgs/msg/MultiDOFJointTrajectory'](
            header=header(), joint_names=['base'], points=[
                T['trajectory_msgs/msg/MultiDOFJointTrajectoryPoint'](
                    transforms=[], velocities=[], accelerations=[],
                    time_from_start=T['builtin_interfaces/msg/Duration'](sec=0, nanosec=0))
            ] * base_points))


def message(kind, *, base_points=0, parts=1, model='panda', frame='world'):
    inner = robot_trajectory(frame, base_points)
    if kind == ROBOT:
        return inner
    return T[DISPLAY](
        model_id=model, trajectory=[inner] * parts,
        trajectory_start=T['sensor_msgs/msg/JointState'](
            header=header(), name=[], position=np.zeros(0), velocity=np.zeros(0),
            effort=np.zeros(0)))


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
