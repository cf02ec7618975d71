"""The mass matrix in a few lines of numpy, for checks of robots as they are loaded.

The kernels are faster, but compiling them takes seconds.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.robot import lie
from hodyn_ros.robot.inertia import LEAST_GYRATION
from hodyn_ros.robot.model import Robot

Array = NDArray[np.float64]

SINGULAR = 1e-13  # least eigenvalue that counts as positive, of a mass matrix with unit diagonal


def body_that_resists_nothing(robot: Robot) -> int | None:
    """Return the body of a joint that, alone or with others, moves no mass, or None.

    The determinant is analytic in q: zero at one configuration without symmetries, it is zero
    everywhere.
    """
    mass, least = mass_matrix(robot, np.cos(np.arange(1.0, robot.n + 1.0) ** 2))
    resistance = np.diag(mass)
    if np.any(resistance <= least):
        column = int(np.argmin(resistance - least))
    else:
        scale = np.sqrt(resistance)
        values, vectors = np.linalg.eigh(mass / np.outer(scale, scale))
        if values[0] > SINGULAR:
            return None
        column = int(np.abs(vectors[:, 0]).argmax())
    return max(column - 5 * robot.floating, 0)


def mass_matrix(robot: Robot, q: Array) -> tuple[Array, Array]:
    """Return M (N, N), and (N,) below which its diagonal is round-off; a floating base is first.

    By composite bodies, in the kernel frames: far from the world's origin nothing is lost. The
    base's six are its twist in its own frame.
    """
    parent, constants = robot.tree.parent, robot.tree.constants
    composite = body_inertias(constants)
    first, count = [], 0
    screws: list[Array] = []
    for body, row in zip(robot.bodies, constants, strict=True):
        floating = body.type == 'floating'
        screws.append(
            np.eye(6) if floating
            else np.array([[0.0, 0.0, row[12], 0.0, 0.0, row[13]]]).T)
        first.append(slice(count, count + screws[-1].shape[1]))
        count = first[-1].stop
    positions = np.zeros(len(parent))
    positions[robot.floating:] = q
    to_body = [
        lie.adjoint(lie.inverse(pose_in_parent(row, position)))
        for row, position in zip(constants, positions, strict=True)]
    mass, least = np.zeros((count, count)), np.empty(count)
    for i in range(len(parent) - 1, -1, -1):
        momentum = composite[i] @ screws[i]
        least[first[i]] = (
            LEAST_GYRATION**2 * composite[i, 5, 5] + SINGULAR * np.trace(composite[i, :3, :3]))
        j = i
        while True:
            mass[first[j], first[i]] = screws[j].T @ momentum
            mass[first[i], first[j]] = mass[first[j], first[i]].T
            if parent[j] < 0:
                break
            momentum = to_body[j].T @ momentum
            j = parent[j]
        if parent[i] >= 0:
            composite[parent[i]] += to_body[i].T @ composite[i] @ to_body[i]
    return mass, least


def body_inertias(constants: Array) -> Array:
    """Return the inertia matrices about the kernel frames' origins, (n, 6, 6) (MK21 eq. 24)."""
    result = np.zeros((len(constants), 6, 6))
    for matrix, row in zip(result, constants, strict=True):
        xx, yy, zz, xy, xz, yz = row[24:]
        matrix[:3, :3] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
        matrix[:3, 3:] = row[14] * lie.skew(row[15:18])
        matrix[3:, :3] = matrix[:3, 3:].T
        matrix[3:, 3:] = row[14] * np.eye(3)
    return result


def pose_in_parent(constants: Array, q: float) -> Array:
    """Return the pose of a kernel frame in its parent's (MK21 eq. 3), of its row of constants."""
    home = lie.pose(constants[:9].reshape(3, 3), constants[9:12])
    sine, cosine = np.sin(constants[12] * q), np.cos(constants[12] * q)
    joint = lie.pose(
        [[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]],
        [0.0, 0.0, constants[13] * q])
    pose: Array = home @ joint
    return pose
