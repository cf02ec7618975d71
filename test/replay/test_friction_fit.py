"""Efforts fitted by torques beside a friction: what plain least squares of all samples gives."""
import numpy as np
import pytest
from rigid_bodies import link

from hodyn_ros import load_robot
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import COULOMB_WIDTH, FrictionFit
from hodyn_ros.replay.quarter_turns import quarter_turns

PANDA = load_robot('panda')


def signals(seed, joints=3, count=400):
    """Return velocities, two torques and efforts, (count, joints) each, and which are known."""
    rng = np.random.default_rng(seed)
    velocity = 10.0 ** rng.uniform(-2.0, 0.5) * rng.standard_normal((count, joints))
    torques = rng.standard_normal((2, count, joints)) * 10.0 ** rng.uniform(-2.0, 2.0, (2, 1, 1))
    torques += rng.uniform(-5.0, 5.0, (2, 1, joints))
    effort = np.einsum('k,ktj->tj', rng.uniform(-3.0, 3.0, 2), torques)
    effort += rng.uniform(0.0, 2.0, joints) * np.sign(velocity) + rng.standard_normal(joints)
    effort += rng.standard_normal(effort.shape)
    return velocity, torques, effort, rng.uniform(size=effort.shape) < 0.8


@pytest.mark.parametrize('seed', range(10))
def test_coefficients_are_those_of_plain_least_squares_in_whatever_parts(seed):
    velocity, torques, effort, known = signals(seed)
    fit = FrictionFit(3, 2)
    for part in (slice(0, 7), slice(7, 250), slice(250, None)):
        fit.add(velocity[part], torques[:, part], effort[part], known[part])
    found, variance, left = fit.coefficients
    for joint in range(3):
        own = known[:, joint]
        v = velocity[own, joint]
        friction = np.column_stack([np.ones(len(v)), np.tanh(v / COULOMB_WIDTH), v])
        table = np.column_stack([friction, torques[:, own, joint].T])
        wanted, (rest,), *_ = np.linalg.lstsq(table, effort[own, joint], rcond=None)
        np.testing.assert_allclose(found[joint], wanted[3:], rtol=1e-6)
        np.testing.assert_allclose(
            variance[joint], np.diag(np.linalg.inv(table.T @ table))[3:], rtol=1e-6)
        assert left[joint] == pytest.approx(rest, rel=1e-6)
        np.testing.assert_allclose(
            fit.friction[joint], np.linalg.lstsq(friction, effort[own, joint], rcond=None)[0],
            rtol=1e-6, atol=1e-9)
        assert fit.variance[joint] == pytest.approx(np.var(effort[own, joint]))


def test_a_torque_that_friction_explains_or_no_effort_tells_nothing():
    velocity, torques, effort, known = signals(0)
    known[:, 2] = False
    effort += 20.0 * torques[0] / torques[0].std()
    block = np.arange(len(velocity)) // 8
    fit = FrictionFit(3, 2)
    fit.add(velocity, (torques[0], 3.0 * velocity - 1.0), effort, known, block)
    found, _, left = fit.coefficients
    assert fit.clear.tolist() == [[True, False], [True, False], [False, False]]
    assert not found[:, 1].any()
    assert not found[2].any()
    assert left[2] == 0.0
    assert np.isnan(fit.variance[2])


def turned(turn, seed=0, gain=1.0, robot=PANDA):
    """Return a motion as recorded and its efforts, of an arm whose zeros are elsewhere."""
    rng = np.random.default_rng(seed)
    q = np.zeros((300, 5, robot.n))
    time = np.linspace(0.0, 12.0, 300)[:, np.newaxis]
    phase, amplitude = rng.uniform(0.0, 2.0 * np.pi, robot.n), rng.uniform(0.3, 0.6, robot.n)
    low, high = robot.limits.position_min, robot.limits.position_max
    middle = 0.5 * (np.maximum(low, -1.0e3) + np.minimum(high, 1.0e3))
    for k in range(5):
        q[:, k] = amplitude * np.sin(time + phase + 0.5 * np.pi * k) + middle * (k == 0)
    own = q.copy()
    own[:, 0] += turn
    effort = FeedForward(robot).torque(own)[:, 0] + 0.5 * np.sign(q[:, 1])
    return q, gain * (effort + 0.05 * rng.standard_normal(effort.shape))


@pytest.mark.parametrize('gain', [1.0, 0.1])
@pytest.mark.parametrize('quarters', [
    [0, 1, 0, 0, 0, 0, 0], [0, -1, 0, 1, 0, 0, 0], [0, 1, 0, -1, 0, 1, 0]])
def test_as_many_joints_as_are_turned_are_found_whatever_the_unit(quarters, gain):
    turn = 0.5 * np.pi * np.array(quarters)
    q, effort = turned(turn, gain=gain)
    found = quarter_turns(FeedForward(PANDA), EffortSamples(q, effort))
    np.testing.assert_allclose(found, turn)


def test_nothing_is_turned_where_zeros_are_right_or_nothing_tells():
    feedforward = FeedForward(PANDA)
    q, effort = turned(np.zeros(7))
    assert not quarter_turns(feedforward, EffortSamples(q, effort)).any()
    for silent in (np.full_like(effort, np.nan), np.ones_like(effort)):
        assert not quarter_turns(feedforward, EffortSamples(q, silent)).any()


def test_one_joint_without_efforts_hides_no_turn_of_another():
    turn = 0.5 * np.pi * np.array([0, 1, 0, 0, 0, 0, 0])
    q, effort = turned(turn)
    effort[:, 6] = np.nan
    found = quarter_turns(FeedForward(PANDA), EffortSamples(q, effort))
    np.testing.assert_allclose(found, turn)


def test_a_slide_is_not_turned():
    arm = load_robot({'name': 'slide', 'bodies': [
        link('rail', kind='prismatic', axis=[0.0, 0.0, 1.0], mass=2.0),
        link('arm', 0, com=[0.0, 0.0, 0.3])]})
    turn = np.array([0.0, np.pi])
    q, effort = turned(turn, robot=arm)
    found = quarter_turns(FeedForward(arm), EffortSamples(q, effort))
    np.testing.assert_allclose(found, turn)
