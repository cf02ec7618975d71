"""Which names are those of a locked joint."""
from dataclasses import replace

import pytest

import hodyn_ros as hd
from hodyn_ros.robot.locked_joints import (
    elsewhere,
    index_of,
    locked_indices,
    locked_position,
)

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(('names', 'prefix', 'index'), [
    (['a', 'grip'], '', 1), (['left_grip', 'right_grip'], 'right_', 1),
    (['left_grip'], 'right_', None), (['left_grip'], '', None), (['biggrip'], None, None),
    (['left_grip'], None, 0), (['left_grip', 'right_grip'], None, None), ([], '', None)])
def test_a_joint_is_found_with_its_arms_prefix_and_no_other(names, prefix, index):
    assert index_of('grip', names, prefix) == index


def test_locked_joints_are_found_by_the_prefix_of_the_arm():
    robot = replace(hd.load_robot('panda'), locked=(('grip', 0.02), ('tool', 1.0)))
    assert locked_indices(robot, ['left_grip', 'tool'], 'left_') == {'grip': 0, 'tool': 1}
    assert locked_indices(robot, ['right_grip', 'grip_r'], 'left_') == {}
    assert locked_position(robot, 'left_grip', 'left_') == 0.02
    assert locked_position(robot, 'biggrip', '') is None


def test_a_joint_that_stands_and_one_that_moves_are_told_apart():
    assert elsewhere('grip', 0.02, 0.04, 0.04) == 'grip is locked at 0.02, but stands at 0.04'
    assert elsewhere('elbow', 0.5, 0.0, 2.0) == 'elbow is locked at 0.5, but moves from 0 to 2'
