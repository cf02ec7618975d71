"""The smallest uniform time stretch that brings a plan within every limit."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.limit_check import (
    EFFORTS,
    KINEMATIC,
    TOLERANCE,
    LimitReport,
    blocks,
    bounds,
    check_limits,
    sample_times,
    torques,
)
from hodyn_ros.plans.motor_limits import MOTOR_QUANTITIES, motor_values
from hodyn_ros.reference import Plan, extrema

Array = NDArray[np.float64]

MAX_FACTOR = 1000.0
SCAN = 1.05
# Factors are offered to four digits after the point.
RESOLUTION = 1e-4
# A factor at which only gravity is left of the torques.
STATIC = 1e9


@dataclass(frozen=True)
class TimeScaling:
    """The factor by which a plan must be slower to pass its limits, or why there is none.

    Attributes
    ----------
    factor : float or None
        At least 1.
    reason : str
        Why there is none; empty when there is one.
    limit_report : LimitReport or None
        Report of the stretched plan.

    """

    factor: float | None
    reason: str = ''
    limit_report: LimitReport | None = None


def smallest_time_scaling(plan: Plan, feedforward: FeedForward) -> TimeScaling:
    """Find the smallest factor ≥ 1 by a scan, then bisection, on the check itself.

    Torque is not monotone in the factor: centrifugal terms may have carried what gravity then
    does not.
    """
    limits = feedforward.robot.limits
    names = feedforward.robot.joint_names
    values, instants = extrema(plan, 0)
    beyond = np.array([limits.position_min - values[0], values[1] - limits.position_max])
    beyond -= TOLERANCE * np.maximum(1.0, np.abs(values))  # as `LimitMargin.exceeded` has it
    if (beyond > 0.0).any():
        side, joint = divmod(int(beyond.argmax()), beyond.shape[1])
        return TimeScaling(None, (
            f'no stretch mends it: {names[joint]} is out of its range at '
            f'{instants[side, joint]:.4g} s whatever the speed'))
    if not starts_and_ends_at_rest(plan):
        return TimeScaling(None, 'no stretch: only a plan that starts and ends at rest has one')
    search = _Search(plan, feedforward)
    if search.excess(STATIC) > 1.0:
        time, joint = search.worst
        return TimeScaling(None, (
            f'no stretch mends it: {names[joint]} cannot hold the weight at {time:.4g} s'))
    failing = _kinematic_factor(plan, feedforward)
    if failing > MAX_FACTOR:
        return TimeScaling(
            None, f'no stretch up to {MAX_FACTOR:g} mends it: {_too_fast(plan, feedforward)}')
    while True:
        factor = search.smallest(failing)
        factor = float(np.ceil(factor / RESOLUTION - 1e-6) * RESOLUTION)
        if factor > MAX_FACTOR:
            return TimeScaling(None, f'no stretch up to {MAX_FACTOR:g} mends it')
        limit_report = check_limits(plan.stretched(factor), feedforward)
        if limit_report.within_limits:
            return TimeScaling(round(factor, 4), '', limit_report)
        # Peaks between the samples, which `check_limits` refines, join the search.
        search.add(np.array([entry.time / factor for entry in limit_report.violations]))
        failing = factor + RESOLUTION


def starts_and_ends_at_rest(plan: Plan) -> bool:
    """Whether q̇ … q⁗ vanish at both ends, to round-off of what the pieces there do."""
    if plan.times.size == 1:
        return True
    ends = plan.evaluate(plan.times[[0, -1]])
    h = np.diff(plan.times)[[0, -1]]
    size = np.abs(plan.coefficients[[0, -1], 1:]).max(axis=(1, 2))
    # A short piece moves little, and is as uncertain as the positions at its ends.
    round_off = 1e4 * np.finfo(float).eps * np.abs(ends[:, 0]).max(axis=1)
    scale = (1e-9 * size + round_off + 1e-21)[:, None] / h[:, None] ** np.arange(1, 5)
    return bool((np.abs(ends[:, 1:]).max(axis=2) <= scale).all())


def _kinematic_factor(plan: Plan, feedforward: FeedForward) -> float:
    """Return the factor ≥ 1 that velocity, acceleration and jerk ask for."""
    factor = 1.0
    for order in range(1, len(KINEMATIC)):
        values, _ = extrema(plan, order)
        _, upper = bounds(feedforward.robot.limits, KINEMATIC[order])
        ratio = float((np.abs(values).max(axis=0) / upper).max())
        factor = max(factor, ratio ** (1.0 / order))
    if feedforward.robot.limits.depend_on_position.any():
        motion: Array = plan.evaluate(sample_times(plan))
        lower, upper = feedforward.robot.limits.velocity_range(motion[:, 0])
        bound = np.where(motion[:, 1] < 0.0, -lower, upper)
        moves = np.abs(motion[:, 1]) > 0.0
        with np.errstate(divide='ignore', invalid='ignore'):
            factor = max(factor, float(np.where(moves, np.abs(motion[:, 1]) / bound, 0.0).max()))
    return factor


def _too_fast(plan: Plan, feedforward: FeedForward) -> str:
    """Return which speed is most beyond its limit, and where."""
    report = check_limits(plan, feedforward)
    return str(next(e for e in report.violations if e.quantity in KINEMATIC[1:]))


class _Search:
    """Tests factors on the instants that failed before, and on all only when those pass."""

    def __init__(self, plan: Plan, feedforward: FeedForward) -> None:
        self.plan = plan
        self.feedforward = feedforward
        self.instants = sample_times(plan)
        self.limits = np.array([bounds(feedforward.robot.limits, q)[1] for q in EFFORTS])
        # The joint that each column of the ratios belongs to.
        n = feedforward.robot.n
        self.joint = np.tile(np.arange(n), len(EFFORTS))
        actuators = feedforward.robot.actuators
        if actuators is not None:
            self.motor_limits = actuators.motor_limits()
            self.joint = np.concatenate([
                self.joint, np.tile(actuators.motor_joints, len(MOTOR_QUANTITIES)), np.arange(n)])
        self.active: Array = np.empty(0)
        self.worst = (0.0, 0)

    def add(self, instants: Array) -> None:
        """Test these instants first from now on."""
        self.active = np.unique(np.concatenate([self.active, instants]))

    def smallest(self, start: float) -> float:
        """Return the smallest factor from `start` on that passes, or one beyond MAX_FACTOR.

        Only the scan tests all instants; `check_limits` does so for the result as well.
        """
        failing = factor = start
        while self.excess(factor) > 1.0 and factor <= MAX_FACTOR:
            failing, factor = factor, factor * SCAN
        while factor - failing > RESOLUTION / 2.0:
            middle = 0.5 * (failing + factor)
            if self._ratios(self.active, middle).max() > 1.0:
                failing = middle
            else:
                factor = middle
        return factor

    def excess(self, factor: float) -> float:
        """Return the largest ratio of a torque, its rate or a motor's quantity to its limit."""
        if self.active.size:
            ratios = self._ratios(self.active, factor)
            if ratios.max() > 1.0:
                return float(ratios.max())
        largest = 0.0
        failed = []
        for part in blocks(self.instants):
            ratios = self._ratios(part, factor)
            worst = float(ratios.max())
            if worst > 1.0:
                # The worst instant of each joint's torque and rate stands for its neighbours.
                failed.append(part[np.unique(ratios.argmax(axis=0)[ratios.max(axis=0) > 1.0])])
            if worst > largest:
                largest = worst
                sample, column = np.unravel_index(int(ratios.argmax()), ratios.shape)
                self.worst = (float(part[sample]), int(self.joint[column]))
        if failed:
            self.add(np.concatenate(failed))
        return largest

    def _ratios(self, instants: Array, factor: float) -> Array:
        """Return ratios to the limits, (T, columns)."""
        count = instants.size
        torque = torques(self.plan, self.feedforward, instants, factor)
        ratios: Array = (np.abs(torque) / self.limits).reshape(count, -1)
        if self.feedforward.motor_side is not None:
            values, margin = motor_values(self.plan, self.feedforward, instants, factor)
            ratios = np.hstack([
                ratios, (np.abs(values) / self.motor_limits).reshape(count, -1),
                np.where(margin >= 0.0, 0.0, np.inf)])
        return ratios
