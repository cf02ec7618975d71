"""`~/follow_joint_trajectory`, the action by which MoveIt and other planners send plans.

Its type is control_msgs/action/FollowJointTrajectory; without that package there is no action.
"""
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus
from rclpy.action.server import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectoryPoint

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.goal_tolerances import (
    GoalTolerances,
    JointTolerance,
    goal_tolerances,
)
from hodyn_ros.feedforward.trajectory_goals import ACTION, ErrorCode
from hodyn_ros.ros import parameters
from hodyn_ros.ros.session import Session

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

if TYPE_CHECKING:
    _AnyActionServer = ActionServer[Any, Any, Any]
else:  # not generic in every release of the client library
    _AnyActionServer = ActionServer


INACTIVE = 'the node is not active'
IS_AVAILABLE = FollowJointTrajectory is not None


class TrajectoryAction:
    """The server of the action, as long as the node lasts.

    `session` returns the session that takes goals, None while the node is inactive; `reject`
    counts and logs a rejected goal, given the cause.
    """

    def __init__(
        self, node: Node, session: Callable[[], Session | None],
        reject: Callable[[str], object],
    ) -> None:
        self._node = node
        self._session = session
        self._reject = reject
        self._goals: dict[bytes, _ClientsGoal] = {}
        self._server = _Server(
            node, FollowJointTrajectory, f'~/{ACTION}', execute_callback=_never,
            goal_callback=self._on_goal, handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel)

    def destroy(self) -> None:
        """Destroy the server."""
        self._server.destroy()

    def _on_goal(self, request: Any) -> GoalResponse:
        session = self._session()
        refusal = INACTIVE if session is None else session.why_no_goal(
            _Request(self._node, request))
        if not refusal and request.multi_dof_trajectory.points:
            refusal = ('multi_dof_trajectory has points: joints of several degrees of freedom '
                       'are not followed')
        if refusal:
            self._reject(refusal)
        return GoalResponse.REJECT if refusal else GoalResponse.ACCEPT

    def _on_accepted(self, handle: Any) -> None:
        identity = bytes(handle.goal_id.uuid)
        goal = self._goals[identity] = _ClientsGoal(
            self._node, self._server, handle, lambda: self._goals.pop(identity, None))
        session = self._session()
        if session is None:
            goal.end(ErrorCode.INVALID_GOAL, INACTIVE)
        else:
            try:
                session.on_goal(goal, serialize_message(handle.request.trajectory))
            except Exception as error:  # the client must have an answer; the executor logs it
                goal.end(ErrorCode.INVALID_GOAL, f'{type(error).__name__}: {error}')
                raise

    def _on_cancel(self, handle: Any) -> CancelResponse:
        goal, session = self._goals.get(bytes(handle.goal_id.uuid)), self._session()
        if goal is None or session is None:
            return CancelResponse.REJECT
        session.cancel_goal(goal)
        return CancelResponse.ACCEPT


class _Request:
    """A client's request."""

    def __init__(self, node: Node, request: Any) -> None:
        self._node, self._request = node, request
        self.joints: list[str] = list(request.trajectory.joint_names)
        self.point_times = [
            _seconds(point.time_from_start) for point in request.trajectory.points]

    def tolerances(self, names: Sequence[Sequence[str]]) -> GoalTolerances:
        """Return the request's tolerances, or the parameters' if it has none.

        Raises HodynError for an unknown joint or an invalid value.
        """
        request = self._request
        path, goal = (
            [JointTolerance(one.name, one.position, one.velocity) for one in asked]
            for asked in (request.path_tolerance, request.goal_tolerance))
        return goal_tolerances(
            parameters.read_tolerances(self._node, names[-1]), names, path, goal,
            _seconds(request.goal_time_tolerance))


class _ClientsGoal(_Request):
    """A goal, and the client that waits for its result."""

    def __init__(
        self, node: Node, server: '_Server', handle: Any, forget: Callable[[], object],
    ) -> None:
        super().__init__(node, handle.request)
        self._server, self._handle, self._forget = server, handle, forget
        self._feedback = FollowJointTrajectory.Feedback()

    def begin(self) -> None:
        """Tell the client that its plan is followed."""
        self._handle.execute()

    def progress(
        self, stamp: int, names: Sequence[str], elapsed: float, point: int, desired: Array,
        actual: Array, effort: Array,
    ) -> None:
        """Send the client feedback, see `trajectory_goals.Goal`."""
        message = self._feedback
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        message.joint_names = list(names)
        message.desired = _point(elapsed, desired)
        message.desired.effort = effort.tolist()
        message.actual = _point(elapsed, actual)
        message.error = _point(elapsed, desired[:len(actual)] - actual)
        if hasattr(message, 'index'):  # older releases of control_msgs have no index
            message.index = point
        self._handle.publish_feedback(message)

    def end(self, code: ErrorCode, text: str) -> None:
        """Tell the client that the goal has ended, as canceled if that was requested."""
        self._forget()
        handle = self._handle
        if handle.status == GoalStatus.STATUS_ACCEPTED:
            # By the protocol, an accepted goal can only end after its execution has begun.
            handle.execute()
        if code != ErrorCode.SUCCESSFUL:
            handle.abort()
        elif handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.succeed()
        result = FollowJointTrajectory.Result(error_code=int(code), error_string=text)
        if self._node.executor is not None:  # a destroyed node cannot send any more
            self._server.send_result(handle, result)


class _Server(_AnyActionServer):
    """Sends results when they are known.

    The client library would run a callback for each goal; a coroutine that waits in it would keep
    the executor busy.
    """

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Run no callback when the execution of a goal begins."""

    def send_result(self, goal_handle: Any, result: Any) -> None:
        """Send a result when the client requests it, now or later."""
        super().notify_execute(goal_handle, lambda _: result)


def _never(handle: Any) -> None:
    """Placeholder for the callback that the client library requires."""


def _seconds(duration: Any) -> float:
    return float(duration.sec + 1e-9 * duration.nanosec)


def _point(elapsed: float, rows: Array) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint()
    for quantity, row in zip(('positions', 'velocities', 'accelerations'), rows, strict=False):
        setattr(point, quantity, row.tolist())
    whole = point.time_from_start
    whole.sec, whole.nanosec = divmod(round(elapsed * 1e9), 10**9)
    return point
