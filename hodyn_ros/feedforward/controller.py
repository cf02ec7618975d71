"""One robot's feed-forward in real time, free of ROS: what is computed in each cycle."""
from dataclasses import dataclass, replace
import math
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward.blending import MeasurementWeight, MotorReferenceHold, Ramp
from hodyn_ros.feedforward.motion_limits import (
    EffortExcess,
    EffortWatch,
    effort_jerk,
    motion_limits,
)
from hodyn_ros.feedforward.torque import ORDER, FeedForward
from hodyn_ros.feedforward.wrench_cap import largest_share, wrench_bounds
from hodyn_ros.reference import MotionLimits
from hodyn_ros.reference.limits import largest_ratio
from hodyn_ros.reference.manager import ReferenceManager
from hodyn_ros.reference.smoothing import SmoothingFilter
from hodyn_ros.robot import HodynError

Array = NDArray[np.float64]

MAX_MODEL_CHANGES = 8
MAX_FADE = 60.0  # s, of a change of the model
# How long the limits of a stream count after they were found at a position, ns.
LIMITS_AGE = 50_000_000


@dataclass(frozen=True)
class ControllerSettings:
    """What a cycle computes.

    Attributes
    ----------
    gravity_in_output, friction_in_output : bool
        Whether the output contains these terms.
    limit_output : bool
        Whether the output is clipped to the effort and effort-rate limits.
    at_measurement : bool
        Evaluate at the measured position and velocity (computed torque), not at the reference's.
    bandwidth : float
        Bandwidth of the filter of streamed references, rad/s.
    wrench_bandwidth : float
        Bandwidth of the filter of measured external wrenches, rad/s.
    limit_margin : float
        Fraction of the effort and effort-rate limits by which they may be passed.
    fade : float
        Duration of fading the output in, out, and to another payload, s.

    """

    gravity_in_output: bool = True
    friction_in_output: bool = True
    limit_output: bool = False
    at_measurement: bool = False
    bandwidth: float = 50.0
    wrench_bandwidth: float = 50.0
    limit_margin: float = 0.05
    fade: float = 0.5


class Terms(TypedDict, total=False):
    """Which terms a torque contains."""

    gravity: bool
    friction: bool


class FeedforwardController:
    """The reference and its torques at each instant.

    Attributes
    ----------
    q : (5, n) array
        The reference and its derivatives at the last instant.
    torque : (3, n) array
        Q, Q̇, Q̈ of the motion with all terms, from which the motors' reference follows.
    output : (3, n) array
        What is commanded: without the terms that the robot's controller adds, faded in and out,
        clipped if asked for.
    clipped : bool
        Whether the last output was clipped; its rates are then not those of Q.
    reference : ReferenceManager
        The reference.
    excess : EffortExcess or None
        What of the motion, with all terms, is beyond its limit by more than `limit_margin`.
    now : int
        The last instant, ns. Earlier ones count as this one.
    motors : MotorReferenceHold or None
        θ, θ̇, θ̈, τ_m of the motors for `torque`, where the robot has actuators.

    """

    def __init__(
        self, feedforward: FeedForward, position: Array, now: int, options: ControllerSettings,
    ) -> None:
        robot = feedforward.robot
        self.reference = ReferenceManager(position, options.bandwidth)
        self.q = np.zeros((5, robot.n))
        self.q[0] = position
        self.torque = np.zeros((ORDER + 1, robot.n))
        self.output = np.zeros_like(self.torque)
        self.clipped = False
        self.excess: EffortExcess | None = None
        self.motors = (
            None if feedforward.motor_side is None
            else MotorReferenceHold(feedforward.motor_side, options.fade))
        self._stiffness: SmoothingFilter | None = None
        self._feedforward = feedforward
        self._options = options
        self._watch = EffortWatch(feedforward, options.limit_margin)
        self._stream_limits: tuple[int, MotionLimits] | None = None
        self._wrenches: Array | None = None
        self._given_wrenches: Array | None = None
        self._wrench_filters: dict[int, SmoothingFilter] = {}
        self._terms: Terms = {
            'gravity': options.gravity_in_output, 'friction': options.friction_in_output}
        self._changes: list[tuple[Ramp, FeedForward]] = []
        self._scratch = np.zeros_like(self.torque)
        self._point = np.zeros_like(self.q)
        self._deviation = np.zeros((2, robot.n))
        self._measured_weight = MeasurementWeight(options.fade)
        self._fade: Ramp | None = Ramp(now, options.fade)
        self._fading_out = False
        self._base = np.zeros_like(self.torque)
        self._rest(position)
        self.now = now
        self._published = self._base[0].copy()

    def evaluate(self, now: int, measured: Array | None = None) -> None:
        """Evaluate reference, torques and output at an instant (ns), in place.

        Parameters
        ----------
        now : int
            The instant, ns.
        measured : (2, n) array, optional
            Position and velocity as measured, for `at_measurement`. Without them the last
            deviation from the reference fades to zero over the time `fade`.

        """
        now = max(now, self.now)
        self.reference.evaluate(now, self.q)
        if self._wrenches is not None:
            self._advance_wrenches(self._wrenches, (now - self.now) * 1e-9)
        point = self.q
        if self._options.at_measurement:
            point = self._point
            if measured is not None:
                self._deviation[:] = measured - self.q[:2]
            weight = self._measured_weight.weight(now, is_there=measured is not None)
            point[:] = self.q
            if measured is not None and weight == 1.0:
                point[:2] = measured
            else:
                point[:2] += weight * self._deviation
        self._evaluate(now, point, self.torque, {})
        motors = None
        if self.motors is not None:
            self._evaluate_motors(self.motors, now)
            motors = self.motors.reference
        self.excess = self._watch.excess(self.torque, motors)
        if self._options.gravity_in_output and self._options.friction_in_output:
            self.output[:] = self.torque
        else:
            self._evaluate(now, point, self.output, self._terms)
        if self._fade is not None:
            before, after = self._base, self.output
            if self._fading_out:
                before, after = after, before
            self._fade.blend(now, before.copy(), after.copy(), self.output)
            if self._fade.done(now) and not self._fading_out:
                self._fade = None
        if self._options.limit_output:
            self._clip(now)
        self.now = now
        self._published[:] = self.output[0]

    @property
    def is_fading(self) -> bool:
        """Whether the output, a change of the model or the measurement is still being faded."""
        return self._fade is not None or bool(self._changes) or self._measured_weight.is_changing

    @property
    def is_finite(self) -> bool:
        """Whether reference, output and the motors' reference are."""
        parts = [self.q, self.output]
        if self.motors is not None:
            parts.append(self.motors.reference)
        # A sum is not finite where one of its terms is not, and takes a third of the time.
        return all(math.isfinite(np.add.reduce(part, axis=None)) for part in parts)

    @property
    def excess_of_weight(self) -> str:
        """Which effort limit the weight at the reference passes; empty if none."""
        weight = self._weight(self._feedforward)
        return self._passed_by_weight(weight, np.zeros_like(weight))

    def stream(
        self, now: int, position: Array, velocity: Array | None, until: int,
    ) -> None:
        """Follow a streamed sample from an instant (ns) on, see `ReferenceManager.set_target`."""
        now = max(now, self.now)
        if self._stream_limits is None or now - self._stream_limits[0] > LIMITS_AGE:
            limits = self._motion_limits()
            jerk = np.minimum(limits.jerk, effort_jerk(self._feedforward, self.q[0]))
            self._stream_limits = now, replace(limits, jerk=jerk)
        self.reference.set_target(now, position, velocity, until, self._stream_limits[1])

    def stop(self, now: int) -> None:
        """Bring the reference to rest as fast as the limits allow, from an instant (ns) on."""
        self.reference.stop(max(now, self.now), self._motion_limits())

    def latch(self, position: Array, now: int) -> None:
        """Hold a position, (n,), from an instant (ns) on; the output fades from what it was."""
        now = max(now, self.now)
        self.reference.latch(position)
        self._base[:] = 0.0
        self._base[0] = self._published
        self._fade, self._fading_out = Ramp(now, self._options.fade), False

    def replace(self, feedforward: FeedForward, now: int) -> None:
        """Take another model of the same robot, with a payload say, without a step in torque.

        It fades in over the time `fade`, or a longer one if half the effort-rate limits ask for
        that; the other half is the motion's. One change follows the other.

        Raises HodynError when too many changes still wait, and for a model whose weight the
        efforts cannot hold where the reference is: a slip of the decimal point in a payload would
        throw the arm.
        """
        now = max(now, self.now)
        if len(self._changes) >= MAX_MODEL_CHANGES:
            first, _ = self._changes[0]
            raise HodynError(
                f'{MAX_MODEL_CHANGES} changes of the payload are still being faded in; wait '
                f'{(first.end - now) * 1e-9:.2g} s')
        limits = feedforward.robot.limits
        before, after = self._weight(self._feedforward), self._weight(feedforward)
        if refusal := self._passed_by_weight(after, before):
            raise HodynError(refusal)
        # Copies of limits, which are read-only: another kernel would be compiled for those.
        joint, change = largest_ratio(after - before, np.array(limits.effort_rate))
        fade = max(self._options.fade, 2.0 * Ramp.STEEPEST * change)
        if not fade <= MAX_FADE:
            raise HodynError(
                f'the weight differs by {after[joint] - before[joint]:.4g} of '
                f'{feedforward.robot.joint_names[joint]}, which would take longer than '
                f'{MAX_FADE:g} s at its effort_rate limit of {limits.effort_rate[joint]:g}')
        begin = max([now, *(ramp.end for ramp, _ in self._changes)])
        # The motors are the same: `motors` keeps its state.
        self._changes.append((Ramp(begin, fade), self._feedforward))
        self._feedforward = feedforward
        self._stream_limits = None

    def set_external_wrench(self, body: int, wrench: Array) -> tuple[float, int]:
        """Take the wrench of the environment, (6,), on a body, in its axes about its origin.

        Returns which share of the wrenches, on all bodies, the effort limits leave room for at the
        reference, and the joint it is due to, −1 for none: that share of them is taken. A
        sequence of any wrenches keeps a reference at rest within the limits.
        """
        if self._wrenches is None or self._given_wrenches is None:
            bodies = len(self._feedforward.robot.bodies)
            self._wrenches, self._given_wrenches = np.zeros((2, ORDER + 1, bodies, 6))
        if body not in self._wrench_filters:
            self._wrench_filters[body] = SmoothingFilter(
                np.zeros(6), self._options.wrench_bandwidth)
        given = self._given_wrenches
        given[0, body] = wrench
        motion = self._feedforward.torque(self.q)[0]
        wanted = self._feedforward.torque(self.q, wrenches=given)[0] - motion
        share, joint = largest_share(wanted, *wrench_bounds(
            self._feedforward.robot.limits, motion, self._options.wrench_bandwidth))
        for each, smoothed in self._wrench_filters.items():
            smoothed.set_target(share * given[0, each])
        return share, joint

    def set_stiffness(self, stiffness: Array) -> None:
        """Take the stiffness that is asked for, (n,), N m/rad; it is smoothed as streams are."""
        if self._stiffness is None and self.motors is not None:
            self._stiffness = SmoothingFilter(
                self.motors.actuators.constant_stiffness()[0], self._options.bandwidth)
        if self._stiffness is not None:
            self._stiffness.set_target(stiffness)

    def fade_out(self, now: int) -> None:
        """Fade out from an instant (ns) on: to zero, or to g(q) if gravity is included."""
        now = max(now, self.now)
        self._rest(self.reference.state_at(now)[0])
        self._fade, self._fading_out = Ramp(now, self._options.fade), True

    def has_faded_out(self, now: int) -> bool:
        """Return whether the output has faded out."""
        return self._fading_out and self._fade is not None and self._fade.done(now)

    def _motion_limits(self) -> MotionLimits:
        # While one model fades into the next the torque is between those of both.
        return motion_limits(
            *(model for _, model in self._changes), self._feedforward, wrenches=self._wrenches)

    def _evaluate(self, now: int, q: Array, out: Array, terms: Terms) -> None:
        while self._changes and self._changes[0][0].done(now):
            del self._changes[0]
        # Each model fades into the next, also while the one before is still fading in.
        models = [*(model for _, model in self._changes), self._feedforward]
        models[0].torque(q, out, wrenches=self._wrenches, **terms)
        for (ramp, _), model in zip(self._changes, models[1:], strict=True):
            model.torque(q, self._scratch, wrenches=self._wrenches, **terms)
            ramp.blend(now, out.copy(), self._scratch, out)

    def _advance_wrenches(self, wrenches: Array, dt: float) -> None:
        for body, smoothed in self._wrench_filters.items():
            wrenches[:, body] = smoothed.advance(dt)[:ORDER + 1]

    def _evaluate_motors(self, motors: MotorReferenceHold, now: int) -> None:
        dt = (now - self.now) * 1e-9
        stiffness = None
        if self._stiffness is not None:
            stiffness = self._stiffness.advance(dt)[:ORDER + 1]
        motors.evaluate(now, self.q, self.torque, stiffness, dt)

    def _rest(self, position: Array) -> None:
        """Take the torque that holds a position as what the output fades from and to."""
        self._feedforward.torque(_still(position), self._base, **self._terms)

    def _passed_by_weight(self, weight: Array, before: Array) -> str:
        """Return which effort limit a weight (n,) passes that is more than before; empty if none.

        By more than `limit_margin`.
        """
        robot = self._feedforward.robot
        grown = np.where(np.abs(weight) > np.abs(before), weight, 0.0)
        worst, share = largest_ratio(grown, np.array(robot.limits.effort))
        if share <= 1.0 + self._options.limit_margin:
            return ''
        return (
            f'the weight takes {weight[worst]:.4g} of {robot.joint_names[worst]}, beyond its '
            f'effort limit of {robot.limits.effort[worst]:g}: put the payload and the masses of '
            'the links right, or the limit')

    def _weight(self, feedforward: FeedForward) -> Array:
        """Return the efforts (n,) by which a model is held where the reference is."""
        weight: Array = feedforward.torque(_still(self.q[0]))[0]
        return weight

    def _clip(self, now: int) -> None:
        limits = self._feedforward.robot.limits
        step = limits.effort_rate * (max(now - self.now, 0) * 1e-9)
        wanted = self.output[0].copy()
        # Where nothing bounds the rate the step is infinite, or not a number at no interval.
        reach = np.where(np.isfinite(step), step, np.inf)
        np.clip(wanted, self._published - reach, self._published + reach, out=self.output[0])
        np.clip(self.output[0], -limits.effort, limits.effort, out=self.output[0])
        self.clipped = bool(np.any(self.output[0] != wanted))


def _still(position: Array) -> Array:
    """Return the motion (5, n) of an arm that stands at a position (n,)."""
    motion = np.zeros((5, position.size))
    motion[0] = position
    return motion
