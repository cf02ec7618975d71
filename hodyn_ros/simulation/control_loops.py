"""Simulated arms with controllers that use the answers of the feed-forward node."""
from abc import ABC, abstractmethod
from collections.abc import Mapping
import math

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import Robot
from hodyn_ros.robot.mass_matrix import mass_matrix
from hodyn_ros.simulation.elastic_arm import ElasticArm
from hodyn_ros.simulation.motor_loop import MotorLoop
from hodyn_ros.simulation.rigid_arm import SimulatedArm

BANDWIDTH, DAMPING = 20.0, 1.0  # rad/s and damping ratio of the rigid arm's PD
FRICTION_STEPS = 2  # integrations per `step`: with a single one, steep friction would be unstable
ELASTIC_STEP = 5e-4  # largest step of the elastic arm's integration, s
LINE_PERIODS = 50.0
"""Periods after the last answer for which `AnswerLine` goes on; then it is constant, so that the
arm stops if the node dies."""
HALF_HOLD = 0.5
"""Periods from a state to the middle of the time for which its answer is used."""


class AnswerLine:
    """The line through the last two answers; constant later than `longest`, s, after the last."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._instant = -math.inf
        self._values: Array | None = None
        self._slope: Array | float = 0.0

    def add(self, instant: float, values: Array) -> None:
        """Take the values for an instant, s; ignore them unless it is after the last one."""
        if instant <= self._instant:
            return
        if self._values is not None:
            self._slope = (values - self._values) / (instant - self._instant)
        self._instant, self._values = instant, values

    def at(self, instant: float) -> Array | None:
        """Return the values for an instant, s; None before the first answer."""
        if self._values is None:
            return None
        return self._values + self._slope * min(instant - self._instant, self._longest)


class ControlLoop(ABC):
    """A simulated arm and its controller.

    An answer is the command for the instant half a period after its state: the middle of the time
    for which it is used. To bridge late answers and uneven periods, the arm's commands are on the
    straight line through the last two answers.
    """

    #: The topics that together are a complete answer of the node; the arm follows the last one
    topics: tuple[str, ...]

    def __init__(self, arm: SimulatedArm | ElasticArm, effort: Array, period: float) -> None:
        #: `q`, `qd`, `effort`: (n,): measured positions, velocities and efforts
        self.q, self.qd, self.effort = arm.q, arm.qd, effort
        self._lookahead = HALF_HOLD * period
        self._answers = AnswerLine(LINE_PERIODS * period)

    def command(self, answer: Mapping[str, Array], instant: float) -> None:
        """Take the node's answer to the state at an instant, s.

        Per topic, the answer has positions, velocities and efforts, (3, n).
        """
        self._answers.add(instant + self._lookahead, answer[self.topics[-1]])

    def step(self, instant: float, dt: float) -> None:
        """Advance the arm from an instant by dt, s; before the first command, brakes hold it.

        The PD uses the reference at the step's start; the feed-forward torque is the one at the
        step's middle.
        """
        now, middle = self._answers.at(instant), self._answers.at(instant + 0.5 * dt)
        if now is not None and middle is not None:
            self._advance(now[0], now[1], middle[2], dt)

    @abstractmethod
    def _advance(self, position: Array, velocity: Array, torque: Array, dt: float) -> None:
        """Advance the arm by dt, s, with a reference and a feed-forward torque."""


class RigidArmLoop(ControlLoop):
    """A rigid arm with the published torque and a joint PD towards the published reference."""

    topics = ('torque',)

    def __init__(self, robot: Robot, position: Array, period: float) -> None:
        self._friction = robot.friction
        self._arm = SimulatedArm(robot, position)
        self._stiffness, self._damping = _gains(self._arm.mass_matrix())
        self._motion = np.zeros((4, robot.n))
        self._acceleration = np.zeros(robot.n)
        # Sensors measure the torque that the brakes hold.
        super().__init__(self._arm, self._arm.bias_torque(), period)

    def _advance(self, position: Array, velocity: Array, torque: Array, dt: float) -> None:
        self.effort[:] = (
            torque + self._stiffness * (position - self.q) + self._damping * (velocity - self.qd))
        for _ in range(FRICTION_STEPS):
            self._step_with_friction(dt / FRICTION_STEPS)

    def _step_with_friction(self, dt: float) -> None:
        # Friction at the middle of the step: the value at its start would be half a step late.
        before = self.qd.copy()
        self._motion[1] = self.qd + 0.5 * dt * self._acceleration
        friction = 0.0 if self._friction is None else self._friction.torque(self._motion)[0]
        self._arm.step(self.effort - friction, dt)
        self._acceleration = (self.qd - before) / dt


class ElasticArmLoop(ControlLoop):
    """An elastic arm with the published motor torque and a PD towards the motor reference."""

    topics = ('torque', 'motor_reference')

    def __init__(self, robot: Robot, position: Array, period: float) -> None:
        self._arm = ElasticArm(robot, position, longest_step=ELASTIC_STEP)
        self._motors = MotorLoop(
            robot.require_actuators(), np.diag(mass_matrix(robot, position)[0]))
        super().__init__(self._arm, np.array(self._arm.spring_torque()[0]), period)

    def _advance(self, position: Array, velocity: Array, torque: Array, dt: float) -> None:
        commanded = self._motors.torque(
            position, velocity, torque, self._arm.theta, self._arm.theta_rate)
        self._arm.step(commanded, dt)
        self.effort[:] = self._arm.spring_torque()[0]


def make_control_loop(robot: Robot, position: Array, period: float) -> ControlLoop:
    """Return the loop for a robot, elastic if it has actuators, with its kernels compiled.

    The arm starts at a position, (n,), and has a state every `period`, s.
    """
    kind = RigidArmLoop if robot.actuators is None else ElasticArmLoop
    # One step of another loop, which is not used, compiles the kernels.
    trial: ControlLoop = kind(robot, position, period)
    still = {topic: _still(position) for topic in trial.topics}
    if robot.actuators is not None:
        still['motor_reference'] = _still(np.repeat(position, np.diff(robot.actuators.motor_of)))
    trial.command(still, 0.0)
    trial.step(0.0, period)
    return kind(robot, position, period)


def _still(position: Array) -> Array:
    zeros = np.zeros_like(position)
    return np.array([position, zeros, zeros])


def _gains(mass_matrix: Array) -> tuple[Array, Array]:
    """Return PD gains for `BANDWIDTH`, from the inertia of each joint if the others are free."""
    inertia = 1.0 / np.diag(np.linalg.inv(mass_matrix))
    return inertia * BANDWIDTH**2, inertia * 2 * DAMPING * BANDWIDTH
