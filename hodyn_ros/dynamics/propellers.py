"""Rotors of a flying base: the map from their squared speeds to the wrench on the base."""
import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, numbers
from hodyn_ros.dynamics.argument_checks import checked, checked_pose
from hodyn_ros.robot import lie


def tilted_hexagon(radius: float, alpha: ArrayLike, beta: ArrayLike) -> Array:
    """Return the poses of six rotors in the base's frame, (6, 4, 4).

    AGF26 eq. (28): C_i = Rz((2 − i) π/3) Tx(radius) Rx(α_i) Ry(β_i), i = 1 … 6.

    Parameters
    ----------
    radius : float
        Radius of the circle of rotors, m.
    alpha, beta : (6,) arrays
        Tilt about the rotor's arm and across it, rad; the TiltHex has alternating signs.

    """
    tilts = np.array([checked(alpha, 'alpha', (6,)), checked(beta, 'beta', (6,))])
    poses = np.empty((6, 4, 4))
    for i, (about_x, about_y) in enumerate(tilts.T):
        arm = lie.pose(lie.rotation_exp([0.0, 0.0, (1 - i) * np.pi / 3.0]))
        tilt = lie.rotation_exp([about_x, 0.0, 0.0]) @ lie.rotation_exp([0.0, about_y, 0.0])
        rotor = lie.pose(tilt, [radius, 0.0, 0.0])
        poses[i] = arm @ rotor
    return poses


def propeller_map(poses: ArrayLike, thrust: ArrayLike, drag: ArrayLike) -> Array:
    """Return the matrix (6, k) that maps squared rotor speeds to the wrench on the base.

    AGF26 eq. (28): rotor i exerts Ad⁻ᵀ_{C_i} (0, 0, c_d, 0, 0, c_f)ᵀ ω². The wrench is (moment,
    force) in the base's axes about its origin. `world_wrench` converts it and its derivatives to
    the world axes of `forward_dynamics`; `body_wrench` converts the base wrench of
    `inverse_dynamics` back.

    Parameters
    ----------
    poses : (k, 4, 4) array
        Poses of the rotors in the base's frame; each thrusts along its z axis.
    thrust, drag : (k,) arrays
        c_f in N s²/rad² and c_d in N m s²/rad²; c_d is positive for a rotor that turns about −z.

    """
    frames = numbers(poses, 'poses')
    count = len(frames)
    frames = checked_pose(frames, 'poses', (count,))
    force, moment = checked(thrust, 'thrust', (count,)), checked(drag, 'drag', (count,))
    return np.column_stack([
        lie.adjoint(lie.inverse(frame)).T @ [0.0, 0.0, d, 0.0, 0.0, f]
        for frame, f, d in zip(frames, force, moment, strict=True)])
