"""The published reference of the motors, within their limits: θ and θ̇ without steps.

With an effort limit, τ_m has no steps either, but it can cross its whole range within 10 ms.
"""
import numpy as np

from hodyn_ros.actuators.joint_actuators import COULOMB, COULOMB_VELOCITY, INERTIA, VISCOUS
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.jit import njit
from hodyn_ros.feedforward.motion_limits import EffortExcess
from hodyn_ros.feedforward.output_stage import OutputStage
from hodyn_ros.feedforward.soft_limit import soft_limit, soft_part

MOST_CARRIED = 0.9
"""Largest share of the torque limit that counts as load in the bounds of θ̈."""
# Names of θ and of the load of a motor, each with two derivatives.
QUANTITIES = (
    ('motor position', 'motor velocity', 'motor acceleration'), 3 * ('motor torque',))


class MotorStage:
    """The motors' θ, θ̇, θ̈ and τ_m for the published torque.

    Like torques, θ goes smoothly from its last published value to a new one. The load is τ_m
    without the motor's own inertia and friction. While the motors of a joint cannot follow the
    motion, their θ and load are held; afterwards they return smoothly. τ_m follows from the
    published θ̇, θ̈ and load; its limit bounds θ̈.
    """

    def __init__(
        self, side: MotorSide, fade: float, margin: float, *, strict: bool = False,
    ) -> None:
        """Take the motors, and `fade` (s), `margin` and `strict` as for `OutputStage`."""
        side.reset()
        self.actuators = side.actuators
        self.feasible = side.feasible  #: (n,): whether the joint's motors can follow the motion
        #: (4, m): θ, θ̇, θ̈, τ_m that the torque needs, without transitions and limits
        self.wanted = side.reference
        #: (4, m): the published θ, θ̇, θ̈, τ_m of the motors
        self.reference = np.zeros_like(side.reference)
        self.side = side
        self._fade = fade
        self._margin = margin
        self._strict = strict
        self._soft = soft_part(margin, strict=strict)
        velocity, self._effort = side.actuators.motor_limits()[:2]
        self._velocity = velocity.copy()
        self._effort = self._effort.copy()
        self._carried = np.zeros((3, side.actuators.n_motors))
        self._bounds = np.zeros((2, side.actuators.n_motors))
        self._judged = np.zeros((5, side.actuators.n_motors))
        self._was_feasible = np.ones(side.actuators.n, dtype=np.bool_)
        self._all_feasible = self.is_finite = True  #: Whether all of `reference` are finite
        self._theta: OutputStage | None = None
        self._load: OutputStage | None = None

    @property
    def is_changing(self) -> bool:
        """Whether the published reference is still on its way to the reference of the motion."""
        return self._theta is not None and self._load is not None and (
            self._theta.is_changing or self._load.is_changing)

    @property
    def any_held(self) -> bool:
        """Whether `held` is true for any joint."""
        return not self._all_feasible or self.is_changing

    @property
    def held(self) -> Flags:
        """Which joints, (n,), have a motor reference that is held or returns to the motion."""
        held = ~self.feasible
        if self._theta is not None and self._load is not None:
            changing = self._theta.changing | self._load.changing
            held[self.actuators.motor_joints[changing]] = True
        return held

    @property
    def refused(self) -> EffortExcess | None:
        """The value that `last_gate` refused in the last cycle, if any."""
        for stage, quantities in zip((self._theta, self._load), QUANTITIES, strict=True):
            if stage is not None and stage.refused is not None:
                value, row, motor = stage.refused
                limit = float(self._velocity[motor]) if quantities[row] == 'motor velocity' else (
                    np.inf)
                return EffortExcess(motor, quantities[row], value, limit, is_refused=True)
        return None

    @property
    def judged(self) -> Array:
        """The wanted motor reference, and the elongation of the springs, (5, m)."""
        self._judged[:4], self._judged[4] = self.wanted, self.side.elongation
        return self._judged

    def evaluate(self, q: Array, torque: Array, stiffness: Array | None, dt: float) -> None:
        """Evaluate the reference `dt`, s, after the last call; see `MotorSide.evaluate`."""
        wanted = self.side.evaluate(q, torque, stiffness, dt, check=False)
        is_other, self._all_feasible = _load(
            self.actuators.motors, wanted, self.feasible, self._was_feasible, self._carried)
        if self._theta is None or self._load is None:
            self._begin(wanted)
            return
        if is_other or self.refused is not None:
            joints = np.flatnonzero((self.feasible != self._was_feasible) | (
                self.refused is not None))
            self._was_feasible = self.feasible.copy()
            which = np.isin(self.actuators.motor_joints, joints)
            self._theta.go_over(wanted[:3], which, dt)
            self._load.go_over(self._carried, which, dt)
        carried = self._load.advance(self._carried, dt)
        _bound(self.actuators.motors, self.reference, carried, self._effort, self._bounds)
        theta = self._theta.advance(wanted[:3], dt, self._bounds)
        self.is_finite = _publish(
            self.actuators.motors, theta, carried, self._effort, *self._soft, self.reference)

    def go_over(self, q: Array, torque: Array, stiffness: Array | None) -> None:
        """Start a transition to another motion, given its present values."""
        if self._theta is None or self._load is None:
            return
        wanted = self.side.evaluate(q, torque, stiffness, 0.0, check=False)
        _load(
            self.actuators.motors, wanted, self.feasible, self._was_feasible, self._carried)
        self._was_feasible = self.feasible.copy()
        self._theta.go_over(wanted[:3])
        self._load.go_over(self._carried)

    def restart(self) -> None:
        """Begin anew at the next motion, without a transition from the last published values."""
        self.side.reset()
        self._theta = self._load = None

    def _begin(self, wanted: Array) -> None:
        none = np.full(self.actuators.n_motors, np.inf)
        self._was_feasible = self.feasible.copy()
        self.is_finite = _publish(
            self.actuators.motors, wanted[:3], self._carried, self._effort, *self._soft,
            self.reference)
        self._theta = OutputStage(
            wanted[:3], none, self._velocity, self._fade, self._margin, strict=self._strict)
        self._load = OutputStage(self._carried, none, none, self._fade, self._margin)


@njit()
def _load(
    motors: Array, reference: Array, feasible: Flags,
    was_feasible: Flags, out: Array,
) -> tuple[bool, bool]:
    """Write the motors' load to out[0].

    Returns whether the feasibility of any joint has changed, and whether all joints are feasible.
    """
    for j in range(reference.shape[1]):
        out[0, j] = reference[3, j] - _own(motors, j, reference[1, j], reference[2, j])
    is_other, are_all = False, True
    for i in range(feasible.size):
        is_other = is_other or feasible[i] != was_feasible[i]
        are_all = are_all and feasible[i]
    return is_other, are_all


@njit()
def _bound(motors: Array, reference: Array, carried: Array, effort: Array, out: Array) -> None:
    """Write the least and the largest θ̈ that the limits of τ_m leave, (2, m)."""
    for j in range(carried.shape[1]):
        inertia = motors[j, INERTIA]
        if not (inertia > 0.0 and effort[j] < np.inf):
            out[0, j], out[1, j] = -np.inf, np.inf
            continue
        held = carried[0, j] + _own(motors, j, reference[1, j], 0.0)
        # Even an overloaded motor must be able to come to rest.
        held = min(max(held, -MOST_CARRIED * effort[j]), MOST_CARRIED * effort[j])
        out[0, j] = (-effort[j] - held) / inertia
        out[1, j] = (effort[j] - held) / inertia


@njit()
def _publish(
    motors: Array, theta: Array, carried: Array, effort: Array, knee: float, top: float,
    out: Array,
) -> bool:
    """Write θ, θ̇, θ̈, τ_m to out; return whether all are finite."""
    are_numbers = True
    for j in range(theta.shape[1]):
        for k in range(3):
            out[k, j] = theta[k, j]
        torque = carried[0, j] + _own(motors, j, theta[1, j], theta[2, j])
        if effort[j] < np.inf:
            torque = effort[j] * soft_limit(torque / effort[j], knee, top)[0]
        out[3, j] = torque
        for k in range(4):
            are_numbers = are_numbers and np.isfinite(out[k, j])
    return are_numbers


@njit()
def _own(motors: Array, j: int, velocity: float, acceleration: float) -> float:
    """Return B θ̈ + D θ̇ + C tanh(θ̇/v)."""
    own: float = (
        motors[j, INERTIA] * acceleration + motors[j, VISCOUS] * velocity
        + motors[j, COULOMB] * np.tanh(velocity / motors[j, COULOMB_VELOCITY]))
    return own
