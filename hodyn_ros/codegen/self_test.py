"""Random motions and the compiled kernels' results, for the self-test of the generated code."""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators import MotorSide, laws
from hodyn_ros.codegen.settings import Settings
from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.inverse_dynamics import inverse_dynamics
from hodyn_ros.feedforward.torque import ORDER
from hodyn_ros.robot import Robot, lie
from hodyn_ros.robot import inertia as inertias

VECTORS = 12
PERIOD = 0.001
"""Time between the instants of the motors' reference, s."""
_SIZES = (1.5, 1.0, 3.0, 10.0, 50.0, 200.0, 1000.0)
"""Bounds of random positions (rad, m), velocities, …, in SI units."""


@dataclass(frozen=True)
class Samples:
    """Arguments and results of all functions at T instants."""

    #: `q`, `gravity`, `payload`: (T, r + 3, n), (T, 3) and (T, 10): motions; gravity, m/s²; mass,
    #: centre of mass, inertia (xx yy zz xy xz yz) of the payload
    q: Array
    gravity: Array
    payload: Array
    #: `base_pose`, `base_twist`: (T, 4, 4) and (T, r + 2, 6): motion of a floating base; empty for
    #: a fixed one
    base_pose: Array
    base_twist: Array
    torque: Array  #: (T, r + 1, n): rigid-body torques along `q`
    base_wrench: Array  #: (T, r + 1, 6): wrench on a floating base; empty for a fixed one
    #: `friction`, `feed_forward`: (T, r + 1, n): torques along `q`; friction is 0 if the code has
    #: none
    friction: Array
    feed_forward: Array
    #: `load`, `stiffness`: (T, r + 1, n) and (T, 3, n): torques and stiffness for the motors; some
    #: torques are beyond the bounds of springs, and some just inside the bounds of tables
    load: Array
    stiffness: Array
    #: `motor`, `stuck`: (T, 4, m) and (T,): the motors' reference at successive instants; the
    #: number, from 1, of the first joint that cannot do the motion, or 0
    motor: Array
    stuck: NDArray[np.int64]


def samples(settings: Settings, count: int = VECTORS, seed: int = 0) -> Samples:
    """Return random arguments, rounded to the precision of the settings, and their results."""
    robot, order, n = settings.robot, settings.order, settings.robot.n
    rng = np.random.default_rng(seed)

    def rounded(values: Array) -> Array:
        return values.astype(np.float32).astype(float) if settings.single else values

    def draw(*shape: int, size: Array | float = 1.0) -> Array:
        return rounded(np.round(rng.uniform(-1.0, 1.0, (count, *shape)) * size, 3))

    q = draw(order + 3, n, size=np.array(_SIZES[:order + 3])[:, np.newaxis])
    gravity = draw(3, size=10.0)
    payload = np.abs(draw(10, size=np.array([3.0, *3 * [0.1], *6 * [0.02]])))
    payload[:, 4:7] += 0.125  # so that any two moments of inertia add up to at least the third
    payload = rounded(payload)
    torque = np.empty((count, order + 1, n))
    pose, twist, wrench = np.empty((3, count, 0, 6))
    if robot.floating:
        pose = rounded(np.array([
            lie.pose(lie.rotation_exp(motion[:3]), motion[3:]) for motion in draw(6, size=1.5)]))
        twist = draw(order + 2, 6, size=np.array(_SIZES[1:order + 3])[:, np.newaxis])
        wrench = np.empty((count, order + 1, 6))
    for t in range(count):
        used = _used(settings, gravity[t], payload[t])
        if robot.floating:
            torque[t], wrench[t] = inverse_dynamics(
                used, q[t], formulation='spatial', base_pose=pose[t], base_twist=twist[t])
        else:
            inverse_dynamics(used, q[t], formulation='spatial', out=torque[t])
    none = np.zeros((count, order + 1, n))
    friction = none
    if settings.friction and robot.friction is not None:
        wide = np.zeros((count, max(order + 3, 4), n))
        wide[:, :order + 3] = q
        friction = robot.friction.torque(wide)[:, :order + 1]
    feed_forward = torque + friction
    if settings.has_rotors and robot.rotor_inertia is not None:
        feed_forward += robot.rotor_inertia * q[:, 2:order + 3]
    load = draw(order + 1, n, size=np.array([1.2, 20.0, 400.0, 1.0, 1.0])[
        :order + 1, np.newaxis])
    stiffness, motor, stuck = np.zeros((count, 3, n)), np.zeros((count, 4, 0)), np.zeros(count)
    if settings.actuators:
        actuators = robot.require_actuators()
        nominal = actuators.constant_stiffness()
        stiffness = nominal + 0.2 * nominal[0] * draw(3, n)
        near = (np.abs(load[:, 0]) > 0.8) & (np.abs(load[:, 0]) < 1.1)
        load[:, 0][near] *= 0.5  # near its bound, a spring's law magnifies round-off
        for i, joint in enumerate(actuators.joints):
            load[:, 0, i] = (
                _torques_of_table(joint.law, load[:, 0, i], rng)
                if isinstance(joint.law, laws.TabulatedSpring) else
                load[:, 0, i] * _greatest_torque(joint.law, stiffness[:, 0, i]))
        load, stiffness = rounded(load), rounded(stiffness)
        side = MotorSide(actuators)
        motor = np.empty((count, 4, actuators.n_motors))
        for t in range(count):
            motor[t] = side.evaluate(
                q[t], np.ascontiguousarray(load[t, :ORDER + 1]), stiffness[t], PERIOD)
            stuck[t] = 0 if side.feasible.all() else 1 + int(np.argmin(side.feasible))
    return Samples(
        q, gravity, payload, pose, twist, torque, wrench, friction, feed_forward, load, stiffness,
        motor, stuck.astype(np.int64))


def _used(settings: Settings, gravity: Array, payload: Array) -> Robot:
    robot = settings.robot
    if settings.gravity_argument:
        robot = replace(robot, gravity=gravity)  # with_gravity would warn of random vectors
    if settings.payload_link is not None:
        robot = robot.with_payload(
            settings.payload_link, payload[0], payload[1:4], inertias.unpack(payload[4:]))
    return robot


def _greatest_torque(law: laws.Law, stiffness: Array) -> Array | float:
    """Return the largest torque of a law, N m, or 50 N m if it has no bound."""
    if isinstance(law, laws.CubicSpring) and np.isfinite(law.greatest_torque):
        return law.greatest_torque
    if isinstance(law, laws.AntagonisticExponential):
        slack = 0.0 if law.pushes else 2.0 * law.scale
        return np.abs(stiffness / law.rate - slack)
    if isinstance(law, laws.AntagonisticQuadratic):
        return stiffness**2 / (2.0 * law.coefficient)
    return 50.0


def _torques_of_table(law: laws.TabulatedSpring, shares: Array, rng: np.random.Generator) -> Array:
    """Return torques at `shares` of a table's half range, half of them moved next to its points.

    The first four moved torques are on both sides of both ends, the others next to random points.
    """
    points = law.torque
    torques: Array = 0.5 * (points[0] + points[-1] + shares * (points[-1] - points[0]))
    moved = rng.permutation(len(shares))[::2]
    places = rng.integers(len(points), size=len(moved))
    places[:4] = np.array([0, 0, -1, -1])[:len(moved)]
    sides = rng.choice([-1.0, 1.0], size=len(moved))
    sides[:4] = np.array([-1.0, 1.0, -1.0, 1.0])[:len(moved)]
    torques[moved] = points[places] + sides * 1e-5 * np.abs(points).max()
    return torques
