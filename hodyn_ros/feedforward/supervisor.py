"""How an active node handles its inputs, independent of ROS.

The table of `transitions` defines the node's states; the controller computes each cycle.
"""
from typing import NoReturn

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.base_reference import CLOCK_SET_BACK
from hodyn_ros.feedforward.contradicted_velocities import ContradictedVelocities
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.plan_answer import PlanMaker
from hodyn_ros.feedforward.plausible_state import (
    PERSISTENCE,
    RESTART,
    SETTLED,
    PlausibleState,
    ZeroVelocities,
    beyond_range,
)
from hodyn_ros.feedforward.reasons import (
    APART,
    ASTRAY,
    ELSEWHERE,
    LONGER,
    UNLIKE,
    WHY_LONGER,
    joined,
)
from hodyn_ros.feedforward.reference_clock import ReferenceClock
from hodyn_ros.feedforward.requests import Requests
from hodyn_ros.feedforward.settings import SupervisorSettings
from hodyn_ros.feedforward.stamp_pace import MissingTime
from hodyn_ros.feedforward.torque import FeedForward
from hodyn_ros.feedforward.trajectory_goals import ErrorCode
from hodyn_ros.feedforward.transitions import HEARING, Cause, State
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.many_turns import too_many_turns

WATCH_PERIOD = 0.005
"""Period at which `watch` is called, s."""
# Only a reference slower than this, rad/s or m/s, may be set to a real arm's measured position.
AT_REST = 1e-3
OFTEN = 0.1  # share of the time that the reference may leave out without a notice


class Supervisor(Requests):
    """One arm's feed-forward from activation to the end of its deactivation.

    Instants (`now`, `stamp`) are ns on the clock of the joint states' stamps; times of arrival
    (`at`) are s on a monotonic clock. Inputs that cannot be used raise HodynError.
    """

    def __init__(
        self, feedforward: FeedForward, settings: SupervisorSettings, planner: PlanMaker,
    ) -> None:
        super().__init__(feedforward, settings, planner)
        #: (2, n): position and velocity of the last joint state
        self.measured = np.zeros((2, feedforward.robot.n))
        #: The last accepted plan, annotated, if that was requested; its publisher empties it
        self.annotated = b''
        self._plausible = PlausibleState(feedforward.robot)
        self._zeros = ZeroVelocities(feedforward.robot.limits.velocity)
        self._contradicted = ContradictedVelocities(feedforward.robot.n)
        self._has_velocity = self._was_reset = False
        self._unbelieved, self._readings = 0, 1
        self._last_stamp, self._answered_at, self._rested_at = 0, 0.0, 0.0
        self._late_stamp: int | None = None
        # Messages about other arms on the topic, in the order in which they came last: this arm's
        # last stamp when each began to come without a pause, and the time at which it came last.
        self._others: dict[str, tuple[int, float]] = {}
        self._heard_at = 0.0
        self._lately = MissingTime(OFTEN)

    # Cycles

    def take_state(
        self, position: Array, velocity: Array | None, stamp: int, at: float,
    ) -> bool:
        """Take a measured state, (n,) each; return whether a cycle should answer it."""
        if self._plausible.is_astray and at - self._heard_at > RESTART:
            self._plausible.restart()
        self._heard_at = at
        starts = self.state in (State.WAITING, State.LOST, State.SILENT)
        if self.state is not State.WAITING:
            if self._plausible.is_nowhere(position):
                self._plausible.leave_out(stamp)
                self._refuse(
                    beyond_range(self.feedforward.robot, self._joints, position)[0], position)
            if not self._is_new(stamp, at):
                return False
        self.pace.see(stamp, at)
        if self.pace.skips:
            self.reject_state(self.pace.skips)
            raise HodynError(self.pace.skips)
        for kind, doubt in (('pace', self.pace.wrong), ('repeated', self.arrivals.repeated)):
            if doubt:
                self.reasons.notice(kind, '', at, 'warning', doubt)
        given, velocity = velocity, self._zeros.leave_out(velocity)
        if self._contradicted.are_wrong:
            velocity = None
        is_believed = self._plausible.believe(position, velocity, stamp, self._may_be_at)
        if self._plausible.is_astray:
            self._refuse(ELSEWHERE if self._plausible.may_settle else ASTRAY.format(
                joint=self._joints[self._plausible.joint]), position)
        self.arrivals.arrived(at, stamp)
        self.why_no_state = ''
        if starts and not is_believed:
            self.why_waiting = UNLIKE if self._plausible.joint >= 0 else APART
            return False
        if self.state is State.WAITING and not self._begin(position, stamp, at):
            return False
        since, self._answered_at = at - self._answered_at, at
        self._last_stamp = stamp
        self.measured[0] = position
        self._has_velocity = velocity is not None
        if velocity is not None:
            self.measured[1] = velocity
        elif self.settings.controller.at_measurement:
            self.reasons.notice_no_velocity(at, is_given=given is not None)
        if is_believed:
            self._see_velocity(position, given, stamp, at)
            self._believed[:] = self.measured
            self._readings, self._unbelieved = self._unbelieved + 1, 0
        else:
            self._unbelieved += 1
            if self._plausible.is_there:
                self._believed[0], self._readings = position, 1
            self._leave_out(at)
        if self.state in (State.LOST, State.SILENT):
            is_new = self.state is State.SILENT and at - self._rested_at > RESTART + SETTLED
            has_moved = self._departures.come_back(self._joints, position)
            self.clock.resume_at(stamp)
            self._go(Cause.BACK, seconds=since)
            self._tracking.forget_motion()
            self._tracking.compare(self._running.within_range(position), self._running.q[0])
            if self._tracking.is_beyond and (is_new or not self._tracking.is_turned) and (
                    self._was_reset or not self._why_not_held(is_new=is_new and has_moved)):
                self._latch(' when joint states came back', is_new=is_new)
        return True

    def see_other_arm(self, why: str, at: float) -> None:
        """Give joint states of another arm as the reason why none of this arm come.

        An arm that has been heard since before this arm's last state is not the reason.
        """
        others = self._others
        while others and at - others[first := next(iter(others))][1] > RESTART:
            del others[first]
        since, _ = others.pop(why, (self._last_stamp, at))
        others[why] = since, at
        if self.state in (State.LOST, State.SILENT) and since == self._last_stamp and (
                not self.why_no_state):
            self.why_no_state = (
                f'{why}; if they are those of this arm, activate the node again, with their '
                'joint_prefix if one was given')
            self.reasons.tell('error', self.why_no_state, 'joint_states')

    def evaluate(self, stamp: int, at: float) -> FeedforwardController:
        """Evaluate a cycle at a stamp, after taking a plan or sample that is ready."""
        controller, clock = self._running, self.clock
        if stamp != clock.stamp:
            self._leave_time_out(clock.move_to(stamp, at), at)
        now = max(clock.now, controller.now)
        if self.state is State.RUNNING:
            self._take_plan(now, at)
            self._take_samples(now)
        measured = None
        # A sensor that stays wrong does not show where the arm is.
        if self.state in HEARING and self._unbelieved < PERSISTENCE and (
                self._has_velocity or not self.settings.controller.at_measurement):
            measured = self._believed
        controller.evaluate(now, measured)
        state = self._believed if self._has_velocity and not self._unbelieved else None
        self._feed_back(state, self._last_stamp, (stamp - self._last_stamp) * 1e-9, at)
        return controller

    def judge(self, at: float) -> None:
        """Decide what follows from a cycle, once its outputs are published."""
        controller = self._running
        self.counts['clipped cycles'] += controller.clipped
        mode = controller.reference.mode(controller.now)
        if self.state is State.RUNNING and mode in ('following', 'streaming'):
            self.reasons.why = ''
            if not self._tracking.is_beyond:
                self._departures.forget()
        self.reasons.notice_cycle(controller, at)
        if self.state is State.RUNNING and mode in ('following', 'streaming'):
            if controller.excess is not None:
                self._go(Cause.EXCEEDED, why=self.reasons.of_excess(controller.excess))
        elif mode == 'holding' and (self.state is State.ENDING or (
                self.state is State.LOST and not self._is_fading)):
            self._go(Cause.AT_REST)
            self._rested_at = at
        elif self.state is State.FADING and not self._is_fading:
            self._go(Cause.FADED)

    def compare(self, stamp: int, at: float) -> FeedforwardController:
        """Compare the last measured state with the reference and with the followed goal."""
        controller, watch = self._running, self._tracking
        if self.state is State.DEPARTING and controller.reference.is_idle(controller.now):
            self._go(Cause.AT_REST)
        has_velocity = self._has_velocity and not self._unbelieved
        if self._unbelieved and not self._plausible.is_there:
            watch.forget()  # one wrong reading must neither stop the arm nor count as its position
            return controller
        watch.compare(
            controller.within_range(self.measured[0]), self._expected, self._readings)
        self._was_reset = self._was_reset and watch.is_beyond
        self._departures.see(is_away=watch.is_beyond)
        if watch.has_departed:
            is_at_rest = np.abs(controller.q[1]).max() < AT_REST
            if watch.is_turned and is_at_rest and not self._was_reset:
                self.reasons.notice_turned(watch, self._joints, at)
            elif is_at_rest and not self._was_reset and (why := self._why_not_held()):
                departure = self.reasons.of_departure(watch, self._joints)
                self.reasons.show_stay(f'{departure} {why}', at)
            elif is_at_rest or self._was_reset:
                self._latch()
            elif self.state is State.RUNNING:
                self._go(Cause.DEPARTED, why=self.reasons.of_departure(watch, self._joints))
        elif watch.is_notable:
            departure = self.reasons.of_departure(watch, self._joints)
            self.reasons.notice('away', '', at, 'warning', departure)
        measured = self.measured if has_velocity else self.measured[:1]
        if why := self.goals.watch(controller, measured, stamp):
            self._go(Cause.ABORTED, why=why)
        return controller

    def watch(self, at: float) -> bool:
        """Handle inputs that fell silent; return whether a cycle by the node's clock is due."""
        controller = self.controller
        if controller is None or not self.is_watched:
            return False
        self.goals.settle(is_stopping=controller.reference.mode(controller.now) == 'stopping')
        if not self.arrivals.may_judge(at, WATCH_PERIOD):
            return False
        for body in self._wrenches.silent(controller, at):
            self.reasons.tell('warning', f'external_wrench on {body} fell silent: it fades away')
        self._watch_stream(at)
        is_long, line = self.arrivals.news_of_timeout(at)
        if line:
            self.reasons.tell('warning' if is_long else 'info', line)
        silence = at - self.arrivals.last
        if self.arrivals.is_late(at) and self.state is not State.LOST:
            self.reasons.notice('late', '', at, 'warning', (
                f'no joint state for {silence:.3f} s, {silence / self.arrivals.usual:.0f} '
                'periods'))
        self._watch_base(at)
        if self.state in HEARING and self.arrivals.are_lost(at):
            self.clock.skip_to(self.stamp_at(at))
            was_idle = controller.reference.is_idle(controller.now) and not self._planner.busy
            before, which = self.reasons.why, ' that can be used' if self.why_no_state else ''
            self._go(Cause.LOST, seconds=silence, which=which)
            if was_idle:  # nothing was interrupted
                self.reasons.why = before
            self._plausible.lose()
            self._departures.leave(self._believed[0])
            self._zeros.forget()
        return self.state is State.LOST

    def stamp_at(self, at: float) -> int:
        """Return the stamp that a joint state would have at a time."""
        elapsed = round((at - self._answered_at) * 1e9)
        return max(self._last_stamp + elapsed, self.clock.stamp)

    # Steps of the above

    def _refuse(self, why: str, position: Array) -> NoReturn:
        """Refuse a state with a position that no arm can have."""
        why = joined(why, self.reasons.of_leap(position, self._believed[0], self._joints))
        self.reject_state(why)
        raise HodynError(why)

    def _see_velocity(
        self, position: Array, velocity: Array | None, stamp: int, at: float,
    ) -> None:
        """Notice velocities that cannot be those of the positions."""
        self._zeros.see(position, velocity, stamp)
        if velocity is not None and self._zeros.joint >= 0:
            self.reasons.notice_zeros(self._joints[self._zeros.joint], at)
        if not (self.settings.controller.at_measurement or self.motor_feedback):
            return  # no torque depends on velocities
        if how := self._contradicted.add(1e-9 * stamp, position, velocity):
            self.reasons.tell('error', (
                f'velocities of {self._joints[self._contradicted.joint]} contradict its '
                f'positions: {how}. All count as missing until joint states pause for 1 s: let '
                'the driver send what it measures'))

    def _may_be_at(self, position: Array) -> bool:
        """Return whether the arm may leap to a position: in a simulation, or at the reference."""
        if self.state is State.WAITING or self.settings.is_simulated:
            return True
        error = self._running.within_range(position) - self._expected
        return bool((np.abs(error) <= self.settings.tracking_tolerance).all())

    @property
    def _expected(self) -> Array:
        """Measured position of an arm that follows the reference, `lookahead` behind it, (n,)."""
        q = self._running.q
        return np.asarray(q[0] - self.settings.lookahead * q[1])

    def _begin(self, position: Array, stamp: int, at: float) -> bool:
        """Hold a position; return False if the arm cannot be held there, see `why_waiting`."""
        beyond, is_plausible = beyond_range(self.feedforward.robot, self._joints, position)
        self.why_waiting = self.locked.waits_for(at)
        if self._is_refused('range', '' if is_plausible else beyond, at) or self._is_refused(
                'locked', self.locked.refusal, at) or self.why_waiting or not self._knows_base(
                stamp, at):
            return False
        self.clock = ReferenceClock(
            stamp, self.settings.max_time_step, self.settings.lookahead, at,
            is_simulated=self.settings.is_simulated)
        controller = FeedforwardController(
            self.feedforward, position, self.clock.now, self.settings.controller)
        if self._is_refused('weight', controller.excess_of_weight, at):
            return False
        self._resume_stiffness(controller)
        self.controller = controller
        self._go(Cause.FOUND)
        self.take_locked({})
        if doubt := too_many_turns(
                self.feedforward.robot, self._joints, position, how='is {} turns from 0'):
            self.reasons.notice('turns', doubt, at, 'warning')
        if beyond:
            self.reasons.why = f'{beyond}: held there'
            self.reasons.tell('warning', self.reasons.why)
        return True

    def _is_new(self, stamp: int, at: float) -> bool:
        """Return False for one of copies; refuse other old ones unless the clock was set back."""
        clock = self.clock
        back = self._last_stamp - stamp
        late, self._late_stamp = self._late_stamp, stamp if back > 0 else None
        # A single state may be late. If a clock was set back, the next state is newer than this.
        if back < 0:
            return True
        if late is None or stamp <= late or back <= clock.max_step:
            why = self.arrivals.stale(at, stamp, is_same=stamp in (self._last_stamp, late))
            if not self.arrivals.repeated:
                raise HodynError(why)
            return False
        if stamp < clock.stamp:
            self._leave_time_out(clock.move_to(late, at), at)
            # Even if this state is refused later, the next one must not set the clock back again.
            self._last_stamp = stamp - round((at - self._answered_at) * 1e9)
            self._was_reset = self.settings.is_simulated
            # The starts of waiting plans are times of the clock before it was set.
            self._drop_plan(CLOCK_SET_BACK)
            if self._drop_waiting(CLOCK_SET_BACK):
                # A goal's plan is the last accepted one, so it is among the dropped plans.
                self.goals.stop(ErrorCode.INVALID_GOAL, CLOCK_SET_BACK)
        return True

    def _why_not_held(self, *, is_new: bool = False) -> str:
        """Return why an arm that departed from a resting reference is not held; may be empty."""
        return self._departures.why_not_held(
            self.measured[0], self._running.q[0], self._running.now, is_new=is_new)

    def _latch(self, when: str = '', *, is_new: bool = False) -> None:
        """Hold the arm where it is; `is_new`: its driver may have been restarted there."""
        departure = self.reasons.of_departure(self._tracking, self._joints, when)
        position = self.measured[0]
        beyond, is_plausible = beyond_range(self.feedforward.robot, self._joints, position)
        self.reasons.forget('again')
        self._go(
            Cause.ELSEWHERE, why=joined(departure, '' if is_plausible else beyond),
            where='where it is' if (self._running.within_range(position) == position).all()
            else 'at the end of its range')
        if (is_new or self._was_reset) and self._running.motors is not None:
            # Otherwise their reference would start at their former positions and pull the arm.
            self._running.motors.restart()

    def _leave_time_out(self, seconds: float, at: float) -> None:
        """Report time, s, that the reference left out; it is negative if a clock was set back."""
        reference = self._running.reference
        moves = not reference.is_idle(self._running.now)
        if not seconds or (self.state in (State.ENDING, State.FADING) and not moves):
            return
        self.counts['time left out'] += 1
        self.left_out += abs(seconds)
        self._lately.add(seconds, at)
        if self._lately.is_more(at):
            self.reasons.notice('often', LONGER, at, 'warning', f'{LONGER}: {WHY_LONGER}')
        self.reasons.notice_missing_time(seconds, at, is_continued=moves)

    def _leave_out(self, at: float) -> None:
        """Report a measured state that is left out because it contradicts earlier states."""
        joint = self._plausible.joint
        if joint < 0:  # the clock was set, which `_leave_time_out` reports
            return
        self.counts['states left out'] += 1
        name, (position, velocity) = self._joints[joint], self.measured[:, joint].tolist()
        if self._plausible.is_there and self._unbelieved >= PERSISTENCE:
            self.reasons.notice_wrong_velocity(name, velocity, at)
        else:
            self.reasons.notice_left_out(
                name, position, velocity if self._has_velocity else None, at,
                self.reasons.of_leap(self.measured[0], self._believed[0], self._joints))
