"""Task-space dynamics: the motion of one link, and wrenches on it (MR9 section 9.6).

MR9 is chapter 9 of the draft of Modern Robotics; in the published book it is chapter 8.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, numbers
from hodyn_ros.dynamics.argument_checks import base_state, checked, checked_motions
from hodyn_ros.dynamics.equations_of_motion import equations_of_motion
from hodyn_ros.dynamics.forward_kinematics import SINGULAR_JACOBIAN, jacobian
from hodyn_ros.dynamics.taylor_coefficients import (
    coefficients,
    derivatives,
    product,
    solution,
    transposed,
)
from hodyn_ros.dynamics.twist_representation import Representation
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.robot_check import check_robot

_ROWS = ('angular x', 'angular y', 'angular z', 'linear x', 'linear y', 'linear z')


@dataclass(frozen=True, eq=False)
class TaskSpaceDynamics:
    """F = Λ V̇ + η: the wrench F that gives a link the acceleration V̇, and the torques for it.

    V, F and J have the m rows of the task. With derivatives, all arrays have one more axis at the
    front, whose entry k is the k-th time derivative. On a floating base n is 6 larger: the base's
    twist comes before the joints' rates, and its wrench before the joints' torques.

    Attributes
    ----------
    inertia : (m, m) array
        Λ = (J M⁻¹ Jᵀ)⁻¹; for n = m it is J⁻ᵀ M J⁻¹ (MR9 eq. 9.98).
    bias : (m,) array
        η = J̄ᵀ b − Λ J̇ q̇ with b = C q̇ + g; for n = m it is J⁻ᵀ b − Λ J̇ J⁻¹ V (eq. 9.99).
    jacobian : (m, n) array
        J, in the same representation as the other arrays.
    jacobian_inverse : (n, m) array
        J̄ = M⁻¹ Jᵀ Λ, the dynamically consistent inverse of J (O. Khatib, IEEE Journal on Robotics
        and Automation, 1987): J̄ V is the joint velocity of least kinetic energy that gives V.

    """

    inertia: Array
    bias: Array
    jacobian: Array
    jacobian_inverse: Array

    def torques(
        self, acceleration: ArrayLike, tip_wrench: ArrayLike | None = None, *,
        null_space_torque: ArrayLike | None = None,
    ) -> Array:
        """Return the joint torques (n,) that give the link an acceleration.

        τ = Jᵀ (Λ V̇ + η + F_tip) + (1 − Jᵀ J̄ᵀ) τ₀. If J has derivatives, all arguments and the
        result have them too, on a first axis.

        Parameters
        ----------
        acceleration : (m,) array
            V̇.
        tip_wrench : (m,) array, optional
            F_tip: wrench (moment, force) of the robot on the environment during the motion.
        null_space_torque : (n,) array, optional
            τ₀: moves the joints of a redundant arm without accelerating the link. By default 0,
            which leaves this motion uncontrolled.

        """
        task, joints = self.bias.shape, (*self.bias.shape[:-1], self.jacobian.shape[-1])
        wrench = self._series(self.bias) + product(
            np.matmul, self._series(self.inertia),
            self._series(checked(acceleration, 'acceleration', task)))
        if tip_wrench is not None:
            wrench += self._series(checked(tip_wrench, 'tip_wrench', task))
        free = np.zeros(1)
        if null_space_torque is not None:
            free = self._series(checked(null_space_torque, 'null_space_torque', joints))
            wrench -= product(transposed, self._series(self.jacobian_inverse), free)
        torques = product(transposed, self._series(self.jacobian), wrench) + free
        return derivatives(torques).reshape(joints)

    def _series(self, derivatives: Array) -> Array:
        """Return the Taylor coefficients of an attribute or argument."""
        rows = derivatives if self.bias.ndim > 1 else derivatives[np.newaxis]
        return coefficients(rows, len(rows))


def task_space_dynamics(
    robot: Robot, q: ArrayLike, link: str, *, representation: Representation = 'spatial',
    rows: Sequence[int] = range(6), base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> TaskSpaceDynamics:
    """Return the dynamics of a link (MR9, equations 9.97–9.99).

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (2, n) array, or (r + 2, n) for the derivatives to order r
        Joint positions, velocities, and further derivatives.
    link : str
        Name of a body, of a link that is merged into a body, or of the tool.
    representation : 'spatial', 'body_fixed' or 'hybrid'
        Representation of V̇ and the wrenches, as for `forward_kinematics`.
    rows : sequence of m ints
        Rows of V = (ω, v) that are the task: for example (3, 4) in 'hybrid' representation for x
        and y of the link's origin.
    base_pose, base_twist : (4, 4) and (r + 1, 6) arrays, optional
        Pose and twist of a floating base, as for `equations_of_motion`.

    Raises
    ------
    HodynError
        If the Jacobian or the mass matrix is singular, for fewer joints than rows, and for bad
        input.

    """
    (motion,), _ = checked_motions(q, 'q', robot, 2, one=True)
    task, orders = list(rows), len(motion) - 1
    if not task or not all(
            isinstance(row, (int, np.integer)) and 0 <= row < 6 and task.count(row) == 1
            for row in task):
        raise HodynError(f'rows {task}: expected different rows from 0 to 5')
    moving: dict[str, Any] = {
        name: values[0] for name, values in zip(
            ('base_pose', 'base_twist'),
            base_state(robot, base_pose, base_twist, (), orders), strict=False)}
    rates = np.concatenate([*list(moving.values())[1:], motion[1:]], axis=1)
    terms = equations_of_motion(robot, motion, **moving)
    columns = jacobian(
        robot, motion, link, representation=representation, base_columns=robot.floating,
        **moving)[:, task]
    _check_regular(robot, link, columns[0], task)
    try:
        np.linalg.cholesky(terms.mass[0])
    except np.linalg.LinAlgError:
        raise HodynError(
            f'the mass matrix of robot {robot.name!r} is not positive definite') from None
    mass, coriolis, gravity, here, rate, velocity = (
        coefficients(values, orders) for values in (*terms, columns, columns[1:], rates))
    # M⁻¹ Jᵀ, then Λ from (J M⁻¹ Jᵀ) Λ = 1.
    inverse = solution(mass, here.swapaxes(1, 2))
    inertia = solution(
        product(np.matmul, here, inverse), coefficients(np.eye(len(task))[np.newaxis], orders))
    inertia = 0.5 * (inertia + inertia.swapaxes(1, 2))
    inverse = product(np.matmul, inverse, inertia)
    bias = product(
        transposed, inverse, product(np.matmul, coriolis, velocity) + gravity) - product(
            np.matmul, inertia, product(np.matmul, rate, velocity))
    found = derivatives(inertia), derivatives(bias), columns[:orders], derivatives(inverse)
    return TaskSpaceDynamics(*(found if orders > 1 else (values[0] for values in found)))


def _check_regular(robot: Robot, link: str, columns: Array, rows: list[int]) -> None:
    """Raise HodynError if a link cannot move in every direction of its task."""
    directions, values, _ = np.linalg.svd(columns)
    least = values[-1] if len(values) == len(rows) else 0.0
    if least <= SINGULAR_JACOBIAN * values[0]:
        worst = rows[int(np.abs(directions[:, -1]).argmax())]
        raise HodynError(
            f'link {link!r} of robot {robot.name!r} cannot move in every direction of rows '
            f'{rows}: the least singular value of its Jacobian is {least:.1e}; leave out a row, '
            f'such as {worst} ({_ROWS[worst]}), or move away from this pose')


def link_wrench(robot: Robot, link: str, wrench: ArrayLike) -> Array:
    """Return the external wrenches on the bodies for a wrench on one link.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    link : str
        Name of a body, of a link that is merged into a body, or of the tool.
    wrench : (r + 1, 6) or (T, r + 1, 6) array
        (moment, force) of the environment on the link, N m and N, in the link's axes about its
        origin, and the derivatives of these components.

    Returns
    -------
    (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array
        The argument `external_wrenches` of other functions.

    """
    check_robot(robot)
    values = numbers(wrench, 'wrench')
    if values.ndim not in (2, 3) or values.shape[-1] != 6 or values.shape[-2] == 0:
        raise HodynError(f'wrench has shape {values.shape}; expected (r + 1, 6) or (T, r + 1, 6)')
    values = checked(values, 'wrench', values.shape)
    index = robot.body_index(link)
    result = np.zeros((*values.shape[:-1], len(robot.bodies), 6))
    # The link is fixed to its body, so one constant matrix transforms the wrench and derivatives.
    result[..., index, :] = values @ lie.adjoint(lie.inverse(robot.frame(link)[1]))
    return result
