"""Inputs and outputs of the node on topics, from activation to deactivation."""
from collections.abc import Callable
from functools import partial
import time

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from rclpy.node import Node

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.base_input import BaseReading
from hodyn_ros.feedforward.base_reference import BASE_PLAN
from hodyn_ros.feedforward.reasons import joined, renewed
from hodyn_ros.feedforward.settings import longest_end
from hodyn_ros.feedforward.supervisor import Supervisor
from hodyn_ros.feedforward.trajectory_goals import ACTION, PLAN, ErrorCode, Goal, GoalRequest
from hodyn_ros.feedforward.transitions import HEARING, State
from hodyn_ros.messages import cdr
from hodyn_ros.messages.commands import CommandWriter
from hodyn_ros.messages.joint_states import JointStateReader, SomePositions
from hodyn_ros.messages.joint_trajectory import is_empty
from hodyn_ros.messages.multi_dof_trajectory import frame_and_names
from hodyn_ros.messages.odometry import read_odometry
from hodyn_ros.messages.topic_names import TopicNames
from hodyn_ros.messages.wrench_message import frame_and_wrench
from hodyn_ros.plans.planner import Planner
from hodyn_ros.robot import HodynError, NamesError, NoKnownJointError, OtherArmError
from hodyn_ros.robot.joint_names import JointNames
from hodyn_ros.robot.locked_joints import check_followers, locked_indices
from hodyn_ros.ros.diagnostics import Monitor, printable
from hodyn_ros.ros.neighbours import Neighbours
from hodyn_ros.ros.outputs import Outputs
from hodyn_ros.ros.parameters import Parameters, given
from hodyn_ros.ros.robot_and_settings import doubt_of_default, supervisor_settings

FOLLOW_UP_PERIOD = 0.02  # between controller states, and between progress messages, s
WIND_DOWN_STEP = 0.001  # between cycles during a deactivation, s
# Largest messages that are read, bytes; a point of 7 joints has 80 to 264 bytes.
MAX_PLAN_BYTES = 8 * 1024 * 1024
MAX_STATE_BYTES = 128 * 1024
MAX_SHORT_BYTES = 4096


class Session:
    """Passes an active node's inputs to its supervisor, and publishes and logs the results."""

    def __init__(
        self, node: Node, settings: Parameters, feedforward: FeedForward, planner: Planner,
        outputs: Outputs, stream_heard_at: float,
    ) -> None:
        robot = feedforward.robot
        self.monitor = Monitor(node.get_logger().error)
        self.supervisor = Supervisor(feedforward, supervisor_settings(
            robot, settings, is_simulated=node.get_parameter('use_sim_time').value), planner)
        self.supervisor.stream.begin(stream_heard_at)
        self._node = node
        self._settings = settings
        self._planner = planner
        self._outputs = outputs
        self._neighbours = Neighbours(node, self.monitor)
        self._names = JointNames(
            robot, prefix=settings.joint_prefix, allow_other_model=settings.allow_other_model)
        self._reader = JointStateReader(TopicNames(self._names), measured=True)
        self._stream_reader = self._stiffness_reader = JointStateReader(self._names)
        self._motor_reader: JointStateReader | None = None
        self._locked: SomePositions | None = None
        self._prefix: str | None = None
        self._has_said_unstamped = False
        self._followed_up_at = 0.0
        self._why_waiting = ''
        logger = node.get_logger()
        # On separate lines: the client library allows one severity per calling line.
        self._log: dict[str, Callable[[str], object]] = {
            'info': lambda line: logger.info(line),
            'warning': lambda line: logger.warning(line),
            'error': lambda line: logger.error(line)}
        self.look_around()

    # Inputs

    def on_state(self, data: bytes) -> None:
        """Answer a serialized joint state."""
        begin = time.monotonic()
        self.monitor.received['joint_states'] += 1
        supervisor = self.supervisor
        try:
            cdr.check_size(data, MAX_STATE_BYTES)
            if self._locked is not None:
                supervisor.take_locked(self._locked.read(data))
            position, velocity = self._reader.state(data)
            stamp = cdr.stamp(data) or self._now()
            if not stamp:
                raise HodynError('it has no stamp, and no time has come on /clock yet')
            if self._neighbours.share_states:
                self._neighbours.compare(position, stamp)
            if self._prefix is None and not self._bind_joints():
                return
            is_answered = supervisor.take_state(position, velocity, stamp, begin)
        except HodynError as error:
            # Not logged, as another driver may share the topic: `why_waiting` reports it.
            if isinstance(error, NamesError if self._prefix is None else NoKnownJointError):
                self.monitor.complaints.add('joint_states', str(error))
                if isinstance(error, OtherArmError):
                    supervisor.see_other_arm(self.monitor.complaints.last['joint_states'], begin)
                return
            self.monitor.reject('joint_states', error)
            supervisor.reject_state(printable(str(error)))
            return
        if is_answered:
            if self._settings.trigger == 'joint_state':
                self._step(stamp, begin)
                self.monitor.cycle(time.monotonic() - begin, supervisor.arrivals.period)
            controller = supervisor.compare(stamp, begin)
            if begin - self._followed_up_at >= FOLLOW_UP_PERIOD:
                self._followed_up_at = begin
                self._outputs.follow_up(controller, supervisor.measured, stamp)
            # Measured after the answer is published, so as not to delay it.
            now = self._node.get_clock().now().nanoseconds
            self.monitor.age.add((now - stamp) * 1e-9 - (time.monotonic() - begin))
        self._say()

    def on_trajectory(self, data: bytes) -> None:
        """Plan a serialized trajectory, and follow it."""
        self._take(PLAN, data, MAX_PLAN_BYTES, self._trajectory)

    def on_goal(self, goal: Goal, data: bytes) -> None:
        """Plan the serialized trajectory of a goal, and follow it."""
        why = self._take(ACTION, data, MAX_PLAN_BYTES, lambda data: self._prepare(data, goal))
        if why:
            goal.end(ErrorCode.INVALID_GOAL, why)

    def on_reference(self, data: bytes) -> None:
        """Follow a streamed sample; even a refused sample shows that the stream goes on."""
        stream = self.supervisor.stream
        stream.heard(time.monotonic())
        why = self._take('reference', data, MAX_STATE_BYTES, self._sample)
        stream.why_refused = printable(renewed(stream.why_refused, why))

    def on_wrench(self, data: bytes) -> None:
        """Take an external wrench, a serialized WrenchStamped."""
        self._take('external_wrench', data, MAX_SHORT_BYTES, self._wrench)

    def on_odometry(self, data: bytes) -> None:
        """Take the state of a moving base, a serialized Odometry."""
        if (why := self._take('odom', data, MAX_SHORT_BYTES, self._odometry)) and (
                base := self.supervisor.base) is not None:
            base.why = printable(renewed(base.why, why))

    def on_base_trajectory(self, data: bytes) -> None:
        """Plan and follow the poses of a moving base, a serialized MultiDOFJointTrajectory."""
        self._take(BASE_PLAN, data, MAX_PLAN_BYTES, lambda data: (
            self.supervisor.take_base_trajectory(
                data, *frame_and_names(data), self.supervisor.stamp_at(time.monotonic()),
                self._prefix or '')))

    def on_stiffness(self, data: bytes) -> None:
        """Take the stiffness of variable joints, a serialized joint state."""
        self._take('stiffness', data, MAX_STATE_BYTES, self._stiffness)

    def on_motor_state(self, data: bytes) -> None:
        """Take the state of the motors, a serialized joint state."""
        if self._motor_reader is not None:  # None: a rigid arm, or names still unknown
            self.supervisor.reject_motors(
                self._take('motor_states', data, MAX_STATE_BYTES, self._motor_state))

    def hold(self, why: str) -> str:
        """Stop and hold until the next plan or stream; return what prevents it, if anything."""
        try:
            self.supervisor.hold(why)
        except HodynError as error:
            return str(error)
        self._say()
        return ''

    def why_no_goal(self, request: GoalRequest) -> str:
        """Return why a goal cannot be taken now, whatever its points; empty if it can."""
        try:
            if why := self.supervisor.why_no_plan():
                return why
            self._names.indices(request.joints)
            request.tolerances(self.supervisor.goals.names)
        except HodynError as error:
            return str(error)
        return ''

    def cancel_goal(self, goal: Goal) -> None:
        """Give up a goal, and stop if it is followed."""
        self.supervisor.cancel(goal)
        self._say()

    # Cycles

    def on_timer(self) -> None:
        """Run a cycle now, with the latest joint state."""
        supervisor = self.supervisor
        if supervisor.state in HEARING:
            begin = time.monotonic()
            self._step(supervisor.stamp_at(begin), begin)
            self.monitor.cycle(time.monotonic() - begin, 1.0 / self._settings.rate)
            self._say()

    def watch(self) -> None:
        """If joint states stay away, stop the reference and keep publishing."""
        now = time.monotonic()
        if self.supervisor.watch(now):
            self._step(self.supervisor.stamp_at(now), now)
        self._say()

    def wind_down(self) -> None:
        """Stop the reference within limits and fade the output out, while publishing."""
        self.supervisor.deactivate()
        self._say()
        longest = longest_end(self._settings.fade)
        end = time.monotonic() + longest
        while self.supervisor.state is not State.ENDED:
            now = time.monotonic()
            if now > end:
                self._log['error'](
                    f'not at rest {longest:g} s after the deactivation: the node ends in motion')
                return
            self._step(self.supervisor.stamp_at(now), now)
            self._say()
            time.sleep(WIND_DOWN_STEP)

    def look_around(self) -> None:
        """Check for other nodes, and report why no joint state comes; called once a second."""
        self._neighbours.look()
        if self.supervisor.state is State.WAITING and not self.supervisor.why_waiting:
            self._why_waiting = self._neighbours.why_waiting()
        self._say()

    def change_model(self, feedforward: FeedForward, settings: Parameters) -> None:
        """Use another model of the robot, such as one with a payload, without a torque step."""
        self.supervisor.change_model(feedforward)
        self._settings = settings

    def status(self) -> DiagnosticStatus:
        """Return the node's counters and measured times for diagnostics."""
        return self.monitor.status(
            self._node.get_fully_qualified_name(), self.supervisor.feedforward.robot.name,
            self._outputs.state, self._outputs.reason, self.supervisor.statistics())

    def failed(self, what: str, error: Exception) -> bool:
        """Count an unexpected error, a fault if it ends a cycle; return whether to log it."""
        if what in ('on_state', 'on_timer', 'watch'):
            self._report('fault', 'a cycle failed: see the log')
        return self.monitor.complaints.add(what, f'{type(error).__name__}: {error}')

    def _step(self, stamp: int, at: float) -> None:
        """Evaluate and publish one cycle."""
        controller = self.supervisor.evaluate(stamp, at)
        self._outputs.publish(controller, stamp, self.supervisor.motor_feedback)
        self.supervisor.judge(at)

    # Handling of inputs

    def _now(self) -> int:
        """Return the time that replaces the missing stamp of a joint state, ns."""
        if not self._has_said_unstamped:
            self._has_said_unstamped = True
            self._log['warning'](
                'the joint states have no stamp: the time of their arrival is taken, so delays '
                'shift the reference; let the driver stamp them')
        return int(self._node.get_clock().now().nanoseconds)

    def _take(
        self, topic: str, data: bytes, most: int, take: Callable[[bytes], object],
    ) -> str:
        """Take a message; return why it is rejected, empty if it is not."""
        self.monitor.received[topic] += 1
        why = ''
        try:
            cdr.check_size(data, most)
            take(data)
        except HodynError as error:
            why = str(error)
            self.monitor.reject(topic, why)
        self._say()
        return why

    def _trajectory(self, data: bytes) -> None:
        if self._settings.hold_on_empty_trajectory and is_empty(data):
            self.supervisor.hold('an empty trajectory came')
        else:
            self._prepare(data, None)

    def _prepare(self, data: bytes, goal: Goal | None) -> None:
        self.supervisor.take_trajectory(data, goal, annotate=self._outputs.annotated_is_wanted)

    def _sample(self, data: bytes) -> None:
        self._check_one_sender('~/reference')
        position, velocity = self._stream_reader.state(data)
        if others := self._stream_reader.other_positions(data):
            check_followers(self._names.robot, position, others, self._prefix or '')
        self.supervisor.take_sample(
            position, velocity, cdr.stamp(data) or None, time.monotonic())

    def _stiffness(self, data: bytes) -> None:
        self.supervisor.check_stiffness_varies()
        self.supervisor.take_stiffness(self._stiffness_reader.effort(data))

    def _wrench(self, data: bytes) -> None:
        link, wrench = frame_and_wrench(data)
        robot = self.supervisor.feedforward.robot
        # Drivers may name links with the prefix of their joints.
        if link not in {*robot.frames, *(body.name for body in robot.bodies)}:
            link = link.removeprefix(self._prefix or '')
        self.supervisor.take_wrench(link, wrench, time.monotonic())

    def _motor_state(self, data: bytes) -> None:
        assert self._motor_reader is not None
        self._check_one_sender('~/motor_states')
        at = time.monotonic()
        # Unstamped motor states get their time of arrival if joint states are unstamped too.
        stamp = cdr.stamp(data) or self._has_said_unstamped * self.supervisor.stamp_at(at)
        self.supervisor.take_motors(*self._motor_reader.state(data), stamp, at)

    def _check_one_sender(self, name: str) -> None:
        if why := self._neighbours.rivals(self._node.resolve_topic_name(name)):
            raise HodynError(why)

    def _odometry(self, data: bytes) -> None:
        supervisor, at = self.supervisor, time.monotonic()
        self._check_one_sender('odom')
        has_stamp = supervisor.controller is not None
        supervisor.take_base(
            BaseReading(*read_odometry(data)), supervisor.stamp_at(at) if has_stamp else None,
            self._prefix or '', at)

    def _bind_joints(self) -> bool:
        """Use the driver's joint names on all topics; return whether the commands fit them."""
        settings, joints = self._settings, self._reader.names
        names = self._names.of_driver(joints)
        robot = self.supervisor.feedforward.robot
        actuators = robot.actuators
        motors: list[str] = []
        if actuators is not None:
            own = robot.joint_names
            prefixes = dict(zip(own, joints, strict=True))
            motors = [
                prefixes[own[joint]] + name.removeprefix(own[joint])
                for joint, name in zip(actuators.motor_joints, actuators.motor_names, strict=True)]
        commands = motor_commands = None
        if settings.publish_commands:
            try:
                order = names.command_order(settings.command_joints)
            except HodynError as error:
                self.supervisor.why_waiting = str(error)
                self.monitor.reject('commands', error)
                return False
            commands = CommandWriter(order)
            if actuators is not None and len(motors) == len(joints):
                motor_commands = CommandWriter(order)
            elif actuators is not None:
                motor_commands = CommandWriter(np.arange(len(motors)))
        self._outputs.begin(joints, motors, commands, motor_commands)
        variable = () if actuators is None else actuators.variable_joints
        self._stream_reader, self._stiffness_reader = (
            JointStateReader(names), JointStateReader(self._names.of_driver(joints, variable)))
        if actuators is not None:
            self._motor_reader = JointStateReader(names.of_driver(joints, actuators.motor_names))
        self._names = names
        self._prefix = names.driver_prefix or ''
        if robot.locked:
            self._locked = SomePositions(partial(locked_indices, robot, prefix=self._prefix))
        self._planner.bind(self._prefix)
        if 'robot' not in given(self._node) and settings.robot == Parameters.robot:
            self._log['warning'](doubt_of_default(robot, joints[0], self._prefix))
        self.supervisor.bind(joints)
        return True

    # Reports

    def _say(self) -> None:
        """Log what happened, publish plans that were accepted, and the state if it changed."""
        supervisor = self.supervisor
        events = supervisor.reasons.events
        for event in events:
            if event.topic:
                self.monitor.reject(event.topic, event.text)
            elif event.level == 'info' or self.monitor.complaints.is_news('', event.text):
                self._log[event.level](printable(event.text, keep='\n'))
        if supervisor.annotated:
            self._outputs.annotated(supervisor.annotated)
            supervisor.annotated = b''
        state, reason = supervisor.report(time.monotonic())
        reason = reason or (self._why_waiting if state == 'waiting' else '')
        # Notices that are shown for a while were logged when they began.
        logged = reason if state == 'waiting' or not reason else supervisor.why
        self._report(
            state, reason, '' if any(logged in event.text for event in events) else logged)
        events.clear()

    def _report(self, state: str, reason: str, logged: str = '') -> None:
        self._outputs.report(
            self.supervisor.feedforward.robot.name, state,
            joined(reason, self._neighbours.fault), logged=logged)
