"""Motions that determine the links' parameters: Fourier series of low condition number.

Swevers, Ganseman, Tükel, De Schutter and Van Brussel, IEEE T-RA 1997. The motion is one period of
the series. Its derivatives from velocity to snap are 0 at both ends: these four conditions fix two
coefficients of the sines and two of the cosines.
"""
from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.regressor import base_parameters, torque_regressor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import SMALLEST_ROOM, LimitTable
from hodyn_ros.robot import HodynError, Robot

MIN_HARMONICS = 3

MAX_SHARE = 0.95
"""Largest share of the limits that a motion may use."""

UNKNOWN = {'position': 1.0, 'velocity': 1.0, 'acceleration': 5.0, 'jerk': 50.0}
"""Limits assumed for a joint without limits, in rad (m) on both sides of 0, and rad/sᵏ (m/sᵏ)."""

_SAMPLES = 100  # number of samples of a period
_START = 40  # number of random motions, of which the best is then improved by random steps
_STEP = 0.3  # size of the first of these steps, relative to the motion's coefficients
_SHRINK = 0.93  # factor by which a motion that needs too much torque is made smaller


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that excites the links."""

    times: Array  #: (m,), s, from 0
    q: Array  #: (m, 5, n): positions and derivatives
    condition: float  #: Condition number of the base regressor
    base_parameters: int  #: Number of combinations of parameters in this regressor


def design(
    robot: Robot, *, period: float = 20.0, harmonics: int = 5, share: float = 0.8,
    trials: int = 200, seed: int = 0, points: int = 200,
) -> Excitation:
    """Return a motion, on a fixed base, within a share of all limits of the robot.

    The limits are those of joints, motors and springs, and of the vendor's reflexes. The motion
    takes `period`, s, has 3 or more `harmonics`, and is sampled at `points` times. After some
    random motions, `trials` variations of the best one are tried.

    Raises HodynError if the share of the limits does not suffice to hold the arm in the middle of
    its range.
    """
    table = LimitTable(FeedForward(robot), 'effort')
    _check_held(table, share)
    rng = np.random.default_rng(seed)
    n = robot.n
    basis = _basis(period, harmonics, np.linspace(0.0, period, _SAMPLES))
    combinations = base_parameters(robot)
    size = (basis.shape[2], n)

    def judged(shape: Array) -> tuple[float, Array, Array]:
        coefficients, middle = _fitted(table, basis, shape, share)
        q = _motion(basis, coefficients, middle)
        regressor = torque_regressor(robot, q[:, :3]).reshape(_SAMPLES * n, -1) @ combinations
        values = np.linalg.svd(regressor, compute_uv=False)
        return float(values[0] / max(values[-1], 1e-12 * values[0])), coefficients, middle

    shapes = [rng.standard_normal(size) for _ in range(_START)]
    results = [judged(shape) for shape in shapes]
    best = int(np.argmin([result[0] for result in results]))
    shape, result = shapes[best], results[best]
    for trial in range(trials):
        step = _STEP * (1.0 - trial / trials) + 0.02
        moved = shape + step * rng.standard_normal(size) * np.abs(shape).mean()
        tried = judged(moved)
        if tried[0] < result[0]:
            shape, result = moved, tried
    condition, coefficients, middle = result
    times = np.linspace(0.0, period, points)
    return Excitation(
        times, _motion(_basis(period, harmonics, times), coefficients, middle), condition,
        combinations.shape[1])


def _range(robot: Robot) -> tuple[Array, Array]:
    """Return the least and the largest position of each joint, (n,) and (n,)."""
    limits = robot.limits
    return (
        np.where(np.isfinite(limits.position_min), limits.position_min, -UNKNOWN['position']),
        np.where(np.isfinite(limits.position_max), limits.position_max, UNKNOWN['position']))


def _check_held(table: LimitTable, share: float) -> None:
    robot = table.feedforward.robot
    q = np.zeros((1, 5, robot.n))
    q[0, 0] = 0.5 * np.add(*_range(robot))
    used = _used(table, q)[0]
    beyond = np.flatnonzero(used > share)
    if beyond.size:
        least = float(used.max())
        columns = [table.limited_columns[i] for i in beyond]
        remedy = (
            'give it a lighter payload, or limits of position around a posture that it can hold')
        enough = np.ceil(100.0 * least) / 100.0
        if enough <= MAX_SHARE:
            remedy = f'give it a lighter payload, or a --share of {enough:g} or more'
        raise HodynError(
            f'robot {robot.name!r} cannot hold itself in the middle of its range with a share of '
            f'{share:g} of its limits: ' + ', '.join(
                f'{column.joint} needs {used[i]:.3g} of its {column.quantity}'
                for i, column in zip(beyond, columns, strict=True)) + f'; {remedy}')


def _used(table: LimitTable, motion: Array) -> Array:
    """Return the shares (T, K) of the table's limits that a motion (T, 5, n) uses.

    Antagonistic springs use a part of their limits at rest: shares are of the remaining part.
    """
    n = table.feedforward.robot.n
    at_rest = np.abs(table.shares(np.zeros((1, 5, n)), np.zeros((1, 3, n))))
    room = np.maximum(1.0 - at_rest, SMALLEST_ROOM)
    used: Array = (np.abs(table.shares(motion)) - at_rest) / room
    return used


def _basis(period: float, harmonics: int, times: Array) -> Array:
    """Return functions with rest at both ends, and derivatives, (T, 5, 2 (harmonics − 2))."""
    k = np.arange(1, harmonics + 1)
    omega = 2.0 * np.pi * k / period
    phase = omega * times[:, None]
    parts = []
    # Combinations of sines with q̇ = q⃛ = 0 at the ends, and of cosines with q̈ = q⁗ = 0.
    for shift, powers in ((0.0, (1, 3)), (0.5 * np.pi, (2, 4))):
        waves = np.stack([
            omega ** d * np.sin(phase + shift + 0.5 * np.pi * d) / omega for d in range(5)], 1)
        rest = null_space(np.stack([k ** (power - 1.0) for power in powers]))
        parts.append(waves @ rest)
    return np.concatenate(parts, axis=2)


def _motion(basis: Array, coefficients: Array, middle: Array) -> Array:
    q = np.ascontiguousarray(basis @ coefficients)
    q[:, 0] += middle
    return q


def _fitted(
    table: LimitTable, basis: Array, shape: Array, share: float,
) -> tuple[Array, Array]:
    """Return a shape's coefficients, scaled to the limits, and its motion's middle position."""
    robot = table.feedforward.robot
    limits = robot.limits
    unit = basis @ shape
    low, high = _range(robot)
    bottom, top = unit[:, 0].min(axis=0), unit[:, 0].max(axis=0)
    scale = share * (high - low) / np.maximum(top - bottom, 1e-12)
    for order, name in enumerate(('velocity', 'acceleration', 'jerk'), 1):
        limit = getattr(limits, name)
        limit = np.where(np.isfinite(limit), limit, UNKNOWN[name])
        scale = np.minimum(
            scale, share * limit / np.maximum(np.abs(unit[:, order]).max(axis=0), 1e-12))
    while True:
        middle = 0.5 * (low + high) - scale * 0.5 * (bottom + top)
        coefficients = shape * scale
        # If holding the arm already needs more than the share, a tiny motion is returned.
        if scale.max() < 1e-3 or np.all(
                _used(table, _motion(basis, coefficients, middle)) <= share):
            return coefficients, middle
        scale = scale * _SHRINK
