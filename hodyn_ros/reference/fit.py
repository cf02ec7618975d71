"""Makes plans from points: checks the points, then interpolates between them."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, Flags, numbers
from hodyn_ros.common.errors import HodynError, check_choice, check_names
from hodyn_ros.limits.margins import TOLERANCE as ROUND_OFF
from hodyn_ros.reference.bounded_spline import bounded_knots
from hodyn_ros.reference.extrema import extrema
from hodyn_ros.reference.local_spline import shape_preserving_knots
from hodyn_ros.reference.plan import Plan
from hodyn_ros.reference.spline import smoothest_knots

INTERPOLATIONS = ('auto', 'global', 'bounded', 'local')
OVERSHOOT_TOLERANCE = 0.01
START_TOLERANCE = 0.01
# Largest mean speed, rad/s or m/s, from rest at the start to a later first point.
START_SPEED = 20.0
# Largest time, s, between points that are samples of a motion, not waypoints.
DENSE = 0.02
# Round-off of times in whole nanoseconds, s.
TIME_ROUND_OFF = 1e-8
# Number of bisections for the cut-off frequency of a smoothed plan.
BAND_STEPS = 16
# `abrupt_ends` has an effect only on more points than this.
MIN_ABRUPT = 4
# Largest sample tolerance, rad or m: jitter is smaller, and small motions must not be smoothed.
MAX_SAMPLE_TOLERANCE = 0.01
# Bounds of the spacing h, s: beyond them doubles do not resolve the term h⁴ q⁗ of coefficients.
MIN_PIECE, MAX_PIECE = 1e-6, 1e5
# Largest position or derivative: products of larger values overflow.
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
    overshoot_tolerance: ArrayLike = OVERSHOOT_TOLERANCE,
    position_range: tuple[ArrayLike, ArrayLike] | None = None,
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
        Met exactly unless `sample_tolerance` is positive.
    velocities, accelerations : (m, n) array, or m rows of which some are None, optional
        Met exactly where given. At the two ends, derivatives that are not given are zero.
    start : (5, n) array, optional
        q … q⁗ at time 0 of the motion from which this plan takes over. `start` replaces a first
        point at time 0, which must be within `start_tolerance`. To a later first point the plan
        moves from `start`; from rest, the mean speed must be at most `start_speed`.
    interpolation : 'auto', 'global', 'bounded' or 'local'
        'global': degree-9 pieces with the least integral of (q⁽⁵⁾)²; they are the smoothest, but
        overshoot if spacing is uneven. 'bounded': the least integral with each piece between its
        two points, up to `overshoot_tolerance`. 'local': shape-preserving pieces, strictly between
        their points; slopes depend only on neighbouring points, and snap is larger. 'auto': global
        if every joint stays within `position_range`, and within the range of all its points up to
        `overshoot_tolerance`, else bounded (local for a tolerance of 0). If all points have
        velocities and accelerations, this range includes the quintics between them. The plan's
        attribute `interpolation` names the choice.
    overshoot_tolerance : float or (n,) array
        Allowed distance beyond the range of the points, rad or m.
    position_range : two (n,) arrays, optional
        Least and largest positions of the joints. 'auto', 'bounded' and 'local' stay within them
        if the points of the joint do, unless given derivatives lead out.
    start_tolerance : float
        Allowed distance between `start` and a first point at 0, rad or m.
    start_speed : float
        rad/s or m/s. Give np.inf for plans of other quantities, such as stiffness.
    sample_tolerance : float
        Distance by which points may be missed, rad or m, at most 0.01, for 'auto' and 'global'. If
        it is positive and three or more points are at most 20 ms apart, only the ends are met
        exactly, and velocities and accelerations of the other points are not used: so jitter of
        samples does not become snap. The interpolation is then 'band', which may leave the range
        of the points as far; with 'auto' only if it stays within `position_range`.
    names : n names
        Joint names, for error messages.
    is_path : bool
        Whether `times` are the parameter of a path instead of a time. Then the plan is straight,
        with any slope, instead of at rest at its ends, and points at any distance may be samples.
    abrupt_ends : bool
        Whether the points belong to a motion that does not rest at its ends. Then the rest of the
        plan at its ends changes only the first and the last piece; the others do not oscillate.

    """
    check_choice(interpolation, 'interpolation', INTERPOLATIONS)
    names = None if names is None else check_names(names, 'names')
    tolerance = numbers(overshoot_tolerance, 'overshoot_tolerance')
    for value, text in (
        (tolerance.min(initial=np.inf), 'overshoot_tolerance'),
        (start_tolerance, 'start_tolerance'), (start_speed, 'start_speed'),
        (sample_tolerance, 'sample_tolerance'),
    ):
        if not value >= 0.0:
            raise HodynError(f'{text} {value}: must not be negative')
    if sample_tolerance > MAX_SAMPLE_TOLERANCE:
        raise HodynError(
            f'sample_tolerance {sample_tolerance:g}: must be at most {MAX_SAMPLE_TOLERANCE:g} rad '
            'or m; a larger one would not only smooth jitter, but change the motion')
    instants, knots, fixed = _points(times, positions, velocities, accelerations, names)
    dense = len(instants) > 2 and (
        is_path or np.diff(instants).max() <= DENSE + TIME_ROUND_OFF)
    if start is not None:
        instants, knots, fixed = _stitch(
            instants, knots, fixed, start, start_tolerance, start_speed, names)
    if abrupt_ends and not is_path and len(instants) > MIN_ABRUPT:
        # The second and the last but one point get all derivatives from a motion with free ends.
        free = fixed.copy()
        free[[0, -1], 3:] = True
        through = _interpolated('global', instants, knots, free).evaluate(instants[[1, -2]])
        given = fixed[[1, -2]]
        knots[[1, -2]] = np.where(given[:, :, None], knots[[1, -2]], through)
        fixed[[1, -2]] = True
    fixed[0, 1 + is_path:] = fixed[-1, 1 + is_path:] = True
    if len(instants) == 1:
        return Plan.hermite(instants, knots, 'hold')
    tolerance = _per_joint(tolerance, 'overshoot_tolerance', knots.shape[2])
    if interpolation == 'bounded' and not tolerance.all():
        raise HodynError("interpolation 'bounded' needs an overshoot_tolerance above 0")
    low, high = knots[:, 0].min(axis=0), knots[:, 0].max(axis=0)
    lower, upper = (
        _per_joint(end, 'position_range', knots.shape[2])
        for end in (position_range or (-np.inf, np.inf)))
    if not (lower < upper).all():
        raise HodynError(
            f'position_range {lower.tolist()}, {upper.tolist()}: each least position, of all '
            'joints, must be below the largest')
    lower, upper = np.where(low < lower, -np.inf, lower), np.where(high > upper, np.inf, upper)
    if fixed[:, :3].all():
        # Given velocities and accelerations determine how far the motion moves between points.
        swing, _ = extrema(Plan.quintic(instants, knots[:, :3]), 0)
        low, high = np.minimum(low, swing[0]), np.maximum(high, swing[1])
    smoothest = 'band' if dense and sample_tolerance > 0.0 else 'global'
    kinds = {
        'auto': (smoothest, *(['bounded'] if tolerance.all() else []), 'local'),
        'global': (smoothest,)}.get(interpolation, (interpolation,))
    # If given derivatives lead out of the range, perhaps no interpolation stays within it: then
    # the one with the smallest excess is taken.
    least = np.inf
    for kind in kinds:
        if kind == 'band':
            plan = _band(instants, knots, fixed, sample_tolerance, lower, upper)
        elif kind == 'bounded':
            plan = _bounded(instants, knots, fixed, tolerance, lower, upper)
        else:
            plan = _interpolated(kind, instants, knots, fixed)
        if len(kinds) == 1:
            return plan
        values, _ = extrema(plan, 0)
        # A plan that may miss samples may leave their range by as much.
        room = np.maximum(tolerance, sample_tolerance * (kind == 'band'))
        beyond = np.maximum.reduce([
            low - room - values[0], values[1] - high - room, lower - values[0], values[1] - upper])
        if (excess := float(beyond.max())) < least:
            best, least = plan, excess
        if least <= ROUND_OFF:
            break
    return best


def overshoot(plan: Plan, waypoints: ArrayLike) -> Array:
    """Return the distance, (n,), by which joints leave the range of `waypoints` (m, n), or 0."""
    waypoints = numbers(waypoints, 'waypoints')
    if waypoints.ndim != 2 or len(waypoints) == 0 or waypoints.shape[1] != plan.n:
        raise HodynError(f'waypoints have shape {waypoints.shape}; expected (m, {plan.n})')
    values, _ = extrema(plan, 0)
    low, high = waypoints.min(axis=0), waypoints.max(axis=0)
    excess: Array = np.maximum(np.maximum(low - values[0], values[1] - high), 0.0)
    return excess


def _interpolated(kind: str, times: Array, knots: Array, fixed: Flags) -> Plan:
    """Return the global or local plan through knots with the `fixed` derivatives."""
    filled = knots.copy()
    if kind == 'global':
        count, _, n = knots.shape
        smoothest_knots(times, fixed, np.empty((count, 0, 5)), np.empty((count, 0, n)), filled)
    else:
        shape_preserving_knots(times, fixed, filled)
    return Plan.hermite(times, filled, kind)


def _bounded(
    times: Array, knots: Array, fixed: Flags, tolerance: Array, lower: Array,
    upper: Array,
) -> Plan:
    """Return the bounded plan through knots with the `fixed` derivatives."""
    filled = knots.copy()
    for joint in range(knots.shape[2]):
        one = knots[:, :, joint:joint + 1].copy()
        bounded_knots(
            times, fixed, float(tolerance[joint]), one, float(lower[joint]), float(upper[joint]))
        filled[:, :, joint] = one[:, :, 0]
    return Plan.hermite(times, filled, 'bounded')


def _per_joint(values: ArrayLike, name: str, n: int) -> Array:
    """Return a value for each of n joints, from n values or one."""
    array = numbers(values, name)
    if array.shape not in ((), (n,)):
        raise HodynError(f'{name} has shape {array.shape}; expected one number, or ({n},)')
    return np.broadcast_to(array, n)


def _band(
    times: Array, knots: Array, fixed: Flags, tolerance: float, lower: Array, upper: Array,
) -> Plan:
    """Return a smooth plan that misses no sample by more than the tolerance.

    If the smoothest plan leaves the range, half of the tolerance moves samples away from the ends
    of the range, and the other half remains for smoothing.
    """
    plan = _smoothest_band(times, knots, fixed, tolerance)
    values, _ = extrema(plan, 0)
    if (lower - ROUND_OFF <= values[0]).all() and (values[1] <= upper + ROUND_OFF).all():
        return plan
    half = 0.5 * np.minimum(tolerance, upper - lower)
    inside = knots.copy()
    inside[1:-1, 0] = np.clip(knots[1:-1, 0], lower + half, upper - half)
    return _smoothest_band(times, inside, fixed, 0.5 * tolerance)


def _smoothest_band(times: Array, knots: Array, fixed: Flags, tolerance: float) -> Plan:
    """Return the smoothest plan that misses no sample by more than the tolerance.

    It is a smoothing spline with one cut-off frequency ω for all joints, so that none lags behind
    another: samples of spacing d and weight d ω¹⁰ are followed up to about ω, rad/s.
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
        fixed[:, 0] = True
        return _interpolated('global', times, knots, fixed)
    return Plan.hermite(times, chosen, 'band')


def _points(
    times: ArrayLike,
    positions: ArrayLike,
    velocities: Rows | None,
    accelerations: Rows | None,
    names: Sequence[str] | None,
) -> tuple[Array, Array, Flags]:
    """Return times (m,), knots (m, 5, n), and which of their derivatives are given, (m, 5)."""
    instants = numbers(times, 'times')
    q = numbers(positions, 'positions')
    if instants.ndim != 1 or q.ndim != 2 or len(q) != len(instants):
        raise HodynError(
            f'times {instants.shape} and positions {q.shape}: must be (m,) and (m, n)')
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
    fixed: Flags,
    start: Array,
    tolerance: float,
    speed: float,
    names: Sequence[str] | None,
) -> tuple[Array, Array, Flags]:
    """Put the start state at time 0 before the points, or in place of a first point at 0."""
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
            raise HodynError(
                f'point 0: only {times[0]:.3g} s after the start; give it time 0, or a later one')
        from_rest = not state[1].any()
        if from_rest and distance[joint] > tolerance + speed * times[0]:
            raise HodynError(
                f'point 0, {_joint(joint, names)}: position {knots[0, 0, joint]:.6g} at '
                f'{times[0]:.3g} s is {distance[joint]:.3g} from where the reference is at time '
                f'0, {state[0, joint]:.6g}: the joint would move faster than {speed:g} per '
                'second; begin nearer, or later'
            )
        times = np.concatenate(([0.0], times))
        knots = np.concatenate((state[None], knots))
        fixed = np.concatenate((np.ones((1, 5), dtype=bool), fixed))
        return times, knots, fixed
    if distance[joint] > tolerance:
        raise HodynError(
            f'point 0, {_joint(joint, names)}: position {knots[0, 0, joint]:.6g} at time 0 is '
            f'{distance[joint]:.3g} from where the reference is then, {state[0, joint]:.6g}; '
            f'begin within {tolerance:g} of it (start_tolerance), or give the first point a later '
            'time'
        )
    if len(times) == 1 and state[1:].any():
        raise HodynError('the only point is at time 0 while the joints move: give it a later time')
    knots[0], fixed[0] = state, True
    return times, knots, fixed
