"""The nearest inertias that bodies have, and the file in which nothing else changes."""
import warnings

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from random_robots import random_mapping
import yaml

import hodyn_ros as hd
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import robot_mapping
from hodyn_ros.robot.files.repair import Repair, repairs, write_repaired

ENTRIES = st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6)


@given(ENTRIES)
def test_the_nearest_is_one_and_no_other_is_nearer(entries):
    tensor = inertias.unpack(np.array(entries))
    found = inertias.nearest_physical(tensor)
    assert inertias.physical_fault(1.0, found) is None
    if inertias.physical_fault(1.0, tensor) is None:
        np.testing.assert_allclose(found, tensor, atol=1e-6)  # what is let pass is not exact
    # Towards any other that a body has, the change grows: the set of these is convex.
    rng = np.random.default_rng(0)
    for _ in range(20):
        spread = rng.normal(size=(3, 3)) * rng.uniform(0.0, 2.0)
        other = np.trace(spread @ spread.T) * np.eye(3) - spread @ spread.T
        assert np.sum((tensor - found) * (other - found)) < 1e-9


URDF = """<?xml version="1.0"?>
<!-- <inertia ixx="9"/> of a comment -->
<robot name="arm"><link name="base"/>
  <link name="l1">
    <visual><geometry><mesh filename="é.stl"/></geometry></visual>
    <inertial><origin xyz="0.1 0 0" rpy="0.3 0.2 0.1"/><mass value="2"/>
      <inertia ixx="0.01" ixy="0" ixz="0"
               iyy='0.01' iyz="0" izz="0.05"></inertia></inertial></link>
  <link name="l2"><inertial><mass value="1"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1" /></inertial></link>
  <joint name="j1" type="continuous"><parent link="base"/><child link="l1"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="j2" type="continuous"><parent link="l1"/><child link="l2"/>
    <axis xyz="0 0 1"/></joint>
</robot>
"""


def test_a_urdf_is_the_same_text_but_for_the_numbers(tmp_path):
    source, out = tmp_path / 'arm.urdf', tmp_path / 'repaired.urdf'
    source.write_text(URDF, 'utf-8')
    change, = repairs(source)
    assert change.link == 'l1'
    assert change.change == pytest.approx(
        np.linalg.norm(change.proposed - change.given) / np.linalg.norm(change.given))
    np.testing.assert_allclose(  # the frame of the inertia stays
        change.axes.T @ change.proposed @ change.axes, np.diag(change.proposed_principal),
        atol=1e-15)
    write_repaired(source, [change], out)
    before, after = URDF.split('<inertia '), out.read_text('utf-8').split('<inertia ')
    assert [*before[:2], before[3]] == [*after[:2], after[3]]
    assert before[2].partition('>')[2] == after[2].partition('>')[2]
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        robot = hd.load_robot(out)
    np.testing.assert_allclose(robot.bodies[0].inertia, change.proposed, atol=1e-15)
    np.testing.assert_array_equal(
        robot.bodies[1].inertia, hd.load_robot(source, inertia_check='warn').bodies[1].inertia)
    assert repairs(out) == []


@pytest.mark.parametrize('seed', range(4))
def test_what_is_right_stays_and_its_torques_too(tmp_path, seed):
    rng = np.random.default_rng(seed)
    robot = hd.load_robot(random_mapping(rng, 5))
    hd.save_robot(robot, tmp_path / 'right.yaml')
    assert repairs(tmp_path / 'right.yaml') == []
    write_repaired(tmp_path / 'right.yaml', [], tmp_path / 'same.yaml')
    q = rng.normal(size=(4, 5))
    np.testing.assert_array_equal(
        hd.inverse_dynamics(hd.load_robot(tmp_path / 'same.yaml'), q),
        hd.inverse_dynamics(hd.load_robot(tmp_path / 'right.yaml'), q))
    keys = robot_mapping(robot)
    turn = lie.rotation_exp(rng.normal(size=3))
    keys['bodies'][2]['inertia'] = (turn @ np.diag([-1.0, 2.0, 4.0]) @ turn.T).tolist()
    (tmp_path / 'wrong.yaml').write_text(yaml.safe_dump(keys))
    with pytest.raises(ValueError, match='hodyn info --repair'):
        hd.load_robot(tmp_path / 'wrong.yaml')
    changes = repairs(tmp_path / 'wrong.yaml')
    assert [change.index for change in changes] == [2]
    write_repaired(tmp_path / 'wrong.yaml', changes, tmp_path / 'mended.yaml')
    mended = hd.load_robot(tmp_path / 'mended.yaml')
    values = np.linalg.eigvalsh(mended.bodies[2].inertia)
    np.testing.assert_allclose(values, [0.0, 3.0, 3.0], atol=1e-14)


def test_a_principal_value_of_0_has_no_sign():
    tensor = np.diag([-8.7e-19, 3.0, 3.0])
    change = Repair('l1', 0, 1.0, np.zeros(3), tensor, tensor)
    assert change.proposed_principal.tolist() == [0.0, 3.0, 3.0]


def test_what_cannot_be_written_is_said(tmp_path):
    with pytest.raises(ValueError, match=r'panda is not a URDF: write .* as \.yaml'):
        write_repaired('panda', [], tmp_path / 'panda.urdf')
    with pytest.raises(ValueError, match=r'is written as \.yaml, or a URDF as \.urdf'):
        write_repaired('panda', [], tmp_path / 'panda.xml')
    write_repaired('iiwa14', repairs('iiwa14'), tmp_path / 'iiwa.yaml')
    with pytest.raises(FileExistsError):
        write_repaired('iiwa14', [], tmp_path / 'iiwa.yaml')
    assert repairs(tmp_path / 'iiwa.yaml') == []
