"""The path through the points of a plan, independent of their timing.

A path is geometry: a spline, straight at its ends, in a parameter that grows with the root of the
distance from point to point (centripetal, Lee 1989). It goes through the points; many points that
jitter, as samples of a motion do, are thinned and smoothed within a tolerance.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from hodyn_ros.common.arrays import Array, Indices, number, numbers
from hodyn_ros.plans.waypoints import AcceptedWaypoints
from hodyn_ros.reference import Plan, fit_plan
from hodyn_ros.reference.bounded_spline import integral
from hodyn_ros.reference.fit import MAX_SAMPLE_TOLERANCE, OVERSHOOT_TOLERANCE, Rows
from hodyn_ros.robot import HodynError, Robot

MIN_SAMPLES = 20
"""Least number of points that may be samples of a motion; a path goes exactly through fewer."""
SMOOTHER = 0.5
"""Largest ratio of ∫ (p⁽⁵⁾)² of a path that misses points to that of the path through all points,
at which the former is taken."""
MAX_THINNED = 4000
"""Approximate largest number of samples that are left by thinning."""
SMALLEST_STEP = 1e-9
"""Distance, rad or m, up to which points are the same."""
SMALLEST_SHARE = 1e-4
"""Least distance between points for the parameter, as a share of their mean distance."""
CENTRIPETAL = 0.5
"""Power of the distances between points in the parameter of a path."""
SLOW = 1e-3
"""A velocity whose norm, relative to `comparable_speed`, is at most this gives no direction."""
PAUSE = 0.2
"""Least duration of a rest within a motion that a note names, s."""
MAX_NAMED = 3
"""Largest number of places that a note names."""
ROOM = 0.95
"""Share of the tolerance that a smoothed path uses; its sampling for a file uses the rest."""
PRISMATIC = 0.1
"""Overshoot of prismatic joints, m, for each rad of revolute ones."""
SPACINGS = 16.0, 4.0
"""Distances between kept samples, in tolerances, tried in turn: fewer samples jitter less."""
SHARES = ROOM, 0.8
"""Shares of the tolerance by which kept samples may be missed, tried in turn: dropped samples are
missed by more."""
REFINEMENTS = 4
"""Number of searches for the place nearest to a point, each 10 times finer."""
COARSE = 2
"""Number of these searches for a point that they already show to be near enough."""


@dataclass(frozen=True, eq=False)
class JointPath:
    """A path in sections, each from rest to rest unless the first starts in motion."""

    #: p(w) of each section, with a parameter w of its own; w is time in a first section that
    #: starts in motion
    sections: tuple[Plan, ...]
    timed: tuple[Plan, ...]  #: The curves in time through the same points
    #: (m, n), rad or m by which each joint misses each point; None if the path goes through all
    #: points
    missed: Array | None = None
    notes: tuple[str, ...] = ()  #: Remarks for the user


def points_of(robot: Robot, positions: ArrayLike, times: ArrayLike | None) -> AcceptedWaypoints:
    """Return points with times; by default each step takes as long as its slowest joint needs."""
    q = numbers(positions, 'positions')
    if q.ndim != 2 or q.shape[1] != robot.n:
        raise HodynError(f'positions have shape {q.shape}; expected (m, {robot.n})')
    if not np.isfinite(q).all():
        point, joint = np.argwhere(~np.isfinite(q))[0]
        raise HodynError(f'point {point}, {robot.joint_names[joint]}: not finite')
    if times is None:
        steps = (np.abs(np.diff(q, axis=0)) / comparable_speed(robot)).max(axis=1)
        steps = np.maximum(steps, 1e-3 * max(float(steps.max(initial=0.0)), 1e-3))
        instants = np.concatenate(([0.0], np.cumsum(steps)))
    else:
        instants = numbers(times, 'times')
        if instants.shape != q.shape[:1]:
            raise HodynError(
                f'times {instants.shape} and positions {q.shape}: must be (m,) and (m, n)')
    return AcceptedWaypoints(robot.joint_names, instants, q)


def comparable_speed(robot: Robot) -> Array:
    """Return the joints' velocity limits, (n,), rad/s or m/s; 1 where it is missing or 0."""
    limit = robot.limits.velocity
    speed: Array = np.where(np.isfinite(limit) & (limit > 0.0), limit, 1.0)
    return speed


def allowed_overshoot(robot: Robot, tolerance: float) -> Array:
    """Return how far joints may leave the range of their points, (n,): by a tolerance, rad.

    Prismatic joints may leave it by a tenth of the tolerance, in m.
    """
    return tolerance * np.where(robot.turns, 1.0, PRISMATIC)


def path_of(
    robot: Robot,
    points: AcceptedWaypoints,
    *,
    stop_at: Sequence[int] = (),
    tolerance: float,
    interpolation: str = 'auto',
    overshoot_tolerance: float = OVERSHOOT_TOLERANCE,
    abrupt_ends: bool = False,
    sample_tolerance: float = 0.0,
) -> JointPath:
    """Return the path through two or more points.

    The path goes through all points, with the directions of given velocities and the curvatures of
    given accelerations. With `MIN_SAMPLES` points or more it may miss them by the tolerance, rad
    or m, if they are dense, or if this makes the path much smoother. If fewer points, without
    stops, start in motion, the path is the curve in time.

    The path is cut at the points `stop_at`, from 0, so that a motion along it rests there.
    `interpolation` (of a path through all points) and `abrupt_ends` (of the curves in time) are as
    for `fit_plan`; `overshoot_tolerance` as for `allowed_overshoot`. HodynError: all points are
    equal, a stop is not a point, or the tolerance is negative or too large.
    """
    count, speed = len(points.positions), comparable_speed(robot)
    overshoot = allowed_overshoot(robot, overshoot_tolerance)
    position_range = robot.limits.position_min, robot.limits.position_max
    if count < 2:
        raise HodynError('a single point is not a path; give at least two')
    tolerance = number(tolerance, 'path_tolerance')
    if not 0.0 <= tolerance <= MAX_SAMPLE_TOLERANCE:
        raise HodynError(
            f'path tolerance {tolerance:g}: must be between 0 and {MAX_SAMPLE_TOLERANCE:g} rad or '
            'm')
    if not isinstance(stop_at, Sequence | np.ndarray) or isinstance(stop_at, str):
        raise HodynError(f'stop_at: expected a list of point numbers, from 0, got {stop_at!r:.40}')
    for stop in stop_at:
        if not isinstance(stop, int | np.integer):
            raise HodynError(f'stop_at: expected point numbers, from 0, got {stop!r:.40}')
        if not 0 <= stop < count:
            raise HodynError(f'stop at point {stop}: the points are 0 to {count - 1}')
    if np.abs(points.positions - points.positions[0]).max() <= SMALLEST_STEP:
        raise HodynError(f'its {count} points are all the same: there is no path')
    ends = sorted({0, *stop_at, count - 1})
    sections: list[Plan] = []
    timed: list[Plan] = []
    repeated: list[int] = []
    rested: list[tuple[int, int]] = []
    smooth = False
    for first, last in pairwise(ends):
        rests = {last - first, *([0] if len(ends) > 2 or count >= MIN_SAMPLES else [])}
        part = points.chosen(range(first, last + 1), rests)
        part = replace(part, times=part.times - part.times[0])
        if np.abs(part.positions - part.positions[0]).max() <= SMALLEST_STEP:
            continue
        in_time = fit_plan(
            part.times, part.positions, part.velocities, part.accelerations,
            interpolation=interpolation, overshoot_tolerance=overshoot,
            position_range=position_range, names=robot.joint_names, abrupt_ends=abrupt_ends,
            sample_tolerance=sample_tolerance)
        timed.append(in_time)
        if np.abs(in_time.evaluate(in_time.times[:1])[0, 1]).any():
            sections.append(in_time)
            continue
        given, (part, same) = part, _without_repeats(part)
        path = None
        if tolerance > 0.0 and count >= MIN_SAMPLES:
            path = _through_samples(part.positions, speed, tolerance)
            smooth |= path is not None
        if path is None:
            repeated += [first + i for i in same]
            parameter = _parameter(part.positions, speed)
            path = fit_plan(
                parameter, part.positions, *_directions(part, speed, parameter),
                interpolation=interpolation, overshoot_tolerance=overshoot,
                position_range=position_range, names=robot.joint_names, is_path=True)
        else:
            rested += [(first + i, first + j) for i, j in _rests(given, same)]
        sections.append(path)
    missed = missed_by(sections, points.positions) if smooth else None
    return JointPath(tuple(sections), tuple(timed), missed, (
        *_note_of_repeated(repeated), *_note_of_rests(rested, points.times)))


def _parameter(positions: Array, speed: Array, power: float = CENTRIPETAL) -> Array:
    """Return sums of distances from point to point, each to a power: (m,), increasing from 0."""
    steps = np.linalg.norm(np.diff(positions, axis=0) / speed, axis=1)
    steps = np.maximum(steps, SMALLEST_SHARE * steps.mean()) ** power
    return np.concatenate(([0.0], np.cumsum(steps)))


def _directions(
    points: AcceptedWaypoints, speed: Array, parameter: Array,
) -> tuple[Rows | None, Rows | None]:
    """Return p' and p'' at points that move, from their velocities and accelerations."""
    if points.velocities is None:
        return None, None
    steps = np.linalg.norm(np.diff(points.positions, axis=0) / speed, axis=1)
    rates = steps / np.diff(parameter)
    around = np.concatenate((rates[:1], 0.5 * (rates[1:] + rates[:-1]), rates[-1:]))
    slopes = np.gradient(around, parameter)
    tangents: list[ArrayLike | None] = [None] * len(parameter)
    bends = tangents.copy()
    for i, velocity in enumerate(points.velocities):
        size = 0.0 if velocity is None else float(np.linalg.norm(velocity / speed))
        if velocity is None or size <= SLOW:
            continue
        along = velocity / size
        tangents[i] = along * around[i]
        acceleration = None if points.accelerations is None else points.accelerations[i]
        if acceleration is not None and 0 < i < len(parameter) - 1:
            across = acceleration - along * float((along / speed) @ (acceleration / speed))
            bends[i] = across * (around[i] / size) ** 2 + along * slopes[i]
    return tangents, bends


def _roughness(path: Plan) -> float:
    """Return the integral of (p⁽⁵⁾)², with parameter and joint ranges scaled to 1."""
    knots = path.evaluate(path.times)
    ranges = np.ptp(knots[:, 0], axis=0)
    return path.duration**9 * sum(
        integral(path.times, knots[:, :, joint]) / float(ranges[joint]) ** 2
        for joint in np.flatnonzero(ranges > SMALLEST_STEP).tolist())


def _note_of_repeated(points: list[int]) -> tuple[str, ...]:
    """Return a note on points that repeat the point before them."""
    if not points:
        return ()
    pairs = ', '.join(f'{i - 1} and {i}' for i in points[:MAX_NAMED])
    more = len(points) - MAX_NAMED
    others = f' (and {more} more pairs)' if more > 0 else ''
    return (
        f'points {pairs}{others} are the same: the motion does not rest there; to rest, stop at '
        f'point {points[0]}',)


def _rests(points: AcceptedWaypoints, same: list[int]) -> list[tuple[int, int]]:
    """Return the first and last points of rests of at least `PAUSE`, except those at the ends.

    `same` are the points that repeat the one before.
    """
    runs = np.split(np.array(same, dtype=int), np.flatnonzero(np.diff(same) > 1) + 1)
    rests = [(int(run[0]) - 1, int(run[-1])) for run in runs if run.size]
    return [
        (i, j) for i, j in rests
        if i > 0 and j < len(points.times) - 1 and points.times[j] - points.times[i] >= PAUSE]


def _note_of_rests(rests: list[tuple[int, int]], times: Array) -> tuple[str, ...]:
    """Return a note on samples that rest within the motion."""
    if not rests:
        return ()
    some = ', '.join(
        f'{i} to {j} ({times[j] - times[i]:.2g} s)' for i, j in rests[:MAX_NAMED])
    more = f' and {len(rests) - MAX_NAMED} more times' if len(rests) > MAX_NAMED else ''
    return (
        f'points {some}{more} rest, but the retimed motion does not rest there: if it is to, '
        f'stop at point {rests[0][0]}',)


def _without_repeats(points: AcceptedWaypoints) -> tuple[AcceptedWaypoints, list[int]]:
    """Return the points without repeats of the point before, and the indices of the repeats."""
    is_same = np.abs(np.diff(points.positions, axis=0)).max(axis=1) <= SMALLEST_STEP
    waits = np.append(0.0, np.where(is_same, np.diff(points.times), 0.0))
    kept = np.flatnonzero(~np.append(False, is_same))
    # The point before a repeat was at rest; without the wait it need not be.
    part = points.chosen(kept.tolist(), np.flatnonzero(np.append(is_same, False)[kept]))
    return (replace(part, times=(points.times - np.cumsum(waits))[kept]),
            (np.flatnonzero(is_same) + 1).tolist())


def _through_samples(samples: Array, speed: Array, tolerance: float) -> Plan | None:
    """Return a smooth path within the tolerance of the samples.

    It is fitted to few of them, or to all if too few are left or a path through few misses the
    others. Returns None if the samples are far apart, and the path through all of them is about as
    smooth.
    """
    found = _through_few(samples, speed, tolerance)
    parameter = _parameter(samples, speed)
    limit = np.inf
    if len(_thinned(samples, 2.0 * tolerance)) == len(samples):
        limit = SMOOTHER * _roughness(
            fit_plan(parameter, samples, interpolation='global', is_path=True))
    if found is None or _roughness(found) >= limit:
        found = fit_plan(
            parameter, samples, interpolation='global', sample_tolerance=ROOM * tolerance,
            is_path=True)
    return found if _roughness(found) < limit else None


def _through_few(samples: Array, speed: Array, tolerance: float) -> Plan | None:
    """Return a path fitted to few samples that misses none; None if there is no such path.

    Its parameter is the distance along these samples: the root of the distance would change its
    rate at each sample, as they are not evenly spaced.
    """
    for spacing in SPACINGS:
        kept = _thinned(samples, spacing * tolerance)
        if not MIN_SAMPLES <= len(kept) < len(samples):
            continue
        parameter = _parameter(samples[kept], speed, power=1.0)
        for share in SHARES:
            plan = fit_plan(
                parameter, samples[kept], interpolation='global',
                sample_tolerance=share * tolerance, is_path=True)
            missed, backwards = _missed_in_order(
                plan, samples, kept, ROOM * tolerance)
            if missed <= ROOM * tolerance and backwards <= 2.0 * tolerance:
                return plan
            if missed > 2.0 * tolerance:
                break
    return None


def _missed_in_order(
    plan: Plan, samples: Array, kept: Indices, least: float,
) -> tuple[float, float]:
    """Return the largest distances of samples from the path, and from a motion along it.

    A sample is compared with the path between the kept samples around it; the first distance is
    exact only above `least`. The motion never turns back, although samples may.
    """
    after = np.searchsorted(kept, np.arange(len(samples)), side='right')
    last = len(kept) - 1
    begin, end = plan.times[np.maximum(after - 2, 0)], plan.times[np.minimum(after + 1, last)]
    reach = 0.5 * (end - begin)
    at, away = _nearest(plan, samples, 0.5 * (begin + end), reach, COARSE)
    far = np.flatnonzero(away.max(axis=1) > least)
    at[far], away[far] = _nearest(plan, samples[far], at[far], 0.1**COARSE * reach[far])
    forward = plan.evaluate(np.maximum.accumulate(at))[:, 0]
    return float(away.max()), float(np.abs(forward - samples).max())


def _thinned(samples: Array, least: float) -> Indices:
    """Return indices of samples about the least distance or more apart, with both ends."""
    length = float(np.abs(np.diff(samples, axis=0)).max(axis=1).sum())
    spacing = max(least, length / MAX_THINNED)
    kept = [0]
    for i, sample in enumerate(samples):
        if np.abs(sample - samples[kept[-1]]).max() >= spacing:
            kept.append(i)
    last = len(samples) - 1
    if kept[-1] != last:
        if len(kept) > 1 and np.abs(samples[last] - samples[kept[-1]]).max() < 0.5 * spacing:
            kept.pop()
        kept.append(last)
    return np.array(kept)


def missed_by(sections: Sequence[Plan], points: Array) -> Array:
    """Return each joint's distance from each point, (m, n), where the path is nearest to it."""
    grids = [np.linspace(0.0, plan.duration, 10 * plan.times.size) for plan in sections]
    curve = np.concatenate([
        plan.evaluate(grid)[:, 0] for plan, grid in zip(sections, grids, strict=True)])
    nearest = np.asarray(KDTree(curve).query(points, p=np.inf)[1])
    missed = np.empty_like(points)
    begin = 0
    for plan, grid in zip(sections, grids, strict=True):
        mine = np.flatnonzero((nearest >= begin) & (nearest < begin + grid.size))
        missed[mine] = _nearest(
            plan, points[mine], grid[nearest[mine] - begin], np.full(mine.size, grid[1]))[1]
        begin += grid.size
    return missed


def _nearest(
    plan: Plan, points: Array, at: Array, reach: Array, refinements: int = REFINEMENTS,
) -> tuple[Array, Array]:
    """Return where near `at`, (m,), the path is nearest to points, and each joint's distance.

    `reach`, (m,), is how far from `at` the place may be.
    """
    rows = np.arange(len(points))
    for finer in range(refinements):
        around = at[:, None] + reach[:, None] * 0.1**finer * np.linspace(-1.0, 1.0, 21)
        around = np.clip(around, 0.0, plan.duration)
        away = np.abs(plan.evaluate(around)[:, :, 0] - points[:, None])
        best = away.max(axis=2).argmin(axis=1)
        at = around[rows, best]
    return at, away[rows, best]
