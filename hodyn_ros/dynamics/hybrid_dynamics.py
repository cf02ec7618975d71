"""Hybrid dynamics of any order: of each joint and the base, motion or effort is given."""
from collections.abc import Collection
from typing import overload
import warnings

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, Flags, numbers
from hodyn_ros.common.errors import check_names
from hodyn_ros.dynamics import coupled_dynamics
from hodyn_ros.dynamics.argument_checks import (
    base_state,
    check_result,
    checked,
    checked_motions,
    external,
)
from hodyn_ros.dynamics.kernels import articulated_body
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.robot_check import check_robot
from hodyn_ros.robot.spherical import singular_chart

MAX_ROUND_OFF = 1e-6
"""Largest round-off without a warning: relative for accelerations above 1 rad/s² (m/s²), else
absolute."""


@overload
def hybrid_dynamics(
    robot: Robot, q: ArrayLike, given: ArrayLike, moved_joints: Collection[str], *,
    external_wrenches: ArrayLike | None = ...,
) -> Array: ...


@overload
def hybrid_dynamics(
    robot: Robot, q: ArrayLike, given: ArrayLike, moved_joints: Collection[str], *,
    base_pose: ArrayLike, base_twist: ArrayLike, base_wrench: ArrayLike | None = ...,
    base_motion: ArrayLike | None = ..., external_wrenches: ArrayLike | None = ...,
) -> tuple[Array, Array]: ...


def hybrid_dynamics(
    robot: Robot,
    q: ArrayLike,
    given: ArrayLike,
    moved_joints: Collection[str],
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
    base_wrench: ArrayLike | None = None,
    base_motion: ArrayLike | None = None,
    external_wrenches: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """Return the efforts of the joints whose motion is given, and the motion of the others.

    AGF26, Algorithm 4 (H-GHYB), with eq. (58) corrected: W_j acts on body j from its parent. If
    joints are coupled, the equations of motion are solved instead, in O(n³).

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (2, n) array, or a batch (T, 2, n)
        Joint positions and velocities. With a batch, T is the first axis of all arrays.
    given : (r + 1, n) array
        q̈ and its derivatives for the joints in `moved_joints`, the torque and its derivatives
        for the others.
    moved_joints : collection of str
        Names of the joints whose motion is given.
    base_pose, base_twist : (4, 4) and (1, 6) arrays, optional
        Pose and spatial twist of a floating base, in world axes.
    base_wrench, base_motion : (r + 1, 6) array, optional
        Exactly one of them for a floating base, in world axes about the world origin: the wrench
        on the base and its derivatives, or V̇ and its derivatives.
    external_wrenches : (r + 1, n_bodies, 6) array, optional
        As for `inverse_dynamics`.

    Returns
    -------
    found : (r + 1, n) array
        Torques of the joints with given motion, q̈ of the others, and their derivatives.
    base_found : (r + 1, 6) array
        Only for a floating base: V̇ if its wrench is given, its wrench if V̇ is given, and
        derivatives.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite or so large that results overflow, joint names
        that are unknown or given twice, and a joint with zero articulated inertia.

    Warns
    -----
    UserWarning
        When a joint moves so little inertia that rounding may change its acceleration by more than
        `MAX_ROUND_OFF`.

    """
    check_robot(robot)
    moved_joints = check_names(moved_joints, 'moved_joints')
    unknown = [name for name in moved_joints if name not in robot.joint_names]
    if unknown:
        raise HodynError(
            f'moved_joints: robot {robot.name!r} has no joint {unknown[0]!r}; its joints are '
            f'{", ".join(robot.joint_names)}')
    twice = [name for name in moved_joints if moved_joints.count(name) > 1]
    if twice:
        raise HodynError(f'moved_joints: joint {twice[0]!r} is given twice; name each joint once')
    prescribed = np.array([name in moved_joints for name in robot.joint_names], dtype=np.bool_)
    return solve(
        robot, q, given, 'given', prescribed, base_pose, base_twist, base_wrench, base_motion,
        external_wrenches)


def solve(
    robot: Robot, q: ArrayLike, inputs: ArrayLike, name: str, prescribed: Flags,
    base_pose: ArrayLike | None, base_twist: ArrayLike | None, base_wrench: ArrayLike | None,
    base_motion: ArrayLike | None, external_wrenches: ArrayLike | None,
) -> Array | tuple[Array, Array]:
    """Check the arguments of forward or hybrid dynamics and run the kernel."""
    joints, batch = checked_motions(inputs, name, robot, 1)
    count, orders = joints.shape[:2]
    q_shape = numbers(q, 'q').shape
    if not batch and q_shape[1:] == (2, robot.n):
        raise HodynError(
            f'{name} has shape {np.shape(inputs)}; expected ({q_shape[0]}, r + 1, {robot.n}), '
            f'as q is a batch of {q_shape[0]}')
    state = checked(q, 'q', (*batch, 2, robot.n)).reshape(count, 2, robot.n)
    base = base_state(robot, base_pose, base_twist, batch, 1)
    wrenches = external(robot, external_wrenches, orders, batch)
    outputs = np.empty_like(joints)
    base_outputs = np.empty((count, orders, 6))
    pose = twist = base_inputs = np.zeros((count, 0, 1))
    base_prescribed = False
    if base:
        pose, twist = base
        if (base_wrench is None) == (base_motion is None):
            raise HodynError(
                f'robot {robot.name!r} has a floating base: give either the base_wrench that '
                'acts on it or its base_motion')
        base_prescribed = base_motion is not None
        kind, given = (
            ('base_wrench', base_wrench) if base_motion is None else ('base_motion', base_motion))
        base_inputs = checked(np.asarray(given), kind, (*batch, orders, 6)).reshape(
            count, orders, 6)
    elif base_wrench is not None or base_motion is not None:
        raise HodynError(
            f'robot {robot.name!r} has a fixed base: leave out base_wrench and base_motion')
    if robot.coupling.followers.size:
        error = np.empty((count, robot.n))
        singular = coupled_dynamics.hybrid_dynamics_batch(
            robot, state, pose, twist, prescribed, joints, base_prescribed, base_inputs, wrenches,
            outputs, base_outputs, error)
    else:
        model = robot.kernel_model
        round_off = np.empty((count, 2, len(robot.bodies)))
        singular = articulated_body.hybrid_dynamics_batch(
            model.parent, model.body_table, model.body_in_kernel, robot.gravity, state, pose,
            twist, prescribed, joints, base_prescribed, base_inputs, wrenches, outputs,
            base_outputs, round_off, articulated_body.workspace(len(robot.bodies), orders - 1))
        error = round_off[:, 0, robot.floating:]
    if singular >= 0:
        motion, index = divmod(singular, len(robot.bodies))
        where = f'motion {motion}: ' if batch else ''
        raise HodynError(where + singular_mass(robot, index, state[motion, 0]))
    entries = {'q': state, name: joints}
    if wrenches.size:
        entries['external_wrenches'] = wrenches
    if base:
        entries.update({'base_pose': base[0], 'base_twist': base[1], kind: base_inputs})
        check_result(robot, base_outputs, entries, batch)
    check_result(robot, outputs, entries, batch)
    _warn_of_round_off(robot, state[:, 0], error, prescribed, outputs[:, 0])
    outputs = outputs.reshape(*batch, orders, robot.n)
    if not base:
        return outputs
    return outputs, base_outputs.reshape(*batch, orders, 6)


def singular_mass(robot: Robot, index: int, positions: Array) -> str:
    """Return the error message for body `index`, whose joint moves no mass."""
    body = robot.bodies[index]
    return singular_chart(robot, body.joint, positions) or (
        f'the mass matrix of robot {robot.name!r} is not positive definite: nothing resists joint '
        f'{body.joint!r}; check the masses and inertias from body {body.name!r} on')


def _warn_of_round_off(
    robot: Robot, positions: Array, error: Array, prescribed: Flags, found: Array,
) -> None:
    """Warn of the largest round-off, if above `MAX_ROUND_OFF`; all but `prescribed` are (T, n)."""
    if not found.size:
        return
    acceleration = np.where(prescribed, np.inf, np.abs(found))
    relative = error / np.maximum(1.0, acceleration)
    motion, worst = np.unravel_index(int(relative.argmax()), relative.shape)
    if relative[motion, worst] > MAX_ROUND_OFF:
        body = robot.joint_bodies[int(worst)]
        warnings.warn(
            f'robot {robot.name!r}: the acceleration of joint {body.joint!r} may be wrong by '
            f'{error[motion, worst]:.0e} (rad/s² or m/s²): ' + (
                singular_chart(robot, body.joint, positions[motion])
                or 'it moves so little inertia that rounding counts; check masses and inertias '
                f'from body {body.name!r} on, or give its motion instead of its torque, by '
                'hybrid_dynamics'), stacklevel=4)
