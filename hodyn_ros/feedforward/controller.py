"""The computations of one robot's feed-forward in each cycle, independent of ROS."""
from dataclasses import replace
from functools import partial
import math

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.feedforward.motion_limits import (
    EffortExcess,
    EffortWatch,
    effort_jerk,
    motion_limits,
    too_heavy,
    too_soft,
)
from hodyn_ros.feedforward.motor_stage import MotorStage
from hodyn_ros.feedforward.moving_base import (
    BaseMotion,
    FollowedBase,
    MovingBaseFeedForward,
)
from hodyn_ros.feedforward.output_curve import RATE_SHARE
from hodyn_ros.feedforward.settings import ControllerSettings
from hodyn_ros.feedforward.stiffness import LIMITS_AGE, JudgedStiffness, StiffnessReference
from hodyn_ros.feedforward.torque import ORDER, FeedForward
from hodyn_ros.feedforward.torque_output import TorqueOutput, is_finite
from hodyn_ros.feedforward.wrench_cap import wrench_share
from hodyn_ros.reference import MotionLimits
from hodyn_ros.reference.limits import largest_ratio, within_range
from hodyn_ros.reference.manager import ReferenceManager
from hodyn_ros.reference.smoothing import SmoothingFilter
from hodyn_ros.robot import HodynError

MAX_FADE = 60.0  # longest fade from one model to another, s
NO_WRENCH = 1e-3  # a smaller wrench has faded away, N and N m


class FeedforwardController:
    """The reference and its torques at each instant.

    Whatever changes, the outputs go smoothly from the last published values to the new ones: see
    `output_curve`.
    """

    def __init__(
        self, feedforward: FeedForward, position: Array, now: int, options: ControllerSettings,
    ) -> None:
        self.reference = ReferenceManager(position, options.bandwidth)
        self.q = _still(position)  #: (5, n): the reference and its derivatives at the last instant
        #: An effort, with all terms, that exceeds its limit by more than `limit_margin`, is not
        #: finite, or was refused by the last gate; else None
        self.excess: EffortExcess | None = None
        self._refused: EffortExcess | None = None
        #: θ, θ̇, θ̈, τ_m of the motors for `torque`; None for a robot without actuators
        self.motors = (
            None if feedforward.motor_side is None
            else MotorStage(
                feedforward.motor_side, options.fade, options.limit_margin,
                strict=options.limit_output))
        self.now = now  #: The last instant, ns. An earlier instant is treated as this one.
        self._feedforward = feedforward
        self._options = options
        # The motion of a moving base: assumed by the model (planned, or at rest), and measured.
        self._base: BaseMotion | None = None
        self._measured_base: BaseMotion | None = None
        self._followed_base: FollowedBase | None = None
        self._base_is_left = False
        if isinstance(feedforward, MovingBaseFeedForward):
            self._base, self._measured_base = BaseMotion(), BaseMotion()
            for base in (self._base, self._measured_base):
                base.rest(feedforward.resting.rotation)
        output = partial(
            TorqueOutput, feedforward, self.q, fade=options.fade, margin=options.limit_margin,
            strict=options.limit_output, base=self._base)
        self._output = self._whole = output({})
        self._outputs = [self._whole]
        if not (options.gravity_in_output and options.friction_in_output):
            self._output = output({
                'gravity': options.gravity_in_output, 'friction': options.friction_in_output})
            self._outputs.append(self._output)
        self._watch = EffortWatch(feedforward, options.limit_margin)
        self._stream_limits: tuple[int, MotionLimits] | None = None
        self._stiffness = None
        if self.motors is not None and self.motors.actuators.variable.any():
            self._stiffness = StiffnessReference(
                self.motors.side, feedforward.robot.limits.effort, options.bandwidth)
        self._wrenches: Array | None = None
        self._given_wrenches: Array | None = None
        self._wrench_filters: dict[int, SmoothingFilter] = {}
        limits = feedforward.robot.limits
        # Copies, as limits are read-only arrays, for which another kernel would be compiled.
        self._range = limits.position_min.copy(), limits.position_max.copy()
        self._judged = np.zeros_like(self.torque)
        n = self._judged.shape[1]
        self._to_judge = self._whole.stage.unlimited[:n], self._whole.wanted[1, :n]
        self._is_broken = False
        self._has_passed = True

    @property
    def torque(self) -> Array:
        """Q, Q̇, Q̈ with all terms, also those that the output leaves out, (3, n)."""
        return self._whole.torque

    @property
    def output(self) -> Array:
        """The commanded torques Q, Q̇, Q̈, (3, n)."""
        return self._output.torque

    @property
    def base_wrench(self) -> Array:
        """The wrench (moment, force) on a moving base, in its axes, with derivatives, (3, 6).

        (3, 0) on a fixed base.
        """
        return self._output.base_wrench

    @property
    def stiffness(self) -> Array | None:
        """σ, σ̇, σ̈ of joints with variable stiffness, (3, n); None until requested or resumed."""
        return None if self._stiffness is None else self._stiffness.value

    @property
    def has_wrenches(self) -> bool:
        """Whether external wrenches act, or fade away."""
        return self._wrenches is not None and np.abs(self._wrenches[0]).max() > NO_WRENCH

    @property
    def clipped(self) -> bool:
        """Whether a limit keeps the output from reaching the torque that the motion needs."""
        return self._output.stage.is_saturated

    def evaluate(self, now: int, measured: Array | None = None) -> None:
        """Evaluate reference, torques and output at an instant (ns), in place.

        `measured`, position and velocity, (2, n), is used with `at_measurement`. When no more
        measurements come, the last difference between the torques at the measured state and at
        the reference fades to zero over the time `fade`.
        """
        now = max(now, self.now)
        dt = (now - self.now) * 1e-9
        self.reference.evaluate(now, self.q)
        if self._wrenches is not None:
            for body, smoothed in self._wrench_filters.items():
                self._wrenches[:, body] = smoothed.advance(dt)[:ORDER + 1]
        if self._followed_base is not None and self._base and self._measured_base:
            self._followed_base.move(now, self._base, self._measured_base)
        point = None
        if self._options.at_measurement and measured is not None:
            point = self.q.copy()
            point[:2] = measured
        for each in self._outputs:
            each.want(self._feedforward, self.q, self._wrenches, self._base)
        is_number = is_finite(self.q)
        self._is_broken = not is_number
        for each in self._outputs:
            self._is_broken = self._is_broken or not is_finite(each.wanted)
        for each in self._outputs:
            if self._is_broken or each.refused is not None:
                each.keep(dt)
            else:
                each.resume(dt)
            if self._measured_base is not None:
                each.deviate(
                    self._feedforward, self.q if point is None else point, self._wrenches,
                    self._measured_base, is_measured=point is not None,
                    fades=self._base_is_left)
            elif self._options.at_measurement:
                each.deviate(self._feedforward, point, self._wrenches)
            each.advance(dt)
        self._base_is_left = False
        if self.motors is not None:
            if self._stiffness is not None:
                self._stiffness.move(
                    now, dt, self.q, self.torque, is_feasible=bool(self.motors.feasible.all()))
            self.motors.evaluate(self.q, self.torque, self.stiffness, dt)
        self.now = now
        self._judge()
        self._has_passed = is_number and self._refused is None and (
            self.motors is None or self.motors.is_finite)

    @property
    def may_be_published(self) -> bool:
        """Whether all outputs are finite and pass the last gate."""
        return self._has_passed and bool(is_finite(self.output))

    @property
    def is_fading(self) -> bool:
        """Whether an output, a damped spring or the stiffness still changes to its final value."""
        return any(each.stage.is_changing for each in self._outputs) or (
            self.motors is not None and (
                self.motors.is_changing or self.motors.side.is_relaxing)) or (
                self._stiffness is not None and self._stiffness.is_changing)

    @property
    def excess_of_weight(self) -> str:
        """Message if joints or springs cannot carry the weight at the reference, else empty."""
        return self._excess(self._weight(self._feedforward))

    def stream(
        self, now: int, position: Array, velocity: Array | None, until: int,
    ) -> None:
        """Follow a streamed sample from `now` (ns) on, see `ReferenceManager.set_target`."""
        now = max(now, self.now)
        if self._stream_limits is None or now - self._stream_limits[0] > LIMITS_AGE:
            limits = self._motion_limits()
            jerk = np.minimum(limits.jerk, effort_jerk(self._feedforward, self.q[0]))
            self._stream_limits = now, replace(limits, jerk=jerk)
        self.reference.set_target(now, position, velocity, until, self._stream_limits[1])

    def stop(self, now: int) -> None:
        """Bring the reference to rest as fast as the limits allow, from `now` (ns) on."""
        self.reference.stop(max(now, self.now), self._motion_limits())

    def within_range(self, position: Array) -> Array:
        """Return a position, (n,), clipped to its range, widened to contain the reference."""
        within: Array = within_range(position, *self._range, self.q[0])
        return within

    def latch(self, position: Array) -> None:
        """Hold a position, (n,), from now on; the outputs go smoothly to its torques.

        A joint that is beyond its range is held at the end of the range, or at the reference if
        the reference is beyond the range itself.
        """
        held = self.within_range(position)
        self.reference.latch(held)
        self.q = _still(held)
        self._stream_limits = None
        self._go_over()
        if self.motors is not None:
            self.motors.go_over(self.q, self.torque, self.stiffness)

    def replace(self, feedforward: FeedForward) -> None:
        """Use another model of the same robot, for instance with a payload.

        The torque changes smoothly over the time `fade`, or longer if that would use more than
        half the effort-rate limits; the other half is for the motion.

        Raises HodynError for a model whose weight at the reference exceeds the effort limits (a
        misplaced decimal point in a payload would throw the arm) or deflects a spring too far, or
        whose change of weight takes longer than `MAX_FADE`.
        """
        if self._measured_base is not None and isinstance(feedforward, MovingBaseFeedForward):
            feedforward.resting.rest(self._measured_base.rotation)
        limits = feedforward.robot.limits
        before, after = self._weight(self._feedforward), self._weight(feedforward)
        # An arm that is overloaded already may become lighter.
        if refusal := self._excess(np.where(np.abs(after) > np.abs(before), after, 0.0)):
            raise HodynError(refusal)
        # A copy, as limits are read-only arrays, for which another kernel would be compiled.
        joint, change = largest_ratio(after - before, np.array(limits.effort_rate))
        if not change / RATE_SHARE <= MAX_FADE:
            raise HodynError(
                f'the weight changes by {after[joint] - before[joint]:.4g} at '
                f'{feedforward.robot.joint_names[joint]}, which would take longer than '
                f'{MAX_FADE:g} s at its effort_rate limit of {limits.effort_rate[joint]:g}')
        # The motors are the same: `motors` keeps its state.
        self._feedforward = feedforward
        self._stream_limits = None
        self._go_over()

    def set_base(self, rotation: Array, hybrid: Array) -> None:
        """Use the measured motion of a moving base.

        `rotation` is (3, 3); `hybrid`, (4, 6), is the angular velocity and the velocity of the
        base's origin in world axes, with derivatives. The outputs follow both smoothly.
        """
        if self._measured_base is not None and isinstance(
                self._feedforward, MovingBaseFeedForward):
            self._measured_base.move(rotation, hybrid)
            self._feedforward.resting.rest(rotation)

    def follow_base(self, plan: FollowedBase | None) -> None:
        """Use a planned motion of a moving base from now on; None ends its use.

        Without a plan the accelerations of `set_base` are used. The outputs change smoothly.
        """
        if self._base and self._measured_base:
            self._followed_base = plan
            if plan is None:
                self._base.rest(self._measured_base.rotation)
            else:
                plan.move(self.now, self._base, self._measured_base)
            self._go_over()

    def fade_to_base(self) -> None:
        """After a jump of the measured base, fade the outputs to its new motion over `fade`."""
        self._base_is_left = True

    def hold_base(self) -> None:
        """Assume that a moving base rests at its last tilt; the outputs fade to this motion."""
        if self._measured_base is not None:
            self._measured_base.twist[:] = 0.0
            self._base_is_left = True

    def set_external_wrench(self, body: int, wrench: Array) -> tuple[float, int, str]:
        """Apply the environment's wrench, (6,), on a body, in the body's axes about its origin.

        Returns the share of all bodies' wrenches that the limits allow at the reference, and the
        joint and the limit that bind, see `wrench_share`. That share is applied, so that a
        reference at rest keeps the limits under any sequence of wrenches.
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
        found = wrench_share(
            self._feedforward.robot.limits, motion, wanted, self._options.wrench_bandwidth)
        for each, smoothed in self._wrench_filters.items():
            smoothed.set_target(found[0] * given[0, each])
        return found

    def drop_wrenches(self) -> None:
        """Drop all wrenches and the state of their filters; the outputs change smoothly."""
        if self._wrenches is not None:
            self._wrenches = self._given_wrenches = None
            self._wrench_filters = {}
            self._stream_limits = None
            self._go_over()

    def set_stiffness(self, stiffness: Array) -> None:
        """Request a stiffness, (n,), N m/rad, see `StiffnessReference.request`."""
        if self._stiffness is not None:
            self._stiffness.request(stiffness, self.now, self.q, self.torque)

    @property
    def judged_stiffness(self) -> JudgedStiffness | None:
        """The requested and the nearest possible stiffness, see `StiffnessReference.judged`."""
        return None if self._stiffness is None else self._stiffness.judged

    @property
    def has_variable_stiffness(self) -> bool:
        """Whether any joint has a variable stiffness."""
        return self._stiffness is not None

    def resume_stiffness(self, stiffness: Array) -> Flags:
        """Begin at a stiffness, (n,), N m/rad; see `StiffnessReference.resume`."""
        assert self._stiffness is not None
        return self._stiffness.resume(stiffness, self.q, self.torque)

    def hold_stiffness(self) -> None:
        """End a change of stiffness as soon as its smoothing allows."""
        if self._stiffness is not None:
            self._stiffness.hold(self.now, self.q, self.torque)

    def _motion_limits(self) -> MotionLimits:
        return motion_limits(self._feedforward, wrenches=self._wrenches)

    def _go_over(self) -> None:
        """Start the outputs' transition to the present model's torques at the last reference."""
        for each in self._outputs:
            each.want(self._feedforward, self.q, self._wrenches, self._base)
            each.go_over()

    def _judge(self) -> None:
        """Find the effort that is beyond its limit or must not be published."""
        self._judged[0], self._judged[1] = self._to_judge
        self.excess = self._watch.excess(
            self._judged, None if self.motors is None else self.motors.judged)
        if self._is_broken:
            self.excess = EffortExcess(0, 'torque', math.nan, math.inf)
        self._refused = self._whole.refused or self._output.refused or (
            None if self.motors is None else self.motors.refused)
        self.excess = self._refused or self.excess

    def _excess(self, weight: Array) -> str:
        """Return a message if joints or springs cannot carry a weight, (n,), else empty."""
        robot = self._feedforward.robot
        said = too_heavy(robot, weight, self._options.limit_margin)
        if not said and self.motors is not None:
            said = too_soft(robot, self.motors.side, _still(self.q[0]), weight)
        return said

    def _weight(self, feedforward: FeedForward) -> Array:
        """Return the efforts (n,) that hold a model at the reference's position."""
        weight: Array = feedforward.torque(_still(self.q[0]))[0]
        return weight


def _still(position: Array) -> Array:
    """Return the motion (5, n) of an arm that stands at a position (n,)."""
    motion = np.zeros((5, position.size))
    motion[0] = position
    return motion
