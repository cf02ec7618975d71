"""A client of the action `~/follow_joint_trajectory`, and an arm that follows the live node."""
from collections.abc import Callable
from dataclasses import dataclass, field
import time
from typing import Any

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import numpy as np
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

ACTION = '/feedforward/follow_joint_trajectory'
TIMEOUT = 30.0
PERIOD = 0.005
Result = FollowJointTrajectory.Result


def duration(seconds: float) -> Duration:
    whole, nanoseconds = divmod(round(seconds * 1e9), 10**9)
    return Duration(sec=whole, nanosec=nanoseconds)


@dataclass(eq=False)
class Sent:
    """A goal that was sent, and what came of it."""

    handle: Any = None
    answered: bool = False
    status: int | None = None
    result: Any = None
    feedback: list[Any] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        return self.handle is not None and self.handle.accepted

    @property
    def over(self) -> bool:
        return self.result is not None

    @property
    def outcome(self) -> tuple[int, int]:
        return self.status, self.result.error_code


SUCCEEDED = GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL
CANCELED = GoalStatus.STATUS_CANCELED, Result.SUCCESSFUL
ABORTED = GoalStatus.STATUS_ABORTED


class Arm:
    """A driver whose arm is where the torque's reference says, but for an offset."""

    def __init__(self, live: Any, home: list[float]) -> None:
        self.live = live
        self.offset = np.zeros(len(home))
        self.position, self.velocity = np.array(home), np.zeros(len(home))
        self.has_velocity = True
        self.clock_offset = 0.0
        self.client = ActionClient(live.node, FollowJointTrajectory, ACTION)

    def drive(self, until: Callable[[], bool] = lambda: False, timeout: float = TIMEOUT) -> None:
        """Send states at 200 Hz until something is so."""
        end = time.monotonic() + timeout
        while not until():
            assert time.monotonic() < end, self.live.log
            assert self.live.process.poll() is None, self.live.log
            if messages := self.live.messages['torque']:
                self.position = np.array(messages[-1].position)
                self.velocity = np.array(messages[-1].velocity)
            fields = {'velocity': self.velocity.tolist()} if self.has_velocity else {}
            self.live.send_state(
                time.time() + self.clock_offset, (self.position + self.offset).tolist(), **fields)
            tick = time.monotonic() + PERIOD
            while (left := tick - time.monotonic()) > 0.0:
                self.live._executor.spin_once(timeout_sec=left)

    def wait(self, seconds: float) -> None:
        """Send states for a time."""
        end = time.monotonic() + seconds
        self.drive(lambda: time.monotonic() >= end, seconds + TIMEOUT)

    def ready(self) -> None:
        """Wait until the node holds and the server of the action is there."""
        self.drive(lambda: 'holding' in self.live.states and self.client.server_is_ready(), 180.0)
        self.wait(0.3)

    def goal(self, *points: tuple[float, Any], start: float = 0.0, **fields: Any) -> Any:
        """Return a goal through points: (time_from_start, positions)."""
        whole, nanoseconds = divmod(round(start * 1e9), 10**9)
        trajectory = JointTrajectory(
            joint_names=fields.pop('names', self.live.joints), points=[
                JointTrajectoryPoint(
                    positions=[float(x) for x in positions], time_from_start=duration(t))
                for t, positions in points])
        trajectory.header.stamp = Time(sec=whole, nanosec=nanoseconds)
        tolerances = {
            name: [JointTolerance(name=joint, **values) for joint, values in asked.items()]
            for name in ('path_tolerance', 'goal_tolerance')
            if (asked := fields.pop(name, None)) is not None}
        return FollowJointTrajectory.Goal(trajectory=trajectory, **tolerances, **fields)

    def send(self, goal: Any, *, wait: bool = True) -> Sent:
        """Send a goal, and wait for the answer whether it is accepted."""
        sent = Sent()

        def keep(future: Any) -> None:
            answer = future.result()
            sent.status, sent.result = answer.status, answer.result

        def answered(future: Any) -> None:
            sent.handle, sent.answered = future.result(), True
            if sent.accepted:
                sent.handle.get_result_async().add_done_callback(keep)

        self.client.send_goal_async(
            goal, feedback_callback=lambda message: sent.feedback.append(message.feedback),
        ).add_done_callback(answered)
        if wait:
            self.drive(lambda: sent.answered)
        return sent

    def cancel(self, sent: Sent) -> None:
        """Ask for the end of a goal, and wait for the result."""
        sent.handle.cancel_goal_async()
        self.drive(lambda: sent.over)
