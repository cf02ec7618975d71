"""The correction to the published motor torque, by full-state feedback, within bounds.

The correction is c = s (τ_m − τ_m,d − τ_l), cut to its bound and rate, with τ_m of
`FlatnessFeedback`, the published τ_m,d and the torque τ_l of the driver's motor loop. The share s
goes smoothly to 1 while all inputs can be used, else to 0. The feed-forward does not depend on c.
"""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.flatness_feedback import FlatnessFeedback
from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.feedforward.output_stage import OutputStage
from hodyn_ros.feedforward.plausible_state import UNMEASURED, ZeroVelocities
from hodyn_ros.feedforward.reference_clock import MAX_PERIODS
from hodyn_ros.feedforward.settings import MotorFeedbackSettings
from hodyn_ros.robot import HodynError, Robot

SWEEP = 0.01
"""Least time in which c goes from 0 to its bound at a joint without an effort-rate limit, s."""
LATEST = 0.005
"""Difference of the stamps of joint and motor states that is always allowed, s."""
IMPLAUSIBLE = 2.0
"""Largest spring torque that is believed, in units of the joint's effort limit."""
FIRST = 200_000_000
"""A time, ns, with three uses. Missing motor states are not reported for so long after the first
cycle. A rejected state is named as the reason for so long. If no state is taken for longer, motor
states are reported to have ended."""


class MotorFeedback:
    """Computes the correction in each cycle; no measured value raises an error.

    The correction takes at least `fade`, s, to fade in or out; `lookahead`, s, is the time from a
    cycle's stamp to its reference. Raises HodynError for a robot that `FlatnessFeedback` refuses.
    """

    def __init__(
        self, robot: Robot, settings: MotorFeedbackSettings, fade: float, lookahead: float = 0.0,
    ) -> None:
        actuators = robot.require_actuators()
        self.correction = np.zeros(actuators.n_motors)  #: (m,): the correction c, N m
        #: Why the correction fades out, or cannot be as large as needed; empty if neither
        self.why = ''
        self._rejected = '', -FIRST
        self._settings = settings
        self._names = actuators.motor_names
        rate = robot.limits.effort_rate[actuators.motor_joints]
        self._rate = np.where(np.isfinite(rate), rate, settings.bound / SWEEP)
        self._wanted = np.zeros_like(self.correction)
        none = np.full(1, np.inf)
        self._share = OutputStage(np.zeros((3, 1)), none, none, fade, 0.0)
        self._is_used = False
        self._motors: Array | None = None
        self._zeros = ZeroVelocities(robot.limits.velocity[actuators.motor_joints])
        # The reference of the motors at the last change of their measured positions.
        self._still_from: Array | None = None
        self._stamp, self._now, self._begin, self._taken = 0, -1, -1, -1
        self._lookahead = lookahead
        self.change_model(robot)

    def change_model(self, robot: Robot) -> None:
        """Use another model of the robot, for instance another payload."""
        self._law = FlatnessFeedback(robot, self._settings.poles, self._settings.poles)
        self._most = IMPLAUSIBLE * robot.limits.effort

    def take(self, position: Array, velocity: Array, stamp: int) -> None:
        """Take a state of the motors, (m,) each, in link-side units, with its stamp, ns."""
        self._rejected = '', -FIRST
        if self._motors is None or not np.array_equal(position, self._motors[0]):
            self._still_from = None
        self._zeros.see(position, velocity, stamp)
        self._motors, self._stamp = np.stack([position, velocity]), stamp
        self._taken = self._now

    def reject(self, why: str) -> None:
        """Note why a state of the motors was rejected."""
        self._rejected = why, self._now

    @property
    def is_fading(self) -> bool:
        """Whether the correction still differs from 0, or its share still changes."""
        return self._share.is_changing or bool(self.correction.any())

    def advance(
        self, controller: FeedforwardController, state: Array | None, stamp: int, age: float,
        period: float, *, is_allowed: bool,
    ) -> None:
        """Compute the correction that belongs to the last cycle of a controller.

        `state`, (2, n), is the measured state of the links, None if it is not believed or has no
        velocities; its `stamp`, ns, is `age`, s, before the cycle's. `period`, s, is that of the
        joint states. `is_allowed` is False while a reference is neither followed nor held.
        """
        if self._now < 0:
            self._now = self._begin = self._taken = controller.now
        interval = (controller.now - self._now) * 1e-9
        self._now = controller.now
        self.why = ''
        is_used = False
        if is_allowed:
            try:
                with np.errstate(over='ignore', invalid='ignore'):
                    self._evaluate(controller, state, stamp, age, period)
                is_used = True
            except HodynError as error:
                if self._motors is not None or controller.now - self._begin > FIRST:
                    self.why = f'no motor feedback: {error}'
        if is_used != self._is_used:
            self._is_used = is_used
            self._share.set_target(np.full(1, float(is_used)), fades=True)
        share = self._share.advance(np.zeros((3, 1)), interval).item(0)
        step = interval * self._rate
        np.clip(
            share * self._wanted, self.correction - step, self.correction + step,
            out=self.correction)

    def _evaluate(
        self, controller: FeedforwardController, state: Array | None, stamp: int, age: float,
        period: float,
    ) -> None:
        """Write the wanted correction; raise HodynError if it cannot be computed."""
        motors, side = self._motors, controller.motors
        oldest = max(LATEST, MAX_PERIODS * period)
        if state is None or age > oldest:
            raise HodynError('no joint states with velocities that are believed')
        if side is None or side.any_held or controller.has_wrenches:
            raise HodynError(
                'an external wrench acts, which motor feedback cannot take into account'
                if controller.has_wrenches
                else 'the reference of the motors is held, or is returning to the motion')
        late = (stamp - self._stamp) * 1e-9
        why, when = self._rejected
        if why and controller.now - when < FIRST and (motors is None or abs(late) > oldest):
            raise HodynError(f'motor states are rejected: {why}')
        if motors is None:
            raise HodynError('no motor states')
        if abs(late) > oldest:
            raise HodynError(
                'no motor states come any more' if controller.now - self._taken > FIRST else
                f'the last motor state is {abs(late):.3g} s '
                f'{"older" if late > 0.0 else "newer"} than the joint state')
        self._check_motion(motors[0], side.reference[0])
        theta = motors.copy()
        theta[0] += late * motors[1]
        ahead = self._lookahead + age
        torque = self._law.motor_torque(
            controller.q, state, theta, controller.stiffness, ahead=ahead, check=False)
        loads = np.abs(self._law.spring[0])
        if not (loads <= self._most).all():
            joint = int(np.argmin(loads <= self._most))
            raise HodynError(
                f'joint {self._law.robot.joint_names[joint]!r}: its spring would carry '
                f"{loads[joint]:.4g} {unit(self._law.robot, joint, 'effort')}: check units "
                '(link-side), zeros and names of motor states')
        # The driver's loop compares a state with the reference of the same instant.
        error = side.reference[:2] - ahead * side.reference[1:3] - theta
        wanted = torque - side.reference[3] - (self._settings.loop * error).sum(axis=0)
        if not np.isfinite(wanted).all():
            raise HodynError('the motor torque of this state is not finite')
        bound = self._settings.bound
        beyond = np.abs(wanted) > bound
        if beyond.any():
            motor = int(beyond.argmax())
            self.why = f'the motor feedback of {self._names[motor]} is at its bound'
        np.clip(wanted, -bound, bound, out=self._wanted)

    def _check_motion(self, position: Array, reference: Array) -> None:
        """Raise HodynError if motor positions, (m,), stay the same while their reference moves."""
        if self._still_from is None:
            self._still_from = reference.copy()
        moved = np.minimum(
            np.abs(reference - self._still_from), np.abs(reference - position))
        if moved.max() > UNMEASURED:
            raise HodynError(
                f'the measured position of {self._names[int(moved.argmax())]} has not changed, '
                f'but its reference has moved away by {moved.max():.3g}: are the motor states '
                'frozen, or do the motors not move?')
        if self._zeros.joint >= 0:
            raise HodynError(
                'velocities of the motor states are 0 though their positions move: '
                f'{self._names[self._zeros.joint]} has moved')
