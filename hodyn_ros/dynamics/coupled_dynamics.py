"""Forward and hybrid dynamics of robots with coupled joints, by solving the equations of motion.

The articulated-body algorithm passes inertias from body to body, so it does not apply if one joint
moves several bodies anywhere in the tree. Instead, the equations M ν̇ + … = Q for the velocities ν
of base and joints are solved order by order: inverse dynamics returns Q₀ for ν⁽ᵏ⁺¹⁾ = 0, and then
M ν⁽ᵏ⁺¹⁾ = Q⁽ᵏ⁾ − Q₀. This takes r + 2 calls of inverse dynamics and O(n³) operations.
"""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.dynamics.equations_of_motion import equations_of_motion
from hodyn_ros.dynamics.inverse_dynamics import inverse_dynamics
from hodyn_ros.robot import Robot, lie
from hodyn_ros.robot.mass_matrix import SINGULAR_MASS


def hybrid_dynamics_batch(
    robot: Robot, state: Array, base_pose: Array, base_twist: Array,
    prescribed: Flags, inputs: Array, base_prescribed: bool, base_inputs: Array,
    wrenches: Array, outputs: Array, base_outputs: Array, round_off: Array,
) -> int:
    """Write the unknown accelerations and torques, as the kernel of the same name does.

    Arguments and return value are those of `articulated_body.hybrid_dynamics_batch`, except that
    `robot` replaces the model arrays and memory, `state`, (T, 2, n), is `q`, and `round_off`,
    (T, n), gets only each joint's bound, here from the least eigenvalue of the scaled M. For a
    fixed base, the arrays of the base are not read.
    """
    floating, base = robot.floating, 6 * robot.floating
    acting = wrenches if wrenches.shape[1] else None

    def efforts(acceleration: Array) -> Array:
        motion = np.concatenate([state, acceleration[..., base:]], axis=1)
        if not floating:
            return inverse_dynamics(robot, motion, external_wrenches=acting)
        twist = np.concatenate([base_twist, acceleration[..., :base]], axis=1)
        torque, wrench = inverse_dynamics(
            robot, motion, base_pose=base_pose, base_twist=twist, external_wrenches=acting)
        return np.concatenate([wrench, torque], axis=2)

    if floating:  # about the base's origin, as in the kernel
        shift = np.tile(np.eye(4), (len(state), 1, 1))
        shift[:, :3, 3] = base_pose[:, :3, 3]
        to_base, back = lie.adjoint(shift), lie.adjoint(lie.inverse(shift))
        base_pose = lie.inverse(shift) @ base_pose
        base_twist = base_twist @ back.swapaxes(1, 2)
        base_inputs = base_inputs @ (back.swapaxes(1, 2) if base_prescribed else to_base)
    given = np.concatenate([np.full(base, base_prescribed), prescribed])
    if floating:
        inputs = np.concatenate([base_inputs, inputs], axis=2)
    free = np.flatnonzero(~given)
    error = np.zeros((len(state), base + robot.n))
    acceleration = np.where(given, inputs, 0.0)
    if free.size:
        mass = equations_of_motion(
            robot, state, **{'base_pose': base_pose, 'base_twist': base_twist} if floating else {},
        ).mass[:, 0][:, free[:, np.newaxis], free]
        scale = np.sqrt(np.maximum(np.diagonal(mass, axis1=1, axis2=2), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(mass / (scale[:, :, np.newaxis] * scale[:, np.newaxis]))
        singular = np.flatnonzero(values[:, 0] <= SINGULAR_MASS)
        if singular.size:
            motion = int(singular[0])
            joint = int(free[np.abs(vectors[motion, :, 0]).argmax()]) - base
            body = 0 if joint < 0 else int(robot.coupling.carried[joint]) + floating
            return motion * len(robot.bodies) + body
        for k in range(inputs.shape[1]):
            missing = (inputs - efforts(acceleration))[:, k, free] / scale
            scaled = np.einsum(
                'tij,tj->ti', vectors, np.einsum('tji,tj->ti', vectors, missing) / values)
            acceleration[:, k, free] = scaled / scale
            if k == 0:
                error[:, free] = np.finfo(float).eps / values[:, :1] / scale * np.abs(
                    scaled).max(axis=1, keepdims=True)
    found = np.where(given, efforts(acceleration), acceleration)
    outputs[:], round_off[:] = found[..., base:], error[:, base:]
    if floating:
        base_outputs[:] = found[..., :base] @ (
            back if base_prescribed else to_base.swapaxes(1, 2))
    return -1
