"""Exciting motions: within all limits, from rest to rest, and better than chance."""
import re

import numpy as np
import pytest
import yaml

from hodyn_ros import load_robot, with_actuators
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.identification.excitation import design


def test_it_is_at_rest_at_its_ends_and_its_own_derivative():
    found = design(load_robot('twolink'), trials=5, points=2001)
    assert np.abs(found.q[[0, -1], 1:]).max() < 1e-9 * np.abs(found.q[:, 1:]).max()
    for k in range(4):
        rate = np.gradient(found.q[:, k], found.times, axis=0, edge_order=2)
        np.testing.assert_allclose(rate[5:-5], found.q[5:-5, k + 1], atol=1e-3)


def test_the_condition_number_is_that_of_the_best_motion_tried():
    robot = load_robot('panda')
    few, many = (design(robot, trials=trials, seed=3) for trials in (1, 30))
    assert many.base_parameters == 43
    assert many.condition < 0.95 * few.condition


def test_an_arm_that_cannot_hold_itself_is_told_before_the_search():
    """Guards minutes of search for what gravity forbids, ended by some instant of a motion."""
    arm = load_robot('panda').with_payload('link7', 15.0, [0.0, 0.0, 0.1])
    with pytest.raises(ValueError, match=r"robot 'panda' cannot hold itself .* joint4 needs"):
        design(arm, trials=0)


@pytest.mark.parametrize('share', [0.3, 0.8])
def test_the_share_also_holds_for_motors_and_springs(share):
    """Guards a share that was not applied to the speed of motors: the plan was refused."""
    arm = with_actuators(load_robot('twolink').with_gravity((0.0, 0.0, 0.0)), {'actuators': {
        'joint1': {'law': 'spring', 'stiffness': 900.0, 'max_deflection': 0.1,
                   'motor': {'inertia': 0.4, 'max_velocity': 0.3, 'max_effort': 60.0}},
        'joint2': {'law': 'quadratic', 'coefficient': 500.0, 'stiffness': 120.0,
                   'max_deflection': 0.3,
                   'motor': {'inertia': 0.05, 'max_velocity': 0.6, 'max_effort': 40.0}}}})
    table = LimitTable(FeedForward(arm))
    at_rest, *found = (
        np.abs(table.shares(q, torque)).max(axis=0) for q, torque in (
            (np.zeros((1, 5, 2)), np.zeros((1, 3, 2))),
            (design(arm, trials=0, share=share, points=500).q, None)))
    used = dict(zip(
        ((column.joint, column.quantity) for column in table.limited_columns), *found,
        strict=True))
    assert max(used[joint, 'motor_velocity'] for joint in (
        'joint1', 'joint2_motor1', 'joint2_motor2')) == pytest.approx(share, abs=0.1 * share)
    assert np.all(found[0] <= 1.02 * (at_rest + share * (1.0 - at_rest)))


@pytest.mark.parametrize(('payload', 'advised'), [(3.0, True), (15.0, False)])
def test_a_larger_share_is_advised_where_it_helps(payload, advised):
    """Guards the advice to use more than there is."""
    arm = load_robot('panda').with_payload('link7', payload, [0.0, 0.0, 0.1])
    with pytest.raises(ValueError, match='cannot hold itself') as refusal:
        design(arm, trials=0, share=0.1)
    share = re.search(r'a --share of ([\d.]+) or more$', str(refusal.value))
    assert (share is not None) == advised
    if share is not None:
        assert design(arm, trials=0, share=float(share[1])).condition > 1.0


@pytest.mark.slow
def test_the_command_writes_a_plan_that_the_checker_passes(tmp_path, hodyn):
    plan = tmp_path / 'plan.yaml'
    assert 'condition number' in hodyn(
        'excite', '--robot', 'panda', '--period', '12', '--output', plan).out
    hodyn('check', plan, '--robot', 'panda')
    points = yaml.safe_load(plan.read_text())['points']
    assert points[-1]['time_from_start'] >= 12.0
    hodyn('excite', '--output', plan, code=2)
