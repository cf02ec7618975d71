"""Least squares for friction, payload and offsets, with confidence intervals.

The residual is recorded effort less prediction, weighed by each joint's own spread, with Huber's
loss so that a few large errors, as of vibration at the start, do not decide. Intervals are those
of the sandwich estimator over blocks of time, since the errors of neighbouring samples are
correlated.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.payload import Payload, point_mass, regressor, rigid_body
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.inertia import pack

Array = NDArray[np.float64]

BLOCK = 1.0
"""Length of the blocks of time whose errors count as independent, s."""

_HUBER = 2.5  # standard deviations beyond which an error counts linearly
_STEPS, _PRECISION = 60, 1e-6
_NORMAL_95 = 1.96
_MIN_VELOCITY = 0.02  # rad/s: the friction of a joint that stays below is not identified
_SLOPES = (1.0, 300.0)  # s/rad
_REACH = 0.3  # rad/s, of the velocity offset
_PAYLOAD_REACH = [
    (np.log(1e-3), np.log(1e3)), *[(-1.0, 1.0)] * 3,  # kg; m
    *[(np.log(1e-4), 0.0)] * 3, *[(-1.0, 1.0)] * 3,  # m, spread of the mass about its centre
]


@dataclass(frozen=True, eq=False)
class Data:
    """Motions with their efforts.

    Attributes
    ----------
    q : (T, 5, n) array
        Estimated motions, q to q⁗.
    effort : (T, n) array
        Recorded efforts, N m.
    block : (T,) int array
        Number of the block of time that a sample belongs to.
    gravity : bool
        Whether the efforts contain gravity.

    """

    q: Array
    effort: Array
    block: NDArray[np.intp]
    gravity: bool

    def __getitem__(self, index: NDArray[np.bool_]) -> 'Data':
        return Data(self.q[index], self.effort[index], self.block[index], self.gravity)


@dataclass(frozen=True, eq=False)
class Estimate:
    """What was identified; intervals are half widths at 95 % confidence.

    Attributes
    ----------
    friction : SigmoidFriction or None
        Friction of the joints, None where none was fitted and the robot has none.
    friction_interval : (3, n) array
        Intervals of amplitude, slope and velocity offset; NaN for joints that did not move enough,
        which keep what they had.
    offset, offset_interval : (n,) arrays
        Constant offset of the recorded efforts, N m.
    payload : Payload or None
        Load on the last body, None where none was fitted.
    payload_interval : (10,) array
        Intervals of mass, centre of mass and inertia (xx yy zz xy xz yz): kg, m, kg m².
    inertia_excited : bool
        Whether the motion told the payload's inertia, which is a point's otherwise.

    """

    friction: SigmoidFriction | None
    friction_interval: Array
    offset: Array
    offset_interval: Array
    payload: Payload | None
    payload_interval: Array
    inertia_excited: bool

    def predict(self, robot: Robot, data: Data) -> Array:
        """Return the efforts that this predicts for a robot without it, (T, n)."""
        torque = FeedForward(robot).torque(
            data.q, gravity=data.gravity, friction=False)[:, 0] + self.offset
        if self.friction is not None:
            torque = torque + self.friction.torque(data.q)[:, 0]
        if self.payload is not None:
            columns = regressor(robot, data.q, gravity=data.gravity)
            torque = torque + columns @ self.payload.parameters
        return np.asarray(torque)


def identify(robot: Robot, data: Data, terms: Sequence[str]) -> Estimate:
    """Fit terms, some of ``friction``, ``payload`` and ``offsets``, to data.

    The payload is taken to be there only when its mass differs from 0 significantly, and to have
    an inertia only when that explains the efforts better (by Bayes' information criterion).

    Raises HodynError when there are too few samples, or their numbers are too large for a fit.
    """
    if len(np.unique(data.block)) < 8:
        raise HodynError(
            f'only {len(np.unique(data.block))} s of motion: at least 8 s are needed to tell '
            'parameters from noise')
    try:
        return _identified(_Problem(robot, data, terms), terms)
    except np.linalg.LinAlgError as error:
        raise HodynError(
            f'the recorded motions or efforts are too large for a fit ({error}): they are not '
            "an arm's") from None


def _identified(problem: '_Problem', terms: Sequence[str]) -> Estimate:
    best = problem.solve(None, 0)
    if 'payload' in terms:
        start = problem.linear_payload(best)
        if start is not None:
            best = problem.solve(point_mass, 4, start)
            wider = np.concatenate([best.theta[-4:], np.log(np.full(3, 0.03)), np.zeros(3)])
            whole = problem.solve(rigid_body, 10, wider, best.theta[:-4])
            if whole.information < best.information:
                best = whole
    return problem.estimate(best)


@dataclass
class _Solution:
    theta: Array
    covariance: Array
    make: Callable[[Array], Payload] | None
    information: float
    spread: Array


class _Problem:
    def __init__(self, robot: Robot, data: Data, terms: Sequence[str]) -> None:
        self.robot, self.data = robot, data
        n = robot.n
        velocity = data.q[:, 1]
        moving = (velocity.max(0) > _MIN_VELOCITY) & (velocity.min(0) < -_MIN_VELOCITY)
        self.friction_joints = (
            np.flatnonzero(moving) if 'friction' in terms else np.empty(0, np.intp))
        self.offsets = np.arange(n) if 'offsets' in terms else np.empty(0, np.intp)
        rigid = FeedForward(robot).torque(data.q, gravity=data.gravity, friction=False)[:, 0]
        self.target = data.effort - rigid
        self.former = robot.friction or SigmoidFriction(np.zeros(n), np.full(n, 10.0), np.zeros(n))
        kept = np.ones(n, dtype=bool)
        kept[self.friction_joints] = False
        self.target[:, kept] -= self.former.torque(data.q)[:, 0][:, kept]
        self.columns = regressor(robot, data.q, gravity=data.gravity)
        self.known = np.isfinite(self.target)
        # Descent, covariance and spread ask for values and Jacobian one after the other.
        self._last: tuple[Any, tuple[Array, Array]] = (None, (np.empty(0), np.empty(0)))

    def _parts(
        self, theta: Array, make: Callable[[Array], Payload] | None, size: int,
    ) -> tuple[Array, Array]:
        """Return prediction (T, n) and its Jacobian (T, n, parameters)."""
        key = (theta.tobytes(), make)
        if self._last[0] != key:
            self._last = key, self._evaluate(theta, make, size)
        return self._last[1]

    def _evaluate(
        self, theta: Array, make: Callable[[Array], Payload] | None, size: int,
    ) -> tuple[Array, Array]:
        count, n = self.target.shape
        value = np.zeros((count, n))
        slope = np.zeros((count, n, len(theta)))
        velocity = self.data.q[:, 1]
        for i, joint in enumerate(self.friction_joints):
            a, s, o = theta[3 * i:3 * i + 3]
            alpha = np.exp(s)
            moved, rest = (
                0.5 * (1.0 + np.tanh(0.5 * alpha * (v + o))) for v in (velocity[:, joint], 0.0))
            value[:, joint] += a * (moved - rest)
            d_moved, d_rest = moved * (1 - moved), rest * (1 - rest)
            slope[:, joint, 3 * i] = moved - rest
            slope[:, joint, 3 * i + 1] = a * alpha * (
                d_moved * (velocity[:, joint] + o) - d_rest * o)
            slope[:, joint, 3 * i + 2] = a * alpha * (d_moved - d_rest)
        at = 3 * len(self.friction_joints)
        for i, joint in enumerate(self.offsets):
            value[:, joint] += theta[at + i]
            slope[:, joint, at + i] = 1.0
        if make is not None:
            own = theta[len(theta) - size:]
            value += self.columns @ make(own).parameters
            step = 1e-6
            derivative = np.stack([
                (make(own + step * unit).parameters - make(own - step * unit).parameters)
                / (2.0 * step) for unit in np.eye(size)], axis=1)
            slope[:, :, len(theta) - size:] += self.columns @ derivative
        return value, slope

    def solve(
        self, make: Callable[[Array], Payload] | None, size: int, start: Array | None = None,
        rest: Array | None = None,
    ) -> _Solution:
        theta = self._start() if rest is None else rest
        theta = np.concatenate([theta, np.empty(0) if start is None else start])
        low, high = np.full(len(theta), -np.inf), np.full(len(theta), np.inf)
        for i in range(len(self.friction_joints)):
            low[3 * i:3 * i + 3] = 0.0, np.log(_SLOPES[0]), -_REACH
            high[3 * i:3 * i + 3] = np.inf, np.log(_SLOPES[1]), _REACH
        if make is not None:
            reach = np.array(_PAYLOAD_REACH[:size])
            low[-size:], high[-size:] = reach.T
        if not len(theta):
            return _Solution(theta, np.zeros((0, 0)), None, np.inf, np.ones(self.robot.n))
        spread = self._spread(self._parts(theta, make, size)[0])
        for _ in range(2):  # the joints' spreads are those left by the fit
            weight = np.where(self.known, 1.0 / spread, 0.0)

            def weighed(at: Array, weight: Array = weight) -> tuple[Array, Array]:
                value, slope = self._parts(at, make, size)
                left = np.nan_to_num(value - self.target) * weight
                return left.ravel(), (slope * weight[:, :, None]).reshape(-1, len(at))

            theta = _descend(weighed, np.clip(theta, low, high), low, high)
            spread = self._spread(self._parts(theta, make, size)[0])
        left, slope = weighed(theta)
        covariance = self._covariance(left, slope)
        # Neighbouring samples are correlated: they count as fewer independent ones.
        design_effect = self._design_effect(left)
        information = (
            2.0 * _loss(left) / design_effect
            + len(theta) * np.log(self.known.sum() / design_effect))
        information += 2.0 * float(np.sum(np.log(spread) * self.known.sum(0))) / design_effect
        return _Solution(theta, covariance, make, float(information), spread)

    def _start(self) -> Array:
        former = self.former
        friction = [
            value for j in self.friction_joints for value in (
                max(former.amplitude[j], 0.1 * float(np.nanstd(self.target[:, j]))),
                np.log(np.clip(former.slope[j], *_SLOPES)),
                np.clip(former.velocity_offset[j], -_REACH, _REACH))]
        return np.array([*friction, *np.zeros(len(self.offsets))])

    def _spread(self, value: Array) -> Array:
        left = np.where(self.known, self.target - value, np.nan)
        return np.maximum(1.4826 * np.nanmedian(np.abs(left), axis=0), 1e-9)

    def _covariance(self, left: Array, slope: Array) -> Array:
        inside = np.abs(left) < _HUBER
        curvature = (slope * inside[:, None]).T @ slope
        gradient = slope * np.clip(left, -_HUBER, _HUBER)[:, None]
        blocks = np.repeat(self.data.block, self.robot.n)
        order = np.unique(blocks, return_inverse=True)[1]
        sums = np.zeros((order.max() + 1, slope.shape[1]))
        np.add.at(sums, order, gradient)
        identifiable = np.diag(curvature) > 0.0  # not so of the slope of a friction that is 0
        scale = np.sqrt(np.where(identifiable, np.diag(curvature), 1.0))
        inverse = np.linalg.pinv(curvature / np.outer(scale, scale), rcond=1e-12)
        inverse /= np.outer(scale, scale)
        count = len(sums)
        meat = sums.T @ sums * count / max(count - 1, 1)
        # At least the variance of independent errors: few blocks can agree by chance.
        plain = gradient.T @ gradient
        robust, classic = inverse @ meat @ inverse, inverse @ plain @ inverse
        variance = np.maximum(np.diag(classic), 1e-300)
        grow = np.sqrt(np.maximum(variance / np.maximum(np.diag(robust), 1e-9 * variance), 1.0))
        robust *= np.outer(grow, grow)
        robust[~identifiable, ~identifiable] = np.inf
        return np.asarray(robust)

    def _design_effect(self, left: Array) -> float:
        """Return the design effect, at least 1: variance of block sums over that of samples."""
        table = left.reshape(-1, self.robot.n)
        order = np.unique(self.data.block, return_inverse=True)[1]
        sums = np.zeros((order.max() + 1, table.shape[1]))
        np.add.at(sums, order, table)
        return max(1.0, float(np.sum(sums ** 2) / max(np.sum(table ** 2), 1e-300)))

    def linear_payload(self, without: _Solution) -> Array | None:
        """Return a start for the payload, or None when its mass is not significant."""
        value, slope = self._parts(without.theta, None, 0)
        weight = np.where(self.known, 1.0 / without.spread, 0.0)[:, :, None]
        columns = np.concatenate([self.columns[:, :, :4], slope], axis=2) * weight
        table = columns.reshape(-1, columns.shape[2])
        left = np.nan_to_num((self.target - value) * weight[:, :, 0]).ravel()
        theta = np.linalg.lstsq(table, left, rcond=None)[0]
        rest = table @ theta - left
        deviation = np.sqrt(np.diag(self._covariance(rest, table)))
        if theta[0] < _NORMAL_95 * deviation[0]:
            return None
        return np.array([np.log(theta[0]), *np.clip(theta[1:4] / theta[0], -1.0, 1.0)])

    def estimate(self, solution: _Solution) -> Estimate:
        n, theta = self.robot.n, solution.theta
        half = _NORMAL_95 * np.sqrt(np.maximum(np.diag(solution.covariance), 0.0))
        friction = [values.copy() for values in (
            self.former.amplitude, self.former.slope, self.former.velocity_offset)]
        friction_interval = np.full((3, n), np.nan)
        for i, j in enumerate(self.friction_joints):
            a, s, o = theta[3 * i:3 * i + 3]
            for k, (value, width) in enumerate(zip(
                    (a, np.exp(s), o), half[3 * i:3 * i + 3], strict=True)):
                friction[k][j] = value
                friction_interval[k, j] = width * (value if k == 1 else 1.0)
        at = 3 * len(self.friction_joints)
        offset, offset_interval = np.zeros(n), np.full(n, np.nan)
        offset[self.offsets] = theta[at:at + len(self.offsets)]
        offset_interval[self.offsets] = half[at:at + len(self.offsets)]
        payload, payload_interval = None, np.full(10, np.nan)
        if solution.make is not None:
            make, own = solution.make, theta[at + len(self.offsets):]
            payload = make(own)
            slope = np.stack([
                (_listed(make(own + step)) - _listed(make(own - step))) / 2e-6
                for step in 1e-6 * np.eye(len(own))], axis=1)
            covariance = solution.covariance[-len(own):, -len(own):]
            payload_interval = _NORMAL_95 * np.sqrt(
                np.maximum(np.diag(slope @ covariance @ slope.T), 0.0))
        has_friction = len(self.friction_joints) > 0 or self.robot.friction is not None
        return Estimate(
            SigmoidFriction(*friction) if has_friction else None, friction_interval, offset,
            offset_interval, payload, payload_interval, solution.make is rigid_body)


def _loss(left: Array) -> float:
    """Return Huber's loss of weighed residuals."""
    error = np.abs(left)
    return float(np.where(
        error < _HUBER, 0.5 * error ** 2, _HUBER * (error - 0.5 * _HUBER)).sum())


def _descend(
    weighed: Callable[[Array], tuple[Array, Array]], theta: Array, low: Array, high: Array,
) -> Array:
    """Minimise Huber's loss within bounds, by Levenberg and Marquardt on the normal equations.

    Residuals are many and parameters few, so the decompositions of general solvers cost too much.
    """
    left, slope = weighed(theta)
    loss, damping = _loss(left), 1e-3
    for _ in range(_STEPS):
        weight = np.minimum(1.0, _HUBER / np.maximum(np.abs(left), 1e-300))
        gradient = slope.T @ (weight * left)
        curvature = slope.T @ (slope * weight[:, None])
        free = ~(((theta <= low) & (gradient > 0.0)) | ((theta >= high) & (gradient < 0.0)))
        diagonal = np.maximum(np.diag(curvature), 1e-12 * np.trace(curvature) + 1e-300)
        improved = False
        while not improved and damping < 1e8:
            damped = curvature + damping * np.diag(diagonal)
            step = np.zeros_like(theta)
            step[free] = np.linalg.solve(damped[np.ix_(free, free)], -gradient[free])
            moved = np.clip(theta + step, low, high)
            new_left, new_slope = weighed(moved)
            new_loss = _loss(new_left)
            improved = new_loss < loss
            damping *= 0.2 if improved else 5.0
        if not improved:
            break
        gain = loss - new_loss
        theta, left, slope, loss = moved, new_left, new_slope, new_loss
        if gain < _PRECISION * loss:
            break
    return theta


def _listed(payload: Payload) -> Array:
    """Return mass, centre of mass and inertia as ten numbers."""
    return np.concatenate([[payload.mass], payload.com, pack(payload.inertia)])
