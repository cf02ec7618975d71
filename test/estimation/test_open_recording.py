"""A recording is opened in the robot's order of joints, of its arm and topic: fast."""
import dataclasses

import numpy as np
import pytest
from recordings import PANDA, messages, record, write

from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.messages.joint_state_bag import JointStates
from hodyn_ros.robot import HodynError

pytestmark = pytest.mark.fast


def read(path, robot=PANDA, **options):
    with open_recording(path, robot, **options) as bag:
        return bag, JointStates.joined(list(bag.blocks()))


def test_efforts_are_torques_and_joints_those_of_the_robot(tmp_path):
    recording = record(duration=0.2)
    order = np.array([2, 0, 1, 6, 5, 3, 4])
    shuffled = dataclasses.replace(
        recording, names=[recording.names[k] for k in order],
        **{name: getattr(recording, name)[:, order]
           for name in ('position', 'velocity', 'effort')})
    path = write(tmp_path / 'bag', {'/joint_states': messages(shuffled)})
    gain = np.array([1.0, -2.0, 3.0, 0.5, 1.0, -1.0, 7.0])
    for robot, factor in (
            (PANDA, 1.0), (dataclasses.replace(PANDA, effort_gain=gain), gain)):
        bag, found = read(path, robot)
        assert bag.topic == '/joint_states'
        np.testing.assert_array_equal(found.stamp, recording.stamp)
        np.testing.assert_array_equal(found.position, recording.position)
        np.testing.assert_array_equal(found.velocity, recording.velocity)
        np.testing.assert_array_equal(found.effort, factor * recording.effort)


def test_one_of_two_arms_and_of_two_topics_is_the_one_that_is_named(tmp_path):
    left, right = (
        record(duration=0.2, prefix=f'{side}_fer_', seed=seed)
        for side, seed in (('left', 1), ('right', 2)))
    both = dataclasses.replace(
        left, names=left.names + right.names,
        **{name: np.hstack([getattr(left, name), getattr(right, name)])
           for name in ('position', 'velocity', 'effort')})
    other = record(duration=0.2, prefix='left_fer_', seed=3)
    path = write(tmp_path / 'bag', {'/a': messages(both), '/b': messages(other)})
    for prefix, recording in (('left_', left), ('right_', right)):
        _, found = read(path, prefix=prefix, topic='/a')
        np.testing.assert_array_equal(found.position, recording.position)
    _, found = read(path, prefix='left_', topic='/b')
    np.testing.assert_array_equal(found.position, other.position)
    with pytest.raises(HodynError, match=r'/a.*/b.*--topic'):
        read(path, prefix='left_')
    with pytest.raises(HodynError, match='no topic /c'):
        read(path, topic='/c')
    with pytest.raises((HodynError, OSError), match='missing'):
        read(tmp_path / 'missing')


def test_results_of_the_node_are_no_joint_states(tmp_path):
    path = write(tmp_path / 'bag', {
        '/joint_states': messages(record(duration=0.3)),
        '/feedforward/torque_rate': messages(record(duration=0.3))})
    assert read(path)[0].topic == '/joint_states'
    with pytest.raises(HodynError, match=r'rates of torques.* choose the topic of the driver by'):
        read(path, topic='/feedforward/torque_rate')
