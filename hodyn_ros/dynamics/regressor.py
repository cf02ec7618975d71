"""Joint torques as linear functions of the bodies' inertial parameters.

Atkeson, An and Hollerbach, IJRR 1986: τ = Y(q, q̇, q̈) π, with π the ten parameters of each body.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.robot import Body, HodynError, Robot
from hodyn_ros.robot.inertia import pack
from hodyn_ros.robot.lie import skew

Array = NDArray[np.float64]

PARAMETERS = 10
"""Of a body: m, m c (3), inertia about the origin of its frame (xx yy zz xy xz yz)."""


def inertial_parameters(mass: float, com: Array, inertia: Array) -> Array:
    """Return the ten parameters of a body from its mass, com and inertia about the com."""
    about_origin = inertia - mass * skew(com) @ skew(com)
    return np.concatenate([[mass], mass * com, pack(about_origin)])


def torque_regressor(robot: Robot, q: Array, *, gravity: bool = True) -> Array:
    """Return Y of the rigid-body torques τ = Σ_b Y_b π_b, (T, n, n_bodies, 10).

    Parameters
    ----------
    robot : Robot
        Fixed base; of its bodies only the joints count.
    q : (T, 3 or more, n) array
        Positions, velocities and accelerations.
    gravity : bool
        False leaves its torque out.

    Raises
    ------
    HodynError
        For a robot with a floating base.

    """
    if robot.floating:
        raise HodynError(
            f'robot {robot.name!r} has a floating base; a regressor needs a fixed one')
    count, n = len(q), robot.n
    weight = -robot.gravity if gravity else np.zeros(3)
    rest = np.zeros((count, 3))
    # Of each body, in its axes: rotation and origin in the parent, ω, ω̇, acceleration of the
    # origin less that of gravity.
    rotations: list[Array] = []
    origins: list[Array] = []
    spins: list[Array] = []
    spin_rates: list[Array] = []
    accelerations: list[Array] = []
    for j, body in enumerate(robot.bodies):
        rotation, origin, velocity, acceleration = _joint(body, q[:, :3, j])
        at_base = body.parent < 0
        spin, spin_rate = (rest, rest) if at_base else (
            spins[body.parent], spin_rates[body.parent])
        moved = (np.tile(weight, (count, 1)) if at_base else accelerations[body.parent])
        moved = (moved + np.cross(spin_rate, origin) + np.cross(spin, np.cross(spin, origin)))
        spin, spin_rate, moved = (
            np.einsum('tji,tj->ti', rotation, v) for v in (spin, spin_rate, moved))
        # The joint's own motion, in the body's axes; its origin moves by `velocity`.
        turn = velocity[:, :3]
        moved = (moved + acceleration[:, 3:] + np.cross(turn, velocity[:, 3:])
                 + 2.0 * np.cross(spin, velocity[:, 3:]))
        spin_rate = spin_rate + acceleration[:, :3] + np.cross(spin, turn)
        rotations.append(rotation)
        origins.append(origin)
        spins.append(spin + turn)
        spin_rates.append(spin_rate)
        accelerations.append(moved)
    out = np.zeros((count, n, len(robot.bodies), PARAMETERS))
    for b in range(len(robot.bodies)):
        moment, force = _wrenches(spins[b], spin_rates[b], accelerations[b])
        j = b
        while j >= 0:
            screw = robot.bodies[j].screw
            out[:, j, b] = screw[:3] @ moment + screw[3:] @ force
            force = rotations[j] @ force
            moment = rotations[j] @ moment + _skews(origins[j]) @ force
            j = robot.bodies[j].parent
    return out


def _joint(body: Body, q: Array) -> tuple[Array, Array, Array, Array]:
    """Return rotation and origin in the parent, and the joint's twist and its rate, body axes."""
    axis = skew(body.axis)
    screw = body.screw
    if body.type == 'prismatic':
        turn = np.broadcast_to(np.eye(3), (len(q), 3, 3))
        shift = q[:, :1] * body.axis
    else:
        sine, cosine = np.sin(q[:, 0])[:, None, None], np.cos(q[:, 0])[:, None, None]
        turn = np.eye(3) + sine * axis + (1.0 - cosine) * (axis @ axis)
        shift = body.point - turn @ body.point + body.pitch * q[:, :1] * body.axis
    home = body.placement
    return (home[:3, :3] @ turn, shift @ home[:3, :3].T + home[:3, 3],
            q[:, 1:2] * screw, q[:, 2:3] * screw)


def _wrenches(spin: Array, spin_rate: Array, acceleration: Array) -> tuple[Array, Array]:
    """Return moments about the origin and forces of unit parameters, (T, 3, 10) each."""
    count = len(spin)
    moment, force = np.zeros((count, 3, PARAMETERS)), np.zeros((count, 3, PARAMETERS))
    turning = _skews(spin)
    force[:, :, 0] = acceleration
    force[:, :, 1:4] = _skews(spin_rate) + turning @ turning
    moment[:, :, 1:4] = -_skews(acceleration)
    moment[:, :, 4:] = _times_inertia(spin_rate) + turning @ _times_inertia(spin)
    return moment, force


def _times_inertia(v: Array) -> Array:
    """Return L with I v = L (xx yy zz xy xz yz)."""
    out = np.zeros((len(v), 3, 6))
    for row, column, entry in (
            (0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 3, 1), (1, 3, 0), (0, 4, 2), (2, 4, 0),
            (1, 5, 2), (2, 5, 1)):
        out[:, row, column] = v[:, entry]
    return out


def _skews(v: Array) -> Array:
    out = np.zeros((len(v), 3, 3))
    out[:, 2, 1], out[:, 0, 2], out[:, 1, 0] = v[:, 0], v[:, 1], v[:, 2]
    out[:, 1, 2], out[:, 2, 0], out[:, 0, 1] = -v[:, 0], -v[:, 1], -v[:, 2]
    return out
