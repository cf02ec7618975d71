"""Finds what is probably wrong with points: times, velocities, steps, jitter, ends, joints."""
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, decimal_step
from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans.limit_check import doubt_of_units
from hodyn_ros.plans.retiming.path import comparable_speed
from hodyn_ros.plans.waypoints import AcceptedWaypoints
from hodyn_ros.reference.fit import DENSE, MAX_SAMPLE_TOLERANCE, TIME_ROUND_OFF
from hodyn_ros.robot import Robot
from hodyn_ros.robot.coupling import COUPLED, Mimic
from hodyn_ros.robot.locked_joints import (
    APART,
    dependence,
    locked_position,
    mimic_of,
    no_torque_depends_on,
    way_out,
)
from hodyn_ros.robot.many_turns import too_many_turns

# Velocities below this share of a joint's largest speed between points are not checked.
CLEAR = 0.05
# Ratio of the speed at a point to the larger of the mean speeds before and after it, above which
# the motion must turn back between points.
TURN = 3.0
# A jump of acceleration by more than the share STEP of its range is a step. If more than the share
# MAX_STEPS of the samples jump, and more than MIN_SAMPLES, the jumps are jitter.
STEP, MAX_STEPS = 0.2, 0.05
MIN_SAMPLES = 20
# Samples jitter if at least the share OFTEN of their third differences exceeds SEEN times the
# largest one, and at least the share ALTERNATING of adjacent ones of these differ in sign. Jitter
# below LEAST_JITTER, rad or m, does no harm. The largest third difference is 4 to 8 times the
# largest jitter, and AMPLIFIED times the sample tolerance that lets a plan be smooth.
OFTEN, SEEN, ALTERNATING, LEAST_JITTER, AMPLIFIED = 0.3, 0.05, 0.6, 1e-7, 2.5
# Ratio of the jerk of a plan through jittering samples to the jerk of the samples.
BETWEEN = 4.0
# Differences of positions below this, rad or m, are round-off.
EXACT = 1e-9
# Largest third difference of a slow motion with rounded positions, in rounding steps: rounding
# causes at most four.
ROUNDING = 5.0
# Least number of points for a check of the ends, and number of points from an end that the check
# uses: those after the first two distinguish motion from jitter.
MIN_POINTS, STEPS = 4, 5
# Times are probably in ms if a motion longer than LEAST_MOTION, rad or m, never exceeds the share
# SLOWEST of the velocity limits (of 1 rad/s or m/s without a limit), or if points are more than
# LONGEST, s, apart. So times in ms are recognized in motions up to three times the limits.
# Larger limits, such as those of wheels or in deg/s, count as COMPARABLE, rad/s or m/s.
SLOWEST, LEAST_MOTION, LONGEST, COMPARABLE = 3e-3, 0.05, 1e3, 10.0
MILLISECONDS = 'times are in s: are these milliseconds?'
# Share of the usual time between points below which the time of a point is probably wrong.
SOON = 0.01
CONTRADICTION = 'its velocities contradict its positions'
COUPLING = 'positions of coupled joints contradict their coupling'


def doubt_of_points(
    robot: Robot, points: AcceptedWaypoints, start: Array | None = None,
) -> str:
    """Return questions about the units of points, and about a point that comes far too soon.

    `start` is as in `fit_plan`.
    """
    turns = too_many_turns(robot, points.names, travel(points, start))
    doubt = doubt_of_units(robot, points.positions) or (turns and f'; {turns}')
    return doubt + _hurried(points.times)


def travel(points: AcceptedWaypoints, start: Array | None) -> Array:
    """Return how far apart positions of each joint are at most, (n,), rad or m."""
    positions = points.positions if start is None else np.vstack((start[0], points.positions))
    return np.asarray(np.ptp(positions, axis=0))


def _hurried(times: Array) -> str:
    """Return a question if a point follows another far sooner than usual; else empty."""
    steps = np.diff(times)
    usual = float(np.median(steps)) if steps.size > 1 else 0.0
    if not usual > 0.0 or steps.min() > SOON * usual:
        return ''
    soon = int(steps.argmin())
    return (
        f'; point {soon + 1} comes {steps[soon]:.3g} s after point {soon}, and points are usually '
        f'{usual:.3g} s apart: is its time right? nanosec counts nanoseconds')


def in_milliseconds(
    robot: Robot, points: AcceptedWaypoints, start: Array | None = None,
) -> str:
    """Return a question about times that are probably in ms; empty if they can be seconds.

    `start` is as in `fit_plan`.
    """
    times, positions = points.times, points.positions
    if start is not None and times[0] > 0.0:
        times, positions = np.append(0.0, times), np.vstack((start[0], positions))
    spacings = np.diff(times)
    if not spacings.size or not np.ptp(positions, axis=0).max() > LEAST_MOTION:
        return ''
    speeds = np.minimum(comparable_speed(robot), COMPARABLE)
    shares = np.abs(np.diff(positions, axis=0)) / (spacings[:, None] * speeds)
    if shares.max() >= SLOWEST and spacings.max() <= LONGEST:
        return ''
    return (
        f'{MILLISECONDS} The points are up to {spacings.max():.3g} s '
        f'apart, and no joint is faster than {100.0 * shares.max():.2g} % of its limit (at most '
        f'{COMPARABLE:g} rad/s or m/s, and 1 where none is known)')


def contradicted_velocity(robot: Robot, points: AcceptedWaypoints) -> tuple[str, str]:
    """Return the place of the velocity that most contradicts positions, and a message, or two ''.

    A velocity contradicts positions if it is opposed to the motion both from the point before and
    to the point after, or more than `TURN` times as fast: then the motion turns between points.
    """
    if points.velocities is None:
        return '', ''
    slopes = np.diff(points.positions, axis=0) / np.diff(points.times)[:, None]
    slow = CLEAR * np.abs(slopes).max(axis=0, initial=0.0)
    worst, where, said = 0.0, '', ''
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
            where = f'point {i}, joint {points.names[joint]!r}'
            said = (
                f'{where}: velocity {velocity[joint]:.3g} '
                f"{unit(robot, joint, 'velocity')}, but between the points around it the joint "
                f'moves at {ways}: a plan with this velocity turns back between the points: '
                'correct sign and unit of the velocities, or leave them out')
    return where, said


def steps(robot: Robot, points: AcceptedWaypoints) -> str:
    """Return where the acceleration of a sampled motion steps; empty if it does not."""
    if not _is_sampled(points):
        return ''
    spacings = np.diff(points.times)
    slopes = np.diff(points.positions, axis=0) / spacings[:, None]
    apart = 0.5 * (spacings[1:] + spacings[:-1])
    accelerations = np.diff(slopes, axis=0) / apart[:, None]
    rest = np.zeros((2, accelerations.shape[1]))
    accelerations = np.vstack((rest, accelerations, rest))
    jumps = np.abs(accelerations[2:] - accelerations[:-2])  # over the sample between
    jumps[jumps * spacings.min()**2 < EXACT] = 0.0
    large = jumps > STEP * np.ptp(accelerations, axis=0)
    # Jitter jumps at most samples; the acceleration of a planner steps only now and then.
    jumps[:, large.sum(axis=0) > max(MAX_STEPS * len(jumps), MIN_SAMPLES)] = 0.0
    if not jumps.any():
        return ''
    sample, joint = np.unravel_index(int(jumps.argmax()), jumps.shape)
    if not large[sample, joint]:
        return ''
    jump = f"{jumps[sample, joint]:.3g} {unit(robot, int(joint), 'acceleration')}"
    return (
        f'the samples of {points.names[joint]} step in acceleration by {jump} at '
        f'{points.times[sample]:.3f} s: there a smooth plan '
        'through all samples overshoots in acceleration, jerk and torque rate; a plan that may '
        'miss them a little (hodyn annotate --sample-tolerance 1e-4) does not')


def unsmoothed(points: AcceptedWaypoints, interpolation: str, chosen: str) -> str:
    """Return why a sample tolerance has no effect on a plan; empty if it has.

    `interpolation` is the one that was asked for, and `chosen` the plan's.
    """
    if chosen in ('band', 'retimed', 'hold'):
        return ''
    apart = float(np.diff(points.times).max(initial=0.0))
    why = (
        'smoothing needs three points' if len(points.times) < 3 else
        f'points are up to {apart:.3g} s apart, and only samples at most {DENSE:g} s apart are '
        'smoothed' if apart > DENSE + TIME_ROUND_OFF
        else f'the {chosen} interpolation goes through all points'
        if interpolation not in ('auto', 'global')
        else 'a smoothed plan leaves the range of its points, or of a joint')
    return f'the sample tolerance is not used: {why}'


def jitter(robot: Robot, points: AcceptedWaypoints) -> str:
    """Return that the samples of a motion jitter, as rounded ones do, and a remedy; else empty."""
    said, size = jitter_size(robot, points)
    return said and (
        f'{said}: a smooth plan through all samples jitters in acceleration, jerk and torque rate;'
        f' a plan that may miss them a little (hodyn annotate --sample-tolerance {size:g}) does '
        'not')


def jitter_size(robot: Robot, points: AcceptedWaypoints) -> tuple[str, float]:
    """Return that samples jitter, and the tolerance that lets a plan be smooth; or '' and 0.

    Jitter is reported only if it may lead beyond the limits of jerk or acceleration. Samples that
    are rounded to a decimal, and so slow that rounding dominates their third differences, are
    reported whatever the limits are.
    """
    if not _is_sampled(points):
        return '', 0.0
    if step := _decimal(points.positions):
        return f'the positions are rounded to {step:g}', step
    times, jerks = points.times, points.positions
    for order in (1, 2, 3):
        apart = (times[order:] - times[:-order])[:, None] / order
        jerks = np.diff(jerks, axis=0) / apart
    seen = np.abs(jerks) > SEEN * np.abs(jerks).max(axis=0)
    pairs = seen[1:] & seen[:-1]
    alternating = (jerks[1:] * jerks[:-1] < 0.0) & pairs
    jitters = (seen.mean(axis=0) >= OFTEN) & (
        alternating.sum(axis=0) >= ALTERNATING * np.maximum(pairs.sum(axis=0), 1))
    sizes = (np.abs(jerks) * apart**3).max(axis=0) / AMPLIFIED
    fastest = BETWEEN * np.abs(jerks).max(axis=0)
    limits = robot.limits
    counts = np.where(
        np.isfinite(limits.jerk), fastest > limits.jerk,
        (fastest * apart.mean() > limits.acceleration) | ~np.isfinite(limits.acceleration))
    sizes[~jitters] = 0.0
    joint = int(sizes.argmax())
    size = float(f'{sizes[joint]:.0e}')
    if not (jitters & counts).any() or not LEAST_JITTER <= size <= MAX_SAMPLE_TOLERANCE:
        return '', 0.0
    return f'the samples of {points.names[joint]} jitter, or are rounded', size


def _decimal(positions: Array) -> float:
    """Return the decimal step to which slow samples, (S, n), are rounded; 0 if they are not.

    The step is also 0 if the motion dominates the third differences, not the rounding.
    """
    moved = positions[:, np.ptp(positions, axis=0) > 0.0]
    thirds, step = np.abs(np.diff(moved, 3, axis=0)), decimal_step(moved)
    if not step:
        return 0.0
    are_rough = (thirds > 0.5 * step).mean(axis=0) >= OFTEN
    return step if are_rough.any() and thirds.max() <= ROUNDING * step else 0.0


def _is_sampled(points: AcceptedWaypoints) -> bool:
    """Return whether points are samples of a motion rather than waypoints."""
    return len(points.times) >= MIN_SAMPLES and bool(
        np.diff(points.times).max() <= DENSE + TIME_ROUND_OFF)


def hasty_ends(robot: Robot, points: AcceptedWaypoints, start: Array | None) -> list[str]:
    """Return messages if the first step is too fast to begin at rest, or the last to end at rest.

    `start` is as in `fit_plan`. A step is too fast if a joint needs more than its acceleration
    limit to reach the next point's position and velocity.
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
            f'point {1 - (len(times) - len(points.times))}: {points.names[joint]} must reach '
            f"{speed:.2g} {unit(robot, joint, 'velocity')} in {times[1] - times[0]:.3g} s from "
            'rest: begin with a ramp, or retime')
    # The end is a start in reversed time, which reverses velocities.
    before = None if given[-2] is None else -np.asarray(given[-2])
    if ends and (found := _too_hasty(
            robot, times[-1] - times[:-STEPS - 1:-1], positions[:-STEPS - 1:-1], before)):
        joint, speed = found
        said.append(
            f'the last point: {points.names[joint]} must stop in {times[-1] - times[-2]:.3g} s '
            f"from {speed:.2g} {unit(robot, joint, 'velocity')}: end with a ramp, or retime")
    return said


def _too_hasty(
    robot: Robot, times: Array, positions: Array, velocity: ArrayLike | None,
) -> tuple[int, float] | None:
    """Return the joint whose first step exceeds its limit most, and its speed; None if none does.

    The first point is at rest; `velocity` is the second point's, if it is given.
    """
    slopes = np.diff(positions, axis=0) / np.diff(times)[:, None]
    first, low, high = slopes[0], slopes[:2].min(axis=0), slopes[:2].max(axis=0)
    asked = np.clip(2.0 * first, low, high) if velocity is None else np.asarray(velocity)
    # Least acceleration by which a joint at rest reaches distance and speed in the given time: it
    # changes its sign at most once.
    half = 0.5 * times[1] * asked
    missing = np.abs(times[1] * first - half)
    least = 2.0 * (missing + np.hypot(missing, half)) / times[1] ** 2
    goes_on = (first * slopes > 0.5 * first**2).all(axis=0)  # jitter turns back
    excess = np.where(goes_on, least / robot.limits.acceleration, 0.0)
    joint = int(excess.argmax())
    return (joint, float(abs(asked[joint]))) if excess[joint] > 1.0 else None


def left_out_joints(
    robot: Robot, trajectory: JointWaypoints, kept: Sequence[str],
) -> tuple[str, str, str]:
    """Return how a plan moves locked joints, a note on other joints not in `kept`, and a doubt.

    The doubt is `COUPLING` if positions of a coupled joint contradict its coupling. Each of the
    three texts may be empty.
    """
    moved, left_out, strange, doubt = [], [], [], ''
    prefix = kept[0].removesuffix(robot.joint_names[0])
    for place, name in enumerate(trajectory.names):
        if name in kept:
            continue
        position = locked_position(robot, name, prefix)
        asked = [float(row[place]) for row in trajectory.positions if len(row) > place]
        if (mimic := mimic_of(robot, name, prefix)) is not None:
            leader = trajectory.names.index(prefix + mimic.joint)
            wrong = _contradiction(trajectory, name, place, leader, mimic)
            left_out.append(f'{wrong or f"{name} {dependence(robot, name, prefix)}"}, left out')
            doubt = COUPLING if wrong else doubt
        elif position is None:
            strange.append(name)
        elif asked and not max(abs(q - position) for q in asked) <= APART:
            if no_torque_depends_on(robot, name, prefix, moves=max(asked) - min(asked) > APART):
                left_out.append(f'{name}: no torque depends on its position, left out')
                continue
            moved.append(f'{name} {dependence(robot, name, prefix)}, and the plan ' + (
                f'has it at {asked[0]:g}' if max(asked) - min(asked) <= APART
                else f'moves it from {asked[0]:g} to {asked[-1]:g}' if asked[0] != asked[-1]
                else f'moves it between {min(asked):g} and {max(asked):g}'))
    if strange:
        left_out.append(f'{", ".join(strange)}: not part of {robot.name}, left out here (the '
            'node refuses plans that name other joints)')
    return (
        '; '.join(moved) + (f': {way_out("plan")}' if moved else ''),
        '; '.join(left_out), doubt)


def _contradiction(
    trajectory: JointWaypoints, name: str, place: int, leader: int, mimic: Mimic,
) -> str:
    """Return where a coupled joint is farthest from its coupling; empty if nowhere too far."""
    asked, led = (np.array([row[i] for row in trajectory.positions]) for i in (place, leader))
    distance, i, due = mimic.distance(led, asked)
    if distance[i] <= COUPLED:
        return ''
    return (
        f'point {i} has {name} at {asked[i]:g}, but it follows {trajectory.names[leader]} and is '
        f'at {due[i]:g}')
