"""Joint geometry by Denavit-Hartenberg parameters or by screws, as keys of the robot format.

Each result goes into the mapping of a body with ``**``, and `hodyn_ros.load_robot` reads it:

>>> bodies = [{'name': 'link1', 'parent': -1, 'type': 'revolute', 'mass': 1.0,
...            'com': [0, 0, 0], 'inertia': np.eye(3),
...            **modified_dh(a=0.0, alpha=0.0, d=0.333)}]
"""
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot import lie
from hodyn_ros.robot.unit_doubts import ask_of_angles


def dh(a: float, alpha: float, d: float, theta: float = 0.0) -> dict[str, Array]:
    """Return placement, axis and point of a joint by standard DH parameters (M21, equation 5).

    The body's frame, at the far end of the link, is at Rot_z(θ + q) Trans_z(d) Trans_x(a) Rot_x(α)
    in its parent's frame; for a prismatic joint, q is added to d instead. The joint's axis is the
    z axis of the parent's frame.

    Parameters
    ----------
    a, d : float
        m.
    alpha, theta : float
        rad; theta and d are the values at q = 0.

    """
    ask_of_angles([('alpha', [alpha]), ('theta', [theta])], 'angles are', 'dh')
    return _dh(a, alpha, d, theta)


def _dh(a: float, alpha: float, d: float, theta: float) -> dict[str, Array]:
    placement = (
        lie.pose(lie.rotation_z(theta)) @ lie.pose(None, [a, 0.0, d])
        @ lie.pose(lie.rotation_x(alpha)))
    in_body = lie.inverse(placement)
    return {'placement': placement, 'axis': in_body[:3, 2], 'point': in_body[:3, 3]}


def modified_dh(a: float, alpha: float, d: float, theta: float = 0.0) -> dict[str, Array]:
    """Return placement and axis of a joint by modified (Craig's) DH parameters.

    The body's frame is at Rot_x(α) Trans_x(a) Rot_z(θ + q) Trans_z(d) in its parent's frame; for a
    prismatic joint, q is added to d instead. The joint's axis is the z axis of the body's frame;
    a and α belong to the link before the joint.

    Parameters
    ----------
    a, d : float
        m.
    alpha, theta : float
        rad; theta and d are the values at q = 0.

    """
    ask_of_angles([('alpha', [alpha]), ('theta', [theta])], 'angles are', 'modified_dh')
    return _modified_dh(a, alpha, d, theta)


def _modified_dh(a: float, alpha: float, d: float, theta: float) -> dict[str, Array]:
    placement = (
        lie.pose(lie.rotation_x(alpha)) @ lie.pose(None, [a, 0.0, 0.0])
        @ lie.pose(lie.rotation_z(theta)))
    placement[:3, 3] += d * placement[:3, 2]
    return {'placement': placement, 'axis': np.array([0.0, 0.0, 1.0])}


CONVENTIONS = {'dh': _dh, 'modified_dh': _modified_dh}
"""Functions that make keys of a body from a, α, d and θ, by the key of the convention. They do not
ask about units."""


def product_of_exponentials(
    screws: ArrayLike, poses: ArrayLike, parents: Sequence[int] | None = None,
) -> list[dict[str, Any]]:
    """Return parent, type, placement, axis, point and pitch of each body from joint screws.

    The bodies of a chain are at C_i = exp(Y_1 q_1) … exp(Y_i q_i) A_i (M21 eq. 4); in a tree, the
    product has only the joints between the root and body i.

    Parameters
    ----------
    screws : (n, 6) array
        Y: joint screws at q = 0 in world axes about the world origin, (e, y × e + h e) with the
        unit axis e through the point y (m) and the pitch h (m/rad); prismatic: (0, e).
    poses : (n, 4, 4) array
        A: poses of the bodies at q = 0 in the world.
    parents : sequence of n int, optional
        Index of each parent, −1 for the world; default is a chain.

    Raises
    ------
    HodynError
        When the axis of a screw is not a unit vector, or shapes do not match.

    """
    try:
        screws, poses = np.array(screws, dtype=float, ndmin=1), np.array(poses, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise HodynError('screws and poses must be arrays of numbers') from None
    n = len(screws)
    if screws.shape != (n, 6) or poses.shape != (n, 4, 4):
        raise HodynError(
            f'screws must be (n, 6) and poses (n, 4, 4); got {screws.shape} and {poses.shape}')
    if parents is None:
        parents = range(-1, n - 1)
    if len(parents) != n:
        raise HodynError(f'{len(parents)} parents for {n} screws')
    joints = []
    for i, (screw, pose, parent) in enumerate(zip(screws, poses, parents, strict=True)):
        before = np.eye(4) if parent < 0 else poses[parent]
        joint = _joint(lie.adjoint(lie.inverse(pose)) @ screw, i)
        joints.append({'parent': parent, 'placement': lie.inverse(before) @ pose, **joint})
    return joints


def _joint(screw: Array, index: int) -> dict[str, Any]:
    """Return type, axis, point and pitch of a screw in body axes."""
    angular, linear = screw[:3], screw[3:]
    axis = angular if np.any(np.abs(angular) > 1e-12) else linear
    if abs(np.linalg.norm(axis) - 1.0) > 1e-6:
        raise HodynError(
            f'screw {index}: its axis has length {np.linalg.norm(axis):.6g} instead of 1')
    if axis is linear:
        return {'type': 'prismatic', 'axis': axis}
    pitch = float(angular @ linear)
    if abs(pitch) < 1e-12 * max(1.0, float(np.linalg.norm(linear))):
        pitch = 0.0  # rounding of y × e
    return {
        'type': 'helical' if pitch else 'revolute', 'axis': angular,
        'point': np.cross(angular, linear), 'pitch': pitch,
    }
