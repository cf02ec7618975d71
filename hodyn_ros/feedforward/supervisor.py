"""What an active node does, and why, free of ROS: the one owner of its state, model and settings.

What takes it from one state to another stands in the table of `transitions`; what it computes
in a cycle is the controller's.
"""
from collections import Counter
from collections.abc import Sequence
import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.plan_answer import Accepted, Refused
from hodyn_ros.feedforward.plausible_state import PERSISTENCE, PlausibleState
from hodyn_ros.feedforward.reasons import NOT_FINITE, Reasons, of_departure
from hodyn_ros.feedforward.reference_clock import ReferenceClock
from hodyn_ros.feedforward.settings import SupervisorSettings
from hodyn_ros.feedforward.state_arrivals import StateArrivals
from hodyn_ros.feedforward.stream_schedule import StreamSchedule, check_range
from hodyn_ros.feedforward.torque import FeedForward
from hodyn_ros.feedforward.tracking import TrackingWatch
from hodyn_ros.feedforward.trajectory_goals import (
    ACTION,
    PLAN,
    REPLACED,
    ErrorCode,
    Goal,
    TrajectoryGoals,
)
from hodyn_ros.feedforward.transitions import DEACTIVATED, TRANSITIONS, Cause, State
from hodyn_ros.feedforward.wrench_inputs import WrenchInputs
from hodyn_ros.reference.manager import ReferenceManager
from hodyn_ros.robot import HodynError, Robot

Array = NDArray[np.float64]

WATCH_PERIOD = 0.005
"""How often `watch` is to be called, s."""
# So slow a reference may be led to where the arm is, rad/s or m/s.
AT_REST = 1e-3
# How often a joint that is away from its reference is told, s.
TELL_AWAY = 1.0

# So far beyond its range a joint is not said to be, rad or m.
BEYOND = 1e-3

UNLIKE = 'for three joint states in a row that agree with each other'
STREAMING = 'a streamed reference is followed; let it end first'
CLOCK_SET_BACK = 'the clock was set back'
NO_VELOCITY = 'the joint states have no velocity: the dynamics are evaluated at the reference'
JOINT_STATES_LOST = 'joint states are lost'
# Why nothing is taken.
UNREADY = {
    State.WAITING: 'no joint state yet, so nobody knows where the arm is',
    State.DEPARTING: '{why}: stopping',
    State.LOST: JOINT_STATES_LOST, State.SILENT: JOINT_STATES_LOST,
    State.ENDING: DEACTIVATED, State.FADING: DEACTIVATED, State.ENDED: DEACTIVATED}
# What `~/state` calls the states in which it does not say what the reference does.
NAMES = {
    State.SILENT: 'fault', State.ENDING: 'stopping', State.FADING: 'fading'}
CODES = {
    Cause.DEPARTED: ErrorCode.PATH_TOLERANCE_VIOLATED,
    Cause.ELSEWHERE: ErrorCode.PATH_TOLERANCE_VIOLATED}


class PlanMaker(Protocol):
    """Makes trajectories plans, without a cycle waiting for it; see `plans.planner.Planner`."""

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""

    def submit(
        self, data: bytes, reference: ReferenceManager, now: int, *, annotate: bool,
        left_out: int = 0,
    ) -> None:
        """Have a serialized trajectory made a plan, in the place of one that is being made."""

    def poll(self, reference: ReferenceManager, now: int) -> Accepted | Refused | None:
        """Let the reference follow a plan that is ready; None if there is none."""

    def cancel(self) -> bool:
        """Drop the plan that is being made; return whether there was one."""

    def change_robot(self, robot: Robot) -> None:
        """Make plans for another model from now on."""


class Supervisor:
    """One arm's feed-forward from activation to the end of its deactivation.

    Instants (`now`, `stamp`) are ns on the clock of the joint states' stamps, times of arrival
    (`at`) s on a clock that nobody sets. Inputs that cannot be taken raise HodynError.

    Attributes
    ----------
    state : State
        What is done.
    controller : FeedforwardController or None
        Reference and torques; None while `WAITING`.
    reasons : Reasons
        What there is to say of it.
    counts : Counter
        How often things happened, for diagnostics.
    measured : (2, n) array
        Position and velocity of the last state.
    left_out : float
        How long the reference did not move in all, as time was missing between cycles, s.
    annotated : bytes
        The last plan that was accepted, annotated, if that was asked for; whoever publishes it
        empties it.
    why_waiting : str
        Why none of the states so far is taken; empty if none came.

    """

    def __init__(
        self, feedforward: FeedForward, settings: SupervisorSettings, planner: PlanMaker,
    ) -> None:
        robot = feedforward.robot
        self.feedforward = feedforward
        self.settings = settings
        self.state = State.WAITING
        self.controller: FeedforwardController | None = None
        self.counts: Counter[str] = Counter()
        self.measured = np.zeros((2, robot.n))
        self.left_out = 0.0
        self.annotated = b''
        self.why_waiting = ''
        self.arrivals = StateArrivals(settings.state_timeout)
        self.clock = ReferenceClock(0, settings.max_time_step, settings.lookahead)
        self.goals = TrajectoryGoals(robot.joint_names, settings.lookahead)
        self.stream = StreamSchedule(settings.stream_delay, settings.stream_timeout)
        self._planner = planner
        self._wrenches = WrenchInputs(
            robot, settings.max_force, settings.max_moment, settings.wrench_timeout)
        self._plausible = PlausibleState(robot.limits)
        self._tracking = TrackingWatch(settings.tracking_tolerance)
        self.reasons = Reasons(robot)
        self._joints: Sequence[str] = robot.joint_names
        self._believed = np.zeros_like(self.measured)
        self._has_velocity = False
        self._unbelieved = 0
        self._last_stamp, self._answered_at = 0, 0.0
        self._told_away_at = -math.inf
        self._told_timeout = 0.0
        # Plans that were requested before the activation are not followed.
        planner.cancel()

    # Cycles

    def bind(self, joints: Sequence[str]) -> None:
        """Take the names of the joints in the joint states."""
        self._joints = joints
        self.goals.bind(joints)

    def take_state(
        self, position: Array, velocity: Array | None, stamp: int, at: float,
    ) -> bool:
        """Take a measured state, (n,) each; return whether a cycle should answer it."""
        self.arrivals.arrived(at)
        starts = self.state in (State.WAITING, State.LOST, State.SILENT)
        at_measurement = self.settings.controller.at_measurement
        if self.state is not State.WAITING:
            self._check_stamp(stamp, at)
        is_believed = self._plausible.believe(position, velocity, stamp)
        if starts and not is_believed:
            self.why_waiting = UNLIKE
            return False
        if self.state is State.WAITING and not self._begin(position, stamp, at):
            return False
        since, self._answered_at = at - self._answered_at, at
        self._last_stamp = stamp
        self.measured[0] = position
        self._has_velocity = velocity is not None
        if velocity is not None:
            self.measured[1] = velocity
        elif at_measurement:
            self.reasons.notice('no velocity', NO_VELOCITY, at, 'error', (
                f'{NO_VELOCITY}; let the driver send it, or set evaluate_at: reference'))
        if is_believed:
            self._believed[:] = self.measured
            self._unbelieved = 0
        else:
            self._unbelieved += 1
            self._leave_out(at)
        if self.state in (State.LOST, State.SILENT):
            self.clock.resume_at(stamp)
            self._go(Cause.BACK, seconds=since)
            self._tracking.compare(self._within_range(position), self._running.q[0])
            if self._tracking.is_beyond:
                self._latch(' when joint states came back')
        return True

    def evaluate(self, stamp: int, at: float) -> FeedforwardController:
        """Evaluate a cycle at a stamp; a plan or a sample that is ready is taken first."""
        controller, clock = self._running, self.clock
        if stamp != clock.stamp:
            self._leave_time_out(clock.move_to(stamp, at), at)
        now = max(clock.now, controller.now)
        if self.state is State.RUNNING:
            self._take_plan(now)
            self._take_samples(now)
        measured = None
        # A sensor that stays wrong says nothing of where the arm is.
        if self.state in (State.RUNNING, State.DEPARTING) and self._unbelieved < PERSISTENCE and (
                self._has_velocity or not self.settings.controller.at_measurement):
            measured = self._believed
        controller.evaluate(now, measured)
        return controller

    def judge(self, at: float) -> None:
        """Decide what follows from a cycle: when what was evaluated is published."""
        controller = self._running
        self.counts['clipped cycles'] += controller.clipped
        mode = controller.reference.mode(controller.now)
        if self.state is State.RUNNING and mode in ('following', 'streaming'):
            self.reasons.why = ''
            if controller.excess is not None:
                self._go(Cause.EXCEEDED, why=self.reasons.of_excess(controller.excess))
        elif mode == 'holding' and (self.state is State.ENDING or (
                self.state is State.LOST and not controller.is_fading)):
            self._go(Cause.AT_REST)
        elif self.state is State.FADING and not (controller.is_fading and controller.is_finite):
            self._go(Cause.FADED)
        self.reasons.notice_cycle(controller, at)

    def compare(self, stamp: int, at: float) -> FeedforwardController:
        """Compare a measured state with the reference and with the goal that is followed."""
        controller, watch = self._running, self._tracking
        if self._unbelieved:  # one wrong reading is no departure, and no place to be held at
            watch.forget()
            return controller
        # The reference is ahead of the measurement by the lookahead.
        watch.compare(
            self._within_range(self.measured[0]),
            controller.q[0] - self.settings.lookahead * controller.q[1])
        if watch.has_departed:
            if np.abs(controller.q[1]).max() < AT_REST:
                self._latch()
            elif self.state is State.RUNNING:
                self._go(Cause.DEPARTED, why=of_departure(watch, self._joints))
        elif watch.is_notable and at > self._told_away_at + TELL_AWAY:
            self._told_away_at = at
            self.reasons.tell('warning', of_departure(watch, self._joints))
        if self.state is State.DEPARTING and controller.reference.is_idle(controller.now):
            self._go(Cause.AT_REST)
        measured = self.measured if self._has_velocity else self.measured[:1]
        if why := self.goals.watch(controller, measured, stamp):
            self._go(Cause.ABORTED, why=why)
        return controller

    def watch(self, at: float) -> bool:
        """Look after what falls silent; return whether a cycle by the own clock is due."""
        controller = self.controller
        if controller is None or not self.is_watched:
            return False
        self.goals.settle(is_stopping=controller.reference.mode(controller.now) == 'stopping')
        if not self.arrivals.may_judge(at, WATCH_PERIOD):
            return False
        for body in self._wrenches.silent(controller, at):
            self.reasons.tell('warning', f'external_wrench on {body} fell silent: it fades away')
        if self.stream.fell_silent(at) and controller.reference.streaming:
            self.reasons.tell('warning', (
                'the streamed reference fell silent: it goes to the last sample and holds'))
        timeout = self.arrivals.timeout
        if self.arrivals.period and abs(timeout - self._told_timeout) > 0.2 * self._told_timeout:
            self._told_timeout = timeout
            self.reasons.tell('info', (
                f'joint states come every {1e3 * self.arrivals.period:.3g} ms: they count as lost '
                f'after {timeout:.3g} s without one'))
        silence = at - self.arrivals.last
        if self.arrivals.is_late(at) and self.state is not State.LOST:
            self.reasons.notice('late', '', at, 'warning', (
                f'no joint state for {silence:.3f} s, {silence / self.arrivals.period:.0f} '
                'periods'))
        if self.state in (State.RUNNING, State.DEPARTING) and self.arrivals.are_lost(at):
            self.clock.skip_to(self.stamp_at(at))
            was_idle = controller.reference.is_idle(controller.now) and not self._planner.busy
            before = self.reasons.why
            self._go(Cause.LOST, seconds=silence)
            if was_idle:  # nothing was interrupted
                self.reasons.why = before
            self._plausible.forget()
        return self.state is State.LOST

    @property
    def is_watched(self) -> bool:
        """Whether something may fall silent, so that `watch` has something to do."""
        return self.state in (State.RUNNING, State.DEPARTING, State.LOST)

    def stamp_at(self, at: float) -> int:
        """Return what the stamp of a joint state would be at a time."""
        elapsed = round((at - self._answered_at) * 1e9)
        return max(self._last_stamp + elapsed, self.clock.stamp)

    # What is asked for

    def hold(self, why: str) -> None:
        """Stop and hold until the next plan or stream."""
        if self.controller is None:
            raise HodynError('it waits for a joint state')
        self._go(Cause.HELD, why=why)

    def deactivate(self) -> None:
        """Come to rest, and let the output go over to the weight: `evaluate` until `ENDED`."""
        self._go(Cause.DEACTIVATED)

    def change_model(self, feedforward: FeedForward) -> None:
        """Take another model of the robot, with another payload say, without a step in torque."""
        if self.controller is not None:
            self.controller.replace(feedforward)
        self.feedforward = feedforward
        self._planner.change_robot(feedforward.robot)

    def why_no_plan(self) -> str:
        """Return why no trajectory at all can be taken now; empty if one can."""
        try:
            controller = self._ready()
        except HodynError as error:
            return str(error)
        return STREAMING if controller.reference.streaming else ''

    def take_trajectory(self, data: bytes, goal: Goal | None, *, annotate: bool) -> None:
        """Have a serialized trajectory made a plan, of a goal of the action or of the topic."""
        if refusal := self.why_no_plan():
            raise HodynError(refusal)
        controller = self._running
        if self._planner.busy and not self.goals.prepares:
            self.reasons.tell('error', REPLACED, PLAN)
        self._planner.submit(
            data, controller.reference, controller.now, annotate=annotate,
            left_out=self.clock.left_out)
        self.goals.prepare(goal)

    def cancel(self, goal: Goal) -> None:
        """Give up a goal, and stop if it is followed."""
        if self.goals.is_prepared(goal):
            self._planner.cancel()
        if self.goals.cancel(goal):
            self._go(Cause.CANCELED)

    def take_sample(
        self, position: Array, velocity: Array | None, stamp: int | None, at: float,
    ) -> None:
        """Follow a streamed sample, (n,) each, from when it is due; `stamp` is its sender's."""
        controller = self._ready()
        check_range(self.feedforward.robot.limits, self._joints, position, velocity)
        self.stream.check_pause()
        reference = controller.reference
        if not reference.streaming and not reference.is_idle(controller.now):
            raise HodynError('a plan or a stop is under way; let it end first')
        self.stream.add(stamp, controller.now, position, velocity, at)

    def take_wrench(self, link: str, wrench: Array, at: float) -> None:
        """Take an external wrench, (6,), on a link, in its axes about its origin."""
        if line := self._wrenches.take(self._ready(), link, wrench, at):
            self.counts['scaled wrenches'] += 1
            self.reasons.notice(
                'wrench', 'external_wrench is scaled down: see the log', at, 'warning', line)

    def take_stiffness(self, stiffness: Array, at: float) -> None:
        """Ask for the stiffness, (n,) N m/rad, of joints that can vary theirs."""
        controller = self._ready()
        motors = controller.motors
        if motors is None or not motors.actuators.variable.any():
            raise HodynError('no joint of this robot has a variable stiffness')
        wrong = motors.actuators.variable & (stiffness <= 0.0)
        if wrong.any():
            raise HodynError(
                f'stiffness of joint {self._joints[int(wrong.argmax())]!r} must be above 0')
        taken, joint = controller.set_stiffness(stiffness)
        if joint >= 0:
            self.reasons.notice(
                'stiffness', 'stiffness is not taken whole: see the log', at, 'warning',
                f'stiffness of {self.feedforward.robot.joint_names[joint]}: {taken[joint]:.4g} '
                f'of {stiffness[joint]:.4g} N m/rad that are asked for, as far as the limits of '
                'its motors and springs allow')

    # What is said

    def report(self, at: float) -> tuple[str, str]:
        """Return what `~/state` says: what is done, and why."""
        controller = self.controller
        if controller is None:
            return 'waiting', self.why_waiting
        if not controller.is_finite:
            return 'fault', NOT_FINITE
        if self.state is State.ENDED:
            return 'inactive', ''
        name = NAMES.get(self.state) or controller.reference.mode(controller.now)
        is_lost = self.state in (State.LOST, State.SILENT)
        return name, self.reasons.text(at, JOINT_STATES_LOST if is_lost else '')

    def statistics(self) -> dict[str, str]:
        """Return what is counted, for diagnostics."""
        return {
            'gaps': str(self.arrivals.gaps), 'time left out (s)': f'{self.left_out:.3f}',
            **{name: str(self.counts[name]) for name in (
                'time left out', 'states left out', 'clipped cycles', 'scaled wrenches')}}

    # What follows

    @property
    def _running(self) -> FeedforwardController:
        assert self.controller is not None
        return self.controller

    def _ready(self) -> FeedforwardController:
        """Return what takes an input; raise HodynError while nothing can be taken."""
        if why := UNREADY.get(self.state, ''):
            raise HodynError(why.format(why=self.reasons.why))
        return self._running

    def _go(self, cause: Cause, **words: object) -> None:
        """Do what the table says of a cause."""
        row = TRANSITIONS[self.state, cause]
        self.state = row.after or self.state
        why = row.reason.format(**words)
        controller = self.controller
        if row.gives_up:
            self._drop_plan(why)
            self.stream.hold()
            self.goals.stop(CODES.get(cause, ErrorCode.INVALID_GOAL), why)
        if controller is not None:
            if row.reference == 'stop' and not controller.reference.is_idle(controller.now):
                controller.stop(controller.now)
            elif row.reference == 'latch':
                controller.latch(self._believed[0].copy())
                self._tracking.forget()
            if row.drops_wrenches:
                self._wrenches.forget(controller)
        if self.state is State.SILENT:
            self.goals.settle(is_stopping=False)
        self.reasons.why = why or self.reasons.why
        if row.level:
            self.reasons.tell(row.level, row.says.format(**words))

    def _begin(self, position: Array, stamp: int, at: float) -> bool:
        """Hold a position, unless the arm is too heavy there; return whether it is held."""
        self.clock = ReferenceClock(stamp, self.settings.max_time_step, self.settings.lookahead)
        held = self._within_range(position)
        controller = FeedforwardController(
            self.feedforward, held, self.clock.now, self.settings.controller)
        self.why_waiting = controller.excess_of_weight
        if self.why_waiting:
            self.reasons.notice('weight', self.why_waiting, at, 'error')
            return False
        self.controller = controller
        self._go(Cause.FOUND)
        if (beyond := np.abs(position - held)).max() > BEYOND:
            joint = int(beyond.argmax())
            self.reasons.why = (
                f'{self._joints[joint]} is at {position[joint]:.4g}, beyond its range: it is held '
                f'at the end, {held[joint]:.4g}')
            self.reasons.tell('warning', self.reasons.why)
        return True

    def _check_stamp(self, stamp: int, at: float) -> None:
        """Refuse a state that is not newer than the last, unless its clock was set back."""
        clock = self.clock
        back = self._last_stamp - stamp
        if 0 <= back <= clock.max_step:
            raise HodynError('a stamp is not newer than the last')
        if back > 0 and stamp < clock.stamp:
            self._leave_time_out(clock.move_to(stamp, at), at)
            # Their starts are times of the clock as it was.
            self._drop_plan(CLOCK_SET_BACK)
            if self._running.reference.drop_waiting():
                # The last plan that was taken is among them, so that of a goal is.
                self.goals.stop(ErrorCode.INVALID_GOAL, CLOCK_SET_BACK)
                self.reasons.tell(
                    'error', f'plans that wait for their start are dropped: {CLOCK_SET_BACK}',
                    PLAN)

    def _drop_plan(self, why: str) -> None:
        """Drop a plan that is being prepared."""
        if self._planner.cancel():
            why = f'dropped while it was prepared: {why}'
            self.reasons.tell('error', why, self._topic)
            self.goals.drop(why)

    @property
    def _topic(self) -> str:
        """Where the trajectory came from that is being prepared."""
        return ACTION if self.goals.prepares else PLAN

    def _take_plan(self, now: int) -> None:
        """Let the reference follow a plan that is ready, if there is one."""
        answer = self._planner.poll(self._running.reference, now)
        if answer is None:
            return
        topic = self._topic
        self.goals.take(answer)
        if isinstance(answer, Refused):
            self.reasons.tell('error', answer.why, topic)
            if answer.traceback:
                self.reasons.tell('error', answer.traceback)
            return
        self.reasons.tell('info', f'trajectory accepted: {answer.summary}')
        self.annotated = answer.message

    def _take_samples(self, now: int) -> None:
        """Let the reference follow the streamed samples that are due."""
        sample = self.stream.take(now)
        if sample is None:
            return
        try:
            self._running.stream(now, sample.position, sample.velocity, sample.until)
        except HodynError as error:
            self.stream.clear()
            self.reasons.tell('error', str(error), 'reference')

    def _within_range(self, position: Array) -> Array:
        """Return a position, (n,), as the reference can be there: no further than the range."""
        limits = self.feedforward.robot.limits
        return np.clip(position, limits.position_min, limits.position_max)

    def _latch(self, when: str = '') -> None:
        position = self.measured[0]
        self._go(
            Cause.ELSEWHERE, why=of_departure(self._tracking, self._joints, when),
            where='where it is' if (self._within_range(position) == position).all()
            else 'at the end of its range')

    def _leave_time_out(self, seconds: float, at: float) -> None:
        """Say that the reference did not move for a time, s; negative: the clock was set back."""
        if not seconds:
            return
        self.counts['time left out'] += 1
        self.left_out += abs(seconds)
        missing = (
            f'{seconds:.3f} s are missing between cycles' if seconds > 0.0
            else f'the clock of the joint states was set back by {-seconds:.3f} s')
        self.reasons.notice(
            'time', f'{missing}: the reference goes on from where it was', at, 'warning')

    def _leave_out(self, at: float) -> None:
        """Say that a measured state does not reach the torque: it contradicts the ones before."""
        joint = self._plausible.joint
        position, velocity = self.measured[:, joint]
        self.counts['states left out'] += 1
        self.reasons.notice(
            'state', f'{self._joints[joint]} at {position:.4g}, moving at {velocity:.4g}, '
            'contradicts the state before: it is left out', at, 'warning')

