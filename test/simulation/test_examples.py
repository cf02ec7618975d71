"""Robots with example actuators, as files for the processes of the demo."""
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.simulation.examples import with_example_actuators, write_example_robot

URDF = (
    '<robot name="arm"><link name="base"/><link name="l1"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>'
    '<joint name="j1" type="revolute"><origin xyz="0 0.1 0.3" rpy="0.5 0 0"/><parent link="base"/>'
    '<child link="l1"/><limit lower="-1" upper="2" velocity="3" effort="40"/></joint></robot>')


@pytest.mark.parametrize('kind', ['rigid', 'sea', 'vsa'])
@pytest.mark.parametrize('source', ['panda', 'twolink', 'arm.urdf'])
def test_a_written_robot_is_the_one_in_memory(source, kind, tmp_path):
    if source == 'arm.urdf':
        source = str(tmp_path / source)
        (tmp_path / 'arm.urdf').write_text(URDF)
    write_example_robot(source, kind, None, tmp_path / 'written.yaml')
    written = FeedForward(hd.load_robot(tmp_path / 'written.yaml'))
    meant = FeedForward(with_example_actuators(hd.load_robot(source), kind))
    q = np.random.default_rng(3).uniform(-0.3, 0.3, size=(5, meant.robot.n))
    torque = meant.torque(q)
    np.testing.assert_array_equal(written.torque(q), torque)
    np.testing.assert_array_equal(
        written.motor_side.evaluate(q, torque), meant.motor_side.evaluate(q, torque))
