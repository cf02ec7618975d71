"""What an active node does in each cycle: joint states in, torques out."""
import time

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import ControllerSettings, FeedforwardController
from hodyn_ros.feedforward.plausible_state import PlausibleState
from hodyn_ros.feedforward.reference_clock import ReferenceClock
from hodyn_ros.feedforward.tracking import TrackingWatch
from hodyn_ros.messages import cdr
from hodyn_ros.messages.commands import CommandWriter
from hodyn_ros.messages.joint_states import JointStateReader
from hodyn_ros.plans.planner import Planner
from hodyn_ros.robot import HodynError, NoKnownJointError, Robot
from hodyn_ros.robot.joint_names import JointNames
from hodyn_ros.ros.diagnostics import Monitor
from hodyn_ros.ros.inputs import MAX_STATE_BYTES, Inputs, check_size
from hodyn_ros.ros.neighbours import SAY_AGAIN, Neighbours
from hodyn_ros.ros.outputs import Outputs
from hodyn_ros.ros.parameters import Parameters
from hodyn_ros.ros.reasons import Reasons, joined, why_departed
from hodyn_ros.ros.trajectory_goals import ErrorCode, Goal, TrajectoryGoals

Array = NDArray[np.float64]

SILENT_PERIODS = 5.0
WARN_PERIODS = 3.0
WARN_INTERVAL = 1.0
# Without a joint state, while the period of the driver is not known yet, s.
FIRST_SILENCE = 1.0
# The tracking tolerance where the robot file gives none, rad or m.
TRACKING_ERROR = 0.2
FOLLOW_UP_PERIOD = 0.02
# So slow a reference may be led to where the arm is, rad/s or m/s.
AT_REST = 1e-3
WATCH_PERIOD = 0.005
LATE_WATCH = 2.0 * WATCH_PERIOD
WIND_DOWN_STEP = 0.001
DEACTIVATED = 'the node is deactivated'
CLOCK_SET_BACK = 'the clock was set back'
UNLIKE = 'for three joint states in a row that agree with each other'
NO_VELOCITY = 'the joint states have no velocity: the dynamics are evaluated at the reference'


def controller_options(settings: Parameters) -> ControllerSettings:
    """Return what the parameters ask of a cycle."""
    return ControllerSettings(
        gravity_in_output=settings.gravity_in_output,
        friction_in_output=settings.friction_in_output,
        limit_output=settings.limit_output,
        at_measurement=settings.evaluate_at == 'measurement',
        bandwidth=settings.stream_bandwidth,
        wrench_bandwidth=settings.wrench_bandwidth,
        limit_margin=settings.limit_margin,
        fade=settings.fade)


def tracking_tolerance(robot: Robot, settings: Parameters) -> Array:
    """Return how far each joint may be away from the reference, (n,), rad or m."""
    given = np.array(settings.tracking_tolerance)
    if given.size not in (1, robot.n):
        raise HodynError(
            f'parameter tracking_tolerance has {given.size} values for {robot.n} joints; give one '
            'for all or one a joint')
    own = robot.limits.tracking_error
    tolerance = np.where(given > 0.0, given, np.where(np.isfinite(own), own, TRACKING_ERROR))
    return np.where(given < 0.0, np.inf, tolerance)


def _stop(controller: FeedforwardController) -> None:
    """Bring the reference to rest, and drop what waits; one that holds is left as it is."""
    if not controller.reference.is_idle(controller.now):
        controller.stop(controller.now)


class Session:
    """From activation to deactivation.

    Ages are taken on the steady clock; references and outputs live on the clock of the joint
    states' stamps, which may be simulated, or a bag's.
    """

    def __init__(
        self, node: Node, settings: Parameters, feedforward: FeedForward, planner: Planner,
        outputs: Outputs,
    ) -> None:
        self.monitor = Monitor(node.get_logger().error)
        self._neighbours = Neighbours(node, self.monitor)
        self._node = node
        self._clock = node.get_clock()
        self._settings = settings
        self._feedforward = feedforward
        self._planner = planner
        self._outputs = outputs
        self._names = JointNames(
            feedforward.robot, prefix=settings.joint_prefix,
            allow_other_model=settings.allow_other_model)
        self._reader = JointStateReader(self._names, one_sender=True)
        self._controller: FeedforwardController | None = None
        self._measured = np.zeros((2, feedforward.robot.n))
        self._believed = np.zeros_like(self._measured)
        self._plausible = PlausibleState(feedforward.robot.limits)
        self._without_velocity = self._has_velocity = False
        self._why_waiting = ''
        self._lost = self._is_over = False
        self._late = False
        self._excused = False
        self._last_stamp = 0
        self._reference_clock = ReferenceClock(0, settings.max_time_step, settings.lookahead)
        self._tracking = TrackingWatch(tracking_tolerance(feedforward.robot, settings))
        self._reasons = Reasons(feedforward.robot)
        self._is_departing = False
        self._noted_until = 0.0
        self._followed_up_at = 0.0
        self._arrived_at = self._watched_at = 0.0
        self.goals = TrajectoryGoals(feedforward.robot.joint_names, settings.lookahead)
        self.inputs = Inputs(
            node, settings, feedforward.robot, planner, outputs, self.monitor,
            self._neighbours, self.goals, self._ready, self._hold_on_request)
        self._report('waiting', self._neighbours.why_waiting())

    # Cycles

    def on_state(self, data: bytes) -> None:
        """Answer a serialized joint state."""
        begin = time.monotonic()
        self.monitor.received['joint_states'] += 1
        try:
            check_size(data, MAX_STATE_BYTES)
            position, velocity = self._reader.state(data)
        except NoKnownJointError as error:
            self.monitor.complaints.add('joint_states', str(error))
            return
        except HodynError as error:
            self.monitor.reject('joint_states', error)
            return
        stamp = cdr.stamp(data) or self._clock.now().nanoseconds
        if not stamp:
            self.monitor.reject(
                'joint_states', 'it has no stamp, and no /clock has told the time yet')
            return
        if self._neighbours.share_states:
            self._neighbours.compare(position, stamp)
        interval = begin - self._arrived_at if self._controller is not None else 0.0
        at_measurement = self._settings.evaluate_at == 'measurement'
        starts = self._controller is None or self._lost
        is_believed = not (starts or at_measurement) or self._plausible.believe(
            position, velocity, stamp)
        if starts and not is_believed:
            self._why_waiting = UNLIKE
            return
        if self._controller is None:
            self._reference_clock = ReferenceClock(
                stamp, self._settings.max_time_step, self._settings.lookahead)
            controller = FeedforwardController(
                self._feedforward, position, self._reference_clock.now,
                controller_options(self._settings))
            self._why_waiting = controller.excess_of_weight
            if self._why_waiting:
                self._node.get_logger().error(
                    self._why_waiting, throttle_duration_sec=SAY_AGAIN)
                return
            try:
                self._bind_joints()
            except HodynError as error:
                self.monitor.reject('commands', error)
                self._why_waiting = str(error)
                return
            self._controller = controller
        elif not self._accept_stamp(self._controller, stamp):
            return
        self._arrived_at, self._last_stamp = begin, stamp
        self._measured[0] = position
        self._has_velocity = velocity is not None
        self._without_velocity = velocity is None and at_measurement
        if velocity is not None:
            self._measured[1] = velocity
        elif self._without_velocity:
            self._node.get_logger().error(
                f'{NO_VELOCITY}; let the driver send it, or set evaluate_at: reference',
                throttle_duration_sec=SAY_AGAIN)
        if is_believed:
            self._believed[:] = self._measured
        else:
            self._leave_out()
        if self._lost:
            self._node.get_logger().info(f'joint states are back after {interval:.3f} s')
            self._reference_clock.resume_at(stamp)
            self._tracking.compare(position, self._controller.q[0])
            if self._tracking.is_beyond:
                self._latch(self._controller, self._why_departed('when joint states came back'))
        self._lost = self._late = False
        if self._settings.trigger == 'joint_state':
            self._step(self._controller, stamp)
            self.monitor.cycle(time.monotonic() - begin, self.monitor.period)
        self._track(self._controller)
        self._watch_goal(self._controller, stamp)
        if begin - self._followed_up_at >= FOLLOW_UP_PERIOD:
            self._followed_up_at = begin
            self._outputs.follow_up(self._controller, self._measured, stamp)
        # Measured when the answer is out, so as not to delay it.
        age = (self._clock.now().nanoseconds - stamp) * 1e-9 - (time.monotonic() - begin)
        self.monitor.arrived(interval, age)

    def on_timer(self) -> None:
        """Run a cycle now, with the latest joint state."""
        if self._controller is not None and not self._lost:
            begin = time.monotonic()
            self._step(self._controller, self._virtual_stamp())
            self.monitor.cycle(time.monotonic() - begin, 1.0 / self._settings.rate)

    def watch(self) -> None:
        """Take over when joint states stay away: stop the reference and publish on."""
        controller = self._controller
        if controller is None:
            return
        self.goals.settle(
            is_stopping=controller.reference.mode(controller.now) == 'stopping')
        now = time.monotonic()
        since, self._watched_at = now - self._watched_at, now
        if since > LATE_WATCH and not self._excused:
            # This process was delayed, so states may wait to be read. It is excused once, not each
            # time: it may always be late.
            self._excused = True
            return
        self._excused = False
        self.inputs.drop_silent_wrenches(controller)
        self.inputs.tell_silent_stream(controller)
        silence = now - self._arrived_at
        period = self.monitor.period
        if period and silence > WARN_PERIODS * period and not self._late:
            self._late = True
            self._node.get_logger().warning(
                f'no joint state for {silence:.3f} s, {silence / period:.0f} periods',
                throttle_duration_sec=WARN_INTERVAL)
        longest = SILENT_PERIODS * period if period else FIRST_SILENCE
        if silence <= max(self._settings.state_timeout, longest):
            return
        stamp = self._virtual_stamp()
        if not self._lost:
            self._reference_clock.skip_to(stamp)
            controller.stop(controller.now)
            controller.drop_wrenches()
            self.inputs.forget_wrenches()
            self._plausible.forget()
            self._lost, self._is_over = True, False
            self._reasons.why = 'joint states were lost'
            self._node.get_logger().error(f'no joint state for {silence:.3f} s: stopping')
            self._give_up(self._reasons.why)
        elif self._is_over:
            return
        self._step(controller, stamp)

    def wind_down(self) -> None:
        """Stop the reference within limits, fade the output out, publishing all the while."""
        controller = self._controller
        if controller is None:
            return
        self._give_up(DEACTIVATED)
        _stop(controller)
        state = 'stopping'
        while True:
            stamp = self._virtual_stamp()
            self._reference_clock.move_to(stamp, time.monotonic())
            now = max(self._reference_clock.now, controller.now)
            if state == 'stopping' and controller.reference.mode(now) == 'holding':
                state = 'fading'
                controller.drop_wrenches()
            self._report(state, DEACTIVATED)
            # No state is read meanwhile.
            controller.evaluate(now)
            is_finite = self._publish(controller, stamp)
            if state == 'fading' and not (controller.is_fading and is_finite):
                return
            time.sleep(WIND_DOWN_STEP)

    def hold(self, why: str) -> str:
        """Stop and hold until the next plan or stream; return what prevents it, if anything."""
        controller = self._controller
        if controller is None:
            return 'it waits for a joint state'
        self._give_up(why)
        _stop(controller)
        self._reasons.why = why
        return ''

    def why_no_goal(self) -> str:
        """Return why no goal of the action can be taken now; empty if one can."""
        return self.inputs.why_no_plan()

    def on_goal(self, goal: Goal, data: bytes) -> None:
        """Have the serialized trajectory of a goal made a plan, and follow it."""
        self.inputs.on_goal(goal, data)

    def cancel_goal(self, goal: Goal) -> None:
        """Stop for a goal, if it is followed or prepared."""
        controller = self._controller
        if self.inputs.cancel_goal(goal) and controller is not None:
            _stop(controller)
            self._reasons.why = 'the goal was canceled'

    def look_around(self) -> None:
        """See who else is there, and say why nothing comes; called once a second."""
        self._neighbours.look()
        if self._controller is None:
            self._report('waiting', self._why_waiting or self._neighbours.why_waiting())

    def change_model(self, feedforward: FeedForward) -> None:
        """Take another model of the robot, with another payload say, without a step in torque."""
        if self._controller is not None:
            self._controller.replace(feedforward)
        self._feedforward = feedforward
        self._planner.change_robot(feedforward.robot)

    def failed(self, what: str, error: Exception) -> bool:
        """Count an error that nobody foresaw; return whether it should be logged."""
        if what in ('on_state', 'on_timer', 'watch'):
            self._report('fault', 'a cycle failed: see the log')
        return self.monitor.complaints.add(what, f'{type(error).__name__}: {error}')

    def _bind_joints(self) -> None:
        """Make outputs, inputs and goals those of the joints that the driver names."""
        settings, joints = self._settings, self._reader.names
        names = self._names.of_driver(joints)
        actuators = self._feedforward.robot.actuators
        motors: list[str] = []
        if actuators is not None:
            own = self._feedforward.robot.joint_names
            prefixes = dict(zip(own, joints, strict=True))
            motors = [
                prefixes[own[joint]] + name.removeprefix(own[joint])
                for joint, name in zip(actuators.motor_joints, actuators.motor_names, strict=True)]
        commands = motor_commands = None
        if settings.publish_commands:
            order = names.command_order(settings.command_joints)
            commands = CommandWriter(order)
            if actuators is not None and len(motors) == len(joints):
                motor_commands = CommandWriter(order)
            elif actuators is not None:
                motor_commands = CommandWriter(np.arange(len(motors)))
        self._outputs.begin(joints, motors, commands, motor_commands)
        self.inputs.bind(names)
        self.goals.bind(joints)

    def _accept_stamp(self, controller: FeedforwardController, stamp: int) -> bool:
        """Return whether a state is newer than the last, or its clock was set back."""
        clock = self._reference_clock
        back = self._last_stamp - stamp
        if 0 <= back <= clock.max_step:
            self.monitor.reject('joint_states', 'a stamp is not newer than the last')
            return False
        if back > 0 and stamp < clock.stamp:
            self._tell_left_out(clock.move_to(stamp, time.monotonic()))
            # Their starts are times of the clock as it was.
            self.inputs.drop_plan(CLOCK_SET_BACK)
            if controller.reference.drop_waiting():
                # The last plan that was taken is among them, so that of a goal is.
                self.goals.stop(ErrorCode.INVALID_GOAL, CLOCK_SET_BACK)
                self.monitor.reject(
                    'joint_trajectory',
                    f'plans that wait for their start are dropped: {CLOCK_SET_BACK}')
        return True

    def _virtual_stamp(self) -> int:
        """Return what the stamp of a joint state would be now."""
        elapsed = round((time.monotonic() - self._arrived_at) * 1e9)
        return max(self._last_stamp + elapsed, self._reference_clock.stamp)

    def _step(self, controller: FeedforwardController, stamp: int) -> None:
        """Evaluate and publish one cycle; a plan that is ready is taken first."""
        clock = self._reference_clock
        if stamp != clock.stamp:
            self._tell_left_out(clock.move_to(stamp, time.monotonic()))
        now = max(clock.now, controller.now)
        if not self._lost:
            self.inputs.take_plan(controller, now)
            self.inputs.take_samples(controller, now)
        controller.evaluate(
            now, None if self._lost or self._without_velocity else self._believed)
        if not self._publish(controller, stamp):
            return
        mode = controller.reference.mode(now)
        if mode in ('following', 'streaming'):
            self._reasons.why = ''
            if controller.excess is not None:
                self._reasons.why = self._reasons.excess(controller.excess) + ': stopping'
                self._node.get_logger().error(self._reasons.why)
                self._give_up(self._reasons.why)
                controller.stop(now)
        excess = self._reasons.excess(controller.excess)
        if self._lost:
            self._is_over = mode == 'holding' and not controller.is_fading
            self._report(
                'fault' if self._is_over else mode, joined('joint states are lost', excess))
        else:
            self._report(mode, self._reasons.of_cycle(controller, excess) or (
                NO_VELOCITY if self._without_velocity else ''))

    def _tell_left_out(self, seconds: float) -> None:
        """Say that the reference did not move for a time, s; negative: the clock was set back."""
        if not seconds:
            return
        self.monitor.left_out += 1
        self._node.get_logger().warning(
            self._reasons.left_out(seconds), throttle_duration_sec=WARN_INTERVAL)

    def _track(self, controller: FeedforwardController) -> None:
        """Stop, and hold where the arm is, when it has departed from the reference."""
        watch = self._tracking
        # The reference is ahead of the measurement by the lookahead.
        watch.compare(
            self._measured[0], controller.q[0] - self._settings.lookahead * controller.q[1])
        if watch.has_departed:
            why = self._why_departed()
            if np.abs(controller.q[1]).max() < AT_REST:
                self._latch(controller, why)
            elif not self._is_departing:
                self._is_departing = True
                self._reasons.why = f'{why}: stopping'
                self._node.get_logger().error(self._reasons.why)
                self._give_up(why, ErrorCode.PATH_TOLERANCE_VIOLATED)
                controller.stop(controller.now)
        elif watch.is_notable and time.monotonic() > self._noted_until:
            # A line that the logger throttles costs a cycle a fifth of a millisecond all the same.
            self._noted_until = time.monotonic() + WARN_INTERVAL
            self._node.get_logger().warning(self._why_departed())
        if self._is_departing and controller.reference.is_idle(controller.now):
            self._is_departing = False
            self._reasons.why = self._reasons.why.removesuffix(': stopping')

    def _latch(self, controller: FeedforwardController, why: str) -> None:
        self._give_up(why, ErrorCode.PATH_TOLERANCE_VIOLATED)
        controller.latch(self._measured[0].copy())
        self._tracking.forget()
        self._is_departing = False
        self._reasons.why = f'{why}: the arm is held where it is'
        self._node.get_logger().error(self._reasons.why, throttle_duration_sec=WARN_INTERVAL)

    def _give_up(self, why: str, code: ErrorCode = ErrorCode.INVALID_GOAL) -> None:
        """Follow no more what was asked for: a plan in preparation, a goal, a stream."""
        self.inputs.drop_plan(why)
        self.inputs.let_stream_end()
        self.goals.stop(code, why)

    def _watch_goal(self, controller: FeedforwardController, stamp: int) -> None:
        """Stop for a goal that the arm does not follow within its tolerances."""
        measured = self._measured if self._has_velocity else self._measured[:1]
        why = self.goals.watch(controller, measured, stamp)
        if why:
            self._reasons.why = f'the goal is aborted: {why}'
            self._node.get_logger().error(self._reasons.why)
            _stop(controller)

    def _leave_out(self) -> None:
        """Say that a measured state does not reach the torque: it contradicts the ones before."""
        joint = self._plausible.joint
        position, velocity = self._measured[:, joint]
        why = (
            f'{self._reader.names[joint]} at {position:.4g}, moving at {velocity:.4g}, '
            'contradicts the state before: it is left out of the torque')
        self.inputs.be_cautious(why)
        if self.monitor.complaints.add('joint_states', why):
            self._node.get_logger().warning(why)

    def _why_departed(self, when: str = '') -> str:
        return why_departed(self._tracking, self._reader.names, when)

    def _publish(self, controller: FeedforwardController, stamp: int) -> bool:
        if self._outputs.publish(controller, stamp):
            self.monitor.clipped += controller.clipped
            return True
        self._report('fault', 'the torque is not finite: check the reference and the payload')
        return False

    def _hold_on_request(self) -> None:
        if refusal := self.hold('an empty trajectory came'):
            raise HodynError(refusal)

    def _ready(self) -> tuple[FeedforwardController, ReferenceClock]:
        """Return what takes an input, and the clock of its instants."""
        if self._controller is None:
            raise HodynError('no joint state yet, so nobody knows where the arm is')
        if self._lost:
            raise HodynError('joint states are lost')
        if self._is_departing:
            raise HodynError(self._reasons.why)
        return self._controller, self._reference_clock

    def _report(self, state: str, reason: str = '') -> None:
        reason = joined(reason, self._neighbours.fault) or self.inputs.caution
        self._outputs.report(self._feedforward.robot.name, state, reason)
