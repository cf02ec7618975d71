"""Efforts that are recorded in another unit than the model's torques, as the motion shows."""
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FAR = 5.0
"""Factor between efforts and torques that no load and no error of the model explains."""

AGREE = 3.0
"""Largest factor from the median of the joints that wrong links and loads explain."""

_CLEAR = 5.0  # standard deviations from which a factor counts as determined
_EXPLAINS = 0.5  # least explained share of the variance left by friction and a constant
_TERMS = 5  # number of terms: gravity, inertia, Coulomb and viscous friction, a constant
_REST = 2  # index of the first term whose factor is not needed: friction and the constant


class EffortUnit:
    """Fits the efforts of each joint by factors of its gravity and inertia torques.

    Friction and a constant are fitted too. The two factors are separate, so that a driver that
    subtracts gravity is not taken for one with another unit.

    Parameters
    ----------
    n : int
        Number of joints.

    """

    def __init__(self, n: int) -> None:
        self._products = np.zeros((n, _TERMS + 1, _TERMS + 1))
        self._blocks, self._samples = np.zeros((2, n))

    def add(
        self, gravity: Array, inertial: Array, velocity: Array, effort: Array,
        known: NDArray[np.bool_], block: NDArray[np.intp],
    ) -> None:
        """Take samples, (T, n) each: torques and velocities of the model's motion, and efforts.

        Of those that are known; (T,) numbers of blocks of time, which count as independent.
        """
        table = np.stack([
            gravity, inertial, np.tanh(velocity / 0.05), velocity, np.ones_like(velocity),
            np.where(known, effort, 0.0)], axis=2) * known[:, :, np.newaxis]
        self._products += np.einsum('tji,tjk->jik', table, table)
        self._samples += known.sum(axis=0)
        self._blocks += [len(np.unique(block[of_joint])) for of_joint in known.T]

    @property
    def factor(self) -> float:
        """Factor of the efforts to the model's torques in most joints, if it is far from 1.

        NaN if the joints differ, or the efforts may be in the unit of the torques.
        """
        factors = []
        for products, blocks, samples in zip(
                self._products, self._blocks, self._samples, strict=True):
            if samples < 2 * _CLEAR:
                continue
            rest = np.arange(_REST, _TERMS)
            asked = [*range(_REST), _TERMS]
            across = products[np.ix_(rest, asked)]
            left = products[np.ix_(asked, asked)] - across.T @ np.linalg.pinv(
                products[np.ix_(rest, rest)], rcond=1e-10, hermitian=True) @ across
            least = 1e-10 * np.maximum(np.diag(products)[asked], 1e-10)
            if left[0, 0] <= least[0]:
                left[0], left[:, 0] = 0.0, 0.0
            scale = np.sqrt(np.maximum(np.diag(left)[:_REST], least[:_REST]))
            inverse = np.linalg.pinv(
                left[:_REST, :_REST] / np.outer(scale, scale), rcond=1e-10, hermitian=True)
            found = inverse @ (left[:_REST, _REST] / scale)
            error = max(float(left[_REST, _REST] - found @ (left[:_REST, _REST] / scale)), 0.0)
            deviation = np.sqrt(error / max(blocks - _TERMS, 1) * np.diag(inverse))
            is_gravity_clear, is_inertia_clear = np.abs(found) > _CLEAR * deviation
            of_gravity, of_inertia = found / scale
            if is_inertia_clear and 1.0 / AGREE < of_inertia < AGREE:
                return np.nan
            if error < (1.0 - _EXPLAINS) * left[_REST, _REST]:
                # A load missing in the model adds more to gravity at the wrist than to both terms.
                factors += [of_gravity] * bool(is_gravity_clear)
                factors += [of_inertia] * bool(is_inertia_clear)
        factor = _of_most(np.array(factors))
        return factor if abs(np.log(factor)) > np.log(FAR) else np.nan


def _of_most(factors: Array) -> float:
    """Return the median of similar factors, if most joints and at least two have them."""
    if not len(factors) or np.median(factors) <= 0.0:
        return np.nan
    ratio = factors / np.median(factors)
    alike = factors[(ratio > 1.0 / AGREE) & (ratio < AGREE)]
    return float(np.median(alike)) if len(alike) > max(1.0, 0.5 * len(factors)) else np.nan
