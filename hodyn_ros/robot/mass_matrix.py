"""The mass matrix M(q) by the composite-rigid-body algorithm (CRBA) in numpy, to check robots.

The kernels are faster, but compiling them takes seconds.
"""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot import lie
from hodyn_ros.robot.body_table import (
    COM,
    HOME_POSITION,
    HOME_ROTATION,
    MASS,
    ORIGIN_INERTIA,
    ROTATION,
    TRANSLATION,
)
from hodyn_ros.robot.model import Robot

SINGULAR_MASS = 1e-13  # relative round-off of M, and of its eigenvalues if its diagonal is 1


def massless(robot: Robot, armature: Array | None = None) -> list[int]:
    """Return the indices of bodies whose joints move no mass.

    If each joint alone moves a mass, but several together can move without moving any, the index
    is that of one of them. `armature`, (n,), kg m² or kg, is the inertia of the joints' motors.
    One configuration is checked: det M(q) is analytic, so if it is zero at a configuration without
    symmetries, it is zero everywhere.
    """
    mass, round_off = mass_matrix(robot, np.cos(np.arange(1.0, robot.n + 1.0) ** 2))
    if armature is not None:
        joints = np.arange(6 * robot.floating, len(mass))
        mass[joints, joints] += armature
    diagonal = np.diag(mass)
    columns = np.flatnonzero(diagonal <= round_off)
    if not columns.size:
        scale = np.sqrt(diagonal)
        values, vectors = np.linalg.eigh(mass / np.outer(scale, scale))
        if values[0] > SINGULAR_MASS:
            return []
        base = robot.bodies[0]
        if robot.floating and not (base.mass or base.inertia.any()):
            return [0]  # a massless base can turn about the joints that it carries
        columns = np.abs(vectors[:, :1]).argmax(axis=0)
    return sorted({
        0 if joint < 0 else int(robot.coupling.carried[joint]) + robot.floating
        for joint in (columns - 6 * robot.floating).tolist()})


def massless_fault(robot: Robot, armature: Array | None = None) -> str | None:
    """Return a sentence about joints that move no mass, or None; `armature` as in `massless`."""
    bodies = [robot.bodies[index] for index in massless(robot, armature)]
    if not bodies:
        return None
    movers = ', '.join(
        'the base' if body.type == 'floating' else f'joint {body.joint!r}' for body in bodies)
    return (
        f'{movers}, alone or with others, can move without moving any mass '
        f'(body {bodies[0].name!r})')


def mass_matrix(robot: Robot, q: Array) -> tuple[Array, Array]:
    """Return M (N, N) and the round-off (N,) of its diagonal.

    The CRBA runs in kernel frames, so no digits are lost far from the world's origin. A floating
    base comes first, with the six components of its body-fixed twist.
    """
    parent, body_table = robot.kernel_model.parent, robot.kernel_model.body_table
    composite = spatial_inertias(body_table)
    first, count = [], 0
    screws: list[Array] = []
    for body, row in zip(robot.bodies, body_table, strict=True):
        floating = body.type == 'floating'
        screws.append(
            np.eye(6) if floating
            else np.array([[0.0, 0.0, row[ROTATION], 0.0, 0.0, row[TRANSLATION]]]).T)
        first.append(slice(count, count + screws[-1].shape[1]))
        count = first[-1].stop
    positions = np.zeros(len(parent))
    positions[robot.floating:] = robot.coupling.to_bodies(q[np.newaxis])
    to_body = [
        lie.adjoint(lie.inverse(pose_in_parent(row, position)))
        for row, position in zip(body_table, positions, strict=True)]
    mass, round_off = np.zeros((count, count)), np.empty(count)
    for i in range(len(parent) - 1, -1, -1):
        momentum = composite[i] @ screws[i]
        round_off[first[i]] = (
            inertias.MIN_GYRATION_RADIUS**2 * composite[i, 5, 5]
            + SINGULAR_MASS * np.trace(composite[i, :3, :3]))
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
    s = robot.coupling.matrix(6 * robot.floating)
    return s.T @ mass @ s, (s * s).T @ round_off


def spatial_inertias(body_table: Array) -> Array:
    """Return the inertia matrices about the kernel frames' origins, (n, 6, 6) (MK21 eq. 24)."""
    result = np.zeros((len(body_table), 6, 6))
    for matrix, row in zip(result, body_table, strict=True):
        matrix[:3, :3] = inertias.unpack(row[ORIGIN_INERTIA:ORIGIN_INERTIA + 6])
        matrix[:3, 3:] = row[MASS] * lie.skew(row[COM:COM + 3])
        matrix[3:, :3] = matrix[:3, 3:].T
        matrix[3:, 3:] = row[MASS] * np.eye(3)
    return result


def pose_in_parent(row: Array, q: float) -> Array:
    """Return a kernel frame's pose in its parent's (MK21 eq. 3) from its row of `body_table`."""
    home = lie.pose(
        row[HOME_ROTATION:HOME_ROTATION + 9].reshape(3, 3), row[HOME_POSITION:HOME_POSITION + 3])
    joint = lie.pose(lie.rotation_z(row[ROTATION] * q), [0.0, 0.0, row[TRANSLATION] * q])
    pose: Array = home @ joint
    return pose
