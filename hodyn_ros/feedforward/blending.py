"""C4 fade-in, fade-out and recovery of outputs, measurements and motor references."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.reference import Plan
from hodyn_ros.reference.rest_to_rest import move_plan

Array = NDArray[np.float64]


class Ramp:
    """A weight that goes from 0 to 1, continuous to its fourth derivative."""

    STEEPEST = 315.0 / 128.0
    """Its largest rate, times its duration."""

    def __init__(self, start: int, duration: float) -> None:
        """Take the instant (ns) at which it begins and how long it takes, s."""
        self._start = start
        self.end = start + round(duration * 1e9)
        self._plan: Plan = move_plan([0.0], [1.0], duration)

    def done(self, now: int) -> bool:
        """Return whether the weight is 1 at an instant (ns)."""
        return now >= self.end

    def weight(self, now: int) -> Array:
        """Return the weight and its first two derivatives, (3,), at an instant (ns)."""
        weight: Array = self._plan.evaluate((now - self._start) * 1e-9)[:3, 0]
        return weight

    def blend(self, now: int, before: Array, after: Array, out: Array) -> None:
        """Write before + s (after − before) and its derivatives, (3, n), at an instant (ns)."""
        s, rate, accel = self.weight(now)
        change = after - before
        out[:] = before
        out[0] += s * change[0]
        out[1] += s * change[1] + rate * change[0]
        out[2] += s * change[2] + 2.0 * rate * change[1] + accel * change[0]


class MeasurementWeight:
    """Weight in [0, 1] of the measured deviation; it fades to 0 while nothing is measured."""

    def __init__(self, duration: float) -> None:
        """Take how long the weight takes from 1 to 0 and back, s."""
        self._duration = duration
        self._is_there = True
        self._from = self._weight = 1.0
        self._ramp: Ramp | None = None

    @property
    def is_changing(self) -> bool:
        """Whether the weight is between 0 and 1."""
        return self._ramp is not None

    def weight(self, now: int, *, is_there: bool) -> float:
        """Return the weight, 0 to 1, at an instant (ns) with or without a measurement."""
        if is_there != self._is_there:
            self._is_there = is_there
            self._from = self._weight
            self._ramp = Ramp(now, self._duration)
        if self._ramp is not None:
            self._weight = self._from + self._ramp.weight(now)[0] * (is_there - self._from)
            if self._ramp.done(now):
                self._ramp = None
        return self._weight


class MotorReferenceHold:
    """The motors' reference without steps in θ and τ_m, also across motions that are infeasible.

    While a joint's motors cannot follow the motion, they hold the θ and τ_m of the cycle before,
    with θ̇ = θ̈ = 0; when they can again, their reference is blended back to that of the motion,
    which has gone on meanwhile.

    Attributes
    ----------
    reference : (4, m) array
        θ, θ̇, θ̈, τ_m of the motors at the last cycle.
    held : (n,) array
        Whether a joint's reference is held or blended back: it is not that of the motion.
    any_held : bool
        Whether `held` is true for any joint.
    feasible : (n,) array
        Whether the joint's motors can follow the motion.
    actuators : Actuators
        The actuators.

    """

    def __init__(self, side: MotorSide, duration: float) -> None:
        """Take the motors, and how long blending back takes, s."""
        side.reset()
        self.actuators = side.actuators
        self.reference = np.zeros_like(side.reference)
        self.held = np.zeros(side.actuators.n, dtype=np.bool_)
        self.any_held = False
        self.feasible = side.feasible
        self._side = side
        self._duration = duration
        self._kept = np.zeros_like(side.reference)
        self._returns: dict[int, Ramp] = {}
        self._started = False

    def evaluate(
        self, now: int, q: Array, torque: Array, stiffness: Array | None, dt: float,
    ) -> None:
        """Evaluate the reference at an instant (ns), as `MotorSide.evaluate` without a check."""
        wanted = self._side.evaluate(q, torque, stiffness, dt, check=False)
        if not self._started:
            self.reference[:] = wanted
            self._started = True
        if not self.any_held and self.feasible.all():
            self.reference[:] = wanted
            return
        bounds = self.actuators.motor_of
        for joint in range(self.actuators.n):
            motors = slice(bounds[joint], bounds[joint + 1])
            if not self.feasible[joint]:
                self._hold(joint, motors)
            elif self.held[joint]:
                self._blend_back(now, joint, motors, wanted)
            else:
                self.reference[:, motors] = wanted[:, motors]
        self.any_held = bool(self.held.any())

    def _hold(self, joint: int, motors: slice) -> None:
        if not self.held[joint] or self._returns.pop(joint, None) is not None:
            self._kept[::3, motors] = self.reference[::3, motors]
            self.held[joint] = True
        self.reference[:, motors] = self._kept[:, motors]

    def _blend_back(self, now: int, joint: int, motors: slice, wanted: Array) -> None:
        ramp = self._returns.get(joint)
        if ramp is None:
            ramp = self._returns[joint] = Ramp(now, self._duration)
        kept, reference = self._kept[:, motors], self.reference[:, motors]
        if ramp.done(now):
            del self._returns[joint]
            self.held[joint] = False
            reference[:] = wanted[:, motors]
            return
        ramp.blend(now, kept[:3], wanted[:3, motors], reference[:3])
        reference[3] = kept[3] + ramp.weight(now)[0] * (wanted[3, motors] - kept[3])
