"""The lag of recorded velocities behind the positions, such as that of a filter."""
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.estimation.derivatives import Noise, Samples, smooth
from hodyn_ros.robot import HodynError

_FLOOR = 1e-12  # least weight, in SI units
_PARTS = 8  # parts of each run; their differences show the uncertainty of the lag
# A joint has a lag of its own under two conditions. The lag differs from the median of all joints
# by _APART, s, and by _SURE standard deviations. It explains at least the share _EXPLAINED of the
# squared errors of the joint's velocities.
_APART, _SURE, _EXPLAINED = 5e-3, 5.0, 0.5


@dataclass(frozen=True)
class VelocityLag:
    """The lag of velocities behind positions, and its standard deviation, s; NaN if unknown."""

    #: `seconds`, `deviation`: The lag of all joints that have no lag of their own
    seconds: float = np.nan
    deviation: float = np.nan
    #: Joints with a lag of their own, by index: lag and deviation
    own: dict[int, tuple[float, float]] = field(default_factory=dict)


def velocity_lag(runs: Sequence[Samples], noise: Noise) -> VelocityLag:
    """Return the lag of the velocities behind the positions.

    The velocities are compared with the motion estimated from positions only: the lag is the shift
    in time that explains their difference best, to first order. Its standard deviation comes from
    the differences between parts of the recording, or between joints if these differ more. It is
    unknown if no run has a velocity at every sample, or if the estimated motion accelerates in
    none or only one of the parts of the runs; if it hardly accelerates, the deviation is large.
    """
    alone = replace(noise, velocity=np.full_like(noise.velocity, np.inf))
    parts = []
    for run in runs:
        if np.isnan(run.velocity).any():
            continue
        try:
            q = smooth(replace(run, velocity=np.full_like(run.velocity, np.nan)), alone).q
        except HodynError:
            continue
        off, rate = run.velocity - q[:, 1], q[:, 2]
        parts += [
            (np.sum(off[part] ** 2, axis=0), np.sum(off[part] * rate[part], axis=0),
             np.sum(rate[part] ** 2, axis=0))
            for part in np.array_split(np.arange(len(off)), _PARTS)]
    if not parts:
        return VelocityLag()
    squares, products, drive = np.stack(parts, axis=1)
    joint = -products.sum(axis=0) / np.maximum(drive.sum(axis=0), _FLOOR)
    explained = joint ** 2 * drive.sum(axis=0)
    deviations = [
        _mean_and_deviation(-one / np.maximum(weight, _FLOOR), weight)[1] if weight.any() else
        np.nan for one, weight in zip(products.T, drive.T, strict=True)]
    moves = np.isfinite(deviations)
    apart = np.abs(joint - np.median(joint[moves])) if moves.sum() > 2 else np.zeros(len(joint))
    is_own: Flags = moves & (explained > _EXPLAINED * squares.sum(axis=0)) & (
        apart > np.maximum(_APART, _SURE * np.nan_to_num(deviations)))
    own = {int(k): (float(joint[k]), float(deviations[k])) for k in np.flatnonzero(is_own)}
    # What the lag explains is not noise, and is subtracted from the squares: most of it comes
    # from fast motion.
    noise_left = squares.sum(axis=0) - explained
    certainty = np.where(is_own, 0.0, 1.0 / (np.maximum(noise_left, 0.0) + _FLOOR))
    weight = drive @ certainty
    if not weight.any():
        return VelocityLag(own=own)
    part = -(products @ certainty) / np.maximum(weight, _FLOOR)
    lag, by_parts = _mean_and_deviation(part, weight)
    _, by_joints = _mean_and_deviation(joint, drive.sum(axis=0) * certainty)
    if np.isnan(by_parts):
        return VelocityLag(own=own)
    return VelocityLag(lag, float(np.fmax(by_parts, by_joints)), own)


def _mean_and_deviation(values: Array, weight: Array) -> tuple[float, float]:
    """Return the weighted mean of values and its standard deviation, NaN for one value."""
    share = weight / weight.sum()
    mean = float(share @ values)
    independent = 1.0 - float(share @ share)
    variance = float(share ** 2 @ (values - mean) ** 2)
    return mean, float(np.sqrt(variance / independent)) if independent > _FLOOR else np.nan
