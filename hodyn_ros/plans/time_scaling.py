"""The smallest uniform time stretch that brings a plan within every limit."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.limits.margins import LimitMargin, both, position_slack
from hodyn_ros.limits.quantities import KINEMATIC
from hodyn_ros.plans.limit_check import LimitReport, worst_margins
from hodyn_ros.reference import Plan

# Largest factor that is tried, and ratio of successive factors of a scan.
MAX_FACTOR = 1000.0
SCAN = 1.05
# Factors are rounded up to a multiple of this.
RESOLUTION = 1e-4
# Factor at which only gravity is left in the torques.
STATIC = 1e9
# If an arm at rest uses more than this share of a limit, it leaves no room for a motion.
NO_ROOM = 1.0 - 1e-6
# Why an arm without any load can be at a limit of its springs.
_SPRINGS = {
    'deflection': 'its tendons need this deflection for their stiffness',
    'spring_torque_left': 'its spring carries torque in one direction only',
    'stiffness_left': 'without pushing, its tendons cannot be so soft'}


@dataclass(frozen=True)
class TimeScaling:
    """The factor by which a plan must be slower to be within limits, or why no factor exists."""

    factor: float | None  #: Factor of the duration, at least 1
    reason: str = ''  #: Why no factor exists; empty if one does


def smallest_time_scaling(plan: Plan, limits: FeedForward | LimitTable) -> TimeScaling:
    """Find the smallest factor ≥ 1 at which the plan passes the check.

    The limits are those of the feed-forward's robot, or of the table. The search considers only
    the instants at which the check has failed so far. The whole plan is then checked at the factor
    found; if it fails, the instants are added, and the search is repeated.
    """
    table = limits if isinstance(limits, LimitTable) else LimitTable(limits)
    factor, instants = 1.0, np.empty(0)
    while violations := LimitReport(worst_margins(plan.stretched(factor), table)).violations:
        out = [entry for entry in violations if entry.quantity == 'position']
        if out:
            why = out_between_points(plan, table, out[0])
            return TimeScaling(None, (
                f'no stretch fixes it: {out[0].joint} is out of its range at '
                f'{out[0].time / factor:.4g} s at any speed{why and ": " + why}'))
        if not starts_and_ends_at_rest(plan):
            return TimeScaling(
                None, 'no stretch: only a plan that starts and ends at rest can be stretched')
        instants = np.unique(np.append(instants, [entry.time / factor for entry in violations]))
        motion = plan.evaluate(instants)
        static = _shares(motion, table, STATIC)
        if static.max(initial=0.0) > 1.0:
            return TimeScaling(None, _why_static(motion, table, instants))
        least = max(1.0, kinematic_factor(motion, table))
        if least > MAX_FACTOR:
            worst = next(entry for entry in violations if entry.quantity in KINEMATIC)
            return TimeScaling(None, f'no stretch up to {MAX_FACTOR:g} fixes it: {worst}')
        factor = _smallest(
            motion, table, max(least, factor + (RESOLUTION if factor > 1.0 else 0.0)))
        if factor > MAX_FACTOR:
            return TimeScaling(None, (
                _why_static(motion, table, instants) if static.max(initial=0.0) > NO_ROOM
                else f'no stretch up to {MAX_FACTOR:g} fixes it'))
    return TimeScaling(factor)


def out_between_points(plan: Plan, table: LimitTable, worst: LimitMargin) -> str:
    """Return why a plan whose points are within a joint's range leaves it, and what to do.

    Returns an empty text if points are out of the range, or the plan's knots are not points.
    """
    joint = table.feedforward.robot.joint_names.index(worst.joint)
    at_points = plan.evaluate(plan.times)[:, 0, joint]
    is_within = worst.lower - position_slack(worst.lower) <= at_points.min() and (
        at_points.max() <= worst.upper + position_slack(worst.upper))
    if not is_within or plan.interpolation == 'retimed':
        return ''
    given = 'velocities or accelerations at points, or a moving start, lead out of it'
    remedy = (
        f'interpolation bounded or local stays within it, unless {given}'
        if plan.interpolation in ('global', 'band') else given)
    return (
        f'all points are within the range, but the {plan.interpolation} interpolation leaves it '
        f'between them: {remedy}')


def kinematic_factor(motion: Array, table: LimitTable) -> float:
    """Return the factor that just brings the velocity … jerk of samples (T, 5, n) within limits.

    Torques do not count. The factor may be less than 1, and is 0 without limits.
    """
    kinematic = [column.quantity in KINEMATIC for column in table.limited_columns]
    shares = np.abs(table.shares(motion))
    return float((shares ** (1.0 / table.orders))[:, kinematic].max(initial=0.0))


def starts_and_ends_at_rest(plan: Plan) -> bool:
    """Whether q̇ … q⁗ vanish at both ends, within the round-off of the first and last piece."""
    if plan.times.size == 1:
        return True
    ends = plan.evaluate(plan.times[[0, -1]])
    h = np.diff(plan.times)[[0, -1]]
    size = np.abs(plan.coefficients[[0, -1], 1:]).max(axis=(1, 2))
    # A short piece moves little, but has the round-off of the positions at its ends.
    round_off = 1e4 * np.finfo(float).eps * np.abs(ends[:, 0]).max(axis=1)
    scale = (1e-9 * size + round_off + 1e-21)[:, None] / h[:, None] ** np.arange(1, 5)
    return bool((np.abs(ends[:, 1:]).max(axis=2) <= scale).all())


def _smallest(motion: Array, table: LimitTable, start: float) -> float:
    """Return the smallest factor from `start` on at which samples pass, or one beyond MAX_FACTOR.

    A scan finds a factor, and bisection refines it. The scan is needed because torque is not
    monotone in the factor: a slower motion loses centrifugal terms that may relieve a joint.
    """
    failing = factor = start
    while _shares(motion, table, factor).max(initial=0.0) > 1.0 and factor <= MAX_FACTOR:
        failing, factor = factor, factor * SCAN
    while factor - failing > RESOLUTION / 2.0:
        middle = 0.5 * (failing + factor)
        is_slow = _shares(motion, table, middle).max(initial=0.0) <= 1.0
        failing, factor = (failing, middle) if is_slow else (middle, factor)
    return rounded(factor)


def rounded(factor: float) -> float:
    """Return a factor rounded up to `RESOLUTION`."""
    return round(float(np.ceil(factor / RESOLUTION - 1e-6) * RESOLUTION), 4)


def _shares(motion: Array, table: LimitTable, factor: float) -> Array:
    """Return the shares of limits, (T, columns), that samples made `factor` times slower use."""
    return np.abs(table.shares(_slower(motion, factor)))


def _slower(motion: Array, factor: float) -> Array:
    """Return motions, (T, 5, n), `factor` times slower."""
    return motion * (factor ** -np.arange(5.0))[:, None]


def _why_static(motion: Array, table: LimitTable, instants: Array) -> str:
    """Return which quantity is beyond its limit even at rest, and whether the weight causes it."""
    motion = _slower(motion, STATIC)
    shares = np.abs(table.shares(motion))
    sample, c = np.unravel_index(int(shares.argmax()), shares.shape)
    column, still = table.limited_columns[c], motion[sample:sample + 1].copy()
    if column.reflex is not None:
        return f"every stretch trips a reflex: the arm's weight alone trips {column.reflex.name}"
    unloaded = np.zeros((1, 3, motion.shape[2]))
    is_unloaded = column.quantity in _SPRINGS and (
        abs(table.shares(still, unloaded)[0, c]) > NO_ROOM)
    value, lower, upper = (
        float(np.ravel(part[..., table.limited[c]])[0])
        for part in table.taken(still, unloaded if is_unloaded else None))
    worst = column.margin(float(instants[sample]), value, lower, upper)
    found, limit = both(worst.value, worst.limit, 4)
    reached = (
        f'{column.joint} has {worst.quantity} {found} {worst.unit}, limit {limit} {worst.unit}')
    if is_unloaded:
        return (
            f'no stretch fixes it: at rest, even without any load, {reached}: '
            f'{_SPRINGS[column.quantity]}')
    joint = table.feedforward.robot.joint_names[column.place]
    return (
        f'no stretch fixes it: {joint} cannot hold the weight at {worst.time:.4g} s: at rest, '
        f'{reached}')
