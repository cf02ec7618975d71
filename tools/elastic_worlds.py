"""A supervisor with full-state feedback, and an elastic arm in MuJoCo as its driver.

`python tools/elastic_worlds.py` prints the errors of a Panda whose springs are not the model's.
"""
import contextlib
from dataclasses import replace

import numpy as np
from planned_work import Plans

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import INERTIA, Actuators
from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.settings import (
    ControllerSettings,
    MotorFeedbackSettings,
    SupervisorSettings,
)
from hodyn_ros.feedforward.supervisor import WATCH_PERIOD, Supervisor
from hodyn_ros.feedforward.transitions import State
from hodyn_ros.reference import fit_plan
from hodyn_ros.simulation.elastic_arm import ElasticArm
from hodyn_ros.simulation.examples import fast_motion, with_example_actuators

PERIOD = 0.001
FADE = 0.2
BANDWIDTH, DAMPING = 50.0, 0.7  # of the driver's motor loop, rad/s and 1


def true_motors(arm, stamp):
    """Return what encoders of the motors measure."""
    return arm.theta, arm.theta_rate, stamp


def scaled(robot, by):
    """Return an arm with other springs than a robot's."""
    actuators = robot.actuators
    return replace(robot, actuators=Actuators(actuators.names, tuple(
        replace(joint, law=joint.law.scaled(by)) for joint in actuators.joints)))


class ElasticWorld:
    """The robot of the node, and an arm that may differ from it, cycle by cycle.

    Each cycle checks that the correction keeps its bound and its rate, and that the feed-forward
    is that of a node without feedback.
    """

    def __init__(
        self, robot, arm=None, *, poles=20.0, bound=20.0, has_loop=False, tolerance=0.5,
        period=PERIOD,
    ):
        self.period = period
        actuators = robot.require_actuators()
        inertia = actuators.motors[:, INERTIA]
        self.loop = has_loop * np.array([
            inertia * BANDWIDTH**2, 2.0 * DAMPING * BANDWIDTH * inertia])
        self.robot, self.bound = robot, np.full(inertia.size, bound)
        feedback = MotorFeedbackSettings(poles, self.bound, self.loop)
        self.supervisor, self.without = (
            Supervisor(FeedForward(robot), SupervisorSettings(
                ControllerSettings(fade=FADE, motor_feedback=given),
                np.full(robot.n, tolerance), lookahead=0.5 * period), Plans())
            for given in (feedback, None))
        self.home = np.zeros(robot.n)
        self.arm = ElasticArm(arm or robot, self.home, longest_step=0.5 * period)
        self.at = self.watched_at = 1000.0
        rate = robot.limits.effort_rate[actuators.motor_joints]
        self.rate = np.where(np.isfinite(rate), rate, self.bound / 0.01)
        self.correction = np.zeros(inertia.size)
        self.command = None
        self.logged = []

    @property
    def report(self):
        return self.supervisor.report(self.at)

    @property
    def feedback(self):
        return self.supervisor.motor_feedback

    def both(self, name, *arguments):
        """Let something happen to both nodes."""
        for supervisor in (self.supervisor, self.without):
            getattr(supervisor, name)(*arguments)

    def follow(self, goal, seconds):
        """Let both nodes follow a motion to a position from now on."""
        for supervisor in (self.supervisor, self.without):
            plan = fit_plan([0.0, seconds], [supervisor.controller.q[0], goal])
            supervisor.controller.reference.follow(plan, supervisor.controller.now)

    def cycle(self, *, send=true_motors, has_states=True):
        """Send states of motors and links, and let the arm move for a period.

        `send` returns position, velocity and stamp of the motors from the arm and the stamp, or
        None to send nothing.
        """
        self.at += self.period
        stamp = round(self.at * 1e9)
        state = send(self.arm, stamp)
        if state is not None:
            with contextlib.suppress(HodynError):
                self.supervisor.take_motors(*state, self.at)
        answered = [
            has_states and each.take_state(
                self.arm.q.copy(), self.arm.qd.copy(), stamp, self.at)
            for each in (self.supervisor, self.without)]
        assert answered[0] == answered[1]
        if answered[0]:
            self.answer(stamp)
            self.both('compare', stamp, self.at)
        if self.at >= self.watched_at + WATCH_PERIOD:
            self.watched_at = self.at
            due = [each.watch(self.at) for each in (self.supervisor, self.without)]
            if due[0]:
                self.answer(self.supervisor.stamp_at(self.at))
        self.logged += [event.text for event in self.supervisor.reasons.events]
        self.supervisor.reasons.events.clear()
        if self.command is not None:
            reference = self.supervisor.controller.motors.reference
            error = (  # at the same instant
                reference[:2] - 0.5 * self.period * reference[1:3]
                - [self.arm.theta, self.arm.theta_rate])
            self.arm.step(self.command + (self.loop * error).sum(axis=0), self.period)

    def answer(self, stamp):
        """Let both nodes compute a cycle, and compare them."""
        before = 0 if self.supervisor.controller is None else self.supervisor.controller.now
        with_it, without = (
            each.evaluate(stamp, self.at) for each in (self.supervisor, self.without))
        self.both('judge', self.at)
        for name in ('q', 'torque', 'output'):
            assert (getattr(with_it, name) == getattr(without, name)).all()
        assert (with_it.motors.reference == without.motors.reference).all()
        assert self.supervisor.state is self.without.state or self.supervisor.state in (
            State.LOST, State.FADING)  # which last until the correction is 0
        correction = self.feedback.correction
        seconds = (with_it.now - before) * 1e-9
        assert (np.abs(correction) <= self.bound).all()
        assert (np.abs(correction - self.correction) <= self.rate * seconds + 1e-12).all()
        self.correction = correction.copy()
        self.command = with_it.motors.reference[3] + correction

    def run(self, seconds, **options):
        """Let cycles pass; return the errors of the links, (T, n)."""
        errors = []
        for _ in range(round(seconds / self.period)):
            self.cycle(**options)
            if self.supervisor.controller is not None:
                controller = self.supervisor.controller
                errors.append(
                    self.arm.q - controller.q[0] - 0.5 * self.period * controller.q[1])
        return np.array(errors)

    def end(self):
        """Deactivate both nodes, and let cycles pass until that is over."""
        self.both('deactivate')
        for _ in range(20_000):
            if self.supervisor.state is State.ENDED:
                return
            self.at += self.period
            self.answer(self.supervisor.stamp_at(self.at))
        raise AssertionError(f'it has not ended in 20 s: {self.supervisor.state}')


def main():
    robot = with_example_actuators(hd.load_robot('panda'), 'sea', 1000.0)
    _, (start, goal) = fast_motion(robot, 1.5, 0.5)
    columns = [(1e-12, True), (2.0, True), (20.0, True), (20.0, False)]
    print('RMS error of the worst joint, rad; bound, and whether the driver has a motor loop:')
    print('stiffness', *columns, sep=' | ')
    for by in (1.0, 1.001, 1.01, 1.05, 1.2, 0.8):
        row = []
        for bound, has_loop in columns:
            world = ElasticWorld(
                robot, scaled(robot, by), poles=BANDWIDTH, bound=bound, has_loop=has_loop,
                tolerance=np.inf)
            world.arm.reset(start)
            try:
                world.run(1.0)
                world.follow(goal, 1.5)
                error = world.run(2.0)
            except HodynError:  # no arm is there
                row.append('lost')
                continue
            row.append(f'{np.sqrt(np.mean(error**2, axis=0)).max():.2e}')
        print(f'{by - 1.0:+.1%}', *row, sep=' | ', flush=True)


if __name__ == '__main__':
    main()
