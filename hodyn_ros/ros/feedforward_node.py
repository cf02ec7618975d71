"""The node `feedforward`: its life cycle, its parameters, its topics."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
import sys
import time
import traceback
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.timer import Timer
from rclpy.utilities import get_rmw_implementation_identifier
from std_srvs.srv import Trigger

from hodyn_ros.common.jit import compiling
from hodyn_ros.feedforward.moving_base import feedforward_of
from hodyn_ros.feedforward.supervisor import WATCH_PERIOD
from hodyn_ros.feedforward.trajectory_goals import ACTION
from hodyn_ros.feedforward.transitions import DEACTIVATED
from hodyn_ros.feedforward.warm_up import is_warm, warm_up
from hodyn_ros.plans.planner import Planner
from hodyn_ros.plans.worker import PlanWorker
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.held_base import with_base_held
from hodyn_ros.ros import parameters, realtime
from hodyn_ros.ros.diagnostics import Monitor, printable
from hodyn_ros.ros.given_parameters import as_overrides, read_arguments, undeclared
from hodyn_ros.ros.inputs import REQUESTS, subscribe
from hodyn_ros.ros.neighbours import state_of_another
from hodyn_ros.ros.outputs import Outputs
from hodyn_ros.ros.parameters import DESCRIPTION
from hodyn_ros.ros.qos_overrides import check_qos_overrides
from hodyn_ros.ros.robot_and_settings import (
    check_bounds,
    check_commands,
    contents_of_torque,
    load_with,
    plan_settings,
    supervisor_settings,
    with_payload,
)
from hodyn_ros.ros.robot_description import RobotDescription
from hodyn_ros.ros.session import Session
from hodyn_ros.ros.spinning import run, spin_once
from hodyn_ros.ros.trajectory_action import INACTIVE, IS_AVAILABLE, TrajectoryAction

NAME = 'feedforward'
REPORT_PERIOD, RESULT_TIME = 1.0, 0.1  # s; the latter is for sending last messages
COMPILES = 'the kernels are compiled, once on this machine: 10 to 30 s, longer while it is busy'
WORKER_TIMEOUT = 120.0  # s; the process for plans compiles at its first start
SUCCESS = TransitionCallbackReturn.SUCCESS


class FeedforwardNode(LifecycleNode):
    """Publishes Q, Q̇ and Q̈ of the reference at the stamp of each joint state."""

    def __init__(self, **options: Any) -> None:
        super().__init__(NAME, **options)
        #: Whether the node is active or being deactivated, and has to stop and fade out to end
        self.is_moving = False
        self._session: Session | None = None
        self._idle = Monitor(self.get_logger().error)  # for inputs that come while inactive
        self._planner: Planner | None = None
        self._outputs: Outputs | None = None
        self._questions: list[str] = []  # about the payload that is being set
        self._stiffness: tuple[str, dict[str, float]] = '', {}  # a robot's name, and its last
        self._entities: list[Callable[[], Any]] = []
        self._timer: Timer | None = None
        self._watches = False
        self._let_sleep: Callable[[], object] = lambda: None
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._description = RobotDescription(self, self._on_description)
        self._action = TrajectoryAction(  # clients ask for results also after a clean-up
            self, lambda: self._session, self._reject_goal) if IS_AVAILABLE else None
        try:
            parameters.declare(self)
            self._files_at_start = {
                name: str(self.get_parameter(name).value) for name in ('robot', 'limits_file')}
            if hasattr(self, 'add_pre_set_parameters_callback'):  # older rclpy lacks it
                self.add_pre_set_parameters_callback(parameters.as_declared)
            self.add_on_set_parameters_callback(self._on_parameters)
            if self.get_parameter('robot').value == DESCRIPTION:
                self._description.listen()
            elif not self._start_up():
                raise HodynError('not started: see the error above')
        except BaseException:
            self.destroy_node()
            raise

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and check the robot, compile the kernels, create the topics."""
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
        """Stop within limits, fade out, and report it."""
        result = self._guarded('deactivated', self._end_session, foreseen=())
        return super().on_deactivate(state) if result == SUCCESS else result

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release the robot and the topics."""
        return self._guarded('cleaned up', self._release, foreseen=())

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop if necessary, and release everything."""
        return self._guarded('shut down', self._shut_down, foreseen=())

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything, so that the node can be configured again."""
        return self._guarded('released', self._release, foreseen=())

    def finish(self) -> None:
        """Stop, fade out and leave the active state: a program calls it before ROS shuts down."""
        if self._session is not None:
            self.trigger_deactivate()
            # The client library sends the results of goals in callbacks.
            end = time.monotonic() + RESULT_TIME
            while self.executor is not None and time.monotonic() < end:
                spin_once(self.executor, self, 0.1 * RESULT_TIME)

    def set_parameters_atomically(
        self, parameter_list: list[Parameter[Any]],
    ) -> SetParametersResult:
        """Set parameters as one batch; the result names unknown and asks about doubtful ones."""
        if wrong := undeclared(self, parameter_list):
            return SetParametersResult(successful=False, reason=wrong)
        self._questions.clear()
        result = super().set_parameters_atomically(parameter_list)
        for question in self._questions:
            self.get_logger().warning(question)
        result.reason = '; '.join(filter(None, [result.reason, *self._questions]))
        return result

    def destroy_node(self) -> None:
        """Release everything, including the process that prepares plans."""
        self._release()
        action, self._action = self._action, None
        if action is not None:
            action.destroy()
        super().destroy_node()

    def _start_up(self) -> bool:
        if self.get_parameter('auto_activate').value:
            return self.trigger_configure() == SUCCESS == self.trigger_activate()
        self.get_logger().info('auto_activate is false: configure and activate this node')
        return True

    def _guarded(
        self, what: str, transition: Callable[[], None],
        foreseen: tuple[type[Exception], ...] = (HodynError, OSError),
    ) -> TransitionCallbackReturn:
        """Run a transition and return its result; the client library would hide its errors."""
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
        robot, self._base = self._feedforward.robot, self._feedforward.base_name
        self._outputs = Outputs(self, self._base)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._stream_heard_at = time.monotonic()
        self._entities += subscribe(self, self._call, has_base=self._feedforward.is_floating)
        check_qos_overrides(self)
        hold = self.create_service(Trigger, '~/hold', self._on_hold)
        self._entities.append(partial(self.destroy_service, hold))
        if not IS_AVAILABLE:
            self.get_logger().info(
                'no action ~/follow_joint_trajectory: control_msgs is not installed')
        self._watch = self._every(WATCH_PERIOD, Session.watch)
        self._watch.cancel()
        for timer in (self._watch, self._every(REPORT_PERIOD, self._report)):
            self._entities.append(partial(self.destroy_timer, timer))
        self._entities.append(partial(self.destroy_publisher, self._diagnostics))
        self.get_logger().info(
            f'configured for robot {robot.name!r}, {robot.n} joints; '
            f'by {get_rmw_implementation_identifier()}')

    def _load(self) -> None:
        """Read parameters, load the robot, compile kernels; start the process for plans once."""
        settings = parameters.read(self)
        source = self._description.required() if settings.robot == DESCRIPTION else settings.robot
        unloaded = load_with(settings, source, self.get_logger().warning)
        robot = with_payload(unloaded, settings, self.get_logger().warning)
        of_cycle = supervisor_settings(robot, settings).controller
        parameters.read_tolerances(self, robot.joint_names)
        check_commands(robot, settings, self.get_logger().warning)
        check_bounds(robot, settings, self.get_logger().warning)
        if not is_warm(is_floating=robot.floating, feeds_back=settings.flatness_poles > 0.0):
            self.get_logger().info(COMPILES)
        planned = with_base_held(robot) if robot.floating else robot
        of_plans = plan_settings(settings)
        planner, self._planner = self._planner, None
        if planner is None:
            planner = Planner(PlanWorker(planned, has_base=robot.floating), planned, of_plans)

        def wait() -> None:
            if not planner.wait(WORKER_TIMEOUT):
                raise HodynError('the process that prepares plans did not start')

        try:
            # Both processes compile at the same time.
            with compiling():
                feedforward = feedforward_of(robot)
                warm_up(feedforward, of_cycle, wait)
        except BaseException:
            planner.close()
            raise
        planner.use(planned, of_plans)
        # Set last, so that after a failure the next attempt loads everything again.
        self._planner, self._settings = planner, settings
        self._unloaded_robot, self._feedforward = unloaded, feedforward

    def _activate(self) -> None:
        deaf_since = time.monotonic()  # while it loads, it does not hear a stream
        if self._planner is None or parameters.read(self) != self._settings:
            self._load()
        if self._outputs is None or self._planner is None:
            raise HodynError('not configured')
        if (base := self._feedforward.base_name) != self._base:
            raise HodynError(
                f'the base of the robot has changed from {self._base or "fixed"} to '
                f'{base or "fixed"}: clean up and configure the node again')
        if state := state_of_another(self):
            raise HodynError(
                f'another node {self.get_fully_qualified_name()} is active ({state}), and two '
                'must not command one arm: end it, or give this one another name')
        self._session = Session(
            self, self._settings, self._feedforward, self._planner, self._outputs,
            self._stream_heard_at + time.monotonic() - deaf_since)
        if self._stiffness[0] == self._settings.robot:
            self._session.supervisor.stiffness = self._stiffness[1]
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
        self.get_logger().info(contents_of_torque(
            self._settings, parameters.given(self), self._unloaded_robot.friction is not None))

    def _end_session(self) -> None:
        self._destroy_timer()
        session, self._session = self._session, None
        if session is not None and self._outputs is not None and self._planner is not None:
            self._watch.cancel()
            self._watches = False
            try:
                session.wind_down()
                self._outputs.report(self._feedforward.robot.name, 'inactive')
            finally:
                session.supervisor.goals.close(DEACTIVATED)
                self._stiffness = self._settings.robot, session.supervisor.held_stiffness
                self._planner.abandon()  # else the first plan of the next session would wait
                self.is_moving = False
                self._let_sleep()
                realtime.unfreeze_gc()

    def _reject_goal(self, why: str) -> None:
        monitor = self._idle if self._session is None else self._session.monitor
        monitor.received[ACTION] += 1
        monitor.reject(ACTION, why)

    def _shut_down(self) -> None:
        if self._session is None:
            self._release()
            return
        self._end_session()
        # Released later: the last messages must reach their subscribers first.
        self._timer = self.create_timer(RESULT_TIME, self._release, clock=self._steady)

    def _release(self) -> None:
        session, self._session, self.is_moving = self._session, None, False
        if session is not None:
            session.supervisor.goals.close(DEACTIVATED)
        self._destroy_timer()
        while self._entities:
            self._entities.pop()()
        self._let_sleep()
        if self._outputs is not None:
            self._outputs.destroy()
        if self._planner is not None:
            self._planner.close()
        self._outputs = self._planner = None

    def _destroy_timer(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None

    def _call(self, callback: Callable[..., None], *arguments: Any) -> None:
        """Call a method of the session, or refuse; log and count unexpected errors."""
        session = self._session
        if callback is Session.on_reference:
            self._stream_heard_at = time.monotonic()
        if session is None:
            if callback in REQUESTS:
                self._idle.reject(REQUESTS[callback], INACTIVE)
            return
        try:
            callback(session, *arguments)
        except Exception as error:
            self._log_failure(session, callback.__name__, error)
        # While there is no input to watch, the timer of the watch must not wake the process.
        if session.supervisor.is_watched != self._watches:
            self._watches = not self._watches
            (self._watch.reset if self._watches else self._watch.cancel)()

    def _log_failure(self, session: Session | None, what: str, error: Exception) -> None:
        if session is not None and session.failed(what, error):
            self.get_logger().error(printable(traceback.format_exc(), keep='\n'))

    def _every(self, period: float, callback: Callable[[Session], None]) -> Timer:
        # rclpy passes an argument to callbacks that accept one: hence the lambda.
        return self.create_timer(period, lambda: self._call(callback), clock=self._steady)

    def _report(self, session: Session) -> None:
        session.look_around()
        message = DiagnosticArray(status=[session.status()])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def _on_hold(self, request: Trigger.Request, _: Trigger.Response) -> Trigger.Response:
        session = self._session
        try:
            refusal = INACTIVE if session is None else session.hold('held on request')
        except Exception as error:  # the client must get an answer
            refusal = f'{type(error).__name__}: {error}'
            self._log_failure(session, 'hold', error)
        return Trigger.Response(success=not refusal, message=refusal or 'stops and holds')

    def _on_description(self, is_another: bool) -> None:
        if self._planner is not None and is_another:
            loads = self._session is None and parameters.read(self) != self._settings
            self.get_logger().warning(
                f'another robot came on {DESCRIPTION}; the node keeps its robot until it is '
                f'{"activated" if loads else "cleaned up and configured again"}')
        elif self._planner is None and self.get_parameter('auto_activate').value:
            self._start_up()

    def _on_parameters(self, changes: Sequence[Parameter[Any]]) -> SetParametersResult:
        result = parameters.check(
            changes, lambda name: self.get_parameter(name).value,
            active=self._session is not None, **self._files_at_start)
        payload = {c.name: c.value for c in changes if c.name.startswith('payload_')}
        if result.successful and self._session is not None and payload:
            settings = replace(self._settings, **payload)
            try:
                feedforward = feedforward_of(with_payload(
                    self._unloaded_robot, settings, self._questions.append))
                self._session.change_model(feedforward, settings)
            except HodynError as error:
                return SetParametersResult(successful=False, reason=str(error))
            self._feedforward, self._settings = feedforward, settings
        return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until a signal ends it."""
    try:
        given = read_arguments(sys.argv if argv is None else argv, NAME)
        return run(
            partial(FeedforwardNode, parameter_overrides=as_overrides(given)),
            lambda node: node.is_moving, FeedforwardNode.finish, argv)
    except HodynError as error:
        print(f'{NAME}: {error}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
