"""A controller of a Panda that starts at home, run cycle by cycle, and the robots of the tests."""
from dataclasses import replace

import numpy as np

from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import Rigid
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import ControllerSettings, FeedforwardController
from hodyn_ros.reference import fit_plan

MS = 1_000_000
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
MOTOR = Motor(0.5)


def still(position):
    """Return the motion (5, n) of an arm that stands at a position."""
    motion = np.zeros((5, len(position)))
    motion[0] = position
    return motion


def limited(robot, **limits):
    """Return a robot with other limits, each one value or one per joint."""
    return replace(robot, limits=replace(
        robot.limits, **{name: np.full(robot.n, value) for name, value in limits.items()}))


def driven(robot, each, **others):
    """Return a robot with an actuator at each joint; `others` are at the joints of their names."""
    return replace(robot, actuators=Actuators(
        robot.joint_names, tuple(others.get(name, each) for name in robot.joint_names)))


def with_tendons(robot, law, motor=MOTOR):
    """Return the feed-forward of an arm whose second joint is driven by two tendons."""
    return FeedForward(driven(
        robot, JointActuator(Rigid(), MOTOR), joint2=JointActuator(law, motor)))


def loaded(robot, mass, height=0.1):
    """Return the feed-forward of a robot that carries a mass at its hand."""
    return FeedForward(robot.with_payload('link7', mass, [0.0, 0.0, height]))


class AtHome(FeedforwardController):
    """A controller that starts at home, and keeps its references and outputs of each cycle."""

    def __init__(self, feedforward, position=HOME, **options):
        super().__init__(feedforward, position, 0, ControllerSettings(**options))
        self.due, self.references, self.outputs = 0, [], []

    def follow(self, goal, seconds, start=None):
        """Let a plan to a goal begin at `start`, ns, or in the next cycle; return the plan."""
        start = self.due if start is None else start
        plan = fit_plan([seconds], [goal], start=self.reference.state_at(start))
        self.reference.follow(plan, start)
        return plan

    def run(self, end, measured=None, step=MS):
        """Evaluate the cycles that are due before `end`, ns."""
        for now in range(self.due, end, step):
            self.evaluate(now, measured)
            self.references.append(self.q.copy())
            self.outputs.append(self.output.copy())
        self.due = end

    def assert_no_step(self, tolerance=1e-2):
        """See that the outputs, of a cycle each millisecond, are integrals of their rates."""
        assert_is_its_own_integral(np.array(self.outputs), 1e-3, tolerance)


def assert_is_its_own_integral(values, dt, tolerance):
    """Each row is the derivative of the one above, between all samples: so there is no step."""
    for k in range(values.shape[1] - 1):
        change = np.diff(values[:, k], axis=0)
        mean = 0.5 * (values[1:, k + 1] + values[:-1, k + 1]) * dt
        scale = max(1.0, np.abs(values[:, k]).max())
        assert np.abs(change - mean).max() <= tolerance * scale, f'order {k}'
