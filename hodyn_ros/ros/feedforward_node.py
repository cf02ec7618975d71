"""The node `feedforward`: its life cycle, its parameters, its topics."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
import sys
import time
import traceback
from typing import Any
import warnings

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.timer import Timer
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from hodyn_ros.common.jit import compiling
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.supervisor import WATCH_PERIOD
from hodyn_ros.feedforward.trajectory_goals import ACTION
from hodyn_ros.feedforward.transitions import DEACTIVATED
from hodyn_ros.feedforward.warm_up import is_warm, warm_up
from hodyn_ros.plans.planner import Planner
from hodyn_ros.plans.prepare import PlanSettings
from hodyn_ros.plans.worker import PlanWorker
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.files import load_robot, with_actuators
from hodyn_ros.robot.joint_names import JointNames
from hodyn_ros.ros import parameter_file, parameters, realtime
from hodyn_ros.ros.diagnostics import printable
from hodyn_ros.ros.neighbours import state_of_another
from hodyn_ros.ros.outputs import LATCHED_QOS, Outputs
from hodyn_ros.ros.parameters import DESCRIPTION
from hodyn_ros.ros.session import Session, controller_settings, supervisor_settings
from hodyn_ros.ros.spinning import run, spin_once
from hodyn_ros.ros.trajectory_action import IS_AVAILABLE, TrajectoryAction

BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
PLAN_QOS = QoSProfile(depth=10)
NAME = 'feedforward'
MAX_DESCRIPTION_BYTES = 4 * 1024 * 1024
# With more joints a stop takes longer to compute than joint states may be silent; a cycle with
# as many takes an eighth of a millisecond. Links that are fixed to others cost nothing but time
# at the start.
MAX_JOINTS = 64
MAX_BODIES = 500
REPORT_PERIOD = 1.0
RESULT_TIME = 0.1
COMPILES = ('the kernels are compiled, once on this machine: that takes 10 to 30 s, longer while '
            'it is busy')
WORKER_TIMEOUT = 120.0  # it compiles at its first run
SUCCESS = TransitionCallbackReturn.SUCCESS


class FeedforwardNode(LifecycleNode):
    """Publishes Q, Q̇ and Q̈ of the reference at the stamp of each joint state.

    configure loads the robot and compiles the kernels; activate waits for a joint state and holds
    the position that it has, until a reference comes; deactivate stops and fades out.

    Attributes
    ----------
    is_moving : bool
        Whether it is active, or being deactivated: its end takes a stop and a fade.

    """

    def __init__(self, **options: Any) -> None:
        super().__init__(NAME, **options)
        self.is_moving = False
        self._session: Session | None = None
        self._planner: Planner | None = None
        self._outputs: Outputs | None = None
        self._entities: list[Callable[[], Any]] = []
        self._timer: Timer | None = None
        self._watches = False
        self._let_sleep: Callable[[], object] = lambda: None
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._description = ''
        self._listens_for_description = False
        try:
            parameters.declare(self)
            self._files_at_start: dict[str, str] = {
                name: self.get_parameter(name).value for name in ('robot', 'limits_file')}
            if hasattr(self, 'add_pre_set_parameters_callback'):  # older releases have none
                self.add_pre_set_parameters_callback(parameters.as_declared)
            self.add_on_set_parameters_callback(self._on_parameters)
            if self.get_parameter('robot').value == DESCRIPTION:
                self._listen_for_description()
            elif self.get_parameter('auto_activate').value and not self._start_up():
                raise HodynError('not started: see the error above')
        except BaseException:
            self.destroy_node()
            raise

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and check the robot, compile the kernels, make the topics."""
        result = self._guarded('configured', self._configure)
        if result != SUCCESS:
            self._guarded('released', self._release, foreseen=())
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Wait for a joint state, then hold its position."""
        result = super().on_activate(state)
        if result == SUCCESS:
            result = self._guarded('activated', self._activate)
            if result != SUCCESS:
                self._session, self.is_moving = None, False
                super().on_deactivate(state)
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop within limits, fade out, and say so."""
        result = self._guarded('deactivated', self._end_session, foreseen=())
        return super().on_deactivate(state) if result == SUCCESS else result

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release the robot and the topics."""
        return self._guarded('cleaned up', self._release, foreseen=())

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop if need be, and release everything."""
        return self._guarded('shut down', self._shut_down, foreseen=())

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything, so that the node can be configured again."""
        return self._guarded('released', self._release, foreseen=())

    def finish(self) -> None:
        """Leave the active state in order; called before the process ends."""
        if self._session is not None:
            self.trigger_deactivate()
            self._send_results()

    def destroy_node(self) -> None:
        """Release everything, the worker process too."""
        self._release()
        super().destroy_node()

    def _start_up(self) -> bool:
        return bool(self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS)

    def _send_results(self) -> None:
        """Let the results of goals go out, which the client library sends in callbacks."""
        end = time.monotonic() + RESULT_TIME
        while self.executor is not None and time.monotonic() < end:
            spin_once(self.executor, self, 0.1 * RESULT_TIME)

    def _guarded(
        self, what: str, transition: Callable[[], None],
        foreseen: tuple[type[Exception], ...] = (HodynError, OSError),
    ) -> TransitionCallbackReturn:
        """Return what became of a transition; the client library would swallow its errors."""
        try:
            transition()
        except foreseen as error:
            self.get_logger().error(f'not {what}: {error}')
            return TransitionCallbackReturn.FAILURE
        except Exception:
            self.get_logger().error(f'not {what}:\n{traceback.format_exc()}')
            return TransitionCallbackReturn.ERROR
        return SUCCESS

    def _configure(self) -> None:
        self._load()
        self._outputs = Outputs(self)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        subscriptions = (
            (JointState, 'joint_states', Session.on_state, BEST_EFFORT),
            (JointTrajectory, '~/joint_trajectory', Session.on_trajectory, PLAN_QOS),
            (JointState, '~/reference', Session.on_reference, BEST_EFFORT),
            (WrenchStamped, '~/external_wrench', Session.on_wrench, BEST_EFFORT),
            (JointState, '~/stiffness', Session.on_stiffness, BEST_EFFORT),
        )
        for kind, topic, callback, qos in subscriptions:
            subscription = self.create_subscription(
                kind, topic, partial(self._call, callback), qos, raw=True,
                qos_overriding_options=parameters.qos_of_user(self))
            self._entities.append(partial(self.destroy_subscription, subscription))
        parameters.check_qos_overrides(self)
        hold = self.create_service(Trigger, '~/hold', self._on_hold)
        self._entities.append(partial(self.destroy_service, hold))
        if IS_AVAILABLE:
            action = TrajectoryAction(self, lambda: self._session, self._reject_goal)
            self._entities.append(action.destroy)
        else:
            self.get_logger().info(
                'no action ~/follow_joint_trajectory: control_msgs is not installed')
        self._watch = self._every(WATCH_PERIOD, Session.watch)
        self._watch.cancel()
        for timer in (self._watch, self._every(REPORT_PERIOD, self._report)):
            self._entities.append(partial(self.destroy_timer, timer))
        self._entities.append(partial(self.destroy_publisher, self._diagnostics))
        self.get_logger().info(
            f'configured for robot {self._feedforward.robot.name!r}, '
            f'{self._feedforward.robot.n} joints; by {get_rmw_implementation_identifier()}')

    def _load(self) -> None:
        """Read the parameters, load the robot, compile the kernels, start the worker."""
        settings = parameters.read(self)
        source = settings.robot
        if source == DESCRIPTION:
            self._listen_for_description()
            if not self._description:
                raise HodynError(f'no robot yet on the topic {DESCRIPTION}')
            source = self._description
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            unloaded = _with_springs(_loaded(source, settings), settings)
        for warning in caught:
            self.get_logger().warning(str(warning.message))
        if unloaded.n > MAX_JOINTS:
            raise HodynError(
                f'robot {unloaded.name!r} has {unloaded.n} joints that move, and the cycles of '
                f'the node hold for up to {MAX_JOINTS}: give it a robot with the arm alone')
        robot = _with_payload(unloaded, settings)
        supervisor_settings(robot, settings)
        parameters.read_tolerances(self, robot.joint_names)
        if settings.publish_commands:
            JointNames(
                robot, prefix=settings.joint_prefix, allow_other_model=settings.allow_other_model,
            ).command_order(settings.command_joints)
        if self._planner is not None:
            self._planner.close()
            self._planner = None
        if not is_warm():
            self.get_logger().info(COMPILES)
        worker = PlanWorker(robot)

        def wait() -> None:
            if not worker.wait(WORKER_TIMEOUT):
                raise HodynError('the process that prepares plans did not start')

        try:
            # Both processes compile, at the same time.
            with compiling():
                feedforward = FeedForward(robot)
                warm_up(feedforward, controller_settings(settings), wait)
        except BaseException:
            worker.close()
            raise
        self._planner = Planner(worker, robot, PlanSettings(
            joint_prefix=settings.joint_prefix, allow_other_model=settings.allow_other_model,
            interpolation=settings.interpolation,
            overshoot_tolerance=settings.overshoot_tolerance,
            start_tolerance=settings.start_tolerance, stretch=settings.stretch,
            gravity=settings.gravity_in_output, friction=settings.friction_in_output))
        # Only now: what failed must not pass for what is loaded when it is tried again.
        self._unloaded_robot, self._feedforward, self._settings = unloaded, feedforward, settings

    def _activate(self) -> None:
        if self._planner is None or parameters.read(self) != self._settings:
            self._load()
        if self._outputs is None or self._planner is None:
            raise HodynError('not configured')
        if state := state_of_another(self):
            raise HodynError(
                f'another node {self.get_fully_qualified_name()} is active ({state}), and two '
                'must not command one arm: end it, or give this one another name')
        self._session = Session(
            self, self._settings, self._feedforward, self._planner, self._outputs)
        self.is_moving = True
        if self._settings.trigger == 'timer':
            self._timer = self._every(1.0 / self._settings.rate, Session.on_timer)
        realtime.apply(
            self.get_logger().warning, priority=self._settings.realtime_priority,
            lock_memory=self._settings.lock_memory, cpus=self._settings.cpu_affinity)
        if self._settings.keep_awake:
            self._let_sleep = realtime.keep_awake(self.get_logger().warning)
        realtime.warm_up_log()
        realtime.freeze_gc()
        self._say_what_is_left_out()

    def _say_what_is_left_out(self) -> None:
        """Say what the torque contains: a robot that adds it as well gets it twice."""
        contents, left_out = [], []
        for term in ('gravity', 'friction'):
            name = f'{term}_in_output'
            is_in = getattr(self._settings, name)
            is_default = is_in and name not in parameters.given(self)
            contents.append(
                f'{"with" if is_in else "without"} {term}{" (by default)" if is_default else ""}')
            if not is_in:
                left_out.append(term)
        if self._settings.friction_in_output and self._unloaded_robot.friction is None:
            contents[-1] = 'without friction, of which the robot file has none'
            left_out.append('friction, if it can')
        self.get_logger().info(
            f'torque for robot {self._settings.robot!r} {", ".join(contents)}: its controller '
            f'must add {" and ".join(left_out) or "neither"}')

    def _end_session(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        session, self._session = self._session, None
        if session is not None and self._outputs is not None:
            self._watch.cancel()
            self._watches = False
            try:
                session.wind_down()
                self._outputs.report(self._feedforward.robot.name, 'inactive')
            finally:
                session.supervisor.goals.close(DEACTIVATED)
                self.is_moving = False
                self._let_sleep()
                realtime.unfreeze_gc()

    def _reject_goal(self, why: str) -> None:
        if self._session is not None:
            self._session.monitor.received[ACTION] += 1
            self._session.monitor.reject(ACTION, why)
        else:
            self.get_logger().error(f'{ACTION} rejected: {why}')

    def _shut_down(self) -> None:
        was_active = self._session is not None
        self._end_session()
        if not was_active:
            self._release()
            return
        # The client library sends the results of goals in callbacks: these come first.
        self._timer = self.create_timer(RESULT_TIME, self._release, clock=self._steady)

    def _release(self) -> None:
        session, self._session, self.is_moving = self._session, None, False
        if session is not None:
            session.supervisor.goals.close(DEACTIVATED)
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        while self._entities:
            self._entities.pop()()
        self._let_sleep()
        if self._outputs is not None:
            self._outputs.destroy()
        if self._planner is not None:
            self._planner.close()
        self._outputs = self._planner = None

    def _call(self, callback: Callable[..., None], *arguments: Any) -> None:
        """Call a method of the session, if there is one; log and count errors nobody foresaw."""
        session = self._session
        if session is None:
            return
        try:
            callback(session, *arguments)
        except Exception as error:
            if session.failed(callback.__name__, error):
                self.get_logger().error(printable(traceback.format_exc(), keep='\n'))
        # While nothing can fall silent nothing wakes the process for it.
        if session.supervisor.is_watched != self._watches:
            self._watches = not self._watches
            (self._watch.reset if self._watches else self._watch.cancel)()

    def _every(self, period: float, callback: Callable[[Session], None]) -> Timer:
        # A callback that could take an argument would be given one.
        return self.create_timer(period, lambda: self._call(callback), clock=self._steady)

    def _report(self, session: Session) -> None:
        if self._outputs is None:
            return
        session.look_around()
        message = DiagnosticArray(status=[session.status()])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def _on_hold(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        refusal = 'the node is not active'
        session = self._session
        if session is not None:
            try:
                refusal = session.hold('held on request')
            except Exception as error:  # whoever asked must have an answer
                refusal = f'{type(error).__name__}: {error}'
                if session.failed('hold', error):
                    self.get_logger().error(printable(traceback.format_exc(), keep='\n'))
        response.success, response.message = not refusal, refusal or 'stops and holds'
        return response

    def _listen_for_description(self) -> None:
        if self._listens_for_description:
            return
        self._listens_for_description = True
        self.create_subscription(
            String, DESCRIPTION, self._on_description, LATCHED_QOS, raw=True)
        self.get_logger().info(f'waiting for a robot on {DESCRIPTION}')

    def _on_description(self, message: bytes) -> None:
        if len(message) > MAX_DESCRIPTION_BYTES:
            self.get_logger().error(
                f'{DESCRIPTION} rejected: {len(message)} bytes; at most {MAX_DESCRIPTION_BYTES} '
                'are read')
            return
        try:
            text: str = deserialize_message(message, String).data
        except Exception:  # the client library raises bare ones
            text = ''
        if not text.lstrip().startswith('<'):
            # Nothing that comes in a message may name a file.
            self.get_logger().error(
                f'{DESCRIPTION} rejected: {len(message)} bytes that are no URDF')
            return
        self._description = text
        if self._planner is None and self.get_parameter('auto_activate').value:
            self._start_up()

    def _on_parameters(self, changes: Sequence[Parameter[Any]]) -> SetParametersResult:
        result = parameters.check(
            changes, lambda name: self.get_parameter(name).value,
            active=self._session is not None, **self._files_at_start)
        payload = {c.name: c.value for c in changes if c.name.startswith('payload_')}
        if result.successful and self._session is not None and payload:
            settings = replace(self._settings, **payload)
            try:
                feedforward = FeedForward(_with_payload(self._unloaded_robot, settings))
                self._session.change_model(feedforward, settings)
            except HodynError as error:
                return SetParametersResult(successful=False, reason=str(error))
            self._feedforward, self._settings = feedforward, settings
        return result


def _loaded(source: str, settings: parameters.Parameters) -> Robot:
    locked = {}
    for text in filter(None, settings.locked_joints):
        joint, _, value = text.rpartition('=')
        try:
            locked[joint] = float(value)
        except ValueError:
            raise HodynError(
                f'parameter locked_joints: {text!r}; expected JOINT=VALUE, finger_joint1=0.04 say',
            ) from None
    check: Any = None if settings.inertia_check == 'robot' else settings.inertia_check
    return load_robot(
        source, inertia_check=check, locked_joints=locked, limits=settings.limits_file or None,
        max_bodies=MAX_BODIES)


def _with_payload(robot: Robot, settings: parameters.Parameters) -> Robot:
    if not settings.payload_link:
        return robot
    return robot.with_payload(
        settings.payload_link, settings.payload_mass, settings.payload_com,
        np.reshape(settings.payload_inertia, (3, 3)))


def _with_springs(robot: Robot, settings: parameters.Parameters) -> Robot:
    stiffness, inertia = settings.spring_stiffness, settings.motor_inertia
    if not any(stiffness):
        return robot
    for name, values in (('spring_stiffness', stiffness), ('motor_inertia', inertia)):
        if len(values) != robot.n:
            raise HodynError(f'parameter {name} has {len(values)} values for {robot.n} joints')
    return with_actuators(robot, {'actuators': {
        joint: {'law': 'spring', 'stiffness': k, 'motor': {'inertia': b}}
        for joint, k, b in zip(robot.joint_names, stiffness, inertia, strict=True)}})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    try:
        parameter_file.check_arguments(
            sys.argv if argv is None else argv, NAME, parameters.unknown)
        return run(FeedforwardNode, lambda node: node.is_moving, FeedforwardNode.finish, argv)
    except HodynError as error:
        print(f'{NAME}: {error}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
