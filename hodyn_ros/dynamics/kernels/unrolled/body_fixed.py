"""Inverse dynamics of orders 0 to 2 in body-fixed representation: KM21, for serial arms.

The numbers are Taylor polynomials in time (`taylor`): their type hides the order, and how many
motions are computed together. So one source serves single calls and
batches on any processor, and reads like the recursive Newton-Euler algorithm (RNEA) of order 0.

Every joint turns about or slides along the z axis of its kernel frame, so this frame may be turned
about z and moved along z freely. This kernel chooses it so that the step from joint to joint is a
translation (x, y, 0) and a rotation about x, which saves a third of the constants and products.
"""
import functools
from typing import Any

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels.decorators import batch_kernel, inlined, kernel
from hodyn_ros.dynamics.kernels.unrolled import joint_polynomials
from hodyn_ros.dynamics.kernels.unrolled.joint_polynomials import NUMBERS_PER_JOINT
from hodyn_ros.dynamics.kernels.unrolled.taylor import (
    LANES,
    number_size,
    polynomial,
    read,
    size,
    write,
    write_known,
)
from hodyn_ros.dynamics.kernels.unrolled.vectors import (
    Number,
    add,
    cross,
    rates,
    read_vector,
    scale,
    subtract,
    times,
    write_known_vector,
)
from hodyn_ros.dynamics.kernels.workspace import block, borrowed
from hodyn_ros.robot import Robot, lie
from hodyn_ros.robot.body_table import (
    COM,
    COM_INERTIA,
    HOME_POSITION,
    HOME_ROTATION,
    MASS,
    ROTATION,
    TRANSLATION,
)
from hodyn_ros.robot.inertia import pack, unpack

# Columns of this kernel's table: x and y of the step from the previous joint, its turn about x,
# the joint's turn about z at q = 0; then the columns of `KernelModel.body_table` in these frames.
_STEP_X, _STEP_Y, _STEP_COS, _STEP_SIN, _ZERO_COS, _ZERO_SIN = range(6)
_ROTATION, _TRANSLATION, _MASS, _COM, _INERTIA, COLUMNS = 6, 7, 8, 9, 12, 18


def workspace(robot: Robot, order: int, motions: int) -> Array:
    """Return the array for the kernels of an order, for a number of motions side by side."""
    gravity, table, _ = _constants(robot)
    frames = np.zeros((3 + 6 * len(robot.bodies), number_size(order + 2, motions)))
    frames[:3, motions:2 * motions] = -gravity[:, np.newaxis]
    return joint_polynomials.packed_workspace(table[:, _ROTATION], table, frames, motions)


def wrench_transforms(robot: Robot) -> Array:
    """Return the matrices (n, 6, 6) that take wrenches from body frames to this kernel's."""
    _, _, frames = _constants(robot)
    return np.array([
        lie.adjoint(lie.inverse(pose) @ frame).T
        for pose, frame in zip(robot.kernel_model.body_in_kernel, frames, strict=True)])


def _constants(robot: Robot) -> tuple[Array, Array, Array]:
    """Return the constants of a robot in this kernel's frames.

    They are gravity (3,) in the axes of the base, the table (n, 18) of the bodies, and the poses
    (n, 4, 4) of this kernel's frames in the frames of `KernelModel`.
    """
    table = np.empty((len(robot.bodies), COLUMNS))
    frames = np.empty((len(robot.bodies), 4, 4))
    # From the tip inward: each frame is moved along its joint's axis until the next origin is in
    # its xy plane, and turned about that axis until the next axis is tilted about x.
    own = np.eye(4)
    for row, out, frame in zip(
            robot.kernel_model.body_table[::-1], table[::-1], frames[::-1], strict=True):
        frame[:] = own
        com = lie.inverse(own) @ np.append(row[COM:COM + 3], 1.0)
        inertia = own[:3, :3].T @ unpack(row[COM_INERTIA:COM_INERTIA + 6]) @ own[:3, :3]
        link = lie.pose(
            row[HOME_ROTATION:HOME_ROTATION + 9].reshape(3, 3),
            row[HOME_POSITION:HOME_POSITION + 3]) @ own
        sine = np.hypot(link[0, 2], link[1, 2])
        direction = np.arctan2(link[0, 2], -link[1, 2])
        own = lie.pose(lie.rotation_z(direction), np.array([0.0, 0.0, link[2, 3]]))
        link = lie.inverse(own) @ link
        tilt = np.arctan2(sine, link[2, 2])
        zero = link[0, 0], np.cos(tilt) * link[1, 0] + np.sin(tilt) * link[2, 0]
        out[:_ROTATION] = link[0, 3], link[1, 3], np.cos(tilt), np.sin(tilt), *zero
        out[_ROTATION:_COM] = row[ROTATION], row[TRANSLATION], row[MASS]
        out[_COM:_INERTIA] = com[:3]
        out[_INERTIA:] = pack(inertia)
    return own[:3, :3].T @ robot.gravity, table, frames


@inlined
def _recursion(memory: Array, n: int, acting: bool, like: Number) -> None:
    """Compute twists outward and wrenches inward; the torque of joint i replaces cos qᵢ.

    Gravity enters as the base's velocity −g t, which is stored before the bodies' wrenches. With
    `acting`, external wrenches are stored at the places of the bodies' wrenches. `like` is a
    number of the polynomials' type.
    """
    unit = size(like)
    table, first, frames = joint_polynomials.offsets(n, COLUMNS, unit)
    omega = (like, like, like)
    linear = read_vector(memory, frames, like)
    for i in range(n):
        row, joint, wrench = table + COLUMNS * i, first + 4 * unit * i, frames + (3 + 6 * i) * unit
        x, y = memory[row + _STEP_X], memory[row + _STEP_Y]
        cosine, sine = memory[row + _STEP_COS], memory[row + _STEP_SIN]
        zero_cosine, zero_sine = memory[row + _ZERO_COS], memory[row + _ZERO_SIN]
        rotation, translation = memory[row + _ROTATION], memory[row + _TRANSLATION]
        mass = memory[row + _MASS]
        com = (memory[row + _COM], memory[row + _COM + 1], memory[row + _COM + 2])
        inertia = (
            (memory[row + _INERTIA], memory[row + _INERTIA + 1], memory[row + _INERTIA + 2]),
            (memory[row + _INERTIA + 3], memory[row + _INERTIA + 4],
             memory[row + _INERTIA + 5]))
        a, b = read(memory, joint, like), read(memory, joint + unit, like)
        c, s = a * zero_cosine - b * zero_sine, b * zero_cosine + a * zero_sine
        write(memory, joint, c)
        write(memory, joint + unit, s)
        velocity = read(memory, joint + 2 * unit, like)

        # The twist in the axes before the joint's motion, then after it.
        (wx, wy, wz), (vx, vy, vz) = omega, linear
        vx, vy, vz = vx - wz * y, vy + wz * x, vz + (wx * y - wy * x)
        wy, wz = wy * cosine + wz * sine, wz * cosine - wy * sine
        vy, vz = vy * cosine + vz * sine, vz * cosine - vy * sine
        if translation != 0.0:
            height = read(memory, joint + 3 * unit, like) * translation
            vx, vy, vz = vx + height * wy, vy - height * wx, vz + velocity * translation
        omega = (c * wx + s * wy, c * wy - s * wx, wz + velocity * rotation)
        linear = (c * vx + s * vy, c * vy - s * vx, vz)

        # Momentum of the centre of mass and spin about it; the wrench about the frame's origin.
        momentum = scale(mass, add(linear, cross(omega, com)))
        spin = times(inertia, omega)
        force = add(rates(momentum), cross(omega, momentum))
        moment = add(add(rates(spin), cross(omega, spin)), cross(com, force))
        if acting:
            moment = subtract(moment, read_vector(memory, wrench, like))
            force = subtract(force, read_vector(memory, wrench + 3 * unit, like))
        write_known_vector(memory, wrench, moment)
        write_known_vector(memory, wrench + 3 * unit, force)

    moment, force = (like, like, like), (like, like, like)
    for i in range(n - 1, -1, -1):
        row, joint, wrench = table + COLUMNS * i, first + 4 * unit * i, frames + (3 + 6 * i) * unit
        x, y = memory[row + _STEP_X], memory[row + _STEP_Y]
        cosine, sine = memory[row + _STEP_COS], memory[row + _STEP_SIN]
        rotation, translation = memory[row + _ROTATION], memory[row + _TRANSLATION]
        c, s = read(memory, joint, like), read(memory, joint + unit, like)
        mx, my, mz = add(moment, read_vector(memory, wrench, like))
        fx, fy, fz = add(force, read_vector(memory, wrench + 3 * unit, like))
        write_known(memory, joint, mz * rotation + fz * translation)

        mx, my = c * mx - s * my, c * my + s * mx
        fx, fy = c * fx - s * fy, c * fy + s * fx
        if translation != 0.0:
            height = read(memory, joint + 3 * unit, like) * translation
            mx, my = mx - height * fy, my + height * fx
        my, mz = my * cosine - mz * sine, mz * cosine + my * sine
        fy, fz = fy * cosine - fz * sine, fz * cosine + fy * sine
        moment = (mx + fz * y, my - fz * x, mz + (fy * x - fx * y))
        force = (fx, fy, fz)


@functools.cache
def single(order: int) -> Any:
    """Return the kernel for one motion, as `spatial.single` does."""
    coefficients = order + 2

    @kernel
    def single(memory: Array, q: Array, out: Array) -> None:
        memory, q, out = borrowed(memory), borrowed(q), borrowed(out)
        joint_polynomials.check_shapes(memory, q, out, coefficients)
        like = polynomial(coefficients, 1)
        unit = size(like)
        _, first, _ = joint_polynomials.offsets(q.shape[1], COLUMNS, unit)
        joint_polynomials.single(memory, 0, first, q, like)
        _recursion(memory, q.shape[1], False, like)
        out = block(out, 0, (1, order + 1, q.shape[1]))
        joint_polynomials.write_derivatives(
            memory, first, NUMBERS_PER_JOINT * unit, out, 0, 1, order)

    return single


@functools.cache
def batch(order: int) -> Any:
    """Return the kernel for a batch, as `spatial.batch` does."""
    coefficients = order + 2

    @batch_kernel
    def batch(
        memory: Array, q: Array, out: Array, transforms: Array, wrenches: Array,
    ) -> None:
        memory, q, out = borrowed(memory), borrowed(q), borrowed(out)
        n, like = q.shape[2], polynomial(coefficients, LANES)
        unit, joint = size(like), NUMBERS_PER_JOINT * size(like)
        _, first, frames = joint_polynomials.offsets(n, COLUMNS, unit)
        for t in range(0, q.shape[0], LANES):
            joint_polynomials.several(memory, 0, first, q, t, like)
            if wrenches.shape[2] > 0:
                joint_polynomials.wrenches_of_motions(
                    memory, frames + 3 * unit, 6 * unit, transforms, wrenches, t, LANES, like)
            _recursion(memory, n, wrenches.shape[2] > 0, like)
            joint_polynomials.write_derivatives(memory, first, joint, out, t, LANES, order)

    return batch
