"""Accepted points that are probably mistakes: contradictory velocities, steps, hasty ends, ms."""
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans.retiming.path import comparable_speed
from hodyn_ros.plans.waypoints import AcceptedWaypoints, locked_joint
from hodyn_ros.reference.fit import DENSE, TIME_ROUND_OFF
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

# Share of a joint's largest speed below which a velocity is not checked.
CLEAR = 0.05
# Largest ratio of the speed at a point to the mean speed, for a motion without a turn.
TURN = 3.0
# Of the range of the accelerations, and in how many of the samples: steps, and no jitter.
STEP, MAX_STEPS = 0.2, 0.05
MIN_SAMPLES = 20
# Number of points that are checked at an end; the later ones distinguish motion from jitter.
MIN_POINTS, STEPS = 4, 5
# A share of the velocity limits, or rad/s or m/s without one; rad or m: nobody plans a motion so
# long so slow, nor pauses so long (s). Of a plan in ms, that may be three times too fast for the
# arm, or of 3 rad/s where no limit is known, a thousandth is left.
SLOWEST, LEAST_MOTION, LONGEST = 3e-3, 0.05, 1e3
# So near a locked joint is where it is locked, rad or m.
SAME_PLACE = 1e-6


def in_milliseconds(robot: Robot, points: AcceptedWaypoints) -> str:
    """Return what to ask about times that are likely not in seconds; empty if they may well be."""
    spacings = np.diff(points.times)
    if not spacings.size or not np.ptp(points.positions, axis=0).max() > LEAST_MOTION:
        return ''
    shares = np.abs(np.diff(points.positions, axis=0)) / (
        spacings[:, None] * comparable_speed(robot))
    if shares.max() >= SLOWEST and spacings.max() <= LONGEST:
        return ''
    return (
        f'times are in s: are these milliseconds? The points are up to {spacings.max():.3g} s '
        f'apart, and no joint is faster than {100.0 * shares.max():.2g} % of its limit (1 rad/s '
        'or m/s where none is known)')


def contradicted_velocity(robot: Robot, points: AcceptedWaypoints) -> str:
    """Return which velocity contradicts most the positions around it; empty if none does.

    A velocity contradicts them if its sign differs from the motion to the points before and after,
    or if it is more than three times as fast as both: the motion must turn between the points.
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
                f"{unit(robot, joint, 'velocity')}, but the positions around it move at "
                f'{ways}: a plan through both turns back between the points')
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
    # Jitter steps at every sample; a planner switches only now and then.
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


def hasty_ends(robot: Robot, points: AcceptedWaypoints, start: Array | None) -> list[str]:
    """Return which first and last steps are too fast to be made from, and to, rest.

    `start` is as of `fit_plan`. A step is too fast if a joint needs more than its limit of
    acceleration to reach position and velocity of the next point.
    """
    times, positions = points.times, points.positions
    velocities = points.velocities
    begins = velocities is None or velocities[0] is None or not np.any(velocities[0])
    ends = velocities is None or velocities[-1] is None or not np.any(velocities[-1])
    given = [None] * len(times) if velocities is None else list(velocities)
    if start is not None:
        begins = not start[1:].any()
        if times[0] > 0.0:
            times, positions = np.append(0.0, times), np.vstack((start[0], positions))
            given = [None, *given]
    if len(times) < MIN_POINTS:
        return []
    said = []
    if begins and (found := _too_hasty(
            robot, times[:STEPS] - times[0], positions[:STEPS], given[1])):
        joint, speed = found
        said.append(
            f'point {1 - (len(times) - len(points.times))} asks {points.names[joint]} for '
            f"{speed:.2g} {unit(robot, joint, 'velocity')} after {times[1] - times[0]:.3g} s from "
            'rest: begin with a ramp, or retime')
    if ends and (found := _too_hasty(
            robot, times[-1] - times[:-STEPS - 1:-1], positions[:-STEPS - 1:-1], given[-2])):
        joint, speed = found
        said.append(
            f'the last point asks {points.names[joint]} to rest {times[-1] - times[-2]:.3g} s '
            f"after {speed:.2g} {unit(robot, joint, 'velocity')}: end with a ramp, or retime")
    return said


def _too_hasty(
    robot: Robot, times: Array, positions: Array, velocity: ArrayLike | None,
) -> tuple[int, float] | None:
    """Return the joint that is most too fast from rest, and how fast; None if none is.

    Of points, the first one at rest, and the velocity at the second where it is given.
    """
    slopes = np.diff(positions, axis=0) / np.diff(times)[:, None]
    first, low, high = slopes[0], slopes[:2].min(axis=0), slopes[:2].max(axis=0)
    asked = np.clip(2.0 * first, low, high) if velocity is None else np.asarray(velocity)
    # The least acceleration from rest to a way and a speed in a time, switched once.
    half = 0.5 * times[1] * asked
    missing = np.abs(times[1] * first - half)
    least = 2.0 * (missing + np.hypot(missing, half)) / times[1] ** 2
    goes_on = (first * slopes > 0.5 * first**2).all(axis=0)  # which jitter does not
    excess = np.where(goes_on, least / robot.limits.acceleration, 0.0)
    joint = int(excess.argmax())
    return (joint, float(abs(asked[joint]))) if excess[joint] > 1.0 else None


def moved_locked_joints(
    robot: Robot, trajectory: JointWaypoints, names: Sequence[str],
) -> dict[str, str]:
    """Return what a plan does with locked joints that are elsewhere in it, by their names."""
    said = {}
    for name in names:
        place, position = trajectory.names.index(name), locked_joint(robot, name)
        asked = [float(row[place]) for row in trajectory.positions if len(row) > place]
        if position is not None and asked and max(abs(q - position) for q in asked) > SAME_PLACE:
            said[name] = f'{name} is locked at {position:g}, and the plan ' + (
                f'has it at {asked[0]:g}' if max(asked) - min(asked) <= SAME_PLACE
                else f'moves it from {asked[0]:g} to {asked[-1]:g}' if asked[0] != asked[-1]
                else f'moves it between {min(asked):g} and {max(asked):g}')
    return said
