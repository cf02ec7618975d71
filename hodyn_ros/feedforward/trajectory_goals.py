"""The goals of `~/follow_joint_trajectory`: which is followed, its progress and its end."""
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
import time
from typing import Protocol

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.goal_tolerances import QUANTITIES, GoalTolerances, violation
from hodyn_ros.feedforward.plan_answer import Accepted, Refused

ACTION = 'follow_joint_trajectory'
PLAN = 'joint_trajectory'
REPLACED = 'a newer trajectory came while it was prepared'
# Period of feedback, s, as by the default action_monitor_rate of joint_trajectory_controller.
FEEDBACK_PERIOD = 0.05


class ErrorCode(IntEnum):
    """Error codes of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


CODE_OF_FAULT = {'joints': ErrorCode.INVALID_JOINTS, 'past': ErrorCode.OLD_HEADER_TIMESTAMP}
REACHED = 'Goal successfully reached!'


class GoalRequest(Protocol):
    """A client's request."""

    @property
    def joints(self) -> Sequence[str]:
        """Names of the joints of its trajectory."""

    @property
    def point_times(self) -> Sequence[float]:
        """Seconds from the start of its trajectory to each point."""

    def tolerances(self, names: Sequence[Sequence[str]]) -> GoalTolerances:
        """Return its tolerances; `names` are the accepted names of its joints."""


class Goal(GoalRequest, Protocol):
    """A goal as its client sees it."""

    def begin(self) -> None:
        """Tell the client that its plan is followed."""

    def progress(
        self, stamp: int, names: Sequence[str], elapsed: float, point: int, desired: Array,
        actual: Array, effort: Array,
    ) -> None:
        """Send the client feedback.

        `elapsed` is the time since the start, s; `point` is the index of the next point.
        `desired`, (3, n), and `actual`, (2, n), or (1, n) without velocities, are positions and
        derivatives at the stamp, ns. `effort`, (n,), is the torque that the motion needs.
        """

    def end(self, code: ErrorCode, text: str) -> None:
        """Tell the client that the goal has ended, as canceled if that was requested."""


@dataclass(eq=False)
class _Followed:
    """A goal whose plan is followed or being stopped; `end` is set once its end is decided."""

    goal: Goal
    plan: object
    duration: float
    tolerances: GoalTolerances
    point_times: Array
    pace: float
    remark: str  # what the plan misses, as it began after its stamp
    end: tuple[ErrorCode, str] | None = None

    def point(self, elapsed: float) -> int:
        """Return the index of the point to which the reference moves."""
        left = (self.duration - elapsed) * self.pace
        at = np.searchsorted(self.point_times, self.point_times[-1] - left, side='right')
        return min(int(at), len(self.point_times) - 1)


class TrajectoryGoals:
    """At most one goal that is followed, and at most one whose plan is being prepared.

    `names` are the robot's own names of its joints; the reference is `lookahead`, s, ahead of the
    stamps.
    """

    def __init__(self, names: Sequence[str], lookahead: float) -> None:
        self._own_names = names
        self._names = names
        self._lookahead = lookahead
        self._prepared: Goal | None = None
        self._canceled: list[Goal] = []
        self._taken: Accepted | Refused | None = None
        self._followed: _Followed | None = None
        self._told_at = 0.0

    def bind(self, names: Sequence[str]) -> None:
        """Set the names of the joints in the joint states."""
        self._names = names

    @property
    def names(self) -> tuple[Sequence[str], Sequence[str]]:
        """The accepted names of joints: those in the joint states, and the robot's own."""
        return self._names, self._own_names

    @property
    def prepares(self) -> bool:
        """Whether a goal's plan is being prepared."""
        return self._prepared is not None

    def is_prepared(self, goal: Goal) -> bool:
        """Whether the plan of this goal is being prepared."""
        return goal is self._prepared and self._taken is None

    def waits(self, controller: FeedforwardController) -> bool:
        """Whether the plan of the followed goal waits for its start."""
        self._catch_up()
        if self._followed is None:
            return False
        elapsed = controller.reference.elapsed(self._followed.plan, controller.now)
        return elapsed is not None and elapsed < 0.0

    def prepare(self, goal: Goal | None, why: str = REPLACED) -> None:
        """Drop the goal in preparation, and set the next one; None for a plan from the topic."""
        self.drop(why)
        self._prepared = goal

    def drop(self, why: str) -> None:
        """Give up the goal whose plan is being prepared."""
        self._catch_up()
        goal, self._prepared = self._prepared, None
        if goal is not None:
            goal.end(ErrorCode.INVALID_GOAL, why)

    def take(self, answer: Accepted | Refused) -> None:
        """Note the answer about the plan; clients get it once the cycle's torque is sent."""
        self._taken = answer

    def cancel(self, goal: Goal) -> bool:
        """Give up a goal on request; return whether it is followed, so that the arm must stop."""
        self._catch_up()
        if goal is self._prepared:
            self._prepared = None
            self._canceled.append(goal)
            return False
        if self._followed is None or self._followed.goal is not goal:
            return False
        self.stop(ErrorCode.SUCCESSFUL, 'canceled on request')
        return True

    def stop(self, code: ErrorCode, why: str) -> None:
        """Decide how the followed goal ends; its client is told once no stop is under way."""
        self._catch_up()
        if self._followed is not None and self._followed.end is None:
            self._followed.end = code, why

    def settle(self, *, is_stopping: bool) -> None:
        """Tell clients how their goals ended; a followed goal waits while the reference stops.

        It does not wait for rest, since a stream may begin right after a plan or a stop.
        """
        self._catch_up()
        while self._canceled:
            self._canceled.pop().end(ErrorCode.SUCCESSFUL, 'canceled on request')
        if not is_stopping:
            self._tell_end()

    def watch(
        self, controller: FeedforwardController, measured: Array, stamp: int,
    ) -> str:
        """Compare the arm with the followed goal, and send its client feedback.

        `measured` are position and velocity at the stamp, ns, (2, n), or (1, n) if the velocity
        is unknown. Returns why the goal is aborted (then the reference must stop), else empty.
        """
        followed = self._followed
        if followed is None or self._taken is not None:
            return ''
        q, now = controller.q, controller.now
        # The reference is ahead of the measurement by the lookahead.
        desired = q[:3] - self._lookahead * q[1:4]
        error = desired[:len(measured)] - measured
        elapsed = controller.reference.elapsed(followed.plan, now)
        why = ''
        if followed.end is None:
            if elapsed is None:
                followed.end = ErrorCode.INVALID_GOAL, 'another reference took its place'
            elif elapsed >= 0.0:
                why = self._judge(followed, elapsed, error)
        if elapsed is not None and time.monotonic() - self._told_at >= FEEDBACK_PERIOD:
            self._told_at = time.monotonic()
            followed.goal.progress(
                stamp, self._names, elapsed, followed.point(elapsed), desired, measured,
                controller.torque[0])
        return why

    def close(self, why: str) -> None:
        """End all goals at once."""
        self.drop(why)
        self.stop(ErrorCode.INVALID_GOAL, why)
        self.settle(is_stopping=False)

    def _catch_up(self) -> None:
        """Use the answer about a plan: end its goal, or follow it instead of the last goal."""
        answer, self._taken = self._taken, None
        if answer is None:
            return
        goal, self._prepared = self._prepared, None
        if isinstance(answer, Refused):
            if goal is not None:
                goal.end(CODE_OF_FAULT.get(answer.fault, ErrorCode.INVALID_GOAL), answer.why)
            return
        self.stop(ErrorCode.INVALID_GOAL, 'preempted by a newer trajectory')
        self._tell_end()
        if goal is None:
            return
        goal.begin()
        plan, times = answer.plan, np.array(goal.point_times)
        self._followed = _Followed(
            goal, plan, plan.duration, goal.tolerances(self.names), times,
            answer.pace or times[-1] / max(plan.duration, 1e-9),
            f' But {answer.late}' if answer.late else '')

    def _tell_end(self) -> None:
        """Tell the client of the followed goal how it ended, if that is decided."""
        followed = self._followed
        if followed is not None and followed.end is not None:
            self._followed = None
            followed.goal.end(*followed.end)

    def _judge(self, followed: _Followed, elapsed: float, error: Array) -> str:
        """Decide whether the goal is over; return why it is aborted, or empty."""
        tolerances, late = followed.tolerances, elapsed - followed.duration
        if late < 0.0:
            beyond = violation(tolerances.path, error)
            if beyond is None:
                return ''
            why = self._why(beyond, error, tolerances.path, 'path')
            followed.end = ErrorCode.PATH_TOLERANCE_VIOLATED, why
            return why
        beyond = violation(tolerances.goal, error)
        if beyond is None:
            followed.end = ErrorCode.SUCCESSFUL, REACHED + followed.remark
        elif 0.0 < tolerances.goal_time < late:
            why = self._why(beyond, error, tolerances.goal, 'goal')
            why += f', {late:.3f} s after the end of the trajectory'
            followed.end = ErrorCode.GOAL_TOLERANCE_VIOLATED, why
            return why
        return ''

    def _why(
        self, beyond: tuple[int, int], error: Array, tolerances: Array, kind: str,
    ) -> str:
        quantity, joint = beyond
        return (
            f'the {QUANTITIES[quantity]} of {self._names[joint]} is {-error[beyond]:+.3g} away '
            f'from the reference, beyond its {kind} tolerance of {tolerances[beyond]:g}')
