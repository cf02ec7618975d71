"""Accepted points that a planner hardly meant: velocities against positions, steps in samples."""
import numpy as np

from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.plans.waypoints import AcceptedWaypoints
from hodyn_ros.reference.fit import DENSE, TIME_ROUND_OFF
from hodyn_ros.robot import Robot

# Of the fastest way of a joint: what is slower says little of a contradiction.
CLEAR = 0.05
# A motion that does not turn between two points is up to so much faster at one than its way.
TURN = 3.0
# Of the range of the accelerations, and in how many of the samples: steps, and no jitter.
STEP, MAX_STEPS = 0.2, 0.05
MIN_SAMPLES = 20


def contradicted_velocity(robot: Robot, points: AcceptedWaypoints) -> str:
    """Return which velocity contradicts most the positions around it; empty if none does.

    One does that has the other sign than the ways to the points before and after it, or is more
    than three times as fast as both: no motion without a turn between the points has it.
    """
    if points.velocities is None:
        return ''
    slopes = np.diff(points.positions, axis=0) / np.diff(points.times)[:, None]
    slow = CLEAR * np.abs(slopes).max(axis=0, initial=0.0)
    worst, said = 0.0, ''
    for i in range(1, len(points.times) - 1):
        velocity, around = points.velocities[i], slopes[i - 1:i + 1]
        if velocity is None:
            continue
        opposed = np.all(velocity * around < 0.0, axis=0) & np.all(np.abs(around) > slow, axis=0)
        faster = np.abs(velocity) > TURN * np.abs(around).max(axis=0) + slow
        excess = np.abs(velocity - around).min(axis=0)
        excess[~((opposed | faster) & (np.abs(velocity) > slow))] = 0.0
        joint = int(excess.argmax())
        if excess[joint] > worst:
            worst = excess[joint]
            ways = ' and '.join(f'{way:.3g}' for way in around[:, joint])
            said = (
                f'point {i}, joint {points.names[joint]!r}: velocity {velocity[joint]:.3g} '
                f"{unit(robot, joint, 'velocity')}, but its positions go at {ways} around it: a "
                'plan through both turns back between its points')
    return said


def steps(robot: Robot, points: AcceptedWaypoints) -> str:
    """Return where samples of a motion step in their acceleration; empty if they do not."""
    spacings = np.diff(points.times)
    if len(points.times) < MIN_SAMPLES or spacings.max() > DENSE + TIME_ROUND_OFF:
        return ''
    slopes = np.diff(points.positions, axis=0) / spacings[:, None]
    apart = 0.5 * (spacings[1:] + spacings[:-1])
    accelerations = np.diff(slopes, axis=0) / apart[:, None]
    rest = np.zeros((2, accelerations.shape[1]))
    accelerations = np.vstack((rest, accelerations, rest))
    jumps = np.abs(accelerations[2:] - accelerations[:-2])  # over the sample between
    large = jumps > STEP * np.ptp(accelerations, axis=0)
    # Jitter jumps everywhere; what a planner switches, it switches now and then.
    jumps[:, large.sum(axis=0) > max(MAX_STEPS * len(jumps), MIN_SAMPLES)] = 0.0
    if not jumps.any():
        return ''
    sample, joint = np.unravel_index(int(jumps.argmax()), jumps.shape)
    if not large[sample, joint]:
        return ''
    jump = f"{jumps[sample, joint]:.3g} {unit(robot, int(joint), 'acceleration')}"
    return (
        f'the samples of {points.names[joint]} step in acceleration by {jump} at '
        f'{points.times[sample]:.3f} s: a smooth plan '
        'through all of them overshoots there in acceleration, jerk and torque rate; one that may '
        'miss them a little (--sample-tolerance 1e-4) does not')
