"""Poses along a motion through given ones, continuous to the fourth derivative."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit
from hodyn_ros.reference.fit import fit_plan
from hodyn_ros.reference.pieces import Array
from hodyn_ros.reference.plan import Plan

ORDERS = 5
MAX_TURN = np.pi - 1e-6
ROTATION_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class PosePlan:
    """A motion of a frame C(t), of a tool or a base, immutable and picklable.

    R(t) = R₀ exp(s₁(t) φ̃₁) exp(s₂(t) φ̃₂) …: each turn φ from one given rotation to the next is
    gone through by a spline s of numbers that is 0 at the points before it and 1 from its end on.
    So R is as smooth as the spline, meets each rotation exactly, and does not depend on the choice
    of the world's axes. About a single axis its angle is the spline through the angles. The
    positions are such a spline too, which no rotation bends.

    Attributes
    ----------
    position : Plan
        Of the frame's origin, (3,) m.
    turned : Plan
        s, of as many columns as there are turns.
    start : (3, 3) array
        R₀.
    turns : (m, 3) array
        φ: rotation vectors of the turns, rad, each in the axes before it.

    """

    position: Plan
    turned: Plan
    start: Array
    turns: Array

    @property
    def duration(self) -> float:
        """The last time of the plan, s."""
        return self.position.duration

    def evaluate(self, t: ArrayLike) -> Array:
        """Return the poses C and their derivatives Ċ … C⁗ at t.

        Outside the times of the plan it holds. `hodyn_ros.pose_twist` turns them into twists.

        Parameters
        ----------
        t : float or (T,) array
            Seconds from the plan's zero.

        Returns
        -------
        (5, 4, 4) or (T, 5, 4, 4) array
            Homogeneous matrices, m/sᵏ in the last column; the derivatives' last row is 0.

        """
        instants = numbers(t, 't')
        if instants.ndim > 1:
            raise HodynError(f't has shape {instants.shape}; expected a number or (T,)')
        many = np.atleast_1d(instants)
        result = np.zeros((len(many), ORDERS, 4, 4))
        result[:, :, :3, 3] = self.position.evaluate(many)
        result[:, 0, 3, 3] = 1.0
        _rotations(self.start, self.turns, self.turned.evaluate(many), result)
        return result.reshape(*instants.shape, ORDERS, 4, 4)


def fit_pose_plan(times: ArrayLike, poses: ArrayLike) -> PosePlan:
    """Return the motion through given poses, from rest to rest, continuous to C⁗.

    Positions have the least ∫ (p⁽⁵⁾)² dt, as those of `fit_plan(interpolation='global')`, and so
    have the turns' splines.

    Parameters
    ----------
    times : (m,) array
        Seconds from the plan's zero, increasing, the first >= 0.
    poses : (m, 4, 4) array
        Homogeneous matrices, metres; met exactly. Turns from one to the next take the shorter way.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite, what is no pose, times that do not increase,
        and a turn of half a revolution, which may go either way.

    """
    from scipy.spatial.transform import Rotation  # takes 0.1 s, which plans of joints need not

    matrices = numbers(poses, 'poses')
    instants = numbers(times, 'times')
    if matrices.ndim != 3 or matrices.shape[1:] != (4, 4) or instants.shape != matrices.shape[:1]:
        raise HodynError(
            f'times {instants.shape} and poses {matrices.shape}: must be (m,) and (m, 4, 4)')
    if len(matrices) == 0:
        raise HodynError('the plan has no poses')
    for i, matrix in enumerate(matrices):
        turn = matrix[:3, :3]
        fault = np.abs(turn @ turn.T - np.eye(3)).max()
        if not fault <= ROTATION_TOLERANCE or np.linalg.det(turn) < 0.0 or np.any(
                matrix[3] != (0.0, 0.0, 0.0, 1.0)):
            raise HodynError(f'poses[{i}] is no homogeneous matrix of a rotation and a position')
    rotations = Rotation.from_matrix(matrices[:, :3, :3])
    turns = (rotations[:-1].inv() * rotations[1:]).as_rotvec().reshape(-1, 3)
    angles = np.linalg.norm(turns, axis=1)
    if np.any(angles > MAX_TURN):
        i = int(np.argmax(angles))
        raise HodynError(
            f'poses[{i}] and poses[{i + 1}] are half a turn apart, which may go either way: give '
            'one between them')
    steps = np.tri(len(matrices), len(turns), -1)
    position = fit_plan(instants, matrices[:, :3, 3], interpolation='global')
    turned = fit_plan(
        instants, steps if len(turns) else np.zeros((1, 1)), interpolation='global')
    return PosePlan(
        position, turned, rotations[0].as_matrix(), turns if len(turns) else np.zeros((1, 3)))


@njit()
def _rotations(start: Array, turns: Array, turned: Array, out: Array) -> None:
    """Write R and its derivatives to out[:, k, :3, :3]; turned (T, 5, m) are s and derivatives."""
    sine, cosine = np.empty(ORDERS), np.empty(ORDERS)
    rate = np.empty(ORDERS)
    axis = np.empty(3)
    here, ahead = np.empty((2, ORDERS, 3, 3))
    for t in range(turned.shape[0]):
        for row in range(3):
            for c in range(3):
                here[0, row, c] = start[row, c]
                for k in range(1, ORDERS):
                    here[k, row, c] = 0.0
        for i in range(turns.shape[0]):
            x, y, z = turns[i]
            length = np.sqrt(x * x + y * y + z * z)
            if length == 0.0 or (turned[t, 0, i] == 0.0 and not turned[t, 1:, i].any()):
                continue
            axis[0], axis[1], axis[2] = x / length, y / length, z / length
            # Taylor coefficients of the angle's rate, its sine and cosine.
            factorial = 1.0
            for k in range(1, ORDERS):
                factorial *= max(k - 1, 1)
                rate[k - 1] = length * turned[t, k, i] / factorial
            angle = length * turned[t, 0, i]
            sine[0], cosine[0] = np.sin(angle), np.cos(angle)
            for k in range(1, ORDERS):
                sine[k], cosine[k] = 0.0, 0.0
                for a in range(k):
                    sine[k] += rate[a] * cosine[k - 1 - a] / k
                    cosine[k] -= rate[a] * sine[k - 1 - a] / k
            for k in range(ORDERS):
                for row in range(3):
                    for c in range(3):
                        ahead[k, row, c] = 0.0
                for a in range(k + 1):
                    # R_{k−a} times coefficient a of e eᵀ (1 − cos) + cos + ẽ sin.
                    for row in range(3):
                        p, q, r = here[k - a, row, 0], here[k - a, row, 1], here[k - a, row, 2]
                        along = p * axis[0] + q * axis[1] + r * axis[2]
                        u = q * axis[2] - r * axis[1]
                        v = r * axis[0] - p * axis[2]
                        w = p * axis[1] - q * axis[0]
                        rest = -cosine[a] if a else 1.0 - cosine[0]
                        ahead[k, row, 0] += along * axis[0] * rest + p * cosine[a] + u * sine[a]
                        ahead[k, row, 1] += along * axis[1] * rest + q * cosine[a] + v * sine[a]
                        ahead[k, row, 2] += along * axis[2] * rest + r * cosine[a] + w * sine[a]
            here, ahead = ahead, here
        factorial = 1.0
        for k in range(ORDERS):
            factorial *= max(k, 1)
            for row in range(3):
                for c in range(3):
                    out[t, k, row, c] = factorial * here[k, row, c]
