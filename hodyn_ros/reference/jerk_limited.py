"""Jerk-limited motions to targets: the fastest within limits, in pieces of constant jerk.

Ruckig (Berscheid, Kröger: Jerk-limited real-time trajectory generation with arbitrary target
states, RSS 2021) finds them joint by joint from any position, velocity and acceleration. A target
rests, or moves at a constant velocity.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit
from hodyn_ros.reference.limits import DECELERATION, LOWER_END, OFFSET, MotionLimits
from hodyn_ros.reference.pieces import (
    divided,
)

# Factor of the limits for Ruckig, which may exceed them by round-off.
ROUND_OFF = 1.0 - 1e-9
# A joint counts as at rest at velocities up to RESTING. Velocities stay away from a velocity law
# by STRICTER. Both are in rad/s or m/s.
RESTING, STRICTER = 1e-9, 1e-7
# Largest number of parts into which a piece is divided to prove that it keeps a law. Without a
# proof the piece counts as violating the law.
FINEST = 256


class JerkLimited:
    """Finds motions from states, (3, n), q … q̈: durations (s) and jerks of pieces, each (n, 9).

    The first two pieces of a joint bring its state within the limits. Raises HodynError if Ruckig,
    which only streams need, is missing.
    """

    def __init__(self, n: int) -> None:
        try:
            import ruckig
        except ImportError:
            raise HodynError(
                'streams need ruckig: pip install ruckig, in the environment of the workspace'
            ) from None
        self._interface = ruckig.ControlInterface
        self._found = ruckig.Result.Working, ruckig.Result.Finished
        # Ruckig raises ValueError for a result code without name, such as for motions of hours.
        self._errors = ruckig.RuckigError, ValueError
        self._input = ruckig.InputParameter(n)
        self._input.synchronization = ruckig.Synchronization.No
        self._input.target_velocity = self._input.target_acceleration = [0.0] * n
        self._bounds: tuple[Array, Array] | None = None
        self._ruckig = ruckig.Ruckig(n)
        self._trajectory = ruckig.Trajectory(n)

    def find(
        self, state: Array, limits: MotionLimits, target: Array, stopping: Flags,
        velocity: Array | float = 0.0,
    ) -> tuple[Array, Array] | None:
        """Return the motion to a target, (n,), that moves at a `velocity`, (n,); None without one.

        Joints in `stopping`, (n,), come to rest anywhere.
        """
        given = self._input
        given.per_dof_control_interface = [
            self._interface.Velocity if stops else self._interface.Position
            for stops in stopping.tolist()]
        # Velocities and their limits are relative to the target, which rests in the moving frame.
        given.current_position = state[0].tolist()
        given.current_velocity = (state[1] - velocity).tolist()
        given.current_acceleration = state[2].tolist()
        given.target_position = target.tolist()
        given.min_velocity = (-ROUND_OFF * limits.velocity - velocity).tolist()
        given.max_velocity = (ROUND_OFF * limits.velocity - velocity).tolist()
        if self._bounds is None or (
                self._bounds[0] is not limits.acceleration or self._bounds[1] is not limits.jerk):
            self._bounds = limits.acceleration, limits.jerk
            given.max_acceleration = (ROUND_OFF * limits.acceleration).tolist()
            given.max_jerk = (ROUND_OFF * limits.jerk).tolist()
        try:
            if self._ruckig.calculate(given, self._trajectory) not in self._found:
                return None
        except self._errors:
            return None
        profiles = self._trajectory.profiles[0]
        return (
            np.array([(*profile.brake.t, *profile.t) for profile in profiles]),
            np.array([(*profile.brake.j, *profile.j) for profile in profiles]))


def cut_at(end: float, durations: Array, jerks: Array) -> tuple[Array, Array]:
    """Return the pieces up to a time, s: they are cut there, or continued without jerk.

    The piece without jerk is always the last one; its duration is 0 if the others are cut.
    """
    ends = np.cumsum(durations, axis=1)
    cut = np.clip(end - (ends - durations), 0.0, durations)
    rest = np.maximum(end - ends[:, -1:], 0.0)
    return np.hstack([cut, rest]), np.hstack([jerks, np.zeros_like(rest)])


@dataclass(frozen=True, eq=False)
class JerkLimitedMotion:
    """A motion of n joints in pieces of constant jerk, at rest after the last one."""

    start: Array  #: (3, n): q, q̇, q̈ at its time 0
    #: `durations`, `jerks`: (n, pieces): durations, s, and jerks, rad/s³ or m/s³, of the pieces
    durations: Array
    jerks: Array

    @property
    def duration(self) -> float:
        """Time at which the last joint comes to rest, s."""
        return float(self.durations.sum(axis=1).max())

    def state_at(self, time: float) -> Array:
        """Return q, q̇, q̈, (3, n), at a time, s."""
        return self._states_at(np.array([time])).reshape(self.start.shape)

    def _states_at(self, times: Array, *, rests: bool = True) -> Array:
        out = np.empty((times.size, *self.start.shape))
        _states_at(self.start, self.durations, self.jerks, times, rests, out)
        return out

    @property
    def steps(self) -> Array:
        """The times at which the jerk of a joint steps, s, increasing."""
        return np.unique(np.cumsum(self.durations, axis=1))

    def instants(self, end: float, shortest: float, longest: float, travel: float) -> Array:
        """Return times from 0 to `end`, s, closer where the motion is fast.

        The times at which the jerk steps are among them. Neighbouring times are at most `longest`
        apart (s), and so close that no joint moves by more than about `travel` (rad or m) from one
        to the next, but not closer than about `shortest` (s).
        """
        knots = np.concatenate(([0.0], self.steps, [end]))
        knots = np.unique(knots[knots <= end])
        speeds = np.abs(self._states_at(knots)[:, 1]).max(axis=1)
        fastest = np.maximum(speeds[:-1], speeds[1:])
        spacing = np.clip(travel / np.maximum(fastest, 1e-9), shortest, longest)
        return divided(knots, np.ceil(np.diff(knots) / spacing).astype(int))

    @property
    def end(self) -> Array:
        """q, q̇, q̈, (3, n), of each joint at the end of its last piece, not set to rest."""
        return self._states_at(np.array([np.inf]), rests=False).reshape(self.start.shape)

    def is_within(self, limits: MotionLimits) -> bool:
        """Return whether position, velocity, acceleration and jerk are always within limits."""
        if not _is_within(
                self.start, self.durations, self.jerks, limits.lower, limits.upper,
                limits.velocity, limits.acceleration, limits.jerk):
            return False
        return limits.law is None or bool(
            _keeps_law(self.start, self.durations, self.jerks, limits.law))

    def filtered(self, omega: float, outputs: Array, times: Array) -> Array:
        """Return this motion filtered by 1/(s/ω + 1)²: q … q⁗ at `times[1:]`, (T − 1, 5, n).

        The filter's impulse response is never negative and has area 1. So from rest its output is
        within all limits that the motion keeps. The solution is exact. `times`, (T,), are times of
        the motion, s. `outputs`, (2, n), are the filter's q and q̇ at the first time; those at the
        last time overwrite them. `omega` is ω, rad/s.
        """
        samples = np.empty((times.size - 1, 5, self.start.shape[1]))
        _filtered(self.start, self.durations, self.jerks, omega, outputs, times, samples)
        return samples


@njit()
def _advanced(p: float, v: float, a: float, j: float, t: float) -> tuple[float, float, float]:
    """Return position, velocity and acceleration after a time t of constant jerk j."""
    return p + t * (v + t * (a / 2.0 + t * j / 6.0)), v + t * (a + t * j / 2.0), a + t * j


@njit()
def _states_at(
    start: Array, durations: Array, jerks: Array, times: Array, rests: bool, out: Array,
) -> None:
    """Write q, q̇, q̈ at times, (T, 3, n); after the last piece q̇ and q̈ are 0 if it `rests`."""
    pieces = durations.shape[1]
    for k in range(times.size):
        for joint in range(start.shape[1]):
            p, v, a = start[0, joint], start[1, joint], start[2, joint]
            left = times[k]
            for i in range(pieces):
                t = min(durations[joint, i], left)
                p, v, a = _advanced(p, v, a, jerks[joint, i], t)
                left -= durations[joint, i]
                if left < 0.0:
                    break
            if rests and left >= 0.0:
                v = a = 0.0
            out[k, 0, joint], out[k, 1, joint], out[k, 2, joint] = p, v, a


@njit()
def _is_within(
    start: Array, durations: Array, jerks: Array, lower: Array, upper: Array,
    velocity: Array, acceleration: Array, jerk: Array,
) -> bool:
    for joint in range(start.shape[1]):
        p, v, a = start[0, joint], start[1, joint], start[2, joint]
        low, high = lower[joint], upper[joint]
        top = velocity[joint]
        if not (low <= p <= high and abs(v) <= top and abs(a) <= acceleration[joint]):
            return False
        for i in range(durations.shape[1]):
            t = durations[joint, i]
            if t == 0.0:
                continue
            j = jerks[joint, i]
            # This form of the condition is also false for NaN.
            if not (0.0 < t < np.inf and abs(j) <= jerk[joint]):
                return False
            # The velocity has its extremum where the acceleration passes zero.
            if j != 0.0 and 0.0 < -a / j < t and abs(v - a * a / (2.0 * j)) > top:
                return False
            # The position has extrema where the velocity passes zero: v + a s + j s²/2 = 0.
            for root in range(2):
                s = -1.0
                if j == 0.0:
                    if a != 0.0 and root == 0:
                        s = -v / a
                else:
                    inside = a * a - 2.0 * j * v
                    if inside >= 0.0:
                        s = (-a + (2 * root - 1) * np.sqrt(inside)) / j
                if 0.0 < s < t and not low <= _advanced(p, v, a, j, s)[0] <= high:
                    return False
            p, v, a = _advanced(p, v, a, j, t)
            if not (low <= p <= high and abs(v) <= top and abs(a) <= acceleration[joint]):
                return False
    return True


@njit()
def _keeps_law(start: Array, durations: Array, jerks: Array, law: Array) -> bool:
    """Return whether velocities keep a law that bounds them towards the ends of the range.

    The law is w ≤ 0 or g = 2 d r − (w + o)² ≥ 0, with its deceleration d and offset o, the
    distance r to an end and the velocity w towards this end. On each piece g is a polynomial of
    degree 4 in time, which its Bernstein coefficients enclose.
    """
    for joint in range(start.shape[1]):
        deceleration = law[DECELERATION, joint]
        if deceleration == np.inf:
            continue
        offset = law[OFFSET, joint] + STRICTER
        for side in range(2):
            sign = 2.0 * side - 1.0
            end = sign * law[LOWER_END + side, joint]
            p, v, a = sign * start[0, joint], sign * start[1, joint], sign * start[2, joint]
            for i in range(durations.shape[1]):
                t, j = durations[joint, i], sign * jerks[joint, i]
                if t > 0.0 and not _piece_keeps_law(p, v, a, j, t, end, deceleration, offset):
                    return False
                p, v, a = _advanced(p, v, a, j, t)
    return True


@njit()
def _piece_keeps_law(
    p: float, v: float, a: float, j: float, t: float, end: float, deceleration: float,
    offset: float,
) -> bool:
    """Return whether a piece keeps the law.

    It is halved until all parts are proved to keep the law, a point violates it, or there are more
    than `FINEST` parts.
    """
    parts = 1
    while parts <= FINEST:
        h = t / parts
        is_certain = True
        for part in range(parts):
            at, w0, rate = _advanced(p, v, a, j, part * h)
            w1, w2 = h * rate, h * h * j / 2.0
            if max(w0, w0 + w1 / 2.0, w0 + w1 + w2) <= RESTING:
                continue
            b0 = w0 + offset
            c0 = 2.0 * deceleration * (end - at) - b0 * b0
            c1 = -2.0 * deceleration * h * w0 - 2.0 * b0 * w1
            c2 = -deceleration * h * w1 - w1 * w1 - 2.0 * b0 * w2
            c3 = -2.0 / 3.0 * deceleration * h * w2 - 2.0 * w1 * w2
            c4 = -w2 * w2
            last = c0 + c1 + c2 + c3 + c4
            if (w0 > RESTING and c0 < 0.0) or (w0 + w1 + w2 > RESTING and last < 0.0):
                return False
            least = min(c0, c0 + c1 / 4.0, c0 + c1 / 2.0 + c2 / 6.0,
                        c0 + 0.75 * c1 + c2 / 2.0 + c3 / 4.0, last)
            if least < 0.0:
                is_certain = False
        if is_certain:
            return True
        parts *= 2
    return False


@njit()
def _filtered(
    start: Array, durations: Array, jerks: Array, omega: float, outputs: Array,
    times: Array, out: Array,
) -> None:
    """Advance the filter's outputs (2, n) from time to time; write q … q⁗ at each to `out`."""
    pieces = durations.shape[1]
    for joint in range(start.shape[1]):
        # Start of the present piece: the motion's state there, the piece's number and time.
        p, v, a = start[0, joint], start[1, joint], start[2, joint]
        i, at, now = 0, 0.0, times[0]
        y, rate = outputs[0, joint], outputs[1, joint]
        for sample in range(times.size - 1):
            end = times[sample + 1]
            while True:
                if i < pieces:
                    duration, j = durations[joint, i], jerks[joint, i]
                else:
                    duration, j = np.inf, 0.0
                    v = a = 0.0
                first, last = max(now - at, 0.0), min(end - at, duration)
                h = last - first
                if h > 0.0:
                    # The motion at the start of the interval within this piece.
                    pb, vb, ab = _advanced(p, v, a, j, first)
                    # The steady response to a cubic is a cubic; the rest of the output decays.
                    s0 = pb - 2.0 * vb / omega + 3.0 * ab / omega**2 - 4.0 * j / omega**3
                    s1 = vb - 2.0 * ab / omega + 3.0 * j / omega**2
                    s2 = ab - 2.0 * j / omega
                    c0 = y - s0
                    c1 = rate - s1 + omega * c0
                    decay = np.exp(-omega * h)
                    y = s0 + h * (s1 + h * (s2 / 2.0 + h * j / 6.0)) + (c0 + c1 * h) * decay
                    rate = s1 + h * (s2 + h * j / 2.0) + (c1 - omega * (c0 + c1 * h)) * decay
                if end - at <= duration:
                    break
                p, v, a = _advanced(p, v, a, j, duration)
                at += duration
                i += 1
            now = end
            q, q1, second = _advanced(p, v, a, j, max(end - at, 0.0))
            # From the filter's equation (D/ω + 1)² q = p and its derivatives.
            q2 = omega * (omega * (q - y) - 2.0 * rate)
            q3 = omega * (omega * (q1 - rate) - 2.0 * q2)
            out[sample, 0, joint], out[sample, 1, joint] = y, rate
            out[sample, 2, joint], out[sample, 3, joint] = q2, q3
            out[sample, 4, joint] = omega * (omega * (second - q2) - 2.0 * q3)
        outputs[0, joint], outputs[1, joint] = y, rate
