"""The motor side of a motion: θ, θ̇, θ̈ and τ_m from q … q̈ and Q, Q̇, Q̈."""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.actuators.joint_actuators import (
    COULOMB,
    COULOMB_VELOCITY,
    INERTIA,
    VISCOUS,
    Actuators,
)
from hodyn_ros.actuators.laws import EXPONENTIAL, LINEAR, QUADRATIC, TABULATED, VARIABLE
from hodyn_ros.actuators.springs import damped_acceleration, elongations
from hodyn_ros.common.arrays import (
    Array,
    Flags,
    check_array,
    check_finite,
    check_motion,
    number,
    numbers,
)
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit

MEMORY = 5
"""Number of rows of the dampers' state that is kept between instants."""

AT_REST = 1e-4
"""Rate of a spring's elongation, rad/s or m/s, below which the spring counts as at rest."""


class MotorSide:
    """The motors' reference for a motion of the links: the inverse dynamics of elastic joints.

    τ_m = B θ̈ + D θ̇ + C tanh(θ̇/v) + spring torque, by Spong's model: each motor turns about its
    joint's axis with the inertia B = N² J, without inertial coupling to the links. All units are
    link-side.

    ``evaluate`` is for control cycles: it keeps the state of dampers, and the values that
    infeasible joints hold. ``along`` takes whole motions, and refuses infeasible ones.
    `FeedForward.motor_side` is the MotorSide of its robot, or None without actuators.

    Parameters
    ----------
    actuators : Actuators
        Laws and motors of the joints, `robot.actuators`.

    Attributes
    ----------
    reference : (4, m) array
        θ, θ̇, θ̈, τ_m of the motors at the last cycle.
    feasible : (n,) array
        Whether the joint can follow the motion: its law allows Q and σ, and q, q̇, q̈, Q, Q̇, Q̈
        and, for variable stiffness, σ, σ̇, σ̈ are finite. The motors of an infeasible joint hold
        the last θ and τ_m with θ̇ = θ̈ = 0. Up to and including the first instant at which the
        values of all joints are finite, they have θ = q and τ_m = Q instead (τ_m = 0 at a second
        motor, or if a value is not finite). After values that are not finite, a damper continues
        from the last finite torques.
    margin : (n,) array
        Distance to the bound of |Q|, N m, for springs that give way, or of σ, N m/rad, for
        variable stiffness; negative if infeasible, infinite if there is no bound.
    elongation : (m,) array
        Elongation of the spring at each motor, rad or m.

    """

    def __init__(self, actuators: Actuators) -> None:
        if not isinstance(actuators, Actuators):
            raise HodynError(
                f'actuators is {type(actuators).__name__}; expected Actuators: robot.actuators '
                'of a robot with actuators')
        n = actuators.n
        self.actuators = actuators
        self.reference = np.zeros((4, actuators.n_motors))
        self.margin = np.zeros(n)
        self.feasible = np.ones(n, dtype=np.bool_)
        self.elongation = np.zeros(actuators.n_motors)
        self._stiffness = actuators.constant_stiffness()
        self._laws = (
            actuators.kinds, actuators.parameters, actuators.tables, actuators.table_rows,
            actuators.motor_of, actuators.motors)
        self._is_damped = (actuators.kinds == LINEAR) & (actuators.parameters[:, 1] > 0.0)
        self._damped = tuple(
            name for name, is_damped in zip(actuators.names, self._is_damped, strict=True)
            if is_damped)
        self._memory = np.zeros((MEMORY, n))
        self._started = False

    def reset(self) -> None:
        """Forget the past, as before the first cycle."""
        self._started = False

    @property
    def is_relaxing(self) -> bool:
        """Whether a damped spring still moves faster than `AT_REST` though its torque is constant.

        Its elongation x follows D ẍ = Q̇ − K ẋ. A spring whose torque keeps changing, as on a
        moving base, never comes to rest and does not count.
        """
        if not self._damped:
            return False
        stiffness, damping = self.actuators.parameters[:, :2].T[:, self._is_damped]
        torque_rate, acceleration = self._memory[[1, 3]][:, self._is_damped]
        return bool(np.any(
            (np.abs(damping * acceleration) > AT_REST * stiffness)
            & (np.abs(torque_rate) < AT_REST * stiffness)
            & (self._memory[4, self._is_damped] == 0.0)))  # its torque is finite

    def evaluate(
        self, q: Array, torque: Array, stiffness: Array | None = None, dt: float = 0.0,
        *, check: bool = True,
    ) -> Array:
        """Return `reference`, (4, m), at one instant, without allocating.

        Parameters
        ----------
        q : (3 or more, n) array
            Joint positions and derivatives.
        torque : (3, n) array
            Q, Q̇, Q̈ with gravity and friction.
        stiffness : (3, n) array, optional
            σ, σ̇, σ̈ of joints with variable stiffness (other entries are not read); default is
            the stiffness in the actuators.
        dt : float
            Time since the last call, s. From the second call on, springs with a damper need it to
            advance the damper's state.
        check : bool
            False skips the checks of the arrays; wrong ones would then corrupt memory.

        Raises
        ------
        HodynError
            For wrong shapes, and for a time that is missing, negative or not finite.
        TypeError
            For anything but writeable, C-contiguous float64 arrays.

        """
        n = self.actuators.n
        stiffness = self._stiffness if stiffness is None else stiffness
        if check:
            check_motion(q, 'q', 3, n)
            check_array(torque, 'torque', (3, n))
            check_array(stiffness, 'stiffness', (3, n))
            dt = number(dt, 'dt')
            self._check_time(dt)
        whole = evaluate_instant(
            *self._laws, q, torque, stiffness, float(dt), self._started, self._memory,
            self.reference, self.elongation, self.margin, self.feasible)
        self._started = self._started or whole
        return self.reference

    def _check_time(self, dt: float) -> None:
        if not 0.0 <= dt < np.inf:
            raise HodynError(f'dt is {dt:g} s; expected the time since the last call, 0 or more')
        if dt == 0.0 and self._started and self._damped:
            raise HodynError(
                f'joint {self._damped[0]!r}: a spring with a damper needs dt, the time since the '
                'last call: `evaluate(q, torque, dt=…)`; `reset` starts anew, `along` takes whole '
                'motions')

    def along(
        self, times: ArrayLike, q: Array, torque: Array, stiffness: Array | None = None,
    ) -> Array:
        """Return θ, θ̇, θ̈, τ_m, (T, 4, m), along a motion.

        Parameters
        ----------
        times : (T,) array
            Seconds, increasing.
        q, torque, stiffness : (T, 3 or more, n), (T, 3, n), (T, 3, n) arrays
            As `evaluate` takes them.

        Raises
        ------
        HodynError
            When times do not increase, values are not finite, or a joint cannot follow the
            motion, naming the joint, the time and the missing torque or stiffness.

        """
        instants = numbers(times, 'times')
        if instants.shape != (len(q),):
            raise HodynError(f'times has shape {instants.shape}; expected {(len(q),)}')
        check_finite(instants, 'times')
        if not (np.diff(instants) > 0.0).all():
            later = int(np.argmin(np.diff(instants) > 0.0)) + 1
            raise HodynError(
                f'times[{later}] is {instants[later]:g}, not after {instants[later - 1]:g}: '
                'expected increasing times')
        for values, name in ((q, 'q'), (torque, 'torque')):
            check_finite(numbers(values, name), name)
        out, _, margin = self._many(instants, q, torque, stiffness)
        if not np.all(margin >= 0.0):
            # A NaN is the worst margin.
            worst = int(np.argmin(np.where(np.isnan(margin), -np.inf, margin)))
            k, joint = divmod(worst, self.actuators.n)
            sigma = self._stiffness if stiffness is None else stiffness[k]
            raise HodynError(self._why_not(
                joint, instants[k], torque[k, 0, joint], sigma[0, joint], margin[k, joint]))
        return out

    def sample(
        self, q: Array, torque: Array, stiffness: Array | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return references (T, 4, m), elongations (T, m) and margins (T, n) at instants.

        Unlike in `along`, the instants are independent: dampers are relaxed, as in slow motion. A
        joint that cannot follow has a negative margin, and raises no error.
        """
        return self._many(np.empty(0), q, torque, stiffness)

    def _many(
        self, times: Array, q: Array, torque: Array, stiffness: Array | None,
    ) -> tuple[Array, Array, Array]:
        samples, n, m = len(q), self.actuators.n, self.actuators.n_motors
        if stiffness is None:
            stiffness = np.broadcast_to(self._stiffness, (samples, 3, n))
        q, torque, stiffness = (
            numbers(values, name) for values, name in (
                (q, 'q'), (torque, 'torque'), (stiffness, 'stiffness')))
        if q.ndim != 3:
            raise HodynError(f'q has shape {q.shape}; expected (T, 3 or more, {n})')
        check_motion(q, 'q', 3, n)
        check_array(torque, 'torque', (samples, 3, n))
        check_array(stiffness, 'stiffness', (samples, 3, n))
        out, elongation = np.empty((samples, 4, m)), np.empty((samples, m))
        margin = np.empty((samples, self.actuators.n))
        _evaluate_many(
            *self._laws, times, q, torque, stiffness, np.zeros_like(self._memory), out, elongation,
            margin, np.empty(n, dtype=np.bool_))
        return out, elongation, margin

    def _why_not(
        self, joint: int, time: float, torque: float, stiffness: float, margin: float,
    ) -> str:
        kind = self.actuators.kinds[joint]
        missing = round(-margin, 12)
        where = f'joint {self.actuators.names[joint]!r} at {time:.4g} s'
        if kind in (VARIABLE, EXPONENTIAL, QUADRATIC):
            return (
                f'{where}: a stiffness of {stiffness:.6g} N m/rad with a torque of {torque:.6g} '
                f'N m is short by {missing:.4g} N m/rad; request more stiffness or less torque')
        reason = 'leaves its table' if kind == TABULATED else 'gives way'
        return (
            f'{where}: the spring {reason} under {torque:.6g} N m, which is {missing:.4g} N m too '
            'much; reduce the torque or use a stiffer spring')


@njit()
def is_finite(
    kind: int, q: Array, torque: Array, stiffness: Array, i: int,
) -> bool:
    """Return whether a joint's motion, torques and, if it varies, stiffness are finite.

    `codegen.routines.finite_values` has this check in C: change both together.
    """
    varies = kind in (VARIABLE, EXPONENTIAL, QUADRATIC)
    for k in range(3):
        if not (np.isfinite(q[k, i]) and np.isfinite(torque[k, i])):
            return False
        if varies and not np.isfinite(stiffness[k, i]):
            return False
    return True


@njit()
def evaluate_instant(
    kinds: NDArray[np.int64], parameters: Array, tables: Array, table_rows: NDArray[np.int64],
    motor_of: NDArray[np.int64], motors: Array, q: Array, torque: Array, stiffness: Array,
    dt: float, started: bool, memory: Array, out: Array, elongation: Array, margin: Array,
    feasible: Flags,
) -> bool:
    """Write one instant's reference; return whether the values of all joints are finite.

    memory (MEMORY, n) is the state of dampers: Q, Q̇, Q̈ and ẍ at the last instant with finite
    values, and the time from that instant to the last call.
    """
    x = np.empty((2, 3))
    now = np.empty(3)
    wanted = np.empty(3)
    whole = True
    for i in range(kinds.size):
        known = is_finite(kinds[i], q, torque, stiffness, i)
        for k in range(3):
            now[k] = torque[k, i]
            wanted[k] = stiffness[k, i]
        p = parameters[i]
        is_damped = kinds[i] == LINEAR and p[1] > 0.0
        if known:
            table = tables[table_rows[i]:table_rows[i + 1]]
            margin[i] = elongations(kinds[i], p, table, now, wanted, x)
        else:
            whole = False
            margin[i] = -np.inf
            if is_damped and started and dt > 0.0:
                memory[4, i] += dt
        if is_damped and known:
            if not started:
                memory[3, i] = now[2] / p[0]
            elif dt > 0.0:
                memory[3, i] = damped_acceleration(
                    p[0], p[1], dt + memory[4, i], memory[:3, i], now, memory[3, i])
            x[0, 2] = memory[3, i]
            x[0, 1] = (now[1] - p[1] * x[0, 2]) / p[0]
            x[0, 0] = (now[0] - p[1] * x[0, 1]) / p[0]
            memory[:3, i] = now
            memory[4, i] = 0.0
        feasible[i] = margin[i] >= 0.0
        first = motor_of[i]
        for j in range(first, motor_of[i + 1]):
            if not feasible[i]:
                if not started:
                    out[0, j] = q[0, i]
                    out[3, j] = now[0] if known and j == first else 0.0
                    elongation[j] = 0.0
                out[1, j] = 0.0
                out[2, j] = 0.0
                continue
            sign = 1.0 if j == first else -1.0
            carried = now[0]
            if kinds[i] == EXPONENTIAL:
                carried = sign * p[0] * np.expm1(p[1] * x[j - first, 0])
            elif kinds[i] == QUADRATIC:
                carried = sign * 0.5 * p[0] * x[j - first, 0] ** 2
            for k in range(3):
                out[k, j] = q[k, i] + sign * x[j - first, k]
            elongation[j] = x[j - first, 0]
            out[3, j] = (
                motors[j, INERTIA] * out[2, j] + motors[j, VISCOUS] * out[1, j]
                + motors[j, COULOMB] * np.tanh(out[1, j] / motors[j, COULOMB_VELOCITY]) + carried)
    return whole


@njit()
def _evaluate_many(
    kinds: NDArray[np.int64], parameters: Array, tables: Array, table_rows: NDArray[np.int64],
    motor_of: NDArray[np.int64], motors: Array, times: Array, q: Array, torque: Array,
    stiffness: Array, memory: Array, out: Array, elongation: Array, margin: Array,
    feasible: Flags,
) -> None:
    continuous = times.size > 0
    for t in range(len(q)):
        follows = continuous and t > 0
        dt = times[t] - times[t - 1] if follows else 0.0
        if follows:
            # Infeasible joints hold these values.
            out[t] = out[t - 1]
            elongation[t] = elongation[t - 1]
        evaluate_instant(
            kinds, parameters, tables, table_rows, motor_of, motors, q[t], torque[t], stiffness[t],
            dt, follows, memory, out[t], elongation[t], margin[t], feasible)
