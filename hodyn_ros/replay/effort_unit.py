"""Finds efforts that are recorded in another unit than the model's torques."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import FrictionFit
from hodyn_ros.replay.point_loads import find_load, with_load
from hodyn_ros.replay.tips import tips

FAR = 5.0
"""Least factor, either way, by which efforts in another unit differ from the torques.

A load may enlarge the efforts of a light wrist as much, see `is_a_load`.
"""

AGREE = 3.0
"""Largest ratio of a factor to 1, or to the median, that wrong link masses and loads explain."""

_MIN_SAMPLES = 10
# Of the variance that friction and a constant leave, the least share that the torques must
# explain: for the factor of most joints, and for the factor of a single joint.
_EXPLAINS = 0.5
_MATCHES = 0.9
_ALIKE = 1.5  # largest ratio of a joint's factors of gravity and inertia that count as one
# Least exponent of ten, in magnitude, of another unit (3 for N mm), and largest ratio, either way,
# between a joint's factor and that power of ten.
_UNITS, _NEAR = 2, 1.25
# Names of units, by the power of ten by which efforts in them are too large.
_NAMES = {3: 'N mm (mN if prismatic)', 2: 'N cm (cN if prismatic)', -3: 'kN m (kN if prismatic)'}


def effort_unit(
    gravity: Array, inertial: Array, velocity: Array, effort: Array, known: Flags,
    block: Indices, limit: Array,
) -> tuple[float, Array]:
    """Return the factors of efforts that are in another unit.

    Each joint's efforts are fitted by the model's gravity and inertia torques, each with a factor,
    and by friction and a constant. With one common factor, a driver that subtracts gravity would
    seem to have another unit. Torques, velocities and efforts are (T, n); efforts count where
    `known`, (T, n), is true; `block`, (T,), numbers independent blocks of time; `limit`, (n,), is
    infinite for unknown limits of the efforts. The results are:

    - The ratio of the efforts to the model's torques in most joints, if it is far from 1; NaN if
      the joints differ, or the efforts may be in the unit of the torques.
    - The gear ratios, (n,): how many times too small the efforts of each joint are, as on the
      motor's side of a gear; NaN if they may be in the unit of the torques. They are known if two
      or more joints have such a ratio: no load and no error of the model causes this. The ratio of
      a single joint is returned only if it is close to that of a unit (0.001 for N mm) and another
      joint has a factor near 1. Too large efforts of a single joint must also exceed its limit or
      the largest torque of the model: a missing load may enlarge the efforts of a wrist.
    """
    fit = FrictionFit(effort.shape[1], 2)
    fit.add(velocity, (gravity, inertial), effort, known, block)
    coefficients, _, errors = fit.coefficients
    clear = fit.clear & (fit.samples[:, np.newaxis] >= _MIN_SAMPLES)
    left = fit.left[:, -1, -1]
    of_inertia = coefficients[:, 1]
    is_right = clear[:, 1] & (of_inertia > 1.0 / AGREE) & (of_inertia < AGREE)
    # A missing load raises the factor of gravity at the wrist, so both factors count.
    factor = _of_most(coefficients[clear & (errors < (1.0 - _EXPLAINS) * left)[:, np.newaxis]])
    if is_right.any() or not abs(np.log(factor)) > np.log(FAR):
        factor = np.nan
    least = np.where(clear, coefficients, np.inf).min(axis=1)
    largest = np.where(clear, coefficients, -np.inf).max(axis=1)
    is_one = (errors < (1.0 - _MATCHES) * left) & clear.any(axis=1) & (least > 0.0) & (
        largest < _ALIKE * least)
    # If a joint has two clear factors, of gravity and of inertia, their geometric mean counts.
    ratio = 1.0 / np.sqrt(np.where(is_one, least * largest, np.nan))
    small = is_one & (largest < 1.0 / FAR)
    power = np.round(np.log10(ratio))
    single = is_one & (np.abs(power) >= _UNITS) & (
        np.abs(np.log(ratio) - power * np.log(10.0)) < np.log(_NEAR))
    is_near = is_one & (np.abs(np.log(ratio)) < np.log(AGREE))
    largest = np.abs(np.where(known, effort, 0.0)).max(axis=0, initial=0.0)
    bound = np.minimum(limit, np.abs(gravity + inertial).max(initial=0.0))
    single &= (power > 0) | (largest > bound)
    if small.sum() < 2 and single.sum() == 1 and is_near.sum() > 0 and np.isnan(factor):
        return factor, np.where(single, 10.0 ** power, np.nan)
    return factor, np.where(small, ratio, np.nan) if small.sum() > 1 else np.full(
        len(small), np.nan)


def is_a_load(feedforward: FeedForward, q: Array, effort: Array) -> bool:
    """Whether a load at the end of an arm explains efforts better than a factor of each joint.

    Motions are (T, 5, n), efforts (T, n); NaN where they are not known. The efforts of a light
    wrist are many times larger with a load than without, those of other joints hardly.
    """
    samples = EffortSamples(q, effort)

    def left(model: FeedForward, gain: float | None) -> float:
        return float(np.sum(samples.unexplained(
            model.torque(samples.q, friction=False)[:, 0], gain)))

    weight = 1.0 / np.maximum(np.nanvar(samples.effort, axis=0), 1e-300)
    loads = [
        find_load(feedforward, tip.name, samples.q, samples.effort, samples.known, weight)
        for tip in tips(feedforward.robot)]
    by_factors = left(feedforward, None)
    return any(
        left(FeedForward(with_load(feedforward.robot, load)), 1.0) < by_factors
        for load in loads if load is not None)


def in_joint_units(effort: Array, gear_ratios: Array) -> Array:
    """Return efforts, (T, n), times the ratios by which they are too small, if these are known."""
    return effort * np.where(np.isfinite(gear_ratios), gear_ratios, 1.0)


def _of_most(factors: Array) -> float:
    """Return the median of the factors near their median, if these are most and at least two."""
    if not len(factors) or np.median(factors) <= 0.0:
        return np.nan
    ratio = factors / np.median(factors)
    alike = factors[(ratio > 1.0 / AGREE) & (ratio < AGREE)]
    return float(np.median(alike)) if len(alike) > max(1.0, 0.5 * len(factors)) else np.nan


def unit_of(factor: float) -> str:
    """Return the unit of efforts that are `factor` times as large as in N m; empty if unknown."""
    if not factor > 0.0:
        return ''
    power = round(np.log10(factor))
    is_near = abs(np.log(factor) - power * np.log(10.0)) < np.log(_NEAR)
    return _NAMES.get(power, '') if is_near else ''


def in_another_unit(factor: float) -> str:
    """Return, as part of a sentence, how the efforts of most joints differ from the torques."""
    return (
        f"about {float(f'{factor:.2g}'):g} times the model's torques, similarly in most joints: "
        f'they seem to be in {unit_of(factor) or "another unit than N m"}')


def motor_side(names: Sequence[str], gear_ratios: Array, factor: float = np.nan) -> str:
    """Return the question whether efforts are motor torques or, of one joint, in another unit.

    It is empty if no ratio is known, or if `factor` is that of a unit and explains all ratios.
    """
    said = [(name, ratio) for name, ratio in zip(names, gear_ratios, strict=True)
            if np.isfinite(ratio)]
    if len(said) == 1:
        (name, ratio), = said
        unit = unit_of(1.0 / ratio) or 'another unit'
        return (
            f'Efforts of {name} are about {1.0 / ratio:.6g} times those of the model: are they in '
            f'{unit}{", or on the motor side of a gear" if ratio > 1.0 else ""}? Let the driver '
            'send N m (or N) of the joint.')
    if unit_of(factor) and all(1.0 / AGREE < ratio * factor < AGREE for _, ratio in said):
        return ''
    far = [f'{name} {ratio:.0f} times' for name, ratio in said]
    if not far:
        return ''
    return (
        f'Efforts are too small for the model ({", ".join(far)}): are they on the motor\'s side '
        'of gears with these ratios? Let the driver send joint torques, or find `effort_gain` '
        'by `hodyn identify --terms gains` and write it to the robot file.')
