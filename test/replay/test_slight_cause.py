"""The one change that explains most of a small misfit is named, and no other."""
from dataclasses import replace

from known_recordings import palletizer
import numpy as np
import pytest
from rough_recordings import ROBOTS, diagnosed, motion, recorded, robots_of

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.joint_springs import JointSpring
from hodyn_ros.replay.scaled_efforts import ScaledEfforts, find_scaled_efforts
from hodyn_ros.replay.slight_cause import find_slight_cause, sentence
from hodyn_ros.replay.small_changes import ScaledPosition, SmallChanges

SEEDS = pytest.mark.parametrize('seeds', [
    range(20), pytest.param(range(1000, 1200), marks=pytest.mark.siege)])


def small_zero(seed):
    """Return whether a zero that is off shows, and whether it is found, None if another is."""
    rng, robot = np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.05]))
    joint, turn = int(rng.integers(robot.n)), rng.uniform(0.1, 0.5) * rng.choice([-1, 1])
    q[:, 0, joint] -= turn
    model, samples = FeedForward(robot), EffortSamples(q, effort)
    found = SmallChanges(model, samples).zero()
    true = samples.q.copy()
    true[:, 0, joint] += turn
    before, after = (
        samples.share(model.torque(one, friction=False)[:, 0]) for one in (samples.q, true))
    return before > 0.004 and after < 0.2 * before, found is not None and (
        True if found.joint == joint and abs(found.turn - turn) < 0.05 else None)


@SEEDS
def test_a_zero_that_is_off_by_a_small_angle_is_found(seeds):
    results = [small_zero(seed) for seed in seeds]
    assert all(found is not None for _, found in results)  # no other joint is named
    shown = [found for shows, found in results if shows]
    assert len(shown) > 0.2 * len(results)
    assert np.mean(shown) >= 0.95


def tilted(seed):
    """Return whether a tilt of the base shows, how far from it the one found is, and any zero."""
    rng, robot = np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.05]))
    tilt, about = rng.uniform(0.055, 0.55), rng.uniform(0.0, 2.0 * np.pi)
    gravity = 9.80665 * np.array([
        np.sin(tilt) * np.cos(about), np.sin(tilt) * np.sin(about), -np.cos(tilt)])
    upright, true = FeedForward(robot), FeedForward(replace(robot, gravity=gravity))
    effort += true.torque(q)[:, 0] - upright.torque(q)[:, 0]
    samples = EffortSamples(q, effort)
    before, after = (
        samples.share(model.torque(samples.q, friction=False)[:, 0]) for model in (upright, true))
    changes = SmallChanges(upright, samples)
    found, zero = changes.tilt(), changes.zero()
    error = np.nan if found is None else np.linalg.norm(found.gravity - gravity) / 9.80665
    return before > 0.001 and after < 0.2 * before, error, zero is not None and (
        found is None or found.left > 0.5 * zero.left)


@SEEDS
def test_a_tilted_base_is_found_with_its_angle(seeds):
    results = [tilted(seed) for seed in seeds]
    shown = [error < 0.05 for shows, error, _ in results if shows]
    assert len(shown) > 0.6 * len(results)
    assert np.mean(shown) >= 0.95
    assert np.mean([is_zero for *_, is_zero in results]) <= 0.05


def scaled(seed):
    """Return what is found of one joint's factor, and whether it is this joint and factor."""
    rng, robot = np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.02]))
    carrying = np.flatnonzero(np.var(effort, axis=0) > 0.03 * np.var(effort, axis=0).max())
    joint, factor = rng.choice(carrying), rng.uniform(1.25, 3.0) ** rng.choice([-1, 1])
    effort[:, joint] *= factor
    found = find_scaled_efforts(FeedForward(robot), EffortSamples(q, effort), gravity=True)
    return found, found is not None and (
        found.joints == (joint,) and found.factors == pytest.approx((factor,), rel=0.1))


@SEEDS
def test_efforts_of_one_joint_that_differ_by_a_factor_are_found(seeds):
    results = [scaled(seed) for seed in seeds]
    assert all(is_right for found, is_right in results if found)
    assert np.mean([is_right for _, is_right in results]) >= 0.8


def with_a_ratio(seed, gravity):
    """Return the cause that is named, and whether it is positions of this joint and ratio."""
    rng, robot = np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.05]) if gravity else 0.0)
    model = FeedForward(robot)
    effort += model.torque(q, gravity=gravity)[:, 0] - model.torque(q)[:, 0]
    joint = int(np.argsort(np.var(effort, axis=0))[-1 - rng.integers(2)])
    ratio = rng.uniform(1.25, 2.0)
    q[:, :, joint] *= ratio
    found = find_slight_cause(
        model, EffortSamples(q, effort), gravity=gravity, tilt=gravity)
    return found, isinstance(found, ScaledPosition) and found.joint == joint and (
        found.ratio == pytest.approx(ratio, rel=0.1))


@SEEDS
@pytest.mark.parametrize('gravity', [True, False])
def test_positions_of_one_joint_with_another_gear_ratio_are_found(seeds, gravity):
    results = [with_a_ratio(seed, gravity) for seed in seeds]
    assert all(is_right for found, is_right in results if isinstance(found, ScaledPosition))
    assert np.mean([is_right for _, is_right in results]) >= 0.7


@SEEDS
def test_efforts_that_are_currents_are_found(seeds):
    """They were said to be of a load of several times the arm's weight."""
    found = []
    for _, rng, robot in robots_of(seeds):
        q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.05]))
        constants = np.exp(rng.uniform(np.log(0.05), np.log(0.6), robot.n))  # N m/A
        one = find_scaled_efforts(
            FeedForward(robot), EffortSamples(q, effort / constants), gravity=True)
        found.append(one is not None and len(one.joints) > 1 and one.factors == pytest.approx(
            1.0 / constants[[*one.joints]], rel=0.2))
    assert np.mean(found) >= 0.9


@pytest.mark.parametrize(('factors', 'said'), [
    ((2.0, 2.02, 1.97), 'The efforts are about 2 times the model'),
    ((2.0, 3.0, 1.0), 'The efforts of each joint are a different multiple of the model')])
def test_one_factor_of_all_efforts_is_not_called_different(factors, said):
    assert sentence(
        ScaledEfforts((0, 1, 2), factors, 0.5, 0.01), ['a', 'b', 'c'], has_springs=False,
    ).startswith(said)


def with_a_spring(seed):
    """Return what is found of a spring beside a joint, and whether it is this joint's spring."""
    rng, robot = np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.02, 0.05]))
    carrying = np.flatnonzero(np.var(effort, axis=0) > 0.03 * np.var(effort, axis=0).max())
    joint, position = int(rng.choice(carrying)), q[:, 0]
    stiffness = rng.uniform(0.3, 1.0) * rng.choice([-1, 1]) * np.ptp(effort[:, joint]) / np.ptp(
        position[:, joint])
    effort[:, joint] += stiffness * (position[:, joint] - rng.uniform(-1.0, 1.0))
    found = find_slight_cause(
        FeedForward(robot), EffortSamples(q, effort), gravity=True, tilt=True)
    return found, isinstance(found, JointSpring) and found.joint == joint and (
        found.stiffness == pytest.approx(stiffness, rel=0.2))


@SEEDS
def test_a_spring_beside_a_joint_is_found_with_its_stiffness(seeds):
    """Efforts of one in five such joints were called a multiple of the model's torque."""
    results = [with_a_spring(seed) for seed in seeds]
    assert all(is_right for found, is_right in results if isinstance(found, JointSpring))
    assert np.mean([is_right for _, is_right in results]) >= 0.9


@pytest.mark.parametrize('part', [0.35, 1.0])
@pytest.mark.parametrize('size', [0.25, 0.4])
def test_a_counterbalance_is_named_however_much_of_gravity_it_carries(part, size):
    """A third of gravity was called a wrong gear ratio; all of it, nothing, or another ratio."""
    robot, rng = palletizer(), np.random.default_rng(2)
    model, q = FeedForward(robot), motion(rng, robot, size)
    effort = model.torque(q)[:, 0]
    weight = effort[:, 1] - model.torque(q, gravity=False)[:, 0, 1]
    stiffness = -part * np.polyfit(q[:, 0, 1], weight, 1)[0]
    effort += effort.std(axis=0) * (
        0.01 * rng.standard_normal(effort.shape) + 0.05 * np.tanh(q[:, 1] / 0.03))
    effort[:, 1] += stiffness * q[:, 0, 1]
    found = find_slight_cause(model, EffortSamples(q, effort), gravity=True, tilt=True)
    assert isinstance(found, JointSpring)
    assert found.joint == 1
    assert found.stiffness == pytest.approx(stiffness, rel=0.1)
    said = sentence(found, robot.joint_names, has_springs=False)
    assert 'and a factor of 0.' in said


@pytest.mark.parametrize('seeds', [
    range(4), pytest.param(range(12, 40), marks=pytest.mark.siege)])
@pytest.mark.parametrize('shares', [(0.5, 0.9), (2.0, 5.0)])
def test_a_spring_is_named_and_not_a_misread_recording(shares, seeds):
    """A spring stronger than gravity passed for two zeros off by half a turn."""
    for _, rng, robot in robots_of(seeds):
        q, effort = recorded(rng, robot)
        joint = int(np.argmax(np.var(effort, axis=0)))
        stiffness = rng.uniform(*shares) * rng.choice([-1, 1]) * np.ptp(
            effort[:, joint]) / np.ptp(q[:, 0, joint])
        effort[:, joint] += stiffness * (q[:, 0, joint] - rng.uniform(-1.0, 1.0))
        found = diagnosed(q, effort, q[:, 1], robot)
        assert not found.is_wrong
        assert found.slight.joint == joint
        assert found.slight.stiffness == pytest.approx(stiffness, rel=0.1)
        assert found.explained_joints == (robot.joint_names[joint],)
