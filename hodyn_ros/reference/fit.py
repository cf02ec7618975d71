"""Plans from points: validation of the points, then the choice of interpolation."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.common.arrays import numbers
from hodyn_ros.common.errors import HodynError, check_choice
from hodyn_ros.reference.bounded_spline import bounded_knots
from hodyn_ros.reference.extrema import extrema
from hodyn_ros.reference.local_spline import shape_preserving_knots
from hodyn_ros.reference.pieces import DEGREE, Array
from hodyn_ros.reference.plan import Plan
from hodyn_ros.reference.spline import smoothest_knots

INTERPOLATIONS = ('auto', 'global', 'bounded', 'local')
OVERSHOOT_TOLERANCE = 0.01
START_TOLERANCE = 0.01
# Greatest mean speed, rad/s or m/s, from rest to a first point that is later than the start.
START_SPEED = 20.0
# Points this close or closer are samples of a motion rather than its waypoints; s, and what whole
# nanoseconds leave.
DENSE = 5e-3
TIME_ROUND_OFF = 1e-8
BAND_STEPS = 16
MIN_ABRUPT = 4
# Jitter is less; missed by more, samples of a small motion are another motion.
MAX_SAMPLE_TOLERANCE = 0.01
# Coefficients hold h⁴ q⁗: beyond these spacings they leave what doubles resolve.
MIN_PIECE, MAX_PIECE = 1e-6, 1e5
# rad, m and their derivatives: products of more overflow.
GREATEST = 1e15

Rows = ArrayLike | Sequence[ArrayLike | None]


def fit_plan(
    times: ArrayLike,
    positions: ArrayLike,
    velocities: Rows | None = None,
    accelerations: Rows | None = None,
    *,
    start: Array | None = None,
    interpolation: str = 'auto',
    overshoot_tolerance: float = OVERSHOOT_TOLERANCE,
    start_tolerance: float = START_TOLERANCE,
    start_speed: float = START_SPEED,
    sample_tolerance: float = 0.0,
    names: Sequence[str] | None = None,
    is_path: bool = False,
    abrupt_ends: bool = False,
) -> Plan:
    """Return the plan through the given points, continuous to q⁗.

    Parameters
    ----------
    times : (m,) array
        Seconds from the plan's zero, increasing, the first >= 0.
    positions : (m, n) array
        Met exactly.
    velocities, accelerations : (m, n) array, or m rows of which some are None, optional
        Met exactly where given. At the two ends, what is not given is zero.
    start : (5, n) array, optional
        q … q⁗ at time 0, of the motion that this plan takes over. A first point later than 0
        is reached from it, from rest at `start_speed` at most; one at 0 must lie within
        `start_tolerance` of it, and gives way to it.
    interpolation : 'auto', 'global', 'bounded' or 'local'
        'global': degree-9 pieces with the least integral of (q⁽⁵⁾)², as smooth as can be, but
        they swing on uneven spacing. 'bounded': the least integral with each piece between its
        two points, by `overshoot_tolerance`. 'local': shape-preserving pieces with slopes from
        their neighbours alone, strictly between their points, with more snap. 'auto': global
        while every joint stays within the range of all its points by `overshoot_tolerance`,
        else bounded (local for a tolerance of 0). The plan's `interpolation` says which.
    overshoot_tolerance : float
        rad or m.
    start_tolerance : float
        rad or m.
    start_speed : float
        rad/s or m/s. Give np.inf for plans of other quantities, such as stiffness.
    sample_tolerance : float
        rad or m, at most 0.01. Where positive, and the points are no more than 5 ms apart, all but
        the ends may be missed by this much, with their velocities and accelerations unused, so
        that the jitter of samples does not become snap: 'band'.
    names : n names
        For error messages.
    is_path : bool
        Whether `times` are a parameter of a path and no time, so that its ends are straight, with
        any slope, instead of at rest, and its points may be samples however far apart they are.
    abrupt_ends : bool
        Whether the points are those of a motion that does not rest at its ends: the rest there
        then shapes the first and the last piece alone, instead of swinging on over many.

    """
    check_choice(interpolation, 'interpolation', INTERPOLATIONS)
    for value, text in (
        (overshoot_tolerance, 'overshoot_tolerance'), (start_tolerance, 'start_tolerance'),
        (start_speed, 'start_speed'), (sample_tolerance, 'sample_tolerance'),
    ):
        if not value >= 0.0:
            raise HodynError(f'{text} {value}: must not be negative')
    if sample_tolerance > MAX_SAMPLE_TOLERANCE:
        raise HodynError(
            f'sample_tolerance {sample_tolerance:g}: must be at most {MAX_SAMPLE_TOLERANCE:g} rad '
            'or m; it smooths the jitter of samples, and more makes another motion of them')
    instants, knots, fixed = _points(times, positions, velocities, accelerations, names)
    dense = len(instants) > 2 and (
        is_path or np.diff(instants).max() <= DENSE + TIME_ROUND_OFF)
    if start is not None:
        instants, knots, fixed = _stitch(
            instants, knots, fixed, start, start_tolerance, start_speed, names)
    if abrupt_ends and not is_path and len(instants) > MIN_ABRUPT:
        # All derivatives of the second point and the last but one are those of a free motion.
        free = fixed.copy()
        free[[0, -1], 3:] = True
        through = _global(instants, knots, free).evaluate(instants[[1, -2]])
        given = fixed[[1, -2]]
        knots[[1, -2]] = np.where(given[:, :, None], knots[[1, -2]], through)
        fixed[[1, -2]] = True
    fixed[0, 1 + is_path:] = fixed[-1, 1 + is_path:] = True
    if len(instants) == 1:
        empty = np.empty((0, DEGREE + 1, knots.shape[2]))
        return Plan(instants, empty, knots[[0, 0], 0], 'hold')
    if interpolation == 'bounded' and overshoot_tolerance == 0.0:
        raise HodynError("interpolation 'bounded' needs an overshoot_tolerance above 0")
    if interpolation == 'bounded':
        return _bounded(instants, knots, fixed, overshoot_tolerance)
    if interpolation == 'local':
        return _local(instants, knots, fixed)
    if dense and sample_tolerance > 0.0:
        plan = _band(instants, knots, fixed, sample_tolerance)
    else:
        plan = _global(instants, knots, fixed)
    if interpolation == 'global':
        return plan
    excess = overshoot(plan, knots[:, 0]).max()
    if excess <= overshoot_tolerance:
        return plan
    # Where given derivatives lead out of the range, none may stay in: the one with the
    # smallest excess is taken.
    best = plan
    if overshoot_tolerance > 0.0:
        bounded = _bounded(instants, knots, fixed, overshoot_tolerance)
        bounded_excess = overshoot(bounded, knots[:, 0]).max()
        if bounded_excess <= overshoot_tolerance:
            return bounded
        if bounded_excess < excess:
            best, excess = bounded, bounded_excess
    local = _local(instants, knots, fixed)
    return local if overshoot(local, knots[:, 0]).max() < excess else best


def overshoot(plan: Plan, waypoints: ArrayLike) -> Array:
    """Return by how much each joint leaves the range of its `waypoints` (m, n), 0 if within."""
    waypoints = numbers(waypoints, 'waypoints')
    if waypoints.ndim != 2 or len(waypoints) == 0 or waypoints.shape[1] != plan.n:
        raise HodynError(f'waypoints have shape {waypoints.shape}; expected (m, {plan.n})')
    values, _ = extrema(plan, 0)
    low, high = waypoints.min(axis=0), waypoints.max(axis=0)
    excess: Array = np.maximum(np.maximum(low - values[0], values[1] - high), 0.0)
    return excess


def _global(times: Array, knots: Array, fixed: NDArray[np.bool_]) -> Plan:
    filled = knots.copy()
    count, _, n = knots.shape
    smoothest_knots(times, fixed, np.empty((count, 0, 5)), np.empty((count, 0, n)), filled)
    return Plan.hermite(times, filled, 'global')


def _band(times: Array, knots: Array, fixed: NDArray[np.bool_], tolerance: float) -> Plan:
    """Return the smoothest plan that misses no sample by more than the tolerance.

    It is a smoothing spline of one cut-off frequency for all joints, so that their paths keep
    together: samples d apart that weigh d omega^10 are followed up to about omega.
    """
    fixed = fixed.copy()
    fixed[1:-1, :3] = False
    spacing = float(np.median(np.diff(times)))
    slow, fast = np.log(0.1 / times[-1]), np.log(100.0 / spacing)
    row = np.zeros((len(times), 1, 5))
    chosen = None
    for _ in range(BAND_STEPS):
        middle = 0.5 * (slow + fast)
        filled = knots.copy()
        row[:, 0, 0] = np.sqrt(spacing) * np.exp(5.0 * middle)
        smoothest_knots(times, fixed, row, row[:, :, 0, None] * knots[:, :1], filled)
        if np.abs(filled[:, 0] - knots[:, 0]).max() <= tolerance:
            fast, chosen = middle, filled
        else:
            slow = middle
    if chosen is None:
        return _global(times, knots, fixed | np.array([True, False, False, False, False]))
    return Plan.hermite(times, chosen, 'band')


def _bounded(
    times: Array, knots: Array, fixed: NDArray[np.bool_], tolerance: float
) -> Plan:
    filled = knots.copy()
    for joint in range(knots.shape[2]):
        one = knots[:, :, joint:joint + 1].copy()
        bounded_knots(times, fixed, tolerance, one)
        filled[:, :, joint] = one[:, :, 0]
    return Plan.hermite(times, filled, 'bounded')


def _local(times: Array, knots: Array, fixed: NDArray[np.bool_]) -> Plan:
    filled = knots.copy()
    shape_preserving_knots(times, fixed, filled)
    return Plan.hermite(times, filled, 'local')


def _points(
    times: ArrayLike,
    positions: ArrayLike,
    velocities: Rows | None,
    accelerations: Rows | None,
    names: Sequence[str] | None,
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return times (m,), knots (m, 5, n) and which derivatives are given (m, 5)."""
    instants = numbers(times, 'times')
    q = numbers(positions, 'positions')
    if instants.ndim != 1 or q.ndim != 2 or len(q) != len(instants):
        raise HodynError(
            f'times {instants.shape} and positions {q.shape}: must be (m,) and (m, n)'
        )
    if q.size == 0:
        raise HodynError('the plan has no points')
    if names is not None and len(names) != q.shape[1]:
        raise HodynError(f'{len(names)} joint names for {q.shape[1]} joints')
    _check_times(instants)
    knots = np.zeros((len(q), 5, q.shape[1]))
    fixed = np.zeros((len(q), 5), dtype=bool)
    for k, (rows, quantity) in enumerate(
        ((q, 'position'), (velocities, 'velocity'), (accelerations, 'acceleration'))
    ):
        if rows is None:
            continue
        try:
            length = len(rows)  # type: ignore[arg-type]
        except TypeError:
            length = 0
        if length != len(q):
            raise HodynError(f'{length} rows of {quantity} for {len(q)} points')
        if isinstance(rows, np.ndarray) and rows.shape == q.shape:
            knots[:, k], fixed[:, k] = numbers(rows, quantity), True
        else:
            for i, row in enumerate(rows):  # type: ignore[arg-type]
                if row is None:
                    continue
                values = numbers(row, f'point {i}: {quantity}')
                if values.shape != q.shape[1:]:
                    raise HodynError(
                        f'point {i}: {quantity} has shape {values.shape}, must be {q.shape[1:]}'
                    )
                knots[i, k], fixed[i, k] = values, True
        _check_values(knots[:, k], quantity, names)
    return instants, knots, fixed


def _check_times(times: Array) -> None:
    bad = ~np.isfinite(times)
    if bad.any():
        i = int(np.argmax(bad))
        raise HodynError(f'point {i}: time {times[i]} is not finite')
    if times[0] < 0.0:
        raise HodynError(f'point 0: time {times[0]} s is negative')
    steps = np.diff(times)
    if (steps <= 0.0).any():
        i = int(np.argmax(steps <= 0.0)) + 1
        raise HodynError(
            f'point {i}: time {times[i]} s is not later than that of point {i - 1}, '
            f'{times[i - 1]} s; times must increase'
        )
    bad = (steps < MIN_PIECE) | (steps > MAX_PIECE)
    if bad.any():
        i = int(np.argmax(bad)) + 1
        raise HodynError(
            f'point {i}: {steps[i - 1]:.3g} s after point {i - 1}; '
            f'must be between {MIN_PIECE:g} and {MAX_PIECE:g} s'
        )


def _check_values(values: Array, quantity: str, names: Sequence[str] | None) -> None:
    bad = ~(np.abs(values) <= GREATEST)
    if bad.any():
        i, joint = np.unravel_index(int(np.argmax(bad)), bad.shape)
        value = values[i, joint]
        what = f'is beyond {GREATEST:g}' if np.isfinite(value) else 'is not finite'
        raise HodynError(f'point {i}, {_joint(int(joint), names)}: {quantity} {value} {what}')


def _joint(index: int, names: Sequence[str] | None) -> str:
    return f'joint {index}' if names is None else f'joint {names[index]}'


def _stitch(
    times: Array,
    knots: Array,
    fixed: NDArray[np.bool_],
    start: Array,
    tolerance: float,
    speed: float,
    names: Sequence[str] | None,
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Put the active motion's state at time 0 before the points, or in place of the first."""
    state = np.asarray(start, dtype=float)
    if state.shape != knots.shape[1:]:
        raise HodynError(f'start has shape {state.shape}, must be {knots.shape[1:]}')
    for k, quantity in enumerate(('position', 'velocity', 'acceleration', 'jerk', 'snap')):
        if not np.isfinite(state[k]).all():
            joint = int(np.argmin(np.isfinite(state[k])))
            raise HodynError(
                f'start, {_joint(joint, names)}: {quantity} {state[k, joint]} is not finite'
            )
    distance = np.abs(knots[0, 0] - state[0])
    joint = int(np.argmax(distance))
    if times[0] > 0.0:
        if times[0] < MIN_PIECE:
            raise HodynError(f'point 0: {times[0]:.3g} s after the start; give it 0 or more time')
        from_rest = not state[1].any()
        if from_rest and distance[joint] > tolerance + speed * times[0]:
            raise HodynError(
                f'point 0, {_joint(joint, names)}: position {knots[0, 0, joint]:.6g} at '
                f'{times[0]:.3g} s is {distance[joint]:.3g} from where the joint is at time 0, '
                f'{state[0, joint]:.6g}: faster than start_speed, {speed:g} rad/s (m/s); '
                'begin nearer, or later'
            )
        times = np.concatenate(([0.0], times))
        knots = np.concatenate((state[None], knots))
        fixed = np.concatenate((np.ones((1, 5), dtype=bool), fixed))
        return times, knots, fixed
    if distance[joint] > tolerance:
        raise HodynError(
            f'point 0, {_joint(joint, names)}: position {knots[0, 0, joint]:.6g} at time 0 is '
            f'{distance[joint]:.3g} from where the joint is then, {state[0, joint]:.6g}; within '
            f'{tolerance:g}, or give the first point a later time'
        )
    if len(times) == 1 and state[1:].any():
        raise HodynError('the only point is at time 0 while the joints move: give it a later time')
    knots[0], fixed[0] = state, True
    return times, knots, fixed
