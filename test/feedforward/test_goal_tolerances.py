"""The tolerances of goals, by the rules of joint_trajectory_controller."""
import numpy as np
import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward.goal_tolerances import (
    JointTolerance,
    default_tolerances,
    goal_tolerances,
    violation,
)

JOINTS = ['joint1', 'joint2', 'joint3']
NAMES = [[f'left_fer_{joint}' for joint in JOINTS], JOINTS]


@pytest.fixture
def defaults():
    return default_tolerances(
        JOINTS, 0.5, 0.1, {'fer_joint1': 0.1, 'joint2': 0.2}, {'fer_joint3': 0.3})


def test_parameters_bound_what_they_name_and_zero_nothing():
    found = default_tolerances(JOINTS, 0.0, 0.0, {'joint1': 0.1, 'joint2': 0.0}, {'joint3': 0.0})
    np.testing.assert_array_equal(found.path, [[0.1, np.inf, np.inf], [np.inf] * 3])
    assert np.isinf(found.goal).all()
    assert found.goal_time == 0.0


def test_joints_of_parameters_have_any_prefix_and_unknown_ones_are_named(defaults):
    np.testing.assert_array_equal(defaults.path[0], [0.1, 0.2, np.inf])
    np.testing.assert_array_equal(defaults.goal, [[np.inf, np.inf, 0.3], [0.1] * 3])
    with pytest.raises(HodynError, match=r'constraints\.elbow\.goal: no such joint'):
        default_tolerances(JOINTS, 0.0, 0.0, {}, {'elbow': 0.1})


def test_a_goal_that_asks_for_nothing_has_the_defaults(defaults):
    """joint_trajectory_controller's test_tolerances_via_actions, first and last part."""
    found = goal_tolerances(defaults, NAMES, [], [], 0.0)
    np.testing.assert_array_equal(found.path, defaults.path)
    np.testing.assert_array_equal(found.goal, defaults.goal)
    assert found.goal_time == 0.5


def test_tolerances_of_a_goal_come_in_any_order_and_with_any_joint_name(defaults):
    found = goal_tolerances(
        defaults, NAMES, [JointTolerance('joint3', 0.2, 0.3)],
        [JointTolerance('left_fer_joint2', 1.2, 2.2), JointTolerance('joint1', 1.1, 0.0)], 2.0)
    np.testing.assert_array_equal(found.path, [[0.1, 0.2, 0.2], [np.inf, np.inf, 0.3]])
    np.testing.assert_array_equal(found.goal, [[1.1, 1.2, 0.3], [0.1, 2.2, 0.1]])
    assert found.goal_time == 2.0


def test_minus_one_asks_for_no_bound(defaults):
    found = goal_tolerances(
        defaults, NAMES, [JointTolerance('joint1', -1.0, 0.0)],
        [JointTolerance('joint3', -1.0, -1.0)], -1.0)
    assert np.isinf(found.path[0, 0])
    assert np.isinf(found.goal[:, 2]).all()
    assert found.goal_time == 0.0


@pytest.mark.parametrize(('path', 'goal_time', 'expected'), [
    ([JointTolerance('joint1', -2.0, 0.0)], 0.0, "path_tolerance of joint 'joint1': position -2"),
    ([JointTolerance('joint1', 0.0, float('nan'))], 0.0, 'velocity nan is neither'),
    ([JointTolerance('elbow', 0.1, 0.0)], 0.0, "path_tolerance names joint 'elbow'"),
    ([], -2.0, 'goal_time_tolerance -2'),
])
def test_what_means_nothing_is_named(defaults, path, goal_time, expected):
    with pytest.raises(HodynError, match=expected):
        goal_tolerances(defaults, NAMES, path, [], goal_time)


def test_the_worst_of_what_is_beyond_is_told(defaults):
    error = np.array([[0.05, -0.3, 7.0], [0.0, 9.0, 0.0]])
    assert violation(defaults.path, error) == (0, 1)
    assert violation(defaults.goal, error) == (1, 1)
    assert violation(defaults.goal, error[:1]) == (0, 2)
    assert violation(defaults.path, np.zeros((2, 3))) is None
