"""An elastic arm in MuJoCo, to try controllers."""
import math

import numpy as np

from hodyn_ros.actuators.joint_actuators import INERTIA, Actuators
from hodyn_ros.actuators.laws import LINEAR
from hodyn_ros.actuators.link_side import LinkSide
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.inverse_dynamics import inverse_dynamics
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.simulation.mujoco_model import build_model

MAX_STEP = 2e-4  # largest step of the integration, s


def check_motors(actuators: Actuators) -> None:
    """Raise HodynError for a motor without inertia behind a spring."""
    sprung = ~actuators.rigid[actuators.motor_joints]
    weightless = np.flatnonzero(sprung & (actuators.motors[:, INERTIA] == 0.0))
    if weightless.size:
        raise HodynError(
            f'motor {actuators.motor_names[weightless[0]]!r} has no inertia: to simulate a motor '
            'behind a spring, give motor.inertia in actuators')


class ElasticArm:
    """Links, springs and motors, integrated by a Runge-Kutta method.

    The equations are M(q) q̈ + c(q, q̇) + g(q) + friction(q̇) = Q and B θ̈ + load = τ_m
    (M21, eqs. 2 and 3); at rigid joints, their sum with θ = q. MuJoCo computes links, gravity,
    motors (as separate bodies) and linear springs and dampers (as tendons). Other springs and
    friction are external forces at each stage of the integration, whose steps are at most
    `longest_step`, s. At first, the motors hold the links at rest at a position, (n,), rad or m.
    """

    def __init__(
        self, robot: Robot, position: Array, *, longest_step: float = MAX_STEP,
    ) -> None:
        self.robot = robot
        self.actuators = actuators = robot.require_actuators()
        self.longest_step = longest_step
        self._friction = robot.friction
        # A rigid joint's motor shares the link's index in the state; others have their own.
        self._own = ~actuators.rigid[actuators.motor_joints]
        self._place = np.where(
            self._own, robot.n + np.cumsum(self._own) - 1, actuators.motor_joints)
        check_motors(actuators)
        size = robot.n + int(self._own.sum())
        self._state = np.zeros((2, size))
        self._motion = np.zeros((4, robot.n))
        self._friction_torque = np.zeros((3, robot.n))
        self._forces = np.zeros(size)
        self._constant = actuators.constant_stiffness()
        self._link_side = LinkSide(actuators, actuators.kinds == LINEAR)
        self._springs = LinkSide(actuators)
        self.model = build_model(robot, actuators)
        import mujoco

        self._forward = mujoco.mj_forward
        self.data = mujoco.MjData(self.model)
        self.reset(position)

    @property
    def q(self) -> Array:
        """Link positions, (n,), a view."""
        links: Array = self._state[0, :self.robot.n]
        return links

    @property
    def qd(self) -> Array:
        """Link velocities, (n,), a view."""
        links: Array = self._state[1, :self.robot.n]
        return links

    @property
    def theta(self) -> Array:
        """Motor positions, (m,), a copy."""
        motors: Array = self._state[0, self._place]
        return motors

    @property
    def theta_rate(self) -> Array:
        """Motor velocities, (m,), a copy."""
        motors: Array = self._state[1, self._place]
        return motors

    def reset(self, position: Array, stiffness: Array | None = None) -> None:
        """Put the arm at rest in balance at a position, (n,), with a stiffness, (n,), N m/rad."""
        rest = np.zeros((3, self.robot.n))
        rest[0] = position
        gravity = np.zeros((3, self.robot.n))
        gravity[0] = inverse_dynamics(self.robot, rest)[0]
        wanted = self._constant.copy()
        if stiffness is not None:
            wanted[0] = stiffness
        motors = MotorSide(self.actuators).along(
            [0.0], rest[np.newaxis], gravity[np.newaxis], wanted[np.newaxis])[0]
        self._state[:] = 0.0
        self.q[:] = position
        self._state[0, self.robot.n:] = motors[0, self._own]

    def step(self, motor_torque: Array, dt: float, stiffness: Array | None = None) -> None:
        """Advance the arm by dt, s, under constant motor torques, (m,), N m.

        `stiffness`, (3, n), has K, K̇, K̈ at the start, for joints with prescribed stiffness.
        """
        steps = max(1, math.ceil(dt / self.longest_step - 1e-9))
        h = dt / steps
        prescribed = self._constant if stiffness is None else stiffness
        y = self._state
        for i in range(steps):
            t = i * h
            a = self._slope(y, motor_torque, prescribed, t)
            b = self._slope(y + 0.5 * h * a, motor_torque, prescribed, t + 0.5 * h)
            c = self._slope(y + 0.5 * h * b, motor_torque, prescribed, t + 0.5 * h)
            d = self._slope(y + h * c, motor_torque, prescribed, t + h)
            y += h / 6.0 * (a + 2.0 * (b + c) + d)

    def spring_torque(self, stiffness: Array | None = None) -> tuple[Array, Array]:
        """Return the present Q, N m, and stiffness of the joints, N m/rad, (n,) each.

        `stiffness`, (n,), has K of joints with prescribed stiffness.
        """
        self._springs.evaluate(self.q, self.qd, self.theta, self.theta_rate, stiffness)
        return self._springs.torque, self._springs.stiffness

    def _slope(self, y: Array, motor_torque: Array, prescribed: Array, t: float) -> Array:
        """Return the velocities and accelerations, (2, size), of links and motors in state y."""
        n, side, forces, data = self.robot.n, self._link_side, self._forces, self.data
        stiffness = prescribed[0] + t * (prescribed[1] + 0.5 * t * prescribed[2])
        theta, theta_rate = y.take(self._place, axis=1)
        side.evaluate(y[0, :n], y[1, :n], theta, theta_rate, stiffness)
        if self._friction is not None:
            self._motion[1] = y[1, :n]
            self._friction_torque[0] = 0.0
            self._friction.add_to(self._motion, self._friction_torque)
        np.subtract(side.torque, self._friction_torque[0], out=forces[:n])
        forces[n:] = 0.0
        forces[self._place] += motor_torque - side.load
        data.qpos, data.qvel, data.qfrc_applied = y[0], y[1], forces
        self._forward(self.model, data)
        slope = np.empty_like(y)
        slope[0], slope[1] = y[1], data.qacc
        return slope
