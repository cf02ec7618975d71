"""One zero that is off by a small angle is found, and no other one is named."""
import numpy as np
import pytest
from rough_recordings import ROBOTS, recorded

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.shifted_zeros import ZeroSearch


def small_zero(seed):
    """Return whether a zero that is off shows, and whether it is found, None if another is."""
    rng, robot = np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.05]))
    joint, turn = int(rng.integers(robot.n)), rng.uniform(0.1, 0.5) * rng.choice([-1, 1])
    q[:, 0, joint] -= turn
    search = ZeroSearch(FeedForward(robot), q, effort, gains=False)
    found = search.small()
    true = np.where(np.arange(robot.n) == joint, turn, 0.0)
    before, after = (
        search.unexplained(one) @ np.var(effort, axis=0) / np.var(effort, axis=0).sum()
        for one in (np.zeros(robot.n), true))
    return before > 0.01 and after < 0.2 * before, found is not None and (
        True if found.joint == joint and abs(found.turn - turn) < 0.05 else None)


@pytest.mark.parametrize('seeds', [
    range(40), pytest.param(range(1000, 1200), marks=pytest.mark.slow)])
def test_a_zero_that_is_off_by_a_small_angle_is_found(seeds):
    results = [small_zero(seed) for seed in seeds]
    assert all(found is not None for _, found in results)  # no other joint is named
    shown = [found for shows, found in results if shows]
    assert len(shown) > 0.2 * len(results)
    assert np.mean(shown) >= 0.95
