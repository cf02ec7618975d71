"""Time derivatives of poses from twists, and back (AGF26 Remark 1, eq. 20)."""
import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, numbers
from hodyn_ros.dynamics.argument_checks import checked, checked_pose
from hodyn_ros.dynamics.taylor_coefficients import factorials
from hodyn_ros.dynamics.twist_representation import Representation, representation_number
from hodyn_ros.robot import HodynError, lie

_ROUND_OFF = 1e-6  # relative error of derivatives of poses by differences

TOLERANCE = 1e-6
"""Largest accepted symmetric part of a Taylor coefficient of the angular velocity matrix, as a
share of max(1, largest coefficient of the pose)."""


def pose_derivatives(
    pose: ArrayLike, twist: ArrayLike, *, representation: Representation = 'spatial',
) -> Array:
    """Return the time derivatives of a pose that moves with a twist, C, Ċ, … C⁽ᵏ⁾.

    Spatial twists: Ċ = [V] C and its Leibniz sums (AGF26 eq. 20). Body-fixed twists: Ċ = C [V].
    Hybrid twists: Ṙ = ω̃ R and ṗ = v.

    Parameters
    ----------
    pose : (4, 4) array, or a batch (T, 4, 4)
        C, metres.
    twist : (k, 6) or (T, k, 6) array
        (angular, linear), rad/s and m/s, and its component-wise derivatives.
    representation : 'spatial', 'body_fixed' or 'hybrid'
        Representation of the twist, as for `forward_kinematics`.

    Returns
    -------
    (k + 1, 4, 4) or (T, k + 1, 4, 4) array
        C, Ċ, … C⁽ᵏ⁾, m/sᵏ in the last column; the last row of the derivatives is 0.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite, and matrices that are not rotations.

    """
    representation_number(representation)
    values = numbers(twist, 'twist')
    if values.ndim not in (2, 3) or values.shape[-1] != 6:
        raise HodynError(f'twist has shape {values.shape}; expected (k, 6) or (T, k, 6)')
    values = checked(values, 'twist', values.shape)
    *batch, orders, _ = values.shape
    scale = factorials(orders + 1)
    generators = _generators(values) / scale[:-1, None, None]
    result = np.zeros((*batch, orders + 1, 4, 4))
    result[..., 0, :, :] = checked_pose(pose, 'pose', tuple(batch))
    for k in range(orders):
        result[..., k + 1, :, :] = _rate(representation, k, generators, result, k + 1) / (k + 1)
    return np.asarray(result * scale[:, None, None])


def pose_twist(
    derivatives: ArrayLike, *, representation: Representation = 'spatial',
) -> Array:
    """Return the twist of a pose with its time derivatives: the inverse of `pose_derivatives`.

    To convert a hybrid twist and its derivatives to spatial ones, use
    ``pose_twist(pose_derivatives(pose, twist, representation='hybrid'))``.

    Parameters
    ----------
    derivatives : (k + 1, 4, 4) array, or a batch (T, k + 1, 4, 4)
        C, Ċ, … C⁽ᵏ⁾, m/sᵏ in the last column.
    representation : 'spatial', 'body_fixed' or 'hybrid'
        Representation of the result, as for `forward_kinematics`.

    Returns
    -------
    (k, 6) or (T, k, 6) array
        (angular, linear), and its component-wise derivatives.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite, and derivatives that no pose can have.

    """
    representation_number(representation)
    values = numbers(derivatives, 'derivatives')
    if values.ndim not in (3, 4) or values.shape[-2:] != (4, 4) or values.shape[-3] == 0:
        raise HodynError(
            f'derivatives has shape {values.shape}; expected (k + 1, 4, 4) or (T, k + 1, 4, 4)')
    values = checked(values, 'derivatives', values.shape)
    *batch, count, _, _ = values.shape
    poses = checked_pose(values[..., 0, :, :], 'derivatives[…, 0]', tuple(batch))
    # Differences of poses leave round-off, which grows with the order.
    last = np.abs(values[..., 1:, 3, :]).max(initial=0.0)
    if last > _ROUND_OFF * max(1.0, np.abs(values[..., 1:, :, :]).max(initial=0.0)):
        raise HodynError('derivatives: the last row of Ċ and beyond must be 0, 0, 0, 0')
    scale = factorials(count)[:, None, None]
    coefficients, generators = values / scale, np.zeros((*batch, count - 1, 4, 4))
    back = lie.inverse(poses)
    for k in range(count - 1):
        missing = (k + 1) * coefficients[..., k + 1, :, :] - _rate(
            representation, k, generators, coefficients, k)
        found = back @ missing if representation == 'body_fixed' else missing @ back
        if representation == 'hybrid':  # position and rotation are separate
            found[..., :3, 3] = missing[..., :3, 3]
        generators[..., k, :, :] = found
        turn = found[..., :3, :3]
        fault = np.abs(turn + turn.swapaxes(-1, -2)).max(initial=0.0)
        if fault > TOLERANCE * max(1.0, np.abs(coefficients[..., :k + 2, :, :]).max(initial=0.0)):
            raise HodynError(
                f'derivatives[…, {k + 1}] and the lower ones are not those of a rotation: the '
                f'angular velocity matrix has a symmetric part of {fault:.1e}')
    generators *= scale[:-1]
    turn = generators[..., :3, :3]
    turn = 0.5 * (turn - turn.swapaxes(-1, -2))
    return np.concatenate([
        np.stack([turn[..., 2, 1], turn[..., 0, 2], turn[..., 1, 0]], axis=-1),
        generators[..., :3, 3]], axis=-1)


def _generators(twist: Array) -> Array:
    """Return [V], (…, 4, 4), of each twist."""
    result = np.zeros((*twist.shape[:-1], 4, 4))
    result[..., :3, :3] = lie.skew(twist[..., :3])
    result[..., :3, 3] = twist[..., 3:]
    return result


def _rate(
    representation: Representation, k: int, generators: Array, poses: Array, stop: int,
) -> Array:
    """Return coefficient k of Ċ, computed from the generators below `stop`."""
    result = np.zeros((*poses.shape[:-3], 4, 4))
    for a in range(stop):
        generator, place = generators[..., a, :, :], poses[..., k - a, :, :]
        result += place @ generator if representation == 'body_fixed' else generator @ place
    if representation == 'hybrid':
        result[..., :3, 3] = generators[..., k, :3, 3]
    return result
