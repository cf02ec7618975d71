"""The state machine of an active node, by the table of `transitions`."""
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.base_input import BaseInput, BaseReading
from hodyn_ros.feedforward.base_reference import BaseReference
from hodyn_ros.feedforward.contradicted_velocities import ContradictedVelocities
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.departures import Departures
from hodyn_ros.feedforward.locked_watch import LockedWatch
from hodyn_ros.feedforward.motor_feedback import MotorFeedback
from hodyn_ros.feedforward.moving_base import MovingBaseFeedForward
from hodyn_ros.feedforward.plan_answer import PlanMaker
from hodyn_ros.feedforward.reasons import NOT_FINITE, OF_STATES, Reasons, cause_of, joined
from hodyn_ros.feedforward.reference_clock import ReferenceClock
from hodyn_ros.feedforward.settings import SupervisorSettings
from hodyn_ros.feedforward.stamp_pace import StampPace
from hodyn_ros.feedforward.state_arrivals import StateArrivals
from hodyn_ros.feedforward.stream_schedule import StreamSchedule
from hodyn_ros.feedforward.torque import FeedForward
from hodyn_ros.feedforward.tracking import TrackingWatch
from hodyn_ros.feedforward.trajectory_goals import (
    ACTION,
    PLAN,
    ErrorCode,
    TrajectoryGoals,
)
from hodyn_ros.feedforward.transitions import DEACTIVATED, HEARING, TRANSITIONS, Cause, State
from hodyn_ros.feedforward.wrench_inputs import WrenchInputs
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.locked_joints import locks_that_matter

JOINT_STATES_LOST = 'joint states are lost'
WAITS = 'a plan waits for its start'
NOTABLE_WAIT = 1.0  # time, s, from which the wait of a plan for its start is reported
BASE_LOST = 'the odometry of the base is lost'
UNUSED_MOTORS = 'motor_states are not used: flatness_poles is 0'
SAME_TILT = 1e-3  # a smaller change of tilt, rad, does not change the model for plans
# Why no input is taken, by state.
UNREADY = {
    State.WAITING: 'no joint state yet, so the position of the arm is unknown',
    State.DEPARTING: '{why}: stopping', State.ADRIFT: BASE_LOST,
    State.LOST: JOINT_STATES_LOST, State.SILENT: JOINT_STATES_LOST,
    State.ENDING: DEACTIVATED, State.FADING: DEACTIVATED, State.ENDED: DEACTIVATED}
# Names in `~/state` that replace the mode of the reference.
NAMES = {
    State.LOST: 'stopping', State.SILENT: 'fault', State.ENDING: 'stopping',
    State.FADING: 'fading'}
CODES = {
    Cause.DEPARTED: ErrorCode.PATH_TOLERANCE_VIOLATED,
    Cause.ELSEWHERE: ErrorCode.PATH_TOLERANCE_VIOLATED}


class StateMachine:
    """A node's state, model and settings, and the transitions between its states."""

    def __init__(
        self, feedforward: FeedForward, settings: SupervisorSettings, planner: PlanMaker,
    ) -> None:
        robot = feedforward.robot
        self.feedforward = feedforward  #: The model, with its payload
        self.settings = settings
        self.state = State.WAITING
        #: Reference and torques; None while `WAITING`
        self.controller: FeedforwardController | None = None
        #: Stiffness that the last activation left, N m/rad, by the driver's names; may be empty
        self.stiffness: dict[str, float] = {}
        self.reasons = Reasons(robot)  #: Reasons for the state, notices and log lines
        self.counts: Counter[str] = Counter()  #: How often things happened, for diagnostics
        #: Total time of jumps of the stamps, ahead or back, that the reference did not follow, s
        self.left_out = 0.0
        #: `why_waiting`: why no joint state has been taken yet; empty before the first one.
        #: `why_no_state`: why states were refused since the last taken one; empty if none was.
        self.why_waiting = self.why_no_state = ''
        self.arrivals = StateArrivals(
            settings.state_timeout, may_be_slow=settings.is_simulated)
        #: Whether the stamps of the joint states advance as real time does
        self.pace = StampPace(is_simulated=settings.is_simulated)
        #: Where the locked joints are measured
        self.locked = LockedWatch(locks_that_matter(robot), robot.shifting_locks)
        #: The measured state of a moving base; None for a fixed base, as is `base_reference`
        self.base = BaseInput(
            robot, settings.base_timeout, settings.base_acceleration_bandwidth,
        ) if feedforward.is_floating else None
        self.base_reference = None if self.base is None else BaseReference(
            self.base, np.array(settings.base_tolerance), settings.base_acceleration_bandwidth,
            planner, self.reasons)
        self.clock = ReferenceClock(0, settings.max_time_step, settings.lookahead)
        of_motors = settings.controller.motor_feedback
        #: The correction to the motors' torque; None if it is off
        self.motor_feedback = None if of_motors is None else MotorFeedback(
            robot, of_motors, settings.controller.fade, settings.lookahead)
        self.goals = TrajectoryGoals(robot.joint_names, settings.lookahead)
        self.stream = StreamSchedule(settings.stream_delay, settings.stream_timeout)
        self._streamed_velocities = ContradictedVelocities(robot.n)
        self._planner = planner
        self._wrenches = WrenchInputs(
            robot, settings.max_force, settings.max_moment, settings.wrench_timeout)
        self._tracking = TrackingWatch(settings.tracking_tolerance, robot)
        self._departures = Departures(
            robot, settings.tracking_tolerance, asks=not settings.is_simulated)
        self._joints: Sequence[str] = robot.joint_names
        self._believed = np.zeros((2, robot.n))
        self._planned_tilt = np.full(3, np.inf)
        # Plans that were requested before the activation are not followed.
        planner.cancel()

    def reject_state(self, why: str) -> None:
        """Note why a state was refused; while waiting the last reason is shown, else the first."""
        if self.why_waiting:  # empty: the node waits for a first state, and says so itself
            self.why_waiting = why
        self.why_no_state = self.why_no_state or why

    def bind(self, joints: Sequence[str]) -> None:
        """Set the names of the joints in the joint states."""
        self._joints = joints
        self.goals.bind(joints)

    def hold(self, why: str) -> None:
        """Stop and hold until the next plan or stream."""
        if self.controller is None:
            raise HodynError('the node waits for a joint state')
        self._departures.forget()  # an arm that is elsewhere is held where it is
        self._go(Cause.HELD, why=why)

    def deactivate(self) -> None:
        """Stop, then fade the output to the weight: call `evaluate` and `judge` until `ENDED`."""
        self._hold_base(DEACTIVATED)  # odometry is no longer read
        self._go(Cause.DEACTIVATED)
        if self.controller is not None:
            self.controller.hold_stiffness()

    @property
    def held_stiffness(self) -> dict[str, float]:
        """The stiffness that the motors of each joint have now, N m/rad; empty if unknown."""
        if self.controller is None or self.controller.stiffness is None:
            return self.stiffness
        return dict(zip(self._joints, self.controller.stiffness[0].tolist(), strict=True))

    def _resume_stiffness(self, controller: FeedforwardController) -> None:
        """Begin at the stiffness of the last activation, to which the motors are still set."""
        before, self.stiffness = self.stiffness, {}
        if set(before) == set(self._joints) and controller.has_variable_stiffness:
            self.stiffness = before
            lost = controller.resume_stiffness(np.array([before[name] for name in self._joints]))
            self.reasons.tell_resumed([
                name for name, is_so in zip(self._joints, lost, strict=True) if is_so])

    def change_model(self, feedforward: FeedForward) -> None:
        """Use another model of the robot, for instance another payload, without a torque step."""
        if self.controller is not None:
            self.controller.replace(feedforward)
        if self.motor_feedback is not None:
            self.motor_feedback.change_model(feedforward.robot)
        self.feedforward = feedforward
        self._planned_tilt = np.full(3, np.inf)
        self._planner.change_robot(feedforward.planned_robot)

    def take_locked(self, measured: Mapping[str, float]) -> None:
        """Take measured positions of locked joints, rad or m, by their names."""
        self.locked.take(measured)
        if self.controller is not None and (left := self.locked.news()):
            self.reasons.tell('warning', left)

    def take_base(self, reading: BaseReading, now: int | None, prefix: str, at: float) -> None:
        """Take a measured state of a moving base, see `BaseInput.take`."""
        base, controller = self.base, self.controller
        assert base is not None
        since = at - base.arrivals.last
        if base.take(reading, now, prefix, at) and controller is not None:
            controller.set_base(base.rotation, base.hybrid)
            if self.base_reference is not None:
                self.base_reference.see(controller, self.clock.left_out)
            if base.jumped:
                controller.fade_to_base()
                if self.state is not State.ADRIFT:
                    self.reasons.notice('base', base.jumped, at, 'warning')
            if base.doubt:
                # Only accelerations depend on this velocity: without them, just log the doubt.
                is_shown = self.settings.base_acceleration_bandwidth > 0.0
                self.reasons.notice(
                    'base velocity', base.doubt if is_shown else '', at, 'warning', base.doubt)
            if self.state is State.ADRIFT:
                self._go(Cause.BASE_BACK, seconds=since, tilt=base.tilted)

    def take_base_trajectory(
        self, data: bytes, frame: str, names: Sequence[str], points: int, now: int, prefix: str,
    ) -> None:
        """Take planned poses of a moving base, see `BaseReference.submit`."""
        if self.base_reference is None:
            raise HodynError(
                f'the base of robot {self.feedforward.robot.name!r} is fixed: see floating_base')
        self.base_reference.submit(
            data, frame, names, points, now, prefix, self._ready())

    def _hold_base(self, why: str) -> None:
        """Assume that a moving base rests from now on."""
        if self.base_reference is not None:
            self.base_reference.drop(self.controller, why)
        if self.controller is not None:
            self.controller.hold_base()

    def take_motors(
        self, position: Array, velocity: Array | None, stamp: int, at: float,
    ) -> None:
        """Take a state of the motors, (m,) each, in link-side units, with its stamp, ns."""
        if self.motor_feedback is None:
            self.reasons.notice('unused', '', at, 'warning', UNUSED_MOTORS)
            return
        if velocity is None:
            raise HodynError('it has no velocity')
        if not stamp:
            raise HodynError('it has no stamp: give it the stamp of the joint state')
        self.motor_feedback.take(position, velocity, stamp)

    def reject_motors(self, why: str) -> None:
        """Note why a state of the motors was rejected; empty if it was not."""
        if why and self.motor_feedback is not None:
            self.motor_feedback.reject(why)

    def _feed_back(self, state: Array | None, stamp: int, age: float, at: float) -> None:
        """Compute the correction that belongs to the last cycle, see `MotorFeedback.advance`."""
        feedback, controller = self.motor_feedback, self._running
        if feedback is None:
            return
        feedback.advance(controller, state, stamp, age, self.arrivals.period, is_allowed=(
            self.state is State.RUNNING and controller.may_be_published
            and controller.excess is None
            and controller.reference.mode(controller.now) != 'stopping'))
        if feedback.why:
            self.reasons.notice(cause_of(feedback.why), feedback.why, at, 'warning')

    @property
    def is_watched(self) -> bool:
        """Whether `watch` has something to do: an input may fall silent."""
        return self.state in HEARING or self.state is State.LOST

    @property
    def _is_fading(self) -> bool:
        """Whether an output, a spring, the stiffness or the motor feedback still changes."""
        return self._running.is_fading or (
            self.motor_feedback is not None and self.motor_feedback.is_fading)

    def _watch_base(self, at: float) -> None:
        """Stop when the odometry of a moving base stays away."""
        if self.base is None or not self.base.arrivals.are_lost(at):
            return
        if self.base.fell_silent(at):
            self._hold_base(BASE_LOST)
        if self.state in (State.RUNNING, State.DEPARTING):
            self._go(Cause.BASE_LOST, seconds=at - self.base.arrivals.last)

    def _knows_base(self, stamp: int, at: float) -> bool:
        """Return whether the tilt of the base is known, so that the arm can be held."""
        if self.base is None:
            return True
        try:
            self.base.check_age(stamp)
        except HodynError as error:
            self.why_waiting = f'for the base: {error}'
            return False
        if not self.base.is_known(at):
            self.why_waiting = (self.base.why and f'for the base: {self.base.why}') or BASE_LOST
            return False
        assert isinstance(self.feedforward, MovingBaseFeedForward)
        self.feedforward.resting.rest(self.base.rotation)
        return True

    def _is_refused(self, kind: str, why: str, at: float) -> bool:
        """Report why the arm cannot be held; return whether there is a reason."""
        if why:
            self.why_waiting = why
            self.reasons.notice(kind, '', at, 'error', why)  # shown as `why_waiting`
        return bool(why)

    def _plan_on_base(self) -> None:
        """Have plans judged with the present tilt of the base."""
        if self.base is None:
            return
        tilt = self.base.rotation[2]
        if np.abs(tilt - self._planned_tilt).max() > SAME_TILT:
            self._planned_tilt = tilt.copy()
            self._planner.change_robot(self.feedforward.planned_robot)

    def report(self, at: float) -> tuple[str, str]:
        """Return the state and its reason, as `~/state` reports them."""
        controller = self.controller
        if controller is None:
            return 'waiting', self.why_waiting
        if not controller.may_be_published:
            excess = controller.excess
            return 'fault', NOT_FINITE if excess is None else self.reasons.of_excess(excess)
        if self.state is State.ENDED:
            return 'inactive', ''
        name = NAMES.get(self.state) or controller.reference.mode(controller.now)
        if self.state is State.ADRIFT and name == 'holding':
            name = 'fault'
        wait = controller.reference.next_start(controller.now)
        waits = WAITS if name == 'holding' and wait is not None and wait > NOTABLE_WAIT else ''
        refusal = self.stream.refusal(at) if name in ('streaming', 'holding') else ''
        return name, joined(self.reasons.text(at, self.why), refusal, self.locked.doubt, waits)

    def statistics(self) -> dict[str, str]:
        """Return the counters for diagnostics."""
        return {
            'gaps': str(self.arrivals.gaps), 'time left out (s)': f'{self.left_out:.3f}',
            **{name: str(self.counts[name]) for name in (
                'time left out', 'states left out', 'clipped cycles', 'scaled wrenches')},
            **self.locked.statistics(),
            **({} if self.base is None or self.base_reference is None else {
                'base readings left out': str(self.base.left_out),
                'base trajectory': self.base_reference.mode})}

    @property
    def why(self) -> str:
        """Reason for the present state, without the passing notices; empty if there is none."""
        if self.state is State.ADRIFT and self.base is not None:
            return BASE_LOST + (self.base.why and f': {self.base.why}')
        if self.state not in (State.LOST, State.SILENT):
            return self.reasons.why
        why = self.arrivals.stands_still or self.why_no_state
        return JOINT_STATES_LOST + (why and f': {why}')

    @property
    def _running(self) -> FeedforwardController:
        assert self.controller is not None
        return self.controller

    def _ready(self) -> FeedforwardController:
        """Return the controller; raise HodynError while no input can be taken."""
        if why := UNREADY.get(self.state, ''):
            raise HodynError(why.format(why=self.reasons.why))
        return self._running

    def _go(self, cause: Cause, **words: object) -> None:
        """Carry out the transition that the table gives for a cause."""
        row = TRANSITIONS[self.state, cause]
        self.state = row.after or self.state
        why = row.reason.format(**words)
        controller = self.controller
        if row.gives_up:
            self._drop_plan(why)
            self.stream.hold()
            self.goals.stop(CODES.get(cause, ErrorCode.INVALID_GOAL), why)
        if controller is not None:
            if row.reference:
                self._drop_waiting(why)
            if row.reference == 'stop' and not controller.reference.is_idle(controller.now):
                controller.stop(controller.now)
            elif row.reference == 'latch':
                controller.latch(self._believed[0].copy())
                self._tracking.forget()
            if row.drops_wrenches:
                self._wrenches.forget(controller)
        if row.after in (State.LOST, State.ENDING):
            self.reasons.forget(*OF_STATES)
        if self.state is State.SILENT:
            self.goals.settle(is_stopping=False)
        is_again = row.level == 'info' and bool(why) and why == self.reasons.why
        self.reasons.why = why or self.reasons.why
        if row.level and not is_again:
            self.reasons.tell(row.level, row.says.format(**words))

    def _drop_plan(self, why: str) -> None:
        """Drop a plan that is being prepared."""
        if self._planner.cancel():
            why = f'dropped while it was prepared: {why}'
            self.reasons.tell('error', why, self._topic)
            self.goals.drop(why)

    def _drop_waiting(self, why: str) -> bool:
        """Drop the plans that wait for their start; return whether there were any."""
        controller = self._running
        is_told = self.goals.waits(controller)  # the client of a goal gets its own answer
        count = controller.reference.drop_waiting()
        if count > is_told:
            self.reasons.tell(
                'error', f'plans that wait for their start are dropped: {why}', PLAN)
        return count > 0

    @property
    def _topic(self) -> str:
        """Action or topic of the trajectory that is being prepared."""
        return ACTION if self.goals.prepares else PLAN
