"""Efforts without gravity are recognised whatever their gains, and gains are found from them."""
from known_recordings import bag
import numpy as np
import pytest
from rough_recordings import motion, recorded, robots_of

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.gravity_share import lack_gravity


def lacking(rng, robot, gravity, zeros=False, **options):
    """Return whether efforts in any unit are said to lack gravity."""
    q, effort = recorded(rng, robot, **options)
    if not gravity:
        model = FeedForward(robot)
        effort += (model.torque(q, gravity=False) - model.torque(q))[:, 0]
    if zeros:
        q[:, 0, rng.integers(robot.n)] += rng.choice([0.5 * np.pi, -0.5 * np.pi, 0.2])
    effort /= rng.uniform(5.0, 30.0, robot.n)
    return lack_gravity(FeedForward(robot), EffortSamples(q, effort))


def test_efforts_without_gravity_are_recognised_in_any_unit():
    found = [lacking(rng, robot, False) for _, rng, robot in robots_of(range(24))]
    assert np.mean(found) >= 0.9


@pytest.mark.parametrize('zeros', [False, True])
def test_efforts_with_gravity_never_seem_to_lack_it(zeros):
    """Also of slow arms, wrong links and wrong zeros."""
    for seed, rng, robot in robots_of(range(100, 140)):
        size, off = rng.choice([0.1, 0.3, 1.0]), rng.choice([0.0, 0.2])
        assert not lacking(rng, robot, True, zeros, size=size, off=off), seed


def test_an_arm_that_hangs_does_not_seem_to_lack_gravity():
    """In fast motions, of which gravity is a small part, with the file of an upright arm."""
    for seed, rng, robot in robots_of(range(40)):
        q = motion(rng, robot, [0.3, 0.6][seed % 2]) * 2.5 ** np.arange(5)[:, np.newaxis]
        hanging = FeedForward(robot.with_gravity(-np.array(robot.gravity)))
        effort = hanging.torque(q, friction=False)[:, 0]
        effort += 0.03 * effort.std(axis=0) * rng.standard_normal(effort.shape)
        assert not lack_gravity(FeedForward(robot), EffortSamples(q, effort)), seed


def test_gains_of_efforts_without_gravity_are_found_without_false_advice(identified):
    """Zeros and units seemed to be wrong, and errors before and after were of two kinds."""
    found = identified(
        bag('bag', gravity=False, gain=1.25, duration=14.0), terms=['gains', 'friction'])
    gain = found.column('effort_gain')
    assert all(abs(one['value'] - 1.25) < 0.1 for one in gain[:4])
    assert 'are recorded without gravity' in found.words
    for false in ('Zeros of', 'another unit', 'worse than a constant'):
        assert false not in found.words
    assert (found.column('rms_after') < 1.05 * 1.25 * found.column('rms_before')).all()
