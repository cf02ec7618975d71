"""The stiffness that variable joints are asked for, as far as motors and springs can follow."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.reference.smoothing import SmoothingFilter

Array = NDArray[np.float64]

STEPS = 64
"""Of the way to what is asked for, at which the motors' reference is looked at."""
LEAST_EFFORT = 0.25
"""Of the effort limit, what a spring must carry within its deflection, however soft."""
RATE_SHARE = 0.5
"""Of the motors' velocity limits, how much a change of stiffness may take."""
MAX_DEFLECTION = 0.5 * np.pi
"""Elongation of a spring whose `max_deflection` the robot file does not give, rad or m."""


class StiffnessReference:
    """σ, σ̇, σ̈ of each joint: smoothed by 1/(s/ω + 1)⁵, within what motors and springs can do.

    The logarithm of σ goes to what is asked for at a bounded rate, at which the motors turn at no
    more than half their velocity limits; the filter, whose impulse response is nowhere negative,
    keeps the bound of σ̇/σ.

    Parameters
    ----------
    side : MotorSide
        The motors; only their actuators and single instants are used.
    effort : (n,) array
        The joints' limits, N m or N.
    bandwidth : float
        ω, rad/s.

    """

    def __init__(self, side: MotorSide, effort: Array, bandwidth: float) -> None:
        self._side = side
        start = side.actuators.constant_stiffness()[0]
        self._filter = SmoothingFilter(start, bandwidth)
        self._input, self._goal = np.log(start), np.log(start)
        self._rate = np.full(start.size, np.inf)
        deflection = np.where(
            np.isfinite(side.actuators.motor_limits()[2]), side.actuators.motor_limits()[2],
            MAX_DEFLECTION)
        deflection = np.minimum.reduceat(deflection, side.actuators.motor_of[:-1])
        self._least = np.where(
            np.isfinite(effort), LEAST_EFFORT * effort / deflection, 0.0)

    def ask_for(self, wanted: Array, q: Array, torque: Array) -> tuple[Array, int]:
        """Take a stiffness, (n,), N m/rad, as far as possible; return what is taken.

        And the joint that is held back most, in proportion, −1 for none. It is gone from the
        stiffness of the robot file towards the one that is asked for as far as the law of the
        joint can do it for the torque (3, n) of the motion (5, n), and as the limits of motors
        and springs are kept; and never so far that a quarter of the effort limit would stretch
        the spring beyond its own.
        """
        actuators = self._side.actuators
        start = actuators.constant_stiffness()[0]
        asked = np.where(actuators.variable, wanted, start)
        wanted = np.maximum(asked, np.minimum(self._least, start))
        share = np.linspace(0.0, 1.0, STEPS + 1)[:, np.newaxis]
        path = np.log(start) + share * (np.log(wanted) - np.log(start))
        stiffness = np.zeros((STEPS + 1, 3, start.size))
        stiffness[:, 0] = np.exp(path)
        motions, torques = (
            np.ascontiguousarray(np.broadcast_to(one, (STEPS + 1, *one.shape)))
            for one in (q, torque))
        reference, elongation, margin = self._side.sample(motions, torques, stiffness)
        use = self._use(reference, elongation, margin)
        possible = np.logical_and.accumulate(use <= 1.0, axis=0)
        last = np.maximum(possible.sum(axis=0) - 1, 0)
        taken = np.where(last == STEPS, wanted, stiffness[last, 0, np.arange(start.size)])
        self._rate = self._fastest(path, reference, possible)
        self._goal = np.log(taken)
        # How far a joint that is not variable is beyond a limit is not the stiffness' doing.
        held = np.where(actuators.variable, np.abs(np.log(taken / asked)), 0.0)
        joint = int(held.argmax())
        return taken, joint if held[joint] > 0.0 else -1

    def advance(self, interval: float) -> Array:
        """Move on by `interval` seconds; return σ, σ̇, σ̈, (3, n)."""
        gap = self._goal - self._input
        most = self._rate * interval if interval else np.zeros_like(gap)
        self._input = self._input + np.clip(gap, -most, most)
        reached = np.exp(self._input)
        self._filter.set_target(reached)
        return self._filter.advance(interval)[:3]

    def _use(self, reference: Array, elongation: Array, margin: Array) -> Array:
        """Return how much of its limits each joint uses, (T, n); infinite where it cannot."""
        actuators = self._side.actuators
        velocity, effort, deflection = actuators.motor_limits()
        deflection = np.where(np.isfinite(deflection), deflection, MAX_DEFLECTION)
        of_motors = np.max(np.stack((
            np.abs(reference[:, 1]) / velocity, np.abs(reference[:, 3]) / effort,
            np.abs(elongation) / deflection)), axis=0)
        use = np.maximum.reduceat(of_motors, actuators.motor_of[:-1], axis=1)
        return np.where(margin > 0.0, use, np.inf)

    def _fastest(self, path: Array, reference: Array, possible: Array) -> Array:
        """Return the rate of log σ at which motors keep their share of velocity, (n,), 1/s."""
        actuators = self._side.actuators
        step = np.abs(path[1] - path[0])[actuators.motor_joints]
        moved = np.abs(np.diff(reference[:, 0], axis=0))
        moved = np.where(possible[1:, actuators.motor_joints], moved, 0.0).max(axis=0)
        with np.errstate(divide='ignore', invalid='ignore'):
            rate = RATE_SHARE * actuators.motor_limits()[0] * (step / moved)
        return np.minimum.reduceat(
            np.where((moved > 0.0) & (step > 0.0), rate, np.inf), actuators.motor_of[:-1])
