"""Finds lags of efforts: compares a prediction with efforts that are shifted in time."""
import numpy as np

from hodyn_ros.common.arrays import Array, Indices, Stamps
from hodyn_ros.replay.friction_fit import COULOMB_WIDTH, FrictionFit, inverse, notable

STEP, STEPS = 0.02, 12
"""Step of the shifts, s, and their number in each direction; a lag within a step acts linearly."""

# Further widths w of Coulomb friction tanh(q̇/w), rad/s. Mixtures of these sigmoids resemble every
# friction law whose width is between the least and the largest.
_WIDTHS = COULOMB_WIDTH * np.array([0.3, 3.0, 10.0])
_SPACING = 0.01  # time between compared samples, s: dense enough for the bandwidth of the motion
# Gaps that are longer than _GAP, s, and than _PERIODS median periods are not interpolated.
_GAP, _PERIODS = 0.05, 3.0
_MOST = 0.5  # least share of the samples that must remain after a shift
# Least and largest ratio of the decrease of a fitted lag to the shift that causes it. They are
# multiplied by the gain of the efforts, which a fitted lag contains.
_FALL = 0.2, 5.0
_TINY = 1e-12  # share of the effort's square below which squared errors are round-off


class ShiftedEfforts:
    """Fits the error by the predicted rate, for efforts that are shifted by each of several times.

    A first-order fit without shifts underestimates a lag within which the effort bends. Friction,
    an inertia and a gain of each joint are fitted along with the lag, since the rate contains
    terms like theirs: with viscous friction, for example, a rotor that the model lacks looks like
    a lag, and so does a gain. The rate of a gravity torque is odd in the velocity, as friction is:
    Coulomb friction of another width than the assumed one looks like a lag of slow joints.
    """

    def __init__(self, n: int) -> None:
        # Torques of each fit: sigmoids of the other widths, q̈, the prediction and its rate.
        self._fits = [FrictionFit(n, len(_WIDTHS) + 3) for _ in range(2 * STEPS + 1)]
        # Of the samples that are shifted: their number, and the sum of their squared efforts.
        self._compared, self._square = np.zeros((2, n))

    @property
    def unshifted(self) -> FrictionFit:
        """The fit of all samples to efforts that are not shifted."""
        return self._fits[STEPS]

    def add(
        self, instants: Stamps, predicted: Array, recorded: Array, motion: Array, rate: Array,
    ) -> None:
        """Add consecutive samples within the bandwidth of the motion.

        `motion`, (T, 2, n), has velocities and accelerations; `rate` is `predicted`'s.
        """
        velocity, acceleration = motion[:, 0], motion[:, 1]
        is_known = np.isfinite(rate) & np.isfinite(motion).all(axis=1)

        beside = [*(np.tanh(velocity / width) for width in _WIDTHS), acceleration, predicted, rate]

        def fit(k: int, some: Indices, effort: Array) -> None:
            error = predicted[some] - effort
            self._fits[k].add(
                velocity[some], [torque[some] for torque in beside], error,
                is_known[some] & np.isfinite(error))

        fit(STEPS, np.arange(len(instants)), recorded)
        there = np.flatnonzero(np.isfinite(recorded).any(axis=1))
        spacings = np.diff(instants[there]) * 1e-9
        if not spacings.size:
            return
        period = float(np.median(spacings))
        breaks = (spacings <= 0.0) | (spacings > max(_GAP, _PERIODS * period))
        stride = max(1, int(_SPACING / period)) if period > 0.0 else 1
        for run in np.split(there, np.flatnonzero(breaks) + 1):
            if len(run) < 2:
                continue
            time, some = (instants[run] - instants[run[0]]) * 1e-9, run[::stride]
            known = is_known[some] & np.isfinite(predicted[some] - recorded[some])
            self._compared += known.sum(axis=0)
            self._square += np.sum(np.where(known, recorded[some], 0.0) ** 2, axis=0)
            for k in range(len(self._fits)):
                if k != STEPS:
                    fit(k, some, _at(
                        time[::stride] + STEP * (k - STEPS), time, recorded[run]))

    def common(self, variance: Array) -> tuple[Array, Array]:
        """Return each joint's lag about a common shift, and its deviation, s, (n,) each.

        The deviations are those for a single independent sample. The shift has the least errors of
        all joints when no lag is fitted: in a sinusoidal motion, a gain and a lag together explain
        any shift. The search starts at 0 and follows falling errors, since at a far shift a wrong
        model may fit by chance. `variance`, (n,), is that of noise which was filtered out; it is
        added to that of the errors.
        """
        used = self._square > 0.0
        k = _first_minimum([float(np.mean(size[used])) if used.any() else np.inf
                            for size in self._sizes(variance)])
        lag, moved, left = self._lag_about(k)
        left = left + self._fits[k].samples * variance
        return lag, np.sqrt(left * moved)

    def own(self, variance: Array, fast: Array) -> tuple[Array, Array, Array]:
        """Return each joint's own lag and its deviation, s, and the share of the error it leaves.

        (n,) each; NaN for joints without efforts. The error is what friction and inertia do not
        explain; `variance` is as for `common`; `fast`, (n,), is the variance of the error that
        changes from one sample to the next.
        """
        sizes = np.array(self._sizes(variance))
        found = np.full((3, len(self._square)), np.nan)
        samples = self.unshifted.samples
        start = self._left(_rate_and_error(self.unshifted)[:, 1, 1], self.unshifted, variance)
        for joint in np.flatnonzero(self._square > 0.0):
            k = _first_minimum(sizes[:, joint].tolist())
            fit = self._fits[k]
            lag, moved, square = self._lag_about(k)
            left = float(self._left(square, fit, variance)[joint])
            free = max(samples[joint] * min(1.0, fast[joint] / left), 1.0)
            found[:, joint] = (
                lag[joint], np.sqrt(moved[joint] * left * fit.samples[joint] / free),
                left / start[joint])
        lags, deviations, shares = found
        return lags, deviations, shares

    def _lag_about(self, k: int) -> tuple[Array, Array, Array]:
        """Return the lags of a fit, their variances for unit errors, and the squares left, (n,).

        Noise of the predicted rates makes the lag of a fit too small, friction makes it too large.
        So the lag is interpolated between two shifts near the fit that leave lags of opposite
        signs. Without such shifts, the cause is hardly a lag, and that of the fit is returned.
        """
        lag, moved, left = _lag(self._fits[k])
        gain = _gain(self._fits[k])
        found, fall = STEP * (k - STEPS) + lag, np.ones_like(lag)
        for joint in np.flatnonzero(np.isfinite(lag) & (lag != 0.0)):
            way = 1 if lag[joint] > 0.0 else -1
            here, own = k, lag[joint]
            for beside in (k + way, k + 2 * way, k + 3 * way):
                if not 0 <= beside < len(self._fits):
                    break
                other = _lag(self._fits[beside])[0][joint]
                if own * other < 0.0:
                    fall[joint] = abs(own - other) / STEP
                    found[joint] = STEP * (here - STEPS) + own / fall[joint]
                if not abs(other) < abs(own) or own * other < 0.0:
                    break
                here, own = beside, other
        least, largest = _FALL
        return found, moved / np.clip(fall, least * gain, largest * gain) ** 2, left

    def _sizes(self, variance: Array) -> list[Array]:
        """Return the logarithms of the errors, (n,), for each shift."""
        used = self._square > 0.0
        return [
            np.full(len(used), np.inf)
            if not used.any() or np.any(fit.samples[used] < _MOST * self._compared[used])
            else np.log(self._left(_rate_and_error(fit)[:, 1, 1], fit, variance))
            for fit in self._fits]

    def _left(self, square: Array, fit: FrictionFit, variance: Array) -> Array:
        """Return the mean of squared errors, (n,), at least as large as round-off."""
        least = _TINY * self._square / np.maximum(self._compared, 1.0)
        found = square / np.maximum(fit.samples, 1.0) + np.nan_to_num(variance)
        return np.maximum(found, np.maximum(least, 1e-300))


def _rate_and_error(fit: FrictionFit) -> Array:
    """Return the products of rate and error that friction and inertia leave, (n, 2, 2)."""
    left = fit.left
    own, beside, whole = left[:, :-2, :-2], left[:, :-2, -2:], left[:, -2:, -2:]
    return notable(whole - beside.swapaxes(1, 2) @ inverse(own) @ beside, whole)


def _gain(fit: FrictionFit) -> Array:
    """Return the gain of each joint's efforts, (n,), at least 1e-6."""
    left = fit.left
    beside = inverse(left[:, :-2, :-2]) @ left[:, :-2, -1:]
    return np.maximum(np.abs(1.0 - beside[:, -1, 0]), 1e-6)


def _lag(fit: FrictionFit) -> tuple[Array, Array, Array]:
    """Return each joint's lag minus the shift, its variance for unit errors, and the square left.

    (n,) each; the lag is NaN if friction and inertia explain the rate.
    """
    # predicted(t) − recorded(t + shift) ≈ (lag − shift) · rate(t) if recorded(t) =
    # predicted(t − lag).
    rate, across, error = _rate_and_error(fit)[:, [0, 0, 1], [0, 1, 1]].T
    rate = np.where(rate > 0.0, rate, np.nan)
    return across / rate, 1.0 / rate, np.fmax(
        error - np.nan_to_num(across ** 2 / rate), 0.0)


def _first_minimum(errors: list[float]) -> int:
    """Return the index of the first minimum of the errors, sought from shift 0 downhill."""
    k = STEPS
    while True:
        nearest = min((i for i in (k - 1, k, k + 1) if 0 <= i < len(errors)),
                      key=lambda i: errors[i])
        if not errors[nearest] < errors[k]:
            return k
        k = nearest


def _at(wanted: Array, time: Array, values: Array) -> Array:
    """Return values at other times, linearly interpolated; NaN outside."""
    place = np.clip(np.searchsorted(time, wanted, side='right') - 1, 0, len(time) - 2)
    weight = ((wanted - time[place]) / (time[place + 1] - time[place]))[:, None]
    found = (1.0 - weight) * values[place] + weight * values[place + 1]
    inside = (wanted >= time[0]) & (wanted <= time[-1])
    return np.where(inside[:, None], found, np.nan)
