"""What an active node is asked for: plans, streamed references, wrenches, stiffness."""
from collections.abc import Callable
import time

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.reference_clock import ReferenceClock
from hodyn_ros.feedforward.stream_schedule import StreamSchedule
from hodyn_ros.messages import cdr
from hodyn_ros.messages.joint_states import JointStateReader
from hodyn_ros.messages.joint_trajectory import is_empty
from hodyn_ros.messages.wrench_message import frame_and_wrench
from hodyn_ros.plans.planner import Planner
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.joint_names import JointNames
from hodyn_ros.ros.diagnostics import Monitor, printable
from hodyn_ros.ros.neighbours import SAY_AGAIN, UNTIL_LEFT, Neighbours
from hodyn_ros.ros.outputs import Outputs
from hodyn_ros.ros.parameters import Parameters
from hodyn_ros.ros.trajectory_goals import (
    ACTION,
    REPLACED,
    ErrorCode,
    Goal,
    TrajectoryGoals,
)

Array = NDArray[np.float64]

# Bytes of a message: one that is longer is not looked at. A plan of 7 joints with velocities has
# some 130 a point.
MAX_PLAN_BYTES = 8 * 1024 * 1024
MAX_STATE_BYTES = 128 * 1024
MAX_WRENCH_BYTES = 4096
CAUTION_TIME = 1.0
STREAMING = 'a streamed reference is followed; let it end first'
# How long a stream must pause when it was stopped, s: more than a slow slider does.
PAUSE = 2.0


class Inputs:
    """Takes or refuses what comes in by topics, beside the joint states.

    Parameters
    ----------
    node : Node
        Whose topics they are.
    settings : Parameters
        The node's parameters.
    robot : Robot
        The robot, with any payload: neither limits nor frames hang on it.
    planner : Planner
        Makes trajectories plans.
    outputs : Outputs
        Publishes annotated plans.
    monitor : Monitor
        Counts and logs what is rejected.
    neighbours : Neighbours
        Knows who else publishes.
    goals : TrajectoryGoals
        Told what becomes of plans.
    ready : callable
        Returns what takes the inputs, and the clock that turns stamps into its instants; raises
        HodynError while nothing can be taken.
    hold : callable
        Stops and holds; raises HodynError when it cannot.

    """

    def __init__(
        self, node: Node, settings: Parameters, robot: Robot,
        planner: Planner, outputs: Outputs, monitor: Monitor, neighbours: Neighbours,
        goals: TrajectoryGoals,
        ready: Callable[[], tuple[FeedforwardController, ReferenceClock]],
        hold: Callable[[], None],
    ) -> None:
        self._node = node
        self._settings = settings
        self._robot = robot
        self._planner = planner
        self._outputs = outputs
        self._monitor = monitor
        self._neighbours = neighbours
        self._goals = goals
        self._ready = ready
        self._hold = hold
        self._reference_reader = self._stiffness_reader = JointStateReader(JointNames(robot))
        self._prefix = ''
        self._streamed_at = -np.inf
        self._sample_came_at = -np.inf
        self._is_held = self._is_streamed = False
        self._samples = StreamSchedule(settings.stream_delay, settings.stream_timeout)
        self._caution, self._cautious_until = '', -np.inf
        self._wrench_at: dict[int, float] = {}
        # Plans that were requested before the activation are not followed.
        planner.cancel()

    def bind(self, names: JointNames) -> None:
        """Take inputs of the arm alone whose joint states are known now."""
        self._prefix = names.driver_prefix or ''
        self._reference_reader = JointStateReader(names)
        self._stiffness_reader = JointStateReader(names)
        self._planner.bind(self._prefix)

    def on_trajectory(self, data: bytes) -> None:
        """Have a serialized trajectory made a plan."""
        self._monitor.received['joint_trajectory'] += 1
        try:
            check_size(data, MAX_PLAN_BYTES)
            if self._settings.hold_on_empty_trajectory and is_empty(data):
                self._hold()
                return
            self._prepare(data, None)
        except HodynError as error:
            self._monitor.reject('joint_trajectory', error)

    def why_no_plan(self) -> str:
        """Return why no trajectory at all can be taken now; empty if one can."""
        try:
            controller, _ = self._ready()
        except HodynError as error:
            return str(error)
        return STREAMING if controller.reference.streaming else ''

    def on_goal(self, goal: Goal, data: bytes) -> None:
        """Have the serialized trajectory of a goal made a plan."""
        self._monitor.received[ACTION] += 1
        try:
            check_size(data, MAX_PLAN_BYTES)
            self._prepare(data, goal)
        except HodynError as error:
            self._monitor.reject(ACTION, error)
            goal.end(ErrorCode.INVALID_GOAL, str(error))

    def cancel_goal(self, goal: Goal) -> bool:
        """Give up a goal; return whether the reference must stop for it."""
        if self._goals.is_prepared(goal):
            self._planner.cancel()
        return self._goals.cancel(goal)

    def on_reference(self, data: bytes) -> None:
        """Follow a streamed sample, a serialized joint state."""
        self._monitor.received['reference'] += 1
        # Also one that is refused is no pause.
        begin = time.monotonic()
        pause, self._sample_came_at = begin - self._sample_came_at, begin
        try:
            check_size(data, MAX_STATE_BYTES)
            controller, _ = self._ready()
            senders = self._node.count_publishers(
                self._node.resolve_topic_name('~/reference'))
            if senders > 1:
                raise HodynError(
                    f'{senders} nodes publish it ({self._neighbours.publishers("~/reference")}); '
                    f'all are ignored until one is left; {UNTIL_LEFT}')
            position, velocity = self._reference_reader.state(data)
            if (sent := self._reference_reader.sent_joints) > len(position):
                raise HodynError(f'{sent} joints for a robot with {len(position)}')
            self._check_range(position, velocity)
            if self._is_held and pause <= PAUSE:
                raise HodynError(
                    f'the reference was stopped; let the stream fall silent for {PAUSE:g} s, then '
                    'stream again')
            self._is_held = False
            reference = controller.reference
            if not reference.streaming and not reference.is_idle(controller.now):
                raise HodynError('a plan or a stop is under way; let it end first')
            self._samples.add(
                cdr.stamp(data) or None, controller.now, position, velocity,
                is_first=self.stream_is_silent)
            self._streamed_at = begin
        except HodynError as error:
            self._monitor.reject('reference', error)
            return

    def on_wrench(self, data: bytes) -> None:
        """Take an external wrench, a serialized WrenchStamped."""
        self._monitor.received['external_wrench'] += 1
        try:
            check_size(data, MAX_WRENCH_BYTES)
            controller, _ = self._ready()
            link, wrench = frame_and_wrench(data)
            body, frame = self._robot.frame(self._link(link))
            if body < 0:
                raise HodynError(f'link {link!r} is fixed to the world')
        except HodynError as error:
            self._monitor.reject('external_wrench', error)
            return
        self._wrench_at[body] = time.monotonic()
        force, moment = np.linalg.norm(wrench[3:]), np.linalg.norm(wrench[:3])
        most = self._settings.max_force, self._settings.max_moment
        share = min([1.0, *(
            bound / value for value, bound in zip((force, moment), most, strict=True) if value)])
        given = lie.adjoint(lie.inverse(frame)).T @ (share * wrench)
        room, joint = controller.set_external_wrench(body, given)
        if share * room < 1.0:
            self.be_cautious('external_wrench is scaled down: see the log')
            self._monitor.scaled_wrenches += 1
            why = 'max_force and max_moment leave' if share < room else (
                f'the effort limits of joint {self._robot.joint_names[joint]!r} leave')
            self._node.get_logger().warning(
                f'external_wrench on {link}, {force:.4g} N and {moment:.4g} N m, is scaled down '
                f'to {share * room:.3g} of it: {why} no room for more',
                throttle_duration_sec=SAY_AGAIN)

    def be_cautious(self, what: str) -> None:
        """Say for a second what to know of an input that is taken."""
        self._caution, self._cautious_until = what, time.monotonic() + CAUTION_TIME

    @property
    def caution(self) -> str:
        """What to know of inputs that are taken, of the last second; empty if nothing."""
        return self._caution if time.monotonic() < self._cautious_until else ''

    def on_stiffness(self, data: bytes) -> None:
        """Take the stiffness, in a serialized joint state, of joints that can vary theirs."""
        self._monitor.received['stiffness'] += 1
        try:
            check_size(data, MAX_STATE_BYTES)
            controller, _ = self._ready()
            if controller.motors is None or not controller.motors.actuators.variable.any():
                raise HodynError('no joint of this robot has a variable stiffness')
            stiffness = self._stiffness_reader.effort(data)
            wrong = controller.motors.actuators.variable & (stiffness <= 0.0)
            if wrong.any():
                name = self._stiffness_reader.names[int(wrong.argmax())]
                raise HodynError(f'stiffness of joint {name!r} must be above 0')
        except HodynError as error:
            self._monitor.reject('stiffness', error)
            return
        taken, joint = controller.set_stiffness(stiffness)
        if joint >= 0:
            self.be_cautious('stiffness is not taken whole: see the log')
            self._node.get_logger().warning(
                f'stiffness of {self._robot.joint_names[joint]}: {taken[joint]:.4g} of '
                f'{stiffness[joint]:.4g} N m/rad that are asked for, as far as the limits of its '
                'motors and springs allow', throttle_duration_sec=SAY_AGAIN)

    def take_samples(self, controller: FeedforwardController, now: int) -> None:
        """Let the reference follow the streamed samples that are due at an instant (ns)."""
        sample = self._samples.take(now)
        if sample is None:
            return
        try:
            controller.stream(now, sample.position, sample.velocity, sample.until)
            self._is_streamed = True
        except HodynError as error:
            self._samples.clear()
            self._monitor.reject('reference', error)

    def let_stream_end(self) -> None:
        """Follow no streamed sample until the stream has paused."""
        self._is_held = True
        self._samples.clear()

    @property
    def stream_is_silent(self) -> bool:
        """Whether the last streamed sample is older than the timeout."""
        return time.monotonic() - self._streamed_at > self._settings.stream_timeout

    def take_plan(self, controller: FeedforwardController, now: int) -> None:
        """Let the reference follow a plan that is ready, if there is one, from `now` (ns) on."""
        prepared = self._planner.poll(controller.reference, now)
        if prepared is None:
            return
        topic = self._topic
        self._goals.take(prepared)
        if prepared.refusal:
            if self._monitor.reject(topic, prepared.refusal) and prepared.traceback:
                self._node.get_logger().error(printable(prepared.traceback, keep='\n'))
            return
        self._node.get_logger().info(f'trajectory accepted: {prepared.summary}')
        if prepared.message:
            self._outputs.annotated(prepared.message)

    def drop_plan(self, why: str) -> None:
        """Drop a plan that is being prepared."""
        if self._planner.cancel():
            self._monitor.reject(self._topic, 'dropped while it was prepared: the node stops')
            self._goals.drop(f'dropped while it was prepared: {why}')

    def tell_silent_stream(self, controller: FeedforwardController) -> None:
        """Say, once, that no streamed sample has come for the timeout."""
        if self._is_streamed and self.stream_is_silent:
            self._is_streamed = False
            if controller.reference.streaming:
                self._node.get_logger().warning(
                    'the streamed reference fell silent: it goes to the last sample and holds',
                    throttle_duration_sec=SAY_AGAIN)

    def drop_silent_wrenches(self, controller: FeedforwardController) -> None:
        """Let the wrenches fade away that have not been heard of for the timeout."""
        now = time.monotonic()
        for body, wrench_at in list(self._wrench_at.items()):
            if now - wrench_at > self._settings.wrench_timeout:
                controller.set_external_wrench(body, np.zeros(6))
                del self._wrench_at[body]
                name = self._robot.bodies[body].name
                self._node.get_logger().warning(
                    f'external_wrench on {name} fell silent: it fades away')

    def forget_wrenches(self) -> None:
        """Take none of the wrenches for one that is still there: they were dropped."""
        self._wrench_at.clear()

    @property
    def _topic(self) -> str:
        """Where the trajectory came from that is being prepared."""
        return ACTION if self._goals.prepares else 'joint_trajectory'

    def _prepare(self, data: bytes, goal: Goal | None) -> None:
        refusal = self.why_no_plan()
        if refusal:
            raise HodynError(refusal)
        controller, clock = self._ready()
        if self._planner.busy and not self._goals.prepares:
            self._monitor.reject('joint_trajectory', REPLACED)
        self._planner.submit(
            data, controller.reference, controller.now,
            annotate=self._outputs.annotated_is_wanted, left_out=clock.left_out)
        self._goals.prepare(goal)

    def _link(self, frame: str) -> str:
        """Return the robot's name of a link, which drivers name with their joints' prefix."""
        known = {*self._robot.frames, *(body.name for body in self._robot.bodies)}
        return frame if frame in known else frame.removeprefix(self._prefix)

    def _check_range(self, position: Array, velocity: Array | None) -> None:
        """Refuse a streamed sample that the arm cannot reach."""
        limits, joints = self._robot.limits, self._reference_reader.names
        beyond = (position < limits.position_min) | (position > limits.position_max)
        if beyond.any():
            i = int(beyond.argmax())
            raise HodynError(
                f'position {position[i]:g} of joint {joints[i]!r} is not between '
                f'{limits.position_min[i]:g} and {limits.position_max[i]:g}')
        if velocity is not None and (np.abs(velocity) > limits.velocity).any():
            i = int((np.abs(velocity) > limits.velocity).argmax())
            raise HodynError(
                f'velocity {velocity[i]:g} of joint {joints[i]!r} is beyond '
                f'{limits.velocity[i]:g}')


def check_size(data: bytes, most: int) -> None:
    """Raise HodynError for a message that has more than so many bytes."""
    if len(data) > most:
        raise HodynError(f'{len(data)} bytes; at most {most} are read')
