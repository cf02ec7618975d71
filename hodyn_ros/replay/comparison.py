"""Compares predicted with recorded efforts, joint by joint, gathered chunk by chunk."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, stdtrit

from hodyn_ros.common.arrays import Array, Stamps
from hodyn_ros.replay.friction_fit import COULOMB, VISCOUS
from hodyn_ros.replay.shifted_efforts import STEP, STEPS, ShiftedEfforts

SPECTRUM_BLOCK = 256  # number of messages of a block
_SURE = 2.0  # standard deviations beyond which a lag is reported
_SMALL = 1e-3  # lag, s; the cause of a smaller one may be small errors of the model
_LARGE = 5e-3  # lag, s, from which friction and inertia identified from the efforts are wrong
_CHANCE = 0.01  # probability below which the lags of the joints count as different
# A joint has a lag of its own if it differs from the others' by more than _APART, s, and _CERTAIN
# standard deviations, and leaves at most the share _EXPLAINED of the error's square: errors of
# models and presliding friction also cause apparent lags, but these explain little.
_APART, _CERTAIN, _EXPLAINED = 0.01, 6.0, 0.25
_LEAST_PERCENT = 0.01  # least share that is printed as a number, %


@dataclass(frozen=True)
class JointComparison:
    """How well the model predicts one joint's effort.

    For a prismatic joint, N replaces N m, and m replaces rad.
    """

    name: str  #: Name of the joint
    #: `rms_error`, `rms_effort`: RMS of prediction minus recorded effort, and of the recorded
    #: effort, N m
    rms_error: float
    rms_effort: float
    share: float  #: Their ratio
    #: `bias`, `max_error`: Mean error, and the error with the largest absolute value, N m
    bias: float
    max_error: float
    max_error_stamp: int | None  #: Stamp of this error, ns; None if no effort is recorded
    #: 1 − var(error)/var(effort); NaN if the recorded effort never changes
    variance_accounted_for: float
    #: RMS of the error's change from one message to the next, times √½, N m: vibration and
    #: measurement noise, which the smoothed motion cannot predict
    rms_fast_error: float
    #: `lag`, `lag_deviation`: Lag of the recorded effort behind the prediction, and its standard
    #: deviation, s: the least-squares shift, fitted together with friction, an inertia and a gain
    #: of this joint, which could be mistaken for a lag. The fit is linearised about the shift that
    #: suits all joints best.
    lag: float
    lag_deviation: float
    #: `rms_slow_error`, `slow_share`: RMS of the error within the bandwidth of the motion, N m,
    #: and its ratio to the RMS of the effort within this bandwidth: the error that a better model
    #: could reduce
    rms_slow_error: float
    slow_share: float
    #: Share of the variance of the error that Coulomb and viscous friction of this joint would
    #: explain; 0 if this friction would drive the joint
    friction_share: float
    #: `coulomb_left`, `viscous_left`: Coefficients of this friction, which the prediction lacks, N
    #: m and N m s/rad
    coulomb_left: float
    viscous_left: float
    #: `own_lag`, `own_deviation`: This joint's lag, linearised about the shift that suits it best,
    #: and its standard deviation, s
    own_lag: float = np.nan
    own_deviation: float = np.nan
    #: Of the squared error that friction and inertia do not explain, the share that remains with
    #: this lag
    lag_left: float = np.nan
    #: As `rms_fast_error`, of the recorded effort instead of the error
    rms_fast_effort: float = np.nan


def percent(share: float) -> str:
    """Return 0.32 %, 4.7 %, 48 % or 694 %: two digits, but all digits of a large number."""
    value = 100.0 * share
    return f'{value:.0f} %' if value >= 10.0 else (
        f'{value:.2g} %' if abs(value) >= _LEAST_PERCENT else f'below {_LEAST_PERCENT} %')


def milliseconds(seconds: float, deviation: float) -> str:
    """Return a time with two standard deviations, without exponents and sign: 3.21 ± 0.42 ms.

    The deviation has two digits: with one, 27 ± 25 would become 27 ± 30.
    """
    value, width = abs(1e3 * seconds), 2e3 * deviation
    digit, of_width = (-int(np.floor(np.log10(max(one, 1e-6)))) for one in (value, width))
    said = (np.format_float_positional(round(one, digits), trim='-') for one, digits in (
        (value, max(digit, of_width) + 1), (width, of_width + 1)))
    return f'{" ± ".join(said)} ms'


@dataclass(frozen=True)
class Lag:
    """The lag of the efforts, and its standard deviation, s; NaN if unknown."""

    #: `seconds`, `deviation`: The lag of all joints that have no lag of their own
    seconds: float = np.nan
    deviation: float = np.nan
    #: tuple of (str, float, float): joints with a lag of their own: name, lag and deviation
    own: tuple[tuple[str, float, float], ...] = ()

    @property
    def is_large(self) -> bool:
        """Whether the lag is so large that friction and inertia found from the efforts are wrong.

        False if the lag may be chance.
        """
        return bool(self.own) or abs(self.seconds) > max(_LARGE, _SURE * self.deviation)

    @property
    def sentence(self) -> str:
        """A sentence about the lag; empty if it may be chance or an error of the model."""
        said = ' '.join(
            f'Recorded efforts of {name} run {_behind(seconds, deviation)}, unlike those of '
            'other joints.' for name, seconds, deviation in self.own)
        if not abs(self.seconds) > max(_LARGE if self.own else _SMALL, _SURE * self.deviation):
            return said
        of_all = (
            f'run {_behind(self.seconds, self.deviation)}, estimated for all '
            f'{"these " if self.own else ""}joints together, along with friction, inertia and a '
            'gain of each.')
        return f'{said} The others {of_all}' if said else f'Recorded efforts {of_all}'

    @property
    def remedy(self) -> str:
        """What to do about a lag, as part of a sentence."""
        if not self.own:
            return 'shift the efforts by the lag, or correct their stamps'
        names = ', '.join(name for name, *_ in self.own)
        lags = 'its own lag' if len(self.own) == 1 else 'their own lags'
        return f'shift only the efforts of {names} by {lags}, or correct their stamps'


def _behind(seconds: float, deviation: float) -> str:
    reach = STEP * STEPS
    size = milliseconds(seconds, deviation) + ' (two standard deviations)' if abs(
        seconds) < reach + 0.5 * STEP else f'at least {1e3 * reach:.0f} ms'
    return f'{"behind" if seconds > 0.0 else "ahead of"} the prediction by {size}'


def common_lag(joints: Sequence[JointComparison]) -> Lag:
    """Return the mean lag of all joints, weighted by inverse variances, and lags of single joints.

    If the lags differ significantly, the deviation is increased by the Birge ratio: other effects,
    such as presliding friction, then cause a different apparent lag in each joint. As few joints
    determine this ratio, two deviations are widened to the 95 % interval of Student's t. A lag
    that explains most of its joint's error is real: if it differs from the mean of the other
    joints, it is returned as that joint's own, and does not count in the mean. Otherwise it counts
    and changes the mean, so the remaining lags are compared again.
    """
    def differs(joint: JointComparison, mean: Lag) -> bool:
        return not abs(joint.own_lag - mean.seconds) <= max(
            _APART, _CERTAIN * float(np.hypot(joint.own_deviation, mean.deviation)))

    late = [
        joint for joint in joints if joint.own_deviation > 0.0 and joint.lag_left < _EXPLAINED
        and max(_APART, _CERTAIN * joint.own_deviation) < abs(joint.own_lag) < STEP * STEPS]
    rest = _mean_lag([joint for joint in joints if joint not in late])
    if late and np.isnan(rest.seconds):
        rest = Lag(float(np.median([joint.own_lag for joint in late])), 0.0)
    own = [joint for joint in late if differs(joint, rest)]
    while True:
        mean = _mean_lag([joint for joint in joints if joint not in own])
        still = [joint for joint in own if differs(joint, mean)]
        if still == own:
            return Lag(mean.seconds, mean.deviation, tuple(
                (joint.name, joint.own_lag, joint.own_deviation) for joint in own))
        own = still


def _mean_lag(joints: Sequence[JointComparison]) -> Lag:
    # Of a joint that stands, the deviation is far beyond the lags that are sought.
    known = [joint for joint in joints if 0.0 < joint.lag_deviation < STEP * STEPS]
    if not known:
        return Lag()
    weights = np.array([joint.lag_deviation ** -2 for joint in known])
    lags = np.array([joint.lag for joint in known])
    lag = float(np.sum(weights * lags) / weights.sum())
    excess, freedom = float(np.sum(weights * (lags - lag) ** 2)), len(known) - 1
    if not freedom or chdtrc(freedom, excess) > _CHANCE:
        return Lag(lag, float(weights.sum() ** -0.5))
    ratio = stdtrit(freedom, 0.975) / 2.0 * np.sqrt(excess / freedom)
    return Lag(lag, float(ratio * weights.sum() ** -0.5))


class EffortComparison:
    """Gathers the errors of all joints; memory does not grow with the recording."""

    def __init__(self, names: tuple[str, ...]) -> None:
        n = len(names)
        self.names = names
        self.spectrum = Spectrum(n)
        # Count; sums of errors, efforts, squares of both; count and squares of changes of errors;
        # squares of changes of efforts.
        self._sums = np.zeros((8, n))
        self._lowest, self._highest = np.full(n, np.inf), np.full(n, -np.inf)
        self._worst, self._worst_stamp = np.zeros(n), np.zeros(n, dtype=np.int64)
        self._slow2 = np.zeros((2, n))
        self._shifted = ShiftedEfforts(n)

    def add(
        self, stamps: Stamps, instants: Stamps, predicted: Array, recorded: Array, slow: Array,
        motion: Array,
    ) -> None:
        """Compare efforts; values that are not finite are left out.

        - `stamps`, `instants`, (T,), ns: of the messages, and when their states were sampled.
        - `predicted`, (T, 2, n): the predicted efforts and their rates, N m/sᵏ.
        - `recorded`, (T, n), N m.
        - `slow`, (T, 2, n): predicted and recorded efforts, both within the bandwidth of the
          motion, N m.
        - `motion`, (T, 2, n): velocities and accelerations of the joints, rad/s and rad/s².
        """
        if not len(stamps):
            return
        self._add_slow(instants, slow[:, 0], slow[:, 1], motion, predicted[:, 1])
        error = predicted[:, 0] - recorded
        known = np.isfinite(error)
        self.spectrum.add(error)
        there = known.any(axis=1)
        steps, of_effort = (np.diff(values[there], axis=0) for values in (error, recorded))
        for ends, choose, end in (
                (self._lowest, np.minimum, np.inf), (self._highest, np.maximum, -np.inf)):
            choose(ends, choose.reduce(np.where(known, recorded, end), axis=0), out=ends)
        error, effort = (np.where(known, values, 0.0) for values in (error, recorded))
        self._sums += [np.nansum(values, axis=0) for values in (
            known, error, effort, error ** 2, effort ** 2, np.isfinite(steps), steps ** 2,
            np.where(np.isfinite(steps), of_effort, 0.0) ** 2)]
        worst = np.argmax(np.abs(error), axis=0)
        joints = np.arange(error.shape[1])
        larger = np.abs(error[worst, joints]) > np.abs(self._worst)
        self._worst[larger] = error[worst, joints][larger]
        self._worst_stamp[larger] = stamps[worst][larger]

    def _add_slow(
        self, instants: Stamps, predicted: Array, recorded: Array, motion: Array, rate: Array,
    ) -> None:
        error = predicted - recorded
        known = np.isfinite(error) & np.isfinite(motion).all(axis=1) & np.isfinite(rate)
        self._slow2 += np.sum(
            np.where(known, [error, recorded], 0.0) ** 2, axis=1)
        self._shifted.add(instants, predicted, recorded, motion, rate)

    def _frictions(self) -> Array:
        """Return the share of the error that friction explains, and its coefficients, (3, n).

        The share is 0 where the friction would drive the joint.
        """
        fit = self._shifted.unshifted
        left = fit.left[:, -1, -1] / _positive(fit.samples)
        there = np.where(fit.samples > 0.0, 1.0, np.nan)
        drives = fit.power(-fit.friction) < 0.0
        return np.array([
            np.where(drives, 0.0, 1.0 - left / _positive(fit.variance)),
            -there * fit.friction[:, COULOMB], -there * fit.friction[:, VISCOUS]])

    @property
    def joints(self) -> list[JointComparison]:
        """The results, one per joint; NaN where no effort is recorded."""
        count = _positive(self._sums[0])
        bias, mean = self._sums[1:3] / count
        error, effort = np.sqrt(self._sums[3:5] / count)
        # The variance of an effort that never changes would be round-off.
        changes = self._highest > self._lowest
        variance = np.where(changes, _positive(effort ** 2 - mean ** 2), np.nan)
        accounted = 1.0 - (error ** 2 - bias ** 2) / variance
        slow, slow_effort = np.sqrt(self._slow2 / _positive(self._shifted.unshifted.samples))
        removed = np.maximum(np.nan_to_num(error ** 2 - slow ** 2), 0.0)
        lag, deviation = np.where(changes, self._shifted.common(removed), np.nan)
        friction = self._frictions()
        # Errors of neighbouring samples are correlated: the number of independent errors is the
        # count times the share of the squared error that changes from one sample to the next.
        fast, fast_effort = np.sqrt(0.5 * self._sums[6:] / _positive(self._sums[5]))
        free = np.maximum(count * np.minimum(1.0, fast ** 2 / _positive(error ** 2)), 1.0)
        deviation = deviation / np.sqrt(free)
        there = self._sums[0] > 0.0
        columns = (
            error, effort, error / _positive(effort), bias, np.where(there, self._worst, np.nan),
            np.where(there, self._worst_stamp.astype(object), np.array(None)),
            accounted, fast, lag, deviation, slow, slow / _positive(slow_effort), *friction,
            *np.where(changes, self._shifted.own(removed, fast ** 2), np.nan), fast_effort)
        return [
            JointComparison(name, *values)
            for name, *values in zip(self.names, *(one.tolist() for one in columns), strict=True)]


def _positive(values: Array) -> Array:
    return np.where(values > 0.0, values, np.nan)


class Profile:
    """Mean and standard deviation of one quantity of each joint in bins of another."""

    def __init__(self, low: Array, high: Array, bins: int = 40) -> None:
        self.edges = np.linspace(low, high, bins + 1)
        self.count = np.zeros((bins, len(low)))
        self._sum, self._sum2 = np.zeros_like(self.count), np.zeros_like(self.count)

    def add(self, over: Array, values: Array) -> None:
        """Add values, (T, n), at `over`, (T, n); values outside the bins are left out."""
        low, high = self.edges[0], self.edges[-1]
        bins, n = self.count.shape
        with np.errstate(invalid='ignore'):
            place = np.floor((over - low) / (high - low) * bins)
            known = np.isfinite(values) & (place >= 0) & (place < bins)
        at = (np.where(known, place, 0).astype(np.intp) * n + np.arange(n))[known]
        for total, weights in (
                (self.count, None), (self._sum, values[known]), (self._sum2, values[known] ** 2)):
            total += np.bincount(at, weights, bins * n).reshape(bins, n)

    @property
    def centres(self) -> Array:
        """Middles of the bins, (bins, n)."""
        return np.asarray(0.5 * (self.edges[1:] + self.edges[:-1]))

    @property
    def mean(self) -> Array:
        """Means in the bins, (bins, n); NaN in empty ones."""
        return np.asarray(self._sum / _positive(self.count))

    @property
    def deviation(self) -> Array:
        """Standard deviations in the bins, (bins, n)."""
        return np.asarray(np.sqrt(np.maximum(
            self._sum2 / _positive(self.count) - self.mean ** 2, 0.0)))


class Spectrum:
    """Averaged spectra of blocks of consecutive messages."""

    def __init__(self, n: int) -> None:
        self.blocks = 0
        self._window = np.hanning(SPECTRUM_BLOCK)[:, None]
        self._power = np.zeros((SPECTRUM_BLOCK // 2 + 1, n))

    def add(self, values: Array) -> None:
        """Add the spectra of blocks of values, (T, n), without gaps; blocks overlap by half."""
        for begin in range(0, len(values) - SPECTRUM_BLOCK + 1, SPECTRUM_BLOCK // 2):
            block = values[begin:begin + SPECTRUM_BLOCK]
            if np.isfinite(block).all():
                self._power += np.abs(np.fft.rfft(
                    (block - block.mean(axis=0)) * self._window, axis=0)) ** 2
                self.blocks += 1

    def density(self, period: float) -> tuple[Array, Array]:
        """Return frequencies, Hz, and amplitude densities (F, n), unit/√Hz."""
        scale = 2.0 * period / (self._window ** 2).sum() / max(self.blocks, 1)
        return (np.asarray(np.fft.rfftfreq(SPECTRUM_BLOCK, period), dtype=np.float64),
                np.asarray(np.sqrt(self._power * scale)))
