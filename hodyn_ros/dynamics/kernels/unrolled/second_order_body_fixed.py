"""Inverse dynamics of order 2 in body-fixed representation: the recursion of KM21, serial arms.

Written with polynomials in time (`jets`), so one text serves single calls and batches on any
processor and reads like the Newton-Euler algorithm of order 0.

Every joint is about and along the z axis of its kernel frame, which may be turned about z and
moved along it freely. Here that freedom is used up to make the step from one joint to the next a
translation (x, y, 0) and a rotation about x, which spares a third of the constants and products.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels.bodies import kernel, step
from hodyn_ros.dynamics.kernels.unrolled import joint_polynomials as joints
from hodyn_ros.dynamics.kernels.unrolled.taylor import (
    COEFFICIENTS,
    LANES,
    jet,
    jets,
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
    times,
    write_known_vector,
)
from hodyn_ros.robot import Robot, lie

Array = NDArray[np.float64]

CONSTANTS = 18


def memory(robot: Robot, motions: int) -> Array:
    """Return the array for `one` motion, or for `many` by 8 motions at a time."""
    gravity, table = _constants(robot)
    frames = np.zeros((3 + 6 * robot.n, COEFFICIENTS, motions))
    frames[:3, 1] = -gravity[:, np.newaxis]
    return joints.packed(table[:, 6], table, frames)


def _constants(robot: Robot) -> tuple[Array, Array]:
    """Return the gravity (3,) in the axes of the mount, and the constants of the bodies.

    (n, 18): step to the joint, x, y, cos and sin of its turn about x; cos and sin of the joint's
    own zero, about z; rotation and shift per unit of q; mass; com; inertia about it, xx yy zz xy
    xz yz.
    """
    table = np.empty((robot.n, CONSTANTS))
    # From the tip on: each joint's frame is moved along its axis until the next one's origin is in
    # its xy plane, and turned until the next one's axis is tilted about its x axis.
    own = np.eye(4)
    for row, out in zip(robot.tree.constants[::-1], table[::-1], strict=True):
        com = lie.inverse(own) @ np.append(row[15:18], 1.0)
        inertia = own[:3, :3].T @ row[18:24][_SYMMETRIC] @ own[:3, :3]
        link = lie.pose(row[:9].reshape(3, 3), row[9:12]) @ own
        sine = np.hypot(link[0, 2], link[1, 2])
        direction = np.arctan2(link[0, 2], -link[1, 2])
        own = lie.pose(_about_z(direction), np.array([0.0, 0.0, link[2, 3]]))
        link = lie.inverse(own) @ link
        tilt = np.arctan2(sine, link[2, 2])
        zero = link[0, 0], np.cos(tilt) * link[1, 0] + np.sin(tilt) * link[2, 0]
        out[:6] = link[0, 3], link[1, 3], np.cos(tilt), np.sin(tilt), *zero
        out[6:9] = row[12:15]
        out[9:12] = com[:3]
        out[12:] = inertia[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
    return own[:3, :3].T @ robot.gravity, table


_SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])


def _about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@step
def _recursion(memory: Array, n: int, motions: int, like: Number) -> None:
    """Twists outward, wrenches inward; the torque of joint i takes the place of cos qᵢ.

    Gravity comes in as the velocity −g t of the mount. The array holds that first among the
    frames, and then the wrenches of the bodies; `like` is of the type to compute with.
    """
    table, first, frames = joints.places(n, CONSTANTS, motions)
    unit = size(like)
    omega = (like, like, like)
    linear = read_vector(memory, frames, like)
    for i in range(n):
        row, joint, wrench = table + 18 * i, first + 4 * unit * i, frames + (3 + 6 * i) * unit
        x, y, cosine, sine = memory[row], memory[row + 1], memory[row + 2], memory[row + 3]
        zero_cosine, zero_sine = memory[row + 4], memory[row + 5]
        rotation, shift, mass = memory[row + 6], memory[row + 7], memory[row + 8]
        com = (memory[row + 9], memory[row + 10], memory[row + 11])
        inertia = (
            (memory[row + 12], memory[row + 13], memory[row + 14]),
            (memory[row + 15], memory[row + 16], memory[row + 17]))
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
        if shift != 0.0:
            height = read(memory, joint + 3 * unit, like) * shift
            vx, vy, vz = vx + height * wy, vy - height * wx, vz + velocity * shift
        omega = (c * wx + s * wy, c * wy - s * wx, wz + velocity * rotation)
        linear = (c * vx + s * vy, c * vy - s * vx, vz)

        # Momentum of the centre of mass and spin about it; the wrench about the frame's origin.
        momentum = scale(mass, add(linear, cross(omega, com)))
        spin = times(inertia, omega)
        force = add(rates(momentum), cross(omega, momentum))
        moment = add(add(rates(spin), cross(omega, spin)), cross(com, force))
        write_known_vector(memory, wrench, moment)
        write_known_vector(memory, wrench + 3 * unit, force)

    moment, force = (like, like, like), (like, like, like)
    for i in range(n - 1, -1, -1):
        row, joint, wrench = table + 18 * i, first + 4 * unit * i, frames + (3 + 6 * i) * unit
        x, y, cosine, sine = memory[row], memory[row + 1], memory[row + 2], memory[row + 3]
        rotation, shift = memory[row + 6], memory[row + 7]
        c, s = read(memory, joint, like), read(memory, joint + unit, like)
        mx, my, mz = add(moment, read_vector(memory, wrench, like))
        fx, fy, fz = add(force, read_vector(memory, wrench + 3 * unit, like))
        write_known(memory, joint, mz * rotation + fz * shift)

        mx, my = c * mx - s * my, c * my + s * mx
        fx, fy = c * fx - s * fy, c * fy + s * fx
        if shift != 0.0:
            height = read(memory, joint + 3 * unit, like) * shift
            mx, my = mx - height * fy, my + height * fx
        my, mz = my * cosine - mz * sine, mz * cosine + my * sine
        fy, fz = fy * cosine - fz * sine, fz * cosine + fy * sine
        moment = (mx + fz * y, my - fz * x, mz + (fy * x - fx * y))
        force = (fx, fy, fz)


@kernel
def one(memory: Array, q: Array, out: Array) -> None:
    """Write Q, Q̇, Q̈ (3, n) of a motion q (5, n); nothing is checked or allocated."""
    n = q.shape[1]
    _, first, _ = joints.places(n, CONSTANTS, 1)
    joints.one(memory, 0, first, q)
    _recursion(memory, n, 1, jet())
    joints.torques_of_one(memory, first, out)


@kernel
def many(memory: Array, q: Array, out: Array) -> None:
    """The same for q (T, 5, n) and out (T, 3, n)."""
    n = q.shape[2]
    _, first, _ = joints.places(n, CONSTANTS, LANES)
    for t in range(0, q.shape[0], LANES):
        joints.eight(memory, 0, first, q, t)
        _recursion(memory, n, LANES, jets())
        joints.torques_of_eight(memory, first, out, t)
