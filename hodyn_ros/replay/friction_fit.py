"""Fits joint efforts by a model's torques, an unknown friction and a constant."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices

COULOMB_WIDTH = 0.02
"""Width w of Coulomb friction, which is proportional to tanh(q̇/w), rad/s."""

CONSTANT, COULOMB, VISCOUS = range(3)
"""Indices of the coefficients of friction."""

_FRICTION = slice(0, 3)
_CLEAR = 5.0  # standard deviations from which a coefficient is certain
_CHANGES = 1e-9  # share of the effort below which a change is round-off
_TINY = 1e-12  # regularises products of scaled signals
_NOTHING = 1e-9  # if friction leaves less than this share of a signal's square, it is round-off


def is_measured(effort: Array) -> Flags:
    """Return which joints measure an effort, (n,), given samples (T, n).

    An effort that is not recorded or never changes, such as a gripper's, is not a measurement.
    """
    known = np.isfinite(effort)
    low, high = (
        extreme.reduce(np.where(known, effort, end), axis=0, initial=end)
        for extreme, end in ((np.minimum, np.inf), (np.maximum, -np.inf)))
    return np.asarray(high - low > _CHANGES * np.maximum(np.abs(low), np.abs(high)))


class FrictionFit:
    """Fits the effort of each of n joints by torques, friction and a constant (least squares).

    Only sums of products of these signals are kept: memory does not grow with the recording.
    """

    def __init__(self, n: int, torques: int) -> None:
        size = _FRICTION.stop + torques + 1
        self._products = np.zeros((n, size, size))
        self._blocks = np.zeros(n)

    def add(
        self, velocity: Array, torques: Sequence[Array], effort: Array, known: Flags,
        block: Indices | None = None,
    ) -> None:
        """Add samples, (T, n) each; only `known` efforts count.

        `block`, (T,), numbers blocks of time; `clear` assumes that the blocks are independent.
        """
        if block is not None:
            self._blocks += [len(np.unique(block[own])) for own in known.T]
        table = np.stack([
            np.ones_like(velocity), np.tanh(velocity / COULOMB_WIDTH), velocity, *torques, effort,
        ], axis=2)
        table = np.where(known[:, :, np.newaxis], table, 0.0)
        self._products += np.einsum('tji,tjk->jik', table, table)

    @property
    def samples(self) -> Array:
        """Number of known efforts, (n,)."""
        return self._products[:, CONSTANT, CONSTANT]

    @property
    def _factors(self) -> Array:
        """Friction coefficients that explain each signal best, (n, 3, torques + 1)."""
        own = self._products[:, _FRICTION, _FRICTION]
        square = np.einsum('jii->ji', own)
        scale = np.sqrt(np.where(square > 0.0, square, 1.0))[:, :, np.newaxis]
        # For a slow joint tanh is proportional to velocity: any mixture of the two fits.
        right = self._products[:, _FRICTION, _FRICTION.stop:] / scale
        return np.asarray(np.linalg.solve(
            own / scale / scale.swapaxes(1, 2) + _TINY * np.eye(3), right) / scale)

    @property
    def friction(self) -> Array:
        """Constant, Coulomb and viscous coefficients that explain the effort best, (n, 3)."""
        return self._factors[:, :, -1]

    @property
    def variance(self) -> Array:
        """Variance of the effort, (n,); NaN if none is known."""
        count = np.where(self.samples > 0.0, self.samples, np.nan)
        products = self._products
        return np.asarray(products[:, -1, -1] / count - (products[:, 0, -1] / count) ** 2)

    @property
    def left(self) -> Array:
        """Products of torques and effort, (n, t + 1, t + 1), without what friction explains."""
        return self._left(self._factors)

    def _left(self, factors: Array) -> Array:
        beside = self._products[:, _FRICTION, _FRICTION.stop:]
        whole = self._products[:, _FRICTION.stop:, _FRICTION.stop:]
        return notable(whole - beside.swapaxes(1, 2) @ factors, whole)

    @property
    def coefficients(self) -> tuple[Array, Array, Array]:
        """Coefficients of the torques, their variances for unit errors, and the remaining square.

        (n, t), (n, t) and (n,); 0 for torques that friction explains.
        """
        left = self.left
        inverted = inverse(left[:, :-1, :-1])
        found = np.einsum('jik,jk->ji', inverted, left[:, :-1, -1])
        error = left[:, -1, -1] - np.einsum('ji,ji->j', found, left[:, :-1, -1])
        return found, np.einsum('jii->ji', inverted), np.maximum(error, 0.0)

    def unexplained(self, sign: Array | float = 1.0, gain: float | None = None) -> Array:
        """Return the share of each effort's variance, (n,), that its torque leaves.

        Bias and friction are fitted as well, and the effort is multiplied by `sign`: with signs,
        (k, 1), the shares are (k, n). If `gain` is None, the torque's gain, 0 or more, is fitted.
        Friction that would drive the joint is left out.
        """
        products, factors = self._products, self._factors
        count = np.maximum(self.samples, 1.0)[:, np.newaxis, np.newaxis]
        signals = products[:, _FRICTION.stop:, _FRICTION.stop:]
        means = products[:, CONSTANT, _FRICTION.stop:]
        about_mean = notable(
            signals - means[:, :, np.newaxis] * means[:, np.newaxis] / count, signals)
        left, gains = _beside(self._left(factors), sign, gain)
        friction = (np.asarray(sign)[..., np.newaxis] * factors[:, :, 1]
                    - gains[..., np.newaxis] * factors[:, :, 0])
        left = np.where(self.power(friction) < 0.0, _beside(about_mean, sign, gain)[0], left)
        return np.asarray(left / np.maximum(about_mean[:, 1, 1], 1e-300))

    def power(self, friction: Array) -> Array:
        """Return the power, (…, n), that goes into friction of coefficients (…, n, 3).

        It is that of all samples. It is negative for friction that would drive the joint.
        """
        by_velocity = self._products[:, VISCOUS, COULOMB:_FRICTION.stop]
        return np.asarray(np.sum(friction[..., COULOMB:] * by_velocity, axis=-1))

    @property
    def clear(self) -> Flags:
        """Which torques, (n, t), the efforts certainly contain in addition to friction."""
        found, variance, error = self.coefficients
        freedom = np.maximum(self._blocks - self._products.shape[1] + 1, 1.0)
        return np.asarray(
            np.abs(found) > _CLEAR * np.sqrt(variance * (error / freedom)[:, np.newaxis]))


def notable(left: Array, whole: Array) -> Array:
    """Return the products of signals that are left, (n, m, m); 0 where they are round-off."""
    square = np.einsum('jii->ji', whole)
    there = np.einsum('jii->ji', left) > _NOTHING * np.maximum(square, 1e-20)
    return np.asarray(left * there[:, :, np.newaxis] * there[:, np.newaxis])


def _beside(products: Array, sign: Array | float, gain: float | None) -> tuple[Array, Array]:
    """Return the squares of efforts that torques leave, (…, n), and the torques' gains."""
    own, across, whole = products[:, [0, 0, 1], [0, 1, 1]].T
    gains = np.full(own.shape, gain) if gain is not None else (
        np.maximum(sign * across, 0.0) / np.maximum(own, 1e-300))
    return np.maximum(whole - 2.0 * gains * sign * across + gains ** 2 * own, 0.0), gains


def inverse(products: Array) -> Array:
    """Return the pseudo-inverses of matrices of products, computed for scaled signals."""
    scale = np.sqrt(np.maximum(np.einsum('jii->ji', products), 1e-300))
    scale = scale[:, :, np.newaxis] * scale[:, np.newaxis]
    return np.asarray(np.linalg.pinv(products / scale, rcond=1e-10, hermitian=True) / scale)
