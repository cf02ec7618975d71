"""The planned motion of a moving base: prepared, waiting for its start, or followed."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.base_input import BaseInput
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.moving_base import FollowedBase
from hodyn_ros.feedforward.plan_answer import PlanMaker, Refused
from hodyn_ros.feedforward.plausible_state import PERSISTENCE
from hodyn_ros.feedforward.reasons import Level, Reasons
from hodyn_ros.robot import HodynError, lie

BASE_PLAN = 'base_trajectory'
CLOCK_SET_BACK = 'the clock was set back'
QUANTITIES = (
    ('position', 'm'), ('orientation', 'rad'), ('velocity', 'm/s'), ('angular velocity', 'rad/s'))


class BaseReference:
    """Decides at each reading of the odometry whether a planned motion of the base is followed.

    While a plan is followed, it gives the accelerations of the base; measurements correct the
    planned pose and twist. Without a plan, a filter of `bandwidth`, rad/s, estimates the
    accelerations; with a `bandwidth` of 0 they are taken to be 0. `tolerance`, (4,), is how far
    position, orientation, velocity and angular velocity of the base may be from the plan: m, rad,
    m/s, rad/s. Stamps are ns on the clock of the odometry.
    """

    def __init__(
        self, base: BaseInput, tolerance: Array, bandwidth: float, planner: PlanMaker,
        reasons: Reasons,
    ) -> None:
        self._base = base
        self._tolerance = tolerance
        self._planner = planner
        self._reasons = reasons
        self._prepared_start: int | None = None
        self._waiting: FollowedBase | None = None
        self._followed: FollowedBase | None = None
        self._apart = self._seen = 0
        self._then = 'accelerations of the base are ' + (
            'estimated from odom again' if bandwidth else 'taken to be 0 again')

    @property
    def mode(self) -> str:
        """State of a plan: followed, waiting or preparing; none without a plan."""
        return (
            'followed' if self._followed else 'waiting' if self._waiting else
            'none' if self._prepared_start is None else 'preparing')

    def submit(
        self, data: bytes, frame: str, names: Sequence[str], points: int, now: int, prefix: str,
        controller: FeedforwardController,
    ) -> None:
        """Have a plan prepared from a serialized trajectory of the moving frame `names[0]`.

        The plan starts at the trajectory's stamp, or at `now` without a stamp; a trajectory
        without points cancels all plans.
        """
        if not points:
            self.drop(controller, 'an empty base trajectory came')
            return
        if frame != self._base.frame:
            raise HodynError(
                f'its frame_id is {frame!r}, and that of the odometry {self._base.frame!r}: give '
                'the poses in the frame of the odometry')
        if len(names) != 1:
            raise HodynError(
                f'it has {len(names)} joint_names; expected one, the frame of the base that moves')
        placement = self._base.placement(names[0], prefix, 'joint_names[0]')
        self._prepared_start = self._planner.submit_base(data, placement, now)

    def see(self, controller: FeedforwardController, ahead: int) -> None:
        """Begin or stop following a plan, depending on the last believed reading of the base.

        `ahead` is the time, ns, by which stamps are ahead of the controller's instants.
        """
        base = self._base
        if base.stamp < self._seen:
            self.drop(controller, CLOCK_SET_BACK)
        self._seen = base.stamp
        self._poll()
        if self._waiting is not None and base.stamp >= self._waiting.start:
            self._begin(controller, self._waiting, ahead)
        followed = self._followed
        if followed is None:
            return
        beyond = self._beyond(followed)
        self._apart = self._apart + 1 if beyond else 0
        if base.stamp >= followed.end:
            self._leave(controller, 'info', 'the base trajectory has ended')
        elif self._apart >= PERSISTENCE:
            self._leave(controller, 'warning', f'the base left its trajectory: {beyond}')
        elif followed.ahead != ahead:  # the reference clock has left out time since then
            followed.ahead = ahead
            controller.follow_base(followed)

    def drop(self, controller: FeedforwardController | None, why: str) -> None:
        """Give up all plans, and log why."""
        was_there = self._prepared_start is not None or self._waiting is not None
        self._prepared_start = self._waiting = None
        if self._followed is not None and controller is not None:
            self._leave(controller, 'warning', f'the base trajectory is given up: {why}')
        elif was_there:
            self._reasons.tell('warning', f'the base trajectory is given up: {why}')

    def _poll(self) -> None:
        """Take a plan that is ready; it replaces a plan that waits."""
        if self._prepared_start is None:
            return
        answer = self._planner.poll_base()
        if answer is None:
            return
        start, self._prepared_start = self._prepared_start, None
        if isinstance(answer, Refused):
            self._reasons.tell('error', answer.why, BASE_PLAN)
            if answer.traceback:
                self._reasons.tell('error', answer.traceback)
            return
        self._waiting = FollowedBase(answer.plan, start)
        wait = (start - self._seen) * 1e-9
        self._reasons.tell('info', f'base trajectory accepted: {answer.plan.duration:.3f} s' + (
            f'; it starts in {wait:.1f} s' if wait > 0.0 else ''))

    def _begin(
        self, controller: FeedforwardController, plan: FollowedBase, ahead: int,
    ) -> None:
        """Follow a plan that is due, if the base is where the plan is."""
        self._waiting = None
        if self._base.stamp >= plan.end:
            self._reasons.tell('error', 'it ended before it could be followed', BASE_PLAN)
        elif beyond := self._beyond(plan):
            self._reasons.tell('error', f'the base is elsewhere: {beyond}', BASE_PLAN)
        else:
            replaced = ', instead of the last one' if self._followed else ''
            self._followed, self._apart, plan.ahead = plan, 0, ahead
            controller.follow_base(plan)
            self._reasons.tell('info', (
                f'the base trajectory is followed{replaced}: its accelerations are used'))

    def _beyond(self, plan: FollowedBase) -> str:
        """Return which quantity of the base is furthest beyond its tolerance; empty if none is."""
        base = self._base
        turn, off = plan.correct(base.stamp, base.rotation, base.position, base.hybrid[0])
        differences = np.array([
            np.linalg.norm(off[:3]), np.linalg.norm(lie.rotation_log(turn)),
            np.linalg.norm(off[6:]), np.linalg.norm(off[3:6])])
        worst = int((differences / self._tolerance).argmax())
        if differences[worst] <= self._tolerance[worst]:
            return ''
        name, unit = QUANTITIES[worst]
        return (
            f'its {name} is {differences[worst]:.3g} {unit} away (base_tolerance '
            f'{self._tolerance[worst]:g})')

    def _leave(self, controller: FeedforwardController, level: Level, why: str) -> None:
        self._followed = None
        controller.follow_base(None)
        self._reasons.tell(level, f'{why}: {self._then}')
