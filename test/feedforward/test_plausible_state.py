"""Which joint states are believed: an arm that leaps is not, one that is pushed is."""
from dataclasses import replace

import numpy as np
import pytest

from hodyn_ros.feedforward.plausible_state import PlausibleState
from hodyn_ros.robot.files import load_robot

NAMES = ('panda', 'fr3', 'iiwa14', 'ur10e')
TOLERANCE = 0.2  # around the reference, which stands
SEEDS = pytest.mark.parametrize('seeds', [
    range(40), pytest.param(range(1000, 2000), marks=pytest.mark.siege)])


def cases(seeds):
    """Yield a generator, a robot, a period, and whether velocities are sent, for each seed."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        robot = load_robot(NAMES[seed % len(NAMES)])
        velocity = robot.limits.velocity * rng.uniform(0.5, 1.5)
        robot = replace(robot, limits=replace(robot.limits, velocity=velocity))
        yield seed, rng, robot, rng.choice([0.001, 0.002, 0.005, 0.01, 0.02, 0.03]), bool(
            rng.integers(2))


def expected_at(home):
    return lambda position: bool((np.abs(position - home) <= TOLERANCE).all())


@SEEDS
def test_a_resting_arm_is_not_believed_to_have_leapt(seeds):
    """An encoder reads 0 for a while, just beyond the tolerance and with velocity 0."""
    for seed, rng, robot, period, has_velocity in cases(seeds):
        home = rng.uniform(-1.0, 1.0, robot.n)
        judge, expects, joint = PlausibleState(robot), expected_at(home), rng.integers(len(home))
        drop = rng.uniform(TOLERANCE + 0.01, 0.8) * rng.choice([-1.0, 1.0])
        begin, end = 2.0, 2.0 + rng.uniform(period, 0.9)
        noise = rng.choice([0.0, 1e-5])
        for stamp in np.arange(0.0, 3.0, period):
            is_false = begin < stamp < end
            position = home + noise * rng.standard_normal(len(home))
            position[joint] += drop * is_false
            judge.believe(position, np.zeros_like(home) if has_velocity else None,
                          round(1e9 * stamp), expects)
            assert not (is_false and judge.is_there), (seed, stamp, drop, period)
        assert judge.is_there, seed


@SEEDS
def test_an_arm_that_is_pushed_away_is_believed_all_along(seeds):
    """By a person or a blow, from where the reference holds it, whatever the driver's period."""
    for seed, rng, robot, period, has_velocity in cases(seeds):
        home = rng.uniform(-1.0, 1.0, robot.n)
        judge, expects = PlausibleState(robot), expected_at(home)
        way = rng.uniform(-0.8, 0.8, len(home))
        # A smooth way whose largest speed is near the limit of the joint.
        duration = max(0.15, float(np.max(np.abs(way) / robot.limits.velocity) * 1.9))
        jitter = rng.choice([0.0, 0.1, 0.3]) * period
        hold = max(period, rng.choice([0.0, 0.02, 0.03]))  # a driver that repeats its last state
        unbelieved = 0.0
        for time in np.arange(0.0, 2.0 + duration, period):
            x = np.clip((time // hold * hold - 1.5) / duration, 0.0, 1.0)
            position = home + way * x ** 3 * (10.0 - 15.0 * x + 6.0 * x ** 2)
            velocity = way / duration * 30.0 * x ** 2 * (1.0 - x) ** 2
            judge.believe(position, velocity if has_velocity else None,
                          round(1e9 * (time + jitter * rng.uniform(-1.0, 1.0))), expects)
            unbelieved = 0.0 if judge.is_there else unbelieved + period
            assert time < 0.1 or unbelieved <= hold + 4.0 * period, (seed, time, period)
            assert not judge.is_astray, (seed, time, period)
