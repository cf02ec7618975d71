"""A supervisor with a driver, plans and goals, and what must be so of it in each cycle."""
from collections import Counter
import contextlib
from dataclasses import replace

from controllers import HOME, still
import numpy as np
from planned_work import PANDA, Goal, Plans
from serialized import base_trajectory

import hodyn_ros as hd
from hodyn_ros.feedforward.base_input import BaseReading
from hodyn_ros.feedforward.moving_base import BaseMotion, feedforward_of
from hodyn_ros.feedforward.settings import ControllerSettings, SupervisorSettings
from hodyn_ros.feedforward.state_machine import UNREADY
from hodyn_ros.feedforward.supervisor import WATCH_PERIOD, Supervisor
from hodyn_ros.feedforward.transitions import State
from hodyn_ros.messages.multi_dof_trajectory import frame_and_names
from hodyn_ros.robot import lie
from hodyn_ros.robot.model import Body

PERIOD, MARGIN, FADE = 0.004, 0.05, 0.2
PUSH = 2.0  # velocity of an arm that is pushed, rad/s
NAMES_OF_STATES = {
    'waiting', 'holding', 'following', 'streaming', 'stopping', 'fading', 'fault', 'inactive'}


def on_deck(arm):
    """Return the same arm on a floating base, the deck of a ship."""
    deck = Body(
        name='deck', joint='deck', parent=-1, type='floating', placement=np.eye(4),
        axis=np.array([0.0, 0.0, 1.0]), point=np.zeros(3), pitch=0.0, mass=100.0, com=np.zeros(3),
        inertia=10.0 * np.eye(3))
    bodies = (deck, *(replace(body, parent=body.parent + 1) for body in arm.bodies))
    frames = {name: (index + 1, pose) for name, (index, pose) in arm.frames.items()}
    return replace(arm, bodies=bodies, frames=frames)


SHIP = on_deck(PANDA)
MODEL, SHIP_MODEL = feedforward_of(PANDA), feedforward_of(SHIP)


def held(q, rotation, twist=None, *, model=SHIP_MODEL, **options):
    """Return torque and wrench that hold an arm on a deck at rest, or with a hybrid twist."""
    base = BaseMotion()
    if twist is None:
        base.rest(rotation)
    else:
        base.move(rotation, twist)
    return model.on_base(still(q), base, np.empty((3, 13)), **options)


class Swell:
    """A deck with a heading of its own, which rolls and heaves with the `sea`, about a `list`."""

    ROLL, HEAVE, RATE = 0.25, 1.5, 0.5 * np.pi  # rad, m/s, rad/s

    def __init__(self):
        self.sea, self.list = 0.0, 0.0

    def motion(self, at):
        """Return the pose, and velocity and angular velocity in the deck's own axes."""
        phase = self.RATE * at
        roll = self.list + self.sea * self.ROLL * np.sin(phase)
        rotation = lie.rotation_z(1.0) @ lie.rotation_x(roll)
        pose = lie.pose(rotation, [0.0, 0.0, self.sea * self.HEAVE / self.RATE * np.sin(phase)])
        velocity = self.sea * np.cos(phase)
        return pose, rotation.T @ [0.0, 0.0, self.HEAVE * velocity], np.array(
            [self.ROLL * self.RATE * velocity, 0.0, 0.0])


class World:
    """A supervisor and its driver, whose arm is where the reference is, and `away` from it.

    It is pushed there as an arm may move; `leap` lets it leap. With a deck the robot is a ship,
    measured at a `rate`, Hz, while `is_measured`.
    """

    def __init__(self, *, model=None, deck=None, rate=np.inf, at_measurement=False,
                 bandwidth=0.0, **settings):
        self.plans = Plans()
        self.model = model or (MODEL if deck is None else SHIP_MODEL)
        self.robot = self.model.robot
        self.supervisor = Supervisor(self.model, SupervisorSettings(
            ControllerSettings(
                at_measurement=at_measurement, limit_margin=MARGIN, fade=FADE),
            np.full(7, 0.2), base_acceleration_bandwidth=bandwidth, **settings), self.plans)
        self.deck, self.interval, self.due, self.is_measured = deck, 1.0 / rate, 0.0, True
        self.believed_list = 0.0  # of the deck, in the last reading that was believed
        self.wrench = None
        self.at = self.watched_at = 1000.0
        self.offset = self.stamp = 0
        self.late, self.random = 0.0, np.random.default_rng(0)  # of stamps, up to this, s
        self.away = np.zeros(7)
        self.arm = HOME.copy()
        self.cycled_at = self.at
        self.goals, self.refused = [], []
        self.logged = Counter()
        self.published = None

    @property
    def report(self):
        """What `~/state` says: a name and a reason."""
        return self.supervisor.report(self.at)

    @property
    def tilt(self):
        """The rotation of the deck now."""
        return self.deck.motion(self.at)[0][:3, :3]

    def said(self, text):
        """Return how often a line with this text was logged."""
        return sum(count for line, count in self.logged.items() if text in line)

    @property
    def controller(self):
        return self.supervisor.controller

    def plan(self, data, goal=None):
        """Send a plan of the arm, as of a topic or of a goal."""
        self.supervisor.take_trajectory(data, goal, annotate=False)

    def goal(self, data):
        """Send a goal; return it."""
        self.goals.append(Goal())
        self.plan(data, self.goals[-1])
        return self.goals[-1]

    def leap(self, joint, by):
        """Let the driver say from now on that a joint is away from the reference."""
        self.away[joint] = by
        self.arm = self.controller.q[0] + self.away

    def lead(self, position):
        """Send a state of an arm that a hand holds at a position."""
        self.away = position - self.controller.q[0]
        return self.state()

    def cycle(self, stamp):
        supervisor = self.supervisor
        before = supervisor.controller.now
        controller = supervisor.evaluate(stamp, self.at)
        assert controller.may_be_published
        limits = PANDA.limits
        for torque in (controller.output, controller.torque):
            assert (np.abs(torque[1]) <= limits.effort_rate * (1.0 + MARGIN) + 1e-6).all()
            assert (np.abs(torque[0]) <= limits.effort * (1.0 + MARGIN) + 1e-6).all()
        reach = (controller.now - before) * 1e-9 * limits.effort_rate * (1.0 + MARGIN) + 1e-6
        if self.published is not None:
            assert (np.abs(controller.output[0] - self.published) <= reach).all()
            self.check_advance((controller.now - before) * 1e-9)
        self.cycled_at = self.at
        self.published = controller.output[0].copy()
        if robot_moves := controller.base_wrench.shape[1] > 0:
            self.check_changes(controller, (controller.now - before) * 1e-9)
        assert robot_moves == self.robot.floating
        supervisor.judge(self.at)
        return controller

    def check_advance(self, interval):
        """See that the reference moved on as time has passed, whatever clocks did."""
        passed, period = self.at - self.cycled_at, 1e-9 * self.supervisor.clock.period
        assert interval <= max(3.0 * period, 2.0 * passed + 0.052), (interval, passed, period)

    def check_changes(self, controller, interval):
        """See that the torque and the wrench on the base change as their rates say.

        In a longer interval filters reach their targets, and rates at its ends do not show it.
        """
        wrench = np.hstack([controller.output, controller.base_wrench])
        if self.wrench is not None and interval < 0.2:
            change = np.abs(wrench[0] - self.wrench[0])
            fastest = np.maximum(np.abs(wrench[1]), np.abs(self.wrench[1])) + interval * (
                np.maximum(np.abs(wrench[2]), np.abs(self.wrench[2])))
            # Of like quantities the largest: rates of the arm and of the deck may cancel in one.
            fastest = np.repeat(np.maximum.reduceat(fastest, [0, 7, 10]), [7, 3, 3])
            assert (change <= 2.0 * interval * fastest + 1e-5).all(), (change, fastest)
        self.wrench = wrench

    def odometry(self, *, turn=None, frame='odom', child='deck', late=0.0, spin=None):
        """Send one if it is due, of the deck or of what is given; return whether it is refused."""
        if self.at < self.due - 1e-9:
            return False
        self.due = max(self.due + self.interval, self.at)
        pose, linear, angular = self.deck.motion(self.at)
        rotation = pose[:3, :3] if turn is None else pose[:3, :3] @ lie.rotation_exp(turn)
        supervisor = self.supervisor
        now = None if supervisor.controller is None else supervisor.stamp_at(self.at)
        stamp = round((self.at - late) * 1e9) + self.offset
        up = supervisor.base.rotation[2].copy()
        try:
            supervisor.take_base(BaseReading(
                frame, child, pose[:3, 3], lie.quaternion(rotation), linear,
                angular if spin is None else spin, stamp), now, '', self.at)
        except hd.HodynError as error:
            self.refused.append(str(error))
            return True
        finally:
            # A wrong orientation must not reverse the weight.
            assert now is None or up @ supervisor.base.rotation[2] > np.cos(1.0) - 1e-9
        if isinstance(self.deck, Swell) and turn is None and supervisor.base.stamp == stamp:
            self.believed_list = self.deck.list
        return False

    def plan_base(self, times, poses, **options):
        """Send planned poses, (m, 4, 4), of the ship."""
        data = base_trajectory(times, [
            (*pose[:3, 3], *np.roll(lie.quaternion(pose[:3, :3]), -1)) for pose in poses],
            **options)
        self.supervisor.take_base_trajectory(
            data, *frame_and_names(data), self.supervisor.stamp_at(self.at), '')

    def state(self, position=None, velocity=None, elapsed=PERIOD):
        """Send a state, of the arm or of what is given instead; return whether it is answered."""
        self.pass_time(elapsed)
        if self.deck is not None and self.is_measured:
            self.odometry()
        return self.deliver(*self.read(position, velocity, elapsed))

    def read(self, position=None, velocity=None, elapsed=PERIOD):
        """Let the arm move for a time; return a state of it, or of what is given instead."""
        controller = self.supervisor.controller
        if controller is not None:
            q = controller.q
            most = elapsed * (PUSH + np.abs(q[1]))
            self.arm += np.clip(q[0] + self.away - self.arm, -most, most)
        self.stamp = round((self.at - self.random.uniform(0.0, self.late)) * 1e9) + self.offset
        speed = (
            np.zeros(7) if controller is None or position is not None else controller.q[1].copy())
        return (
            self.arm.copy() if position is None else position,
            speed if velocity is None else velocity, self.stamp)

    def deliver(self, position, velocity, stamp):
        """Send a state; return whether it is answered."""
        supervisor, is_answered = self.supervisor, False
        with contextlib.suppress(hd.HodynError):  # a stamp that is not newer than the last
            is_answered = supervisor.take_state(position, velocity, stamp, self.at)
        if is_answered:
            self.cycle(stamp)
            supervisor.compare(stamp, self.at)
        self.look()
        return is_answered

    def group(self, size, *, repeats=1):
        """Send states together that were read one after another, each `repeats` times."""
        readings = []
        for number in range(size):
            self.pass_time(PERIOD)
            position, velocity, stamp = self.read()
            if number % repeats:
                position, velocity = readings[-1][:2]
            readings.append((position, velocity, stamp))
        if self.deck is not None and self.is_measured:
            self.odometry()
        for reading in readings:
            self.deliver(*reading)

    def states(self, count, **given):
        """Send states; return the torques after each, (≤ count, 7), once one is published."""
        published = []
        for _ in range(count):
            self.state(**given)
            if self.published is not None:
                published.append(self.published)
        return np.array(published)

    def sail(self, seconds):
        """Send states for a time; return the torques that are published."""
        return self.states(round(seconds / PERIOD))

    def pass_time(self, seconds, *, watched=True):
        """Let time pass without a state; `watched` as by a process that runs."""
        end = self.at + seconds
        while watched and self.watched_at + WATCH_PERIOD <= end:
            self.at = self.watched_at = max(self.watched_at + WATCH_PERIOD, self.at)
            if self.supervisor.is_watched and self.supervisor.watch(self.at):
                self.cycle(self.supervisor.stamp_at(self.at))
            self.look()
        self.at = end

    def look(self):
        """See that what is said fits what is done."""
        supervisor = self.supervisor
        for event in supervisor.reasons.events:
            assert event.text
            assert '{' not in event.text
            self.logged[event.text] += 1
        supervisor.reasons.events.clear()
        name, reason = self.report
        assert name in NAMES_OF_STATES
        assert name != 'fault' or reason
        if supervisor.controller is None:
            assert supervisor.state in (State.WAITING, State.ENDED)
            return
        reference = supervisor.controller.reference
        mode = reference.mode(supervisor.controller.now)
        if supervisor.state is State.SILENT:
            assert mode == 'holding'
            assert name == 'fault'
        if supervisor.state in (State.LOST, State.SILENT):
            assert 'joint states are lost' in reason
            assert mode in ('stopping', 'holding', 'following')  # until a stop can begin
        if supervisor.state is State.RUNNING:
            assert name == mode
            assert 'are lost' not in reason
            if name in ('following', 'streaming') and not supervisor.controller.excess:
                assert 'stopp' not in reason
                assert 'held' not in reason.split(':')[0]
        if supervisor.state is State.ADRIFT:
            assert 'the odometry of the base is lost' in reason
            assert name == ('fault' if mode == 'holding' else mode)
        if supervisor.state in UNREADY:
            assert supervisor.why_no_plan()

    def settle(self):
        """Let the arm be where the reference is, and states come, for a while."""
        self.away, self.is_measured, self.late = np.zeros(7), True, 0.0
        if isinstance(self.deck, Swell):
            self.deck.list = self.believed_list
        self.states(5)  # what is under way is told after the next states
        for _ in range(4000):
            self.state()
            if 'weight' in self.supervisor.why_waiting:
                self.supervisor.change_model(self.model)
            if self.supervisor.state is State.RUNNING and self.report[0] == 'holding' and (
                    not self.supervisor.controller.is_fading):
                return
        raise AssertionError(self.report)

    def end(self):
        """Deactivate, and let cycles pass until that is over."""
        supervisor = self.supervisor
        supervisor.deactivate()
        for _ in range(20_000):
            if supervisor.state is State.ENDED:
                return
            self.at += 0.001
            self.cycle(supervisor.stamp_at(self.at))
            self.look()
        raise AssertionError(f'it has not ended in 20 s: {supervisor.state}')


def running(**options):
    """Return a world whose node runs."""
    world = World(**options)
    world.states(30)
    assert world.report == ('holding', '')
    return world
