"""Finds how recorded velocities contradict the positions."""
from itertools import combinations

import numpy as np

from hodyn_ros.common.arrays import Array, Flags

# Least correlation at which a recorded velocity is taken to be that of a joint, perhaps times a
# constant factor.
_LIKE = 0.9
_NEAR = 0.2  # difference of logarithms below which two factors are the same
_SAME = 0.03  # difference of logarithms below which factors are so alike that they have one cause
# A factor counts as different from 1 if the magnitude of its logarithm is above _OTHER. If the
# correlation is above _NO_FILTER, less is enough: _SURELY_OTHER for one joint, _ALL_OTHER for a
# factor of all joints. Such a correlation excludes a filter, which would also delay velocities;
# and noise then changes factors by less than 3 %.
_OTHER, _SURELY_OTHER, _ALL_OTHER, _NO_FILTER = 0.4, 0.2, 0.04, 0.99
# Recorded velocities do not fit if their correlation is below _UNLIKE, and if the estimated ones
# are above _QUICK, rad/s or m/s (RMS): usual noise is smaller.
_UNLIKE, _QUICK = 0.5, 0.05
_MOVES = 0.01  # velocity, rad/s or m/s (RMS), from which a joint moves
# Least offset that counts: _OFFSET, rad/s or m/s, and _FAR_OFF times the median deviation of the
# errors; errors that deviate by more than _USUAL times this median are glitches.
_OFFSET, _FAR_OFF, _USUAL = 0.02, 5.0, 10.0
_DEGREES = 180.0 / np.pi
_OF_TURNS = (
    (_DEGREES, 'in degrees per second'), (30.0 / np.pi, 'in revolutions per minute'),
    (0.5 / np.pi, 'in revolutions per second'))
_OF_SLIDES = ((1000.0, 'in millimetres per second'),)


class RecordedVelocities:
    """Compares recorded velocities with velocities estimated from the positions."""

    def __init__(self, moved: Array, recorded: Array, turns: Flags) -> None:
        """Take estimated and recorded velocities, (S, n) each, and which joints turn, (n,)."""
        known = np.isfinite(moved).all(axis=1) & np.isfinite(recorded).all(axis=1)
        moved, recorded = moved[known], recorded[known]
        self._offset = _offsets(moved, recorded)
        recorded = recorded - self._offset
        squares = np.sum(moved ** 2, axis=0), np.sum(recorded ** 2, axis=0)
        product = recorded.T @ moved
        self._moved, self._recorded = moved, recorded
        self._turns = turns
        self._move = squares[0] > _MOVES ** 2 * len(moved)
        self._are_zero = (squares[1] == 0.0) & self._move
        self._like = product / np.sqrt(np.maximum(np.outer(squares[1], squares[0]), 1e-300))
        self._factor = np.diag(product) / np.maximum(squares[0], 1e-300)

    @property
    def stamp_factor(self) -> float:
        """How many times too far apart the stamps are: 1000 or 0.001, or NaN.

        It is known only if all joints whose recorded velocity is correlated with the estimated one
        show the same of these factors, and one of the joints turns.
        """
        turning = self._alike & self._turns
        for factor in (1e3, 1e-3):
            if turning.any() and self._are(factor)[self._alike].all():
                return factor
        return np.nan

    @property
    def common_factor(self) -> float:
        """Ratio of the recorded velocities of all moving joints to the estimated ones.

        NaN for fewer than two moving joints, if the factors differ or are near 1, or if a unit
        explains the factor.
        """
        factors = self._factor[self._move]
        if len(factors) < 2 or not self._alike[self._move].all():
            return np.nan
        factor = float(np.exp(np.mean(np.log(factors))))
        size = abs(np.log(factor))
        is_one = self._are(factor, _SAME)[self._move].all() and (size > _OTHER or (
            size > _ALL_OTHER and np.diag(self._like)[self._move].min() > _NO_FILTER))
        is_unit = abs(np.log(factor / _DEGREES)) < _NEAR
        turn = self._turns[self._move]
        units = _OF_TURNS if turn.all() else () if turn.any() else _OF_SLIDES
        is_unit |= any(abs(np.log(factor / unit)) < _SAME for unit, _ in units)
        return factor if is_one and not is_unit else np.nan

    def positions_are_scaled(self, scale: float) -> bool:
        """Whether the velocities show that only the positions are `scale` times too large."""
        turning = self._alike & self._turns
        return bool(turning.any() and self._are(1.0 / scale)[turning].all())

    def are_slower(self, factors: Array) -> Flags:
        """Return which joints' recorded velocities are too small by these factors, (n,)."""
        return np.asarray([
            bool(self._are(1.0 / factor)[joint]) for joint, factor in enumerate(factors)])

    def clauses(self, names: tuple[str, ...]) -> list[str]:
        """Return one clause per kind of difference.

        Velocities may have an offset, the opposite sign, another unit or scale, be another
        joint's, or not fit, as if they were noise or stood still.
        """
        own = np.diag(self._like)
        said = [
            f'those of {names[joint]} have the opposite sign'
            for joint in np.flatnonzero(own < -_LIKE)]
        for joint in np.flatnonzero(self._offset):
            unit = 'rad/s' if self._turns[joint] else 'm/s'
            said.append(
                f'those of {names[joint]} have an offset of {self._offset[joint]:+.2g} {unit}')
        if self._are_zero.any():
            said.append(f'those of {_listed(names, self._are_zero)} are 0')
        if np.isfinite(factor := self.common_factor):
            return [
                *said,
                f'those of all moving joints are about {factor:.3g} times the estimated ones, so '
                'the stamps, or all velocities, are wrong by this factor: were the stamps made '
                'for another sampling rate?']
        left = self._alike & ~np.where(
            own > _NO_FILTER, self._are(1.0, _SURELY_OTHER), self._are(1.0, _OTHER))
        for of_unit, units in ((self._turns, _OF_TURNS), (~self._turns, _OF_SLIDES)):
            for factor, unit in units:
                is_in_unit = of_unit & left & self._are(factor)
                left &= ~is_in_unit
                if is_in_unit.any():
                    said.append(f'those of {_listed(names, is_in_unit)} are {unit}')
        while left.any():
            factor = float(self._factor[np.argmax(left)])
            alike = left & self._are(factor)
            left &= ~alike
            said.append(
                f'those of {_listed(names, alike)} are about {factor:.2g} times the estimated '
                'ones')
        unlike = (np.abs(own) < _UNLIKE) & ~self._are_zero
        for i, j in combinations(range(len(names)), 2):
            if min(self._like[i, j], self._like[j, i]) > _LIKE and max(own[i], own[j]) < _LIKE:
                said.append(f'those of {names[i]} and {names[j]} are swapped')
                unlike[[i, j]] = False
        moved, error = (
            np.sqrt(np.mean(some ** 2, axis=0)) if len(some) else np.zeros(len(names))
            for some in (self._moved, self._recorded - self._moved))
        for joint in np.flatnonzero(unlike & (moved > _QUICK)):
            other = int(self._like[joint].argmax())
            if self._like[joint, other] > _LIKE:
                said.append(f'those of {names[joint]} are those of {names[other]}')
                continue
            unit = 'rad/s' if self._turns[joint] else 'm/s'
            said.append(
                f'those of {names[joint]} do not fit: they are {error[joint]:.2g} {unit} (RMS) '
                f'off the estimated ones, which are {moved[joint]:.2g} {unit}. They get almost no '
                'weight')
        return said

    @property
    def _alike(self) -> Flags:
        return np.asarray(np.diag(self._like) > _LIKE)

    def _are(self, factor: float, apart: float = _NEAR) -> Flags:
        return np.asarray(np.abs(np.log(np.maximum(self._factor, 1e-9) / factor)) < apart)


def _offsets(moved: Array, recorded: Array) -> Array:
    """Return the constant error of each joint's recorded velocities, (n,); 0 if it has none."""
    if not len(moved):
        return np.zeros(moved.shape[1])
    error = recorded - moved
    middle = np.median(error, axis=0)
    scatter = np.median(np.abs(error - middle), axis=0)
    is_usual = np.abs(error - middle) <= _USUAL * scatter + 1e-9
    count = is_usual.sum(axis=0)
    velocity = np.where(is_usual, moved - np.sum(moved * is_usual, axis=0) / count, 0.0)
    # The error of velocities that are too large by a factor grows with the velocity.
    slope = np.sum(velocity * error, axis=0) / np.maximum(np.sum(velocity ** 2, axis=0), 1e-12)
    at_rest = np.sum((error - slope * moved) * is_usual, axis=0) / count
    # At one speed, an offset and a factor are the same.
    varies = np.sum(velocity ** 2, axis=0) > (0.1 * middle) ** 2 * count
    follows = varies & (np.abs(slope) < 0.5) & (np.abs(at_rest - middle) < 0.5 * np.abs(middle))
    # If the stamps have a wrong unit, a moving joint may seem to rest. So an offset at rest must
    # hold for nearly all samples: else a long motion at one speed would look like an offset.
    rests = (np.mean(moved ** 2, axis=0) < _MOVES ** 2) & (count > 0.95 * len(moved))
    is_offset = np.abs(middle) > np.maximum(_OFFSET, _FAR_OFF * scatter)
    return np.where(is_offset & (follows | rests) & recorded.any(axis=0), middle, 0.0)


def _listed(names: tuple[str, ...], those: Flags) -> str:
    return ', '.join(name for name, is_so in zip(names, those, strict=True) if is_so)
