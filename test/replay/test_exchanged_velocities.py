"""Velocities and efforts in each other's place are recognised, and only those."""
import numpy as np
import pytest
from rough_recordings import ROBOTS, diagnosed, recorded

from hodyn_ros.replay.wrong_velocities import RecordedVelocities

TURNS = np.ones(7, dtype=bool)


def sample(seed):
    """Return estimated velocities, (100, n), velocities with noise, and efforts."""
    rng = np.random.default_rng(seed)
    robot = ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.2]), size=rng.choice([0.1, 1.0]))
    moved = q[:, 1]
    return moved, moved + 0.1 * moved.std(axis=0) * rng.standard_normal(moved.shape), effort


@pytest.mark.parametrize('seed', range(20))
def test_exchanged_velocities_and_efforts_are_recognised(seed):
    moved, velocity, effort = sample(seed)

    def are_exchanged(recorded, effort):
        return RecordedVelocities(moved, recorded, TURNS[:moved.shape[1]]).are_exchanged(effort)

    assert are_exchanged(effort, velocity)
    near = effort.copy()
    near[:, -1] = 0.6 * moved[:, -1]  # the effort of a light joint with viscous friction
    assert are_exchanged(near, velocity)
    unknown = np.where(np.arange(100)[:, np.newaxis] % 3, velocity, np.nan)
    assert are_exchanged(effort, unknown)
    for right in (velocity, 1.3 * velocity, -velocity, np.degrees(velocity), 0.0 * velocity,
                  np.full_like(velocity, np.nan)):
        assert not are_exchanged(right, effort)
    # Efforts that are mostly viscous friction: the velocities are right as well.
    assert not are_exchanged(velocity, moved)
    assert not are_exchanged(effort, np.full_like(velocity, np.nan))
    one = effort.copy()
    one[:, 0] = velocity[:, 0]
    assert not are_exchanged(velocity, one)


def test_nothing_else_is_said_of_exchanged_velocities_and_efforts():
    q, effort = recorded(np.random.default_rng(7), ROBOTS[0])
    found = diagnosed(q, q[:, 1].copy(), effort)
    sentence, = found.sentences
    assert sentence == (
        'Recorded velocities contradict the positions, from which the motion is estimated: the '
        'recorded efforts agree with them instead, so velocities and efforts seem to be '
        'exchanged. Correct the driver.')
    assert found.is_wrong
    assert found.is_misread
    assert not found.is_motion_misread
    assert found.without(['gains', 'links', 'zeros']) is found
    assert not diagnosed(q, effort, q[:, 1].copy()).are_exchanged
