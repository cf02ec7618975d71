"""Dynamics of a link in its own coordinates, and wrenches on it (MR9 section 9.6).

MR9 is a draft's chapter 9; in the published book dynamics is chapter 8.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.common.arrays import numbers
from hodyn_ros.dynamics.argument_checks import checked, checked_joints
from hodyn_ros.dynamics.equations_of_motion import equations_of_motion
from hodyn_ros.dynamics.forward_kinematics import SINGULAR_JACOBIAN, jacobian
from hodyn_ros.dynamics.twist_representation import Representation
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.robot_check import check_robot

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TaskSpaceDynamics:
    """F = Λ V̇ + η: what wrench gives a link an acceleration, and what joint torques make it.

    Attributes
    ----------
    inertia : (6, 6) array
        Λ = (J M⁻¹ Jᵀ)⁻¹; for six joints J⁻ᵀ M J⁻¹ (MR9 eq. 9.98).
    bias : (6,) array
        η = Λ (J M⁻¹ b − J̇ q̇) with b = C q̇ + g; for six joints J⁻ᵀ b − Λ J̇ J⁻¹ V (eq. 9.99).
    jacobian : (6, n) array
        J, in whose representation all of them are.

    """

    inertia: Array
    bias: Array
    jacobian: Array

    def torques(self, acceleration: ArrayLike, tip_wrench: ArrayLike | None = None) -> Array:
        """Return the joint torques (n,) that give the link an acceleration.

        τ = Jᵀ (Λ V̇ + η + F_tip). For a redundant arm these have no null-space component: the
        remaining motion is left free.

        Parameters
        ----------
        acceleration : (6,) array
            V̇.
        tip_wrench : (6,) array, optional
            F_tip: (moment, force) of the robot on the environment, along with the motion.

        """
        wrench = self.inertia @ checked(acceleration, 'acceleration', (6,)) + self.bias
        if tip_wrench is not None:
            wrench = wrench + checked(tip_wrench, 'tip_wrench', (6,))
        torques: Array = self.jacobian.T @ wrench
        return torques


def task_space_dynamics(
    robot: Robot, q: ArrayLike, link: str, *, representation: Representation = 'spatial',
) -> TaskSpaceDynamics:
    """Return the dynamics of a link of a fixed-base robot (MR9, equations 9.97–9.99).

    Parameters
    ----------
    robot : Robot
        On a fixed base.
    q : (2, n) array
        Joint positions and velocities.
    link : str
        Name of a body, of a link merged into one, or of the tool.
    representation : 'spatial', 'body_fixed' or 'hybrid'
        Representation of V̇ and the wrenches, as for `forward_kinematics`.

    Raises
    ------
    HodynError
        When the Jacobian or the mass matrix is singular, for fewer than six joints, and for bad
        input.

    """
    check_robot(robot)
    if robot.floating:
        raise HodynError(f'robot {robot.name!r} has a floating base; task space needs a fixed one')
    motion = checked_joints(q, 'q', robot, 2)
    if len(motion) != 2:
        raise HodynError(f'q has shape {motion.shape}; expected (2, {robot.n})')
    here, rate = jacobian(robot, motion, link, representation=representation)
    values = np.linalg.svd(here, compute_uv=False)
    if robot.n < 6 or values[-1] <= SINGULAR_JACOBIAN * values[0]:
        raise HodynError(
            f'link {link!r} of robot {robot.name!r} cannot move in every direction: the least '
            f'singular value of its Jacobian is {values[-1] if robot.n >= 6 else 0.0:.1e}')
    terms = equations_of_motion(robot, motion)
    bias = terms.coriolis[0] @ motion[1] + terms.gravity[0]
    # With M = L Lᵀ: J M⁻¹ Jᵀ = X Xᵀ of X = J L⁻ᵀ.
    try:
        factor = np.linalg.cholesky(terms.mass[0])
    except np.linalg.LinAlgError:
        raise HodynError(
            f'the mass matrix of robot {robot.name!r} is not positive definite') from None
    scaled = np.linalg.solve(factor, here.T).T
    inertia = np.linalg.inv(scaled @ scaled.T)
    inertia = 0.5 * (inertia + inertia.T)
    rest = scaled @ np.linalg.solve(factor, bias) - rate @ motion[1]
    return TaskSpaceDynamics(inertia, inertia @ rest, here)


def link_wrench(robot: Robot, link: str, wrench: ArrayLike) -> Array:
    """Return a wrench on one link as the external wrenches on the bodies.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    link : str
        Name of a body, of a link merged into one, or of the tool.
    wrench : (r + 1, 6) or (T, r + 1, 6) array
        (moment, force) of the environment on the link, N m and N, in the link's axes about its
        origin, and the derivatives of these components.

    Returns
    -------
    (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array
        For `external_wrenches`.

    """
    check_robot(robot)
    values = numbers(wrench, 'wrench')
    if values.ndim not in (2, 3) or values.shape[-1] != 6 or values.shape[-2] == 0:
        raise HodynError(f'wrench has shape {values.shape}; expected (r + 1, 6) or (T, r + 1, 6)')
    values = checked(values, 'wrench', values.shape)
    index = robot.body_index(link)
    result = np.zeros((*values.shape[:-1], len(robot.bodies), 6))
    # The link does not move in its body, so its wrench changes frames as its derivatives do.
    result[..., index, :] = values @ lie.adjoint(lie.inverse(robot.frame(link)[1]))
    return result
