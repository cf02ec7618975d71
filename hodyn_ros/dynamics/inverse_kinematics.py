"""Joint motion from the motion of a link, to any order (M21, Algorithm 2)."""
from collections.abc import Mapping
import math

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, numbers
from hodyn_ros.dynamics import forward_kinematics as kinematics
from hodyn_ros.dynamics.argument_checks import checked
from hodyn_ros.dynamics.forward_kinematics import SINGULAR_JACOBIAN
from hodyn_ros.dynamics.kernels.kinematics import (
    body_poses,
    body_twists,
    change_representation,
    link_pose,
)
from hodyn_ros.dynamics.taylor_coefficients import factorials
from hodyn_ros.dynamics.twist_representation import Representation, representation_number
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.robot_check import check_robot


def inverse_kinematics(
    robot: Robot,
    q: ArrayLike,
    twist: ArrayLike,
    link: str,
    *,
    prescribed: Mapping[str, ArrayLike] | None = None,
    damping: float = 0.0,
    representation: Representation = 'spatial',
) -> Array:
    """Return the joint motion that gives a link this twist and its derivatives.

    M21, Algorithm 2, corrected and to any order. If six free joints carry the link, their rates
    are J⁻¹ V, where V is the twist minus the part of prescribed joints. For more joints, or with
    damping, q̇ = Jᵀ (J Jᵀ + λ² I)⁻¹ V, of least norm if λ = 0. q̈, … are the time derivatives of
    this formula, so q̇ and q̈ agree along a path. Joints that do not carry the link stay at rest.

    Parameters
    ----------
    robot : Robot
        Fixed base.
    q : (n,) array, or a batch (T, n)
        Joint positions, for instance from `solve_pose`; along a path use `follow_path`.
    twist : (k, 6) or (T, k, 6) array
        V, V̇, … of the link, (angular, linear); k = 4 for a fourth-order motion.
    link : str
        Name of a body, of a link that is merged into a body, or of the tool.
    prescribed : mapping of str to (k,) or (T, k) arrays, optional
        q̇, q̈, … of joints whose motion is chosen, by joint name (the joint-space decomposition of
        Remark 2); at least six joints must remain free.
    damping : float
        λ. Above 0, singular poses are accepted, but the link's twist is not exactly V: q̇ minimises
        |J q̇ − V|² + λ² |q̇|². The error depends on the representation; prefer 'hybrid'.
    representation : 'spatial', 'body_fixed' or 'hybrid'
        Representation of the twist, as for `forward_kinematics`.

    Returns
    -------
    (k + 1, n) or (T, k + 1, n) array
        q, q̇, … q⁽ᵏ⁾.

    Raises
    ------
    HodynError
        If the Jacobian is singular, with the joints and the direction in which they cannot move
        the link; if fewer than six joints are free; and for wrong shapes.

    """
    check_robot(robot)
    number = representation_number(representation)
    if robot.floating:
        raise HodynError(
            f'robot {robot.name!r} has a floating base; inverse kinematics needs a fixed one')
    positions = numbers(q, 'q')
    batch = positions.shape[:-1] if positions.ndim == 2 else ()
    starts = checked(positions, 'q', (*batch, robot.n)).reshape(-1, robot.n)
    given = numbers(twist, 'twist')
    orders = max(1, given.shape[-2]) if given.ndim == 2 + len(batch) else 1
    if batch and given.shape != (*batch, orders, 6):
        raise HodynError(
            f'twist has shape {given.shape}; expected ({batch[0]}, k, 6), as q is a '
            f'batch of {batch[0]} positions; one position is ({robot.n},)')
    targets = checked(given, 'twist', (*batch, orders, 6)).reshape(-1, orders, 6)
    index, in_kernel = kinematics.link_frame(robot, link)
    carriers = kinematics.path_to(robot, index)
    rates = np.zeros((*batch, orders, robot.n))
    free = _free_joints(robot, link, carriers, prescribed or {}, rates)
    rates = rates.reshape(-1, orders, robot.n)
    if not 0.0 <= float(checked(damping, 'damping', ())) < math.inf:
        raise HodynError(f'damping must be a finite number of at least 0, got {damping!r}')
    result = np.empty((len(starts), orders + 1, robot.n))
    for t, start in enumerate(starts):
        try:
            result[t] = _joint_motion(
                robot, start, targets[t], rates[t], index, in_kernel, carriers, free, damping,
                number)
        except HodynError as error:
            raise HodynError(f'sample {t}: {error}' if batch else str(error)) from None
    return result.reshape(*batch, orders + 1, robot.n)


def _joint_motion(
    robot: Robot, start: Array, target: Array, prescribed: Array, index: int, in_kernel: Array,
    carriers: list[int], free: list[int], damping: float, number: int,
) -> Array:
    """Return q, q̇, … of one sample; `prescribed`, (k, n), has q̇, q̈, … of prescribed joints."""
    orders = len(target)
    scale = factorials(orders + 1)[:, None]
    rate = (prescribed / scale[:-1]).T.copy()
    by_joint = robot.coupling.matrix()
    model, n_bodies = robot.kernel_model, len(robot.bodies)
    pose, (screw, body_twist) = np.empty((n_bodies, 12)), np.empty((2, n_bodies, orders, 6))
    here, no_base = np.empty((4, 4)), np.zeros((0, 1))
    of_bodies = robot.coupling.to_bodies(start[np.newaxis])[0]
    body_poses(model.parent, model.body_table, of_bodies, no_base, pose, screw)
    link_pose(pose[index], in_kernel, here)
    law = None
    for k in range(orders):
        # Screws of order k follow from the rates of lower orders. The free rates of order k are
        # still zero, so the link's twist contains only the known part.
        body_twists(model.parent, k, k + 1, by_joint @ rate, no_base, screw, body_twist)
        converted = np.concatenate([screw[carriers, :k + 1], body_twist[index, None, :k + 1]])
        change_representation(number, here, body_twist[index], converted)
        columns = converted[:-1, k].T @ by_joint[np.ix_(carriers, free)]
        known = converted[-1, k]
        law = law or _RateLaw(columns, damping, robot, free)
        rate[free, k] = law.rates(columns, target[k] / scale[k] - known)
        body_twists(model.parent, k, k + 1, by_joint @ rate, no_base, screw, body_twist)
    return np.concatenate([start[None], rate.T * scale[:-1]])


class _RateLaw:
    """Solves J q̇ = V order by order, in Taylor coefficients."""

    def __init__(self, jacobian: Array, damping: float, robot: Robot, free: list[int]) -> None:
        self._square = jacobian.shape[1] == 6 and damping == 0.0
        if damping == 0.0:
            left, values, _ = np.linalg.svd(jacobian)
            if values[-1] <= SINGULAR_JACOBIAN * values[0]:
                names = ', '.join(robot.joint_names[i] for i in free)
                direction = np.array2string(left[:, -1], precision=3, suppress_small=True)
                raise HodynError(
                    f'robot {robot.name!r} is singular: joints {names} cannot give the twist '
                    f'{direction} (angular, linear); its singular value is {values[-1]:.1e}. '
                    'A damping above 0 accepts this')
        self._jacobian: list[Array] = []
        self._dual: list[Array] = []  # coefficients of y, see `rates`
        if self._square:
            self._inverse = np.linalg.inv(jacobian)
        else:
            # J Jᵀ + λ² I = Rᵀ R, with R from (Jᵀ; λ I) = Q R: its condition is not squared.
            stacked = np.concatenate([jacobian.T, damping * np.eye(6)])
            self._factor: Array = np.asarray(np.linalg.qr(stacked, mode='r'))

    def rates(self, jacobian: Array, missing: Array) -> Array:
        """Return the next coefficient of the free joints' q̇.

        At this order, `jacobian`, (6, m), is the coefficient of J, and `missing`, (6,), that of
        the wanted twist minus the part due to lower coefficients and prescribed joints.
        """
        if self._square:
            solution: Array = self._inverse @ missing
            return solution
        # q̇ = Jᵀ y and J q̇ + λ² y = V as Cauchy products; at order k only y_k is unknown.
        self._jacobian.append(jacobian)
        k = len(self._dual)
        known = np.zeros(jacobian.shape[1])
        for a in range(1, k + 1):
            known += self._jacobian[a].T @ self._dual[k - a]
        right = np.linalg.solve(self._factor.T, missing - self._jacobian[0] @ known)
        self._dual.append(np.asarray(np.linalg.solve(self._factor, right), dtype=np.float64))
        known += self._jacobian[0].T @ self._dual[k]
        return known


def _free_joints(
    robot: Robot, link: str, carriers: list[int], prescribed: Mapping[str, ArrayLike],
    rates: Array,
) -> list[int]:
    """Return the joints to solve for; write the prescribed motions to rates, (…, k, n)."""
    names = robot.joint_names
    for name, values in prescribed.items():
        if name not in names:
            raise HodynError(
                f'prescribed joint {name!r}: robot {robot.name!r} has no such joint; its '
                f'joints are {", ".join(names)}')
        rates[..., names.index(name)] = checked(
            values, f'prescribed[{name!r}]', rates.shape[:-1])
    free = [i for i in robot.coupling.joints_of(carriers) if names[i] not in prescribed]
    if len(free) < 6:
        raise HodynError(
            f'link {link!r} of robot {robot.name!r} is moved by {len(free)} free joints; a twist '
            'needs six')
    return free
