"""The path through the points of a plan, whatever its timing was.

Between waypoints it is the curve that the node would run. Samples of a motion, which may jitter,
wait and stop, are thinned, given even distances on a parameter that grows with the arc length,
and smoothed within a tolerance: so nothing is left of the timing.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from hodyn_ros.common.arrays import numbers
from hodyn_ros.reference import Plan, fit_plan
from hodyn_ros.reference.fit import DENSE, MAX_SAMPLE_TOLERANCE, OVERSHOOT_TOLERANCE, Rows
from hodyn_ros.robot import HodynError, Robot

Array = NDArray[np.float64]

MIN_SAMPLES, MAX_SAMPLE_SPACING = 20, 0.02
"""So many points, so close in time (s), are samples of a motion rather than waypoints."""
MAX_THINNED = 4000
RAMP = 0.1
"""Part of the parameter in which a sampled path leaves from, and comes to, rest at each end."""
SMALLEST_STEP = 1e-9
"""rad or m; points that are closer are the same."""
MAX_NAMED = 3
"""Places that a note names."""
ATTEMPTS = 5
ROOM = 0.95
"""Part of the tolerance that a smoothed path takes; the rest is for the samples of a file."""
REFINEMENTS = 4
"""Of where a path is nearest to a point, a tenth of the distance each."""


@dataclass(frozen=True, eq=False)
class JointPath:
    """A path in sections, each from rest to rest, in a parameter of its own.

    Attributes
    ----------
    sections : tuple of Plan
        p(w) of each.
    missed : (m, n) array, or None
        rad or m by which each joint misses each point; None where it goes through all.
    notes : tuple of str
        What to know of it.
    timed : Plan or None
        The points with their own timing, where the path's parameter has nothing of it.

    """

    sections: tuple[Plan, ...]
    missed: Array | None = None
    notes: tuple[str, ...] = ()
    timed: Plan | None = None


@dataclass(frozen=True, eq=False)
class PathPoints:
    """Points that a path goes through.

    Attributes
    ----------
    times : (m,) array
        s.
    positions : (m, n) array
        rad or m.
    velocities, accelerations : (m, n) array, m rows of which some are None, or None
        Of waypoints, as for `fit_plan`.
    names : n strings
        Joint names, for messages.

    """

    times: Array
    positions: Array
    velocities: Rows | None = None
    accelerations: Rows | None = None
    names: Sequence[str] = field(default=())

    def between(self, first: int, last: int, *, from_rest: bool = True) -> PathPoints:
        """Return the points from `first` to `last`, to rest there, and from rest if asked."""
        def inside(rows: Rows | None) -> Rows | None:
            if rows is None:
                return None
            part: list[ArrayLike | None] = list(rows)[first:last + 1]  # type: ignore[arg-type]
            return [*([None] if from_rest else part[:1]), *part[1:-1], None]

        return PathPoints(
            self.times[first:last + 1] - self.times[first], self.positions[first:last + 1],
            inside(self.velocities), inside(self.accelerations), self.names)


def points_of(robot: Robot, positions: ArrayLike, times: ArrayLike | None) -> PathPoints:
    """Return points with times; without given ones, such as the slowest joint needs."""
    q = numbers(positions, 'positions')
    if q.ndim != 2 or q.shape[1] != robot.n:
        raise HodynError(f'positions have shape {q.shape}; expected (m, {robot.n})')
    if not np.isfinite(q).all():
        point, joint = np.argwhere(~np.isfinite(q))[0]
        raise HodynError(f'point {point}, {robot.joint_names[joint]}: not finite')
    if times is None:
        speed = np.where(np.isfinite(robot.limits.velocity), robot.limits.velocity, 1.0)
        steps = (np.abs(np.diff(q, axis=0)) / speed).max(axis=1)
        steps = np.maximum(steps, 1e-3 * max(float(steps.max(initial=0.0)), 1e-3))
        instants = np.concatenate(([0.0], np.cumsum(steps)))
    else:
        instants = numbers(times, 'times')
    return PathPoints(instants, q, names=robot.joint_names)


def path_of(
    points: PathPoints,
    *,
    stop_at: Sequence[int] = (),
    tolerance: float,
    interpolation: str = 'auto',
    overshoot_tolerance: float = OVERSHOOT_TOLERANCE,
) -> JointPath:
    """Return the path through points.

    Parameters
    ----------
    points : PathPoints
        At least two.
    stop_at : sequence of int
        Points, from 0, at which the path is cut, so that a motion along it rests there.
    tolerance : float
        rad or m by which samples may be missed.
    interpolation, overshoot_tolerance
        Between waypoints, as for `fit_plan`.

    Raises
    ------
    HodynError
        Points that are all the same, stops that are not points, a negative tolerance.

    """
    count = len(points.positions)
    if count < 2:
        raise HodynError('a single point is no path; give at least two')
    if not 0.0 <= tolerance <= MAX_SAMPLE_TOLERANCE:
        raise HodynError(
            f'path tolerance {tolerance:g}: must be between 0 and {MAX_SAMPLE_TOLERANCE:g} rad or '
            'm')
    for stop in stop_at:
        if not 0 <= stop < count:
            raise HodynError(f'stop at point {stop}: there are points 0 to {count - 1}')
    if np.abs(points.positions - points.positions[0]).max() <= SMALLEST_STEP:
        raise HodynError(f'its {count} points are all the same: there is no path')
    sampled = tolerance > 0.0 and count >= MIN_SAMPLES and (
        float(np.median(np.diff(points.times))) <= MAX_SAMPLE_SPACING)
    ends = sorted({0, *stop_at, count - 1})
    sections: list[Plan] = []
    repeated: list[int] = []
    for first, last in pairwise(ends):
        part = points.between(first, last, from_rest=len(ends) > 2)
        if np.abs(part.positions - part.positions[0]).max() <= SMALLEST_STEP:
            continue
        if sampled:
            sections.append(_through_samples(part.positions, tolerance))
            continue
        part, same = _without_repeats(part)
        repeated += [first + i for i in same]
        sections.append(fit_plan(
            part.times, part.positions, part.velocities, part.accelerations,
            interpolation=interpolation, overshoot_tolerance=overshoot_tolerance,
            names=part.names or None))
    notes = _note_of_repeated(repeated)
    if not sampled:
        return JointPath(tuple(sections), notes=notes)
    whole = points.between(0, count - 1)
    timed = fit_plan(
        whole.times, whole.positions, whole.velocities, whole.accelerations,
        names=points.names or None)
    return JointPath(
        tuple(sections), missed_by(sections, points.positions), notes, timed)


def _note_of_repeated(points: list[int]) -> tuple[str, ...]:
    """Return in one line what to know of points that are those before them."""
    if not points:
        return ()
    pairs = ', '.join(f'{i - 1} and {i}' for i in points[:MAX_NAMED])
    more = len(points) - MAX_NAMED
    others = f' (and {more} more pairs)' if more > 0 else ''
    return (
        f'points {pairs}{others} are the same: it does not rest there; to rest, stop at point '
        f'{points[0]}',)


def _without_repeats(points: PathPoints) -> tuple[PathPoints, list[int]]:
    """Return the points without those that repeat the one before, and the waits that this was."""
    steps = np.abs(np.diff(points.positions, axis=0)).max(axis=1)
    same = (np.flatnonzero(steps <= SMALLEST_STEP) + 1).tolist()
    if not same:
        return points, []
    kept = [i for i in range(len(points.positions)) if i not in set(same)]
    waits = np.zeros(len(points.times))
    waits[same] = np.diff(points.times)[[i - 1 for i in same]]

    def rows(given: Rows | None) -> Rows | None:
        if given is None:
            return None
        listed: list[ArrayLike | None] = list(given)  # type: ignore[arg-type]
        # Where it waited it had no velocity; without the wait it need not stop.
        return [None if i + 1 in set(same) else listed[i] for i in kept]

    return PathPoints(
        (points.times - np.cumsum(waits))[kept], points.positions[kept], rows(points.velocities),
        rows(points.accelerations), points.names), same


def _through_samples(samples: Array, tolerance: float) -> Plan:
    """Return the smooth path that misses no sample by more than the tolerance, if one is found.

    Samples that are missed, such as the tip where a path turns back, join those that are kept.
    """
    kept = _thinned(samples, tolerance)
    for attempt in range(ATTEMPTS):
        thinned = samples[kept]
        steps = np.linalg.norm(np.diff(thinned, axis=0), axis=1)
        distance = np.concatenate(([0.0], np.cumsum(np.maximum(steps, 0.1 * steps.mean()))))
        parameter = _from_rest_to_rest(distance / distance[-1])
        parameter *= 0.99 * DENSE / np.diff(parameter).max()
        plan = fit_plan(
            parameter, thinned, interpolation='global',
            sample_tolerance=0.7 ** (attempt + 1) * tolerance)
        missed = missed_by([plan], samples).max(axis=1)
        if missed.max() <= ROOM * tolerance:
            break
        kept = np.union1d(kept, _local_maxima(missed, ROOM * tolerance))
    return plan


def _thinned(samples: Array, tolerance: float) -> NDArray[np.intp]:
    """Return which samples, the first and the last too, are twice the tolerance apart."""
    length = float(np.abs(np.diff(samples, axis=0)).max(axis=1).sum())
    spacing = max(2.0 * tolerance, length / MAX_THINNED)
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


def _local_maxima(values: Array, least: float) -> NDArray[np.intp]:
    """Return where values above the least are larger than their neighbours."""
    padded = np.concatenate(([-np.inf], values, [-np.inf]))
    return np.flatnonzero(
        (values > least) & (values >= padded[:-2]) & (values > padded[2:]))


def _from_rest_to_rest(share: Array) -> Array:
    """Return the parameters in [0, 1] at which an even motion with smooth ends is so far."""
    grid = np.linspace(0.0, 1.0, 20_001)
    ramp = np.clip(np.minimum(grid, 1.0 - grid) / RAMP, 0.0, 1.0)
    speed = ramp**5 * (126.0 + ramp * (-420.0 + ramp * (540.0 + ramp * (-315.0 + 70.0 * ramp))))
    way = np.concatenate(([0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]))))
    inverse: Array = np.interp(share, way / way[-1], grid)
    return inverse


def missed_by(sections: Sequence[Plan], points: Array) -> Array:
    """Return by how much each joint misses each point, (m, n), where the path is nearest."""
    grids = [np.linspace(0.0, plan.duration, 10 * plan.times.size) for plan in sections]
    curve = np.concatenate([
        plan.evaluate(grid)[:, 0] for plan, grid in zip(sections, grids, strict=True)])
    nearest = np.asarray(KDTree(curve).query(points)[1])
    missed = np.empty_like(points)
    begin = 0
    for plan, grid in zip(sections, grids, strict=True):
        mine = np.flatnonzero((nearest >= begin) & (nearest < begin + grid.size))
        at, rows = grid[nearest[mine] - begin], np.arange(mine.size)
        for finer in range(REFINEMENTS):
            around = at[:, None] + grid[1] * 0.1**finer * np.linspace(-1.0, 1.0, 21)
            around = np.clip(around, 0.0, plan.duration)
            away = np.abs(plan.evaluate(around)[:, :, 0] - points[mine][:, None])
            best = away.max(axis=2).argmin(axis=1)
            at = around[rows, best]
        missed[mine] = away[rows, best]
        begin += grid.size
    return missed
