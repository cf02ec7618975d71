"""Why the node does what it does, in words that stay long enough to be read."""
from collections.abc import Sequence
import math
import time

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.motion_limits import EffortExcess
from hodyn_ros.feedforward.motor_stage import MotorStage
from hodyn_ros.feedforward.tracking import TrackingWatch
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

TELL = 1.0
"""How long a hold-up, or an excess with its value, is told, s."""

HELD_BACK = 'the streamed target is not followed: its way would pass the limits'


def joined(*reasons: str) -> str:
    """Return those that are not empty, in one line."""
    return '; '.join(filter(None, reasons))


def why_departed(watch: TrackingWatch, joints: Sequence[str], when: str = '') -> str:
    """Return which joint is how far away from its reference."""
    return ' '.join(filter(None, (
        f'{joints[watch.joint]} is {watch.error:+.3g} away from the reference', when,
        f'(tracking_tolerance {watch.tolerance[watch.joint]:g})')))


class Reasons:
    """What is said of an active node.

    Attributes
    ----------
    why : str
        Why the reference stopped or was led elsewhere, until it is asked for something again.

    """

    def __init__(self, robot: Robot) -> None:
        self.why = ''
        self._robot = robot
        self._hold_up, self._missing, self._told_until = '', 0.0, 0.0
        self._excess: EffortExcess | None = None
        self._excess_at = 0.0

    def left_out(self, seconds: float) -> str:
        """Return what to say when the reference did not move for a time; it is told for a while.

        Parameters
        ----------
        seconds : float
            How long, s; negative where the clock was set back.

        """
        now = time.monotonic()
        # States that waited while the process was held up come one by one.
        is_more = now < self._told_until and self._missing * seconds > 0.0
        self._missing = seconds + (self._missing if is_more else 0.0)
        self._hold_up = (
            f'{self._missing:.3f} s{" in all" if is_more else ""} are missing between cycles'
            if self._missing > 0.0
            else f'the clock of the joint states was set back by {-self._missing:.3f} s')
        self._hold_up += ': the reference goes on from where it was'
        self._told_until = now + TELL
        return self._hold_up

    def excess(self, excess: EffortExcess | None) -> str:
        """Return what is beyond its limit, in the same words for a while: values change."""
        now, told = time.monotonic(), self._excess
        if now - self._excess_at > TELL or (excess is not None and (
                told is None or (told.place, told.quantity) != (excess.place, excess.quantity))):
            self._excess, self._excess_at = excess, now
        return '' if self._excess is None else self._why_excess(self._excess)

    def of_cycle(self, controller: FeedforwardController, excess: str) -> str:
        """Return what there is to say of a cycle in which joint states come.

        Parameters
        ----------
        controller : FeedforwardController
            What was evaluated.
        excess : str
            What is beyond its limit, empty if nothing is.

        """
        if self._hold_up and time.monotonic() > self._told_until:
            self._hold_up = ''
        if self._hold_up or self.why or excess:
            return joined(
                self.why, self._hold_up, '' if self.why.startswith(excess) else excess)
        if controller.motors is not None and controller.motors.any_held:
            return self._why_held(controller.motors)
        if controller.reference.is_held_back:
            self.why = HELD_BACK
        return self.why

    def _why_excess(self, excess: EffortExcess) -> str:
        names = self._robot.joint_names
        if excess.quantity.startswith('motor') and self._robot.actuators is not None:
            names = self._robot.actuators.motor_names
        if not math.isfinite(excess.value):
            return 'the torque is not finite: check the reference and the payload'
        return (
            f'{excess.quantity} of {names[excess.place]} is {excess.value:.4g}, '
            f'beyond its limit of {excess.limit:g}')

    def _why_held(self, motors: MotorStage) -> str:
        joints = self._robot.joint_names
        if not motors.feasible.all():
            joint = joints[int(np.argmin(motors.feasible))]
            return f'the motors of {joint} cannot do it: their reference is held'
        return f'the motors of {joints[int(np.argmax(motors.held))]} are led back'
