"""Acceptance: joint_trajectory_controller's rules, each with its line."""
import numpy as np
import pytest

from hodyn_ros import load_robot
from hodyn_ros.plans import JointWaypoints, accept
from hodyn_ros.robot.joint_names import JointNames

NAMES = tuple(f'fer_joint{i}' for i in range(1, 8))
ROW = [0.0, 0.1, 0.2, -0.3, 0.4, 0.5, 0.6]
REST = [0.0] * 7


@pytest.fixture(scope='module')
def joints():
    return JointNames(load_robot('panda'))


def trajectory(**changes) -> JointWaypoints:
    fields = {'names': NAMES, 'times': [0.0, 1.0], 'positions': [ROW, ROW]}
    return JointWaypoints(**{**fields, **changes})


def test_jumbled_joints_are_put_in_order(joints):
    order = [3, 0, 6, 1, 5, 2, 4]
    points = accept(trajectory(
        names=tuple(NAMES[i] for i in order), positions=[[ROW[i] for i in order]] * 2,
        velocities=[REST, REST]), joints)
    np.testing.assert_array_equal(points.positions, [ROW, ROW])
    assert points.names == NAMES
    assert points.velocities.shape == (2, 7)
    assert points.accelerations is None


def test_points_may_leave_out_derivatives(joints):
    points = accept(trajectory(velocities=[[], REST], accelerations=[[], []]), joints)
    assert points.velocities[0] is None
    np.testing.assert_array_equal(points.velocities[1], REST)
    assert points.accelerations is None


def test_a_velocity_at_the_end_is_allowed_only_on_request(joints):
    moving = trajectory(velocities=[REST, [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match=r"last point, joint 'fer_joint3': velocity 0\.5"):
        accept(moving, joints)
    assert accept(moving, joints, allow_nonzero_velocity_at_end=True).velocities[1, 2] == 0.5


def bad_row(value: float) -> list[float]:
    return [*ROW[:2], value, *ROW[3:]]


@pytest.mark.parametrize(('changes', 'message'), [
    ({'times': [], 'positions': []}, 'no points'),
    ({'names': NAMES[:-1], 'positions': [ROW[:-1]] * 2}, "'fer_joint7' of robot 'panda' miss"),
    ({'names': (*NAMES, 'finger'), 'positions': [[*ROW, 0.0]] * 2}, "'finger' is not one of"),
    ({'names': (*NAMES[:-1], NAMES[0])}, "'fer_joint1' is named twice"),
    ({'names': tuple(f'fr3_joint{i}' for i in range(1, 8))}, 'fr3_joint1'),
    ({'positions': [ROW, ROW[:-1]]}, 'point 1: 6 positions for 7 joints'),
    ({'positions': [ROW, []]}, 'point 1 has no positions'),
    ({'positions': [[], []]}, 'point 0 has no positions'),
    ({'positions': [ROW]}, '1 rows of positions for 2 points'),
    ({'velocities': [REST, REST[:-2]]}, 'point 1: 5 velocities for 7 joints'),
    ({'positions': [ROW, bad_row(np.nan)]}, "point 1, joint 'fer_joint3': nan among the posi"),
    ({'velocities': [bad_row(np.inf), REST]}, "point 0, joint 'fer_joint3': inf among the velo"),
    ({'times': [0.0, 0.0]}, 'point 1: time_from_start 0 s does not increase'),
    ({'times': [1.0, 0.5]}, 'point 1: time_from_start 0.5 s does not increase'),
    ({'times': [0.0, np.nan]}, 'point 1: its time is not finite'),
    ({'times': [-0.5, 1.0]}, 'point 0: time_from_start -0.5 s is negative'),
])
def test_refusals_say_what_is_wrong(joints, changes, message):
    with pytest.raises(ValueError, match=message):
        accept(trajectory(**changes), joints)


def test_a_trajectory_that_has_ended_is_refused(joints):
    assert accept(trajectory(), joints, elapsed=0.9).times[-1] == 1.0
    with pytest.raises(ValueError, match=r'has ended: its last point was due 0\.5 s ago'):
        accept(trajectory(), joints, elapsed=1.5)
