"""Finds the small change of a zero, a gear ratio or the base that explains most of a misfit."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import FrictionFit
from hodyn_ros.replay.quarter_turns import turnable_joints

_BETTER = 0.25  # greatest part of the unexplained share that a change may leave
# Linear steps of the search: step of differences, longest step (rad or logarithm), and number.
_STEP, _LONGEST, _ROUNDS = 1e-4, 0.4, 4
_STARTS = (0.0, 0.4, -0.4)  # where the search for a change of one joint begins
# Least unexplained share from which changes are sought: a tilt of 3 degrees explains some
# thousandths.
_SHOWS, _TILT_SHOWS = 0.004, 0.001
# Least ratio of positions, either way, that is named, and greatest part of the unexplained share
# that it may leave: wrong link masses, which resemble it, leave more.
_LEAST_RATIO, _SURE = 1.1, 0.07
_LEAST_TILT, _LARGEST_TILT = 0.05, 0.8  # rad: less is small, more is another mounting


@dataclass(frozen=True)
class SmallZero:
    """A zero that is off by a small angle, which explains most of the error."""

    joint: int  #: The joint of the model
    turn: float  #: Angle to add to its positions, rad
    #: `unexplained`, `left`: Share of the variance of the efforts that is unexplained, without and
    #: with the turn
    unexplained: float
    left: float


@dataclass(frozen=True)
class ScaledPosition:
    """Positions of one joint that are too large by a ratio, which explains most of the error."""

    joint: int  #: The joint of the model
    ratio: float  #: How many times too large they are
    unexplained: float  #: As in `SmallZero`
    left: float


@dataclass(frozen=True)
class TiltedBase:
    """A tilt of the base, which explains most of the error."""

    gravity: tuple[float, ...]  #: The acceleration of gravity in the axes of the robot file, m/s²
    angle: float  #: Its angle from the gravity of the robot file, rad
    unexplained: float  #: As in `SmallZero`
    left: float


class SmallChanges:
    """Searches for a change with which a model explains recorded efforts.

    Bias and friction of each joint are fitted as well. `gravity` says whether the efforts contain
    gravity, which determines zeros best.
    """

    def __init__(
        self, feedforward: FeedForward, samples: EffortSamples, *, gravity: bool = True,
    ) -> None:
        self._feedforward, self._samples, self._gravity = feedforward, samples, gravity

    def zero(self) -> SmallZero | None:
        """Return the one small angle that explains most of the error, if one does."""
        found = self._of_one_joint(lambda q, joint, angle: np.add(
            q[:, 0, joint], angle, out=q[:, 0, joint]))
        return found and SmallZero(*found)

    def ratio(self) -> ScaledPosition | None:
        """Return the ratio of one joint's positions that explains most of the error, if any."""
        found = self._of_one_joint(lambda q, joint, exponent: np.divide(
            q[:, :, joint], np.exp(exponent), out=q[:, :, joint]))
        if found is None:
            return None
        joint, exponent, unexplained, left = found
        if abs(exponent) < np.log(_LEAST_RATIO) or left > _SURE * unexplained:
            return None
        return ScaledPosition(joint, float(np.exp(exponent)), unexplained, left)

    def tilt(self) -> TiltedBase | None:
        """Return the tilt of the base that explains most of the error, if one does."""
        robot, samples = self._feedforward.robot, self._samples
        strength = float(np.linalg.norm(robot.gravity))
        if robot.floating or not strength or not samples.judged.any():
            return None
        rest = self._feedforward.torque(samples.q, gravity=False, friction=False)[:, 0]
        by_axis = [
            FeedForward(replace(robot, gravity=axis)).torque(samples.q, friction=False)[:, 0]
            - rest for axis in np.eye(3)]
        across = np.linalg.svd(robot.gravity[np.newaxis])[2][1:]

        def tilted(change: Array) -> Array:
            gravity = robot.gravity + strength * change @ across
            return np.asarray(gravity * (strength / np.linalg.norm(gravity)))

        found = self._best([(
            lambda change: rest + np.tensordot(tilted(change), by_axis, 1), np.zeros(2))],
            _TILT_SHOWS)
        if found is None:
            return None
        _, change, unexplained, left = found
        gravity = tilted(change)
        angle = float(np.arccos(np.clip(gravity @ robot.gravity / strength ** 2, -1.0, 1.0)))
        return TiltedBase(tuple(gravity.tolist()), angle, unexplained, left) if (
            _LEAST_TILT < angle < _LARGEST_TILT) else None

    def _of_one_joint(
        self, alter: Callable[[Array, int, float], object],
    ) -> tuple[int, float, float, float] | None:
        """Return the joint and the change that explain most, and the shares; None if none does.

        `alter` changes motions, (S, 5, n), in place.
        """
        def torque(joint: int) -> Callable[[Array], Array]:
            def of_change(change: Array) -> Array:
                q = self._samples.q.copy()
                alter(q, joint, float(change[0]))
                return self._feedforward.torque(q, gravity=self._gravity, friction=False)[:, 0]
            return of_change

        joints = turnable_joints(self._feedforward, self._samples)
        found = self._best([
            (torque(joint), np.array([start])) for joint in joints for start in _STARTS], _SHOWS)
        return found and (joints[found[0] // len(_STARTS)], float(found[1][0]), *found[2:])

    def _best(
        self, tried: Sequence[tuple[Callable[[Array], Array], Array]], shows: float,
    ) -> tuple[int, Array, float, float] | None:
        """Return which of the searches explains most of the error, its change, and the shares.

        The shares of the efforts are those without and with the change. None if too little is
        unexplained, or if no change explains it. A search is a function from a change to torques,
        (S, n), and the change with which it begins.
        """
        samples = self._samples
        if not tried:
            return None
        without = tried[0][0](np.zeros(len(tried[0][1])))
        unexplained = samples.share(without)
        if not unexplained > shows:
            return None
        found = [self._linear_steps(torque, start) for torque, start in tried]
        best, (change, left) = min(enumerate(found), key=lambda each: each[1][1])
        # If links are wrong, a change may explain how efforts vary, but contradict their means.
        is_better = left < _BETTER * unexplained and samples.square(
            tried[best][0](change)) < samples.square(without)
        return (best, change, unexplained, left) if is_better else None

    def _linear_steps(
        self, torque: Callable[[Array], Array], change: Array,
    ) -> tuple[Array, float]:
        """Return the change nearby that explains most, and the share of the efforts it leaves."""
        samples = self._samples
        for _ in range(_ROUNDS):
            here = torque(change)
            slopes = [(torque(change + _STEP * one) - here) / _STEP for one in np.eye(len(change))]
            fit = FrictionFit(here.shape[1], len(change))
            fit.add(samples.q[:, 1], slopes, samples.effort - here, samples.known)
            products = fit.left.sum(axis=0)
            step = np.linalg.lstsq(products[:-1, :-1], products[:-1, -1], rcond=1e-6)[0]
            change = change + np.clip(step, -_LONGEST, _LONGEST)
        return change, samples.share(torque(change))
