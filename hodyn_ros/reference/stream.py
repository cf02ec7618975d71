"""A reference that follows samples as they come, always within limits and continuous to q⁗."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hodyn_ros.common.arrays import Array, check_array, numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference.jerk_limited import JerkLimited, JerkLimitedMotion, cut_at
from hodyn_ros.reference.limits import MotionLimits, no_effort

# Fractions of the limits of velocity, and of acceleration and jerk, for slower motions, which are
# tried in turn if the fastest motion exceeds a limit.
FRACTIONS = ((1.0, 1.0), (1.0, 0.6), (1.0, 0.3), (0.5, 0.3), (0.2, 0.1))
# The efforts of a motion are checked each time a joint has moved by TRAVEL, rad or m, but not more
# often than every SHORTEST, s, and at least INTERVALS times in all ...
TRAVEL, SHORTEST, INTERVALS = 0.06, 0.015, 40
# ... and, while the filter responds, at these times after each step of the jerk, in units of 1/ω.
ANSWER = np.array([0.6, 1.4, 3.0])
# Number of time constants after which the filter is at rest up to round-off.
SETTLED = 30.0
# A target that cannot be followed is tried again every RETRY ns, until GIVE_UP ns after `until`.
RETRY = 10_000_000
GIVE_UP = 1_000_000_000
# Distance by which slower motions may pass the target and the end of a stop, rad or m.
BEYOND = 1e-4
# Largest speed of a target, as a fraction of the limit: the joint must be able to catch up.
MAX_TARGET_SPEED = 0.99


@dataclass(frozen=True, eq=False)
class Target:
    """Where the joints should be, (n,) arrays: `velocity` is valid until `until` (ns), then 0."""

    position: Array
    velocity: Array
    given: int
    until: int

    def position_at(self, now: int) -> Array:
        """Return the target's position at an instant, ns."""
        seconds = (min(now, self.until) - self.given) * 1e-9
        return self.position + max(seconds, 0.0) * self.velocity


class Stream:
    """Follows targets within limits: jerk-limited motions, filtered by 1/(s/ω + 1)².

    At any time the stream follows a jerk-limited motion that ends at rest within the range and is
    within all limits, effort limits included (except a stop, if no stop keeps effort limits). For
    a new target another motion begins at the present state, but only if it is within the limits as
    a whole; else the present motion goes on, and the target is tried again for a while. So no
    sample can lead beyond the limits. As the filter's impulse response is never negative and has
    area 1, q … q⃛ of its output keep the limits of its input. They also keep a velocity limit that
    falls towards an end of the range, as this limit is a concave function of position. If the
    fastest motion is not within limits, slower ones are tried, which stay between the present
    position, the target and the nearest stop.

    The motion leads a moving target by the filter's lag, so that the output does not lag; targets
    without velocity are followed with a lag of 2/ω, with `omega`, ω, in rad/s. The stream begins
    at rest at a `position`, (n,), at `now`, ns; a position outside the range widens the range.
    """

    def __init__(self, position: Array, now: int, omega: float, limits: MotionLimits) -> None:
        position = numbers(position, 'position')
        if not (position.shape == limits.lower.shape and np.isfinite(position).all()):
            raise HodynError(f'position must be finite, of shape {limits.lower.shape}')
        if not 0.0 < omega < np.inf:
            raise HodynError(f'omega {omega}: must be positive and finite, in rad/s')
        n = position.size
        self._limits = replace(
            limits, lower=np.minimum(limits.lower, position),
            upper=np.maximum(limits.upper, position))
        self._omega = omega
        self._jerk_limited = JerkLimited(n)
        start = np.zeros((3, n))
        start[0] = position
        self._motion = JerkLimitedMotion(start, np.zeros((n, 1)), np.zeros((n, 1)))
        self._begin = self._last = self._rest_at = now
        self._filter = start[:2].copy()
        self._target: Target | None = None
        self._stops = False
        self._pending = self._is_refused = False
        self._tried = now

    @property
    def is_held_back(self) -> bool:
        """Whether the last target is not followed because the motion to it exceeds the limits."""
        return self._is_refused

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called after the last target."""
        return self._stops

    def set_target(
        self, now: int, position: Array, velocity: Array | None, until: int,
        limits: MotionLimits,
    ) -> None:
        """Follow a target from an instant (ns) on.

        The position, (n,), is clipped to the range. The velocity, (n,), is valid until `until`,
        ns; None for a target at rest. The limits apply from now on, except for the range, which
        stays as it was.
        """
        position = numbers(position, 'sample')
        moves = np.zeros_like(position) if velocity is None else numbers(velocity, 'velocity')
        shape = self._filter.shape[1:]
        if not (position.shape == shape == moves.shape and np.isfinite(position).all()
                and np.isfinite(moves).all()):
            raise HodynError(f'sample: must be finite, of shape {shape}')
        self._take(limits)
        fastest = MAX_TARGET_SPEED * self._limits.velocity
        self._target = Target(position.copy(), np.clip(moves, -fastest, fastest), now, until)
        self._stops = False
        # A vain attempt takes time: shortly after one, `evaluate` tries the target later.
        if not (self._pending and now - self._tried < RETRY):
            self._try(now)

    def stop(self, now: int, limits: MotionLimits) -> None:
        """Stop as fast as the limits allow, from an instant (ns) on."""
        self._take(limits)
        self._target, self._stops = None, True
        self._try(now)

    def evaluate(self, now: int, out: Array) -> None:
        """Write q … q⁗ at an instant (ns), not before the last one, to out, (5, n)."""
        check_array(out, 'out', (5, self._filter.shape[1]))
        if self._pending and now - self._tried >= RETRY:
            if self._target is not None and now > self._target.until + GIVE_UP:
                self._pending = False
            else:
                self._try(now)
        out[:] = self.state_at(now)
        self._filter = out[:2].copy()
        self._last = max(now, self._last)

    def state_at(self, instant: int) -> Array:
        """Return q … q⁗, (5, n), of the present motion at an instant (ns), not before the last."""
        times = np.array([self._last, max(instant, self._last)]) - self._begin
        states = self._motion.filtered(self._omega, self._filter.copy(), times * 1e-9)
        return states.reshape(5, -1)

    def is_at_rest(self, now: int) -> bool:
        """Return whether motion and filter have come to rest by an instant (ns)."""
        return not self._pending and now >= self._rest_at

    def _take(self, limits: MotionLimits) -> None:
        if limits.lower.shape != self._limits.lower.shape:
            raise HodynError(
                f'limits are of {limits.lower.size} joints; expected {self._limits.lower.size}')
        self._limits = replace(limits, lower=self._limits.lower, upper=self._limits.upper)

    def _try(self, now: int) -> None:
        """Follow the first motion to the target that is within the limits, if there is one."""
        now = max(now, self._last)
        self._tried = now
        # Filter and motion are advanced to `now`, from where a new motion continues.
        outputs = self.state_at(now)[:2].copy()
        state = self._motion.state_at((now - self._begin) * 1e-9)
        best: tuple[float, JerkLimitedMotion] | None = None
        for motion in self._candidates(now, state):
            ratio = self._effort_ratio(motion, outputs)
            if best is None or ratio < best[0]:
                best = ratio, motion
            if ratio <= 1.0:
                break
        # A stop that needs too much effort is better than none.
        self._pending = best is None or (best[0] > 1.0 and not self._stops)
        self._is_refused = self._pending and not self._stops
        if best is not None and not self._pending:
            self._motion, self._begin, self._last = best[1], now, now
            self._filter = outputs
            self._rest_at = now + round((best[1].duration + SETTLED / self._omega) * 1e9)

    def _candidates(self, now: int, state: Array) -> Iterator[JerkLimitedMotion]:
        """Yield motions to the target that keep all limits, except perhaps effort limits."""
        target, allowed = self._target, self._limits
        for k, limits in enumerate(self._slower()):
            if target is None:
                motions = [self._to_rest(state, limits, state[0], anywhere=True)]
            else:
                if k == 1:
                    allowed = self._between(now, state, target)
                motions = [self._to_rest(state, limits, target.position_at(now), anywhere=False)]
                if now < target.until and target.velocity.any() and (
                        np.abs(target.velocity) <= MAX_TARGET_SPEED * limits.velocity).all():
                    motions.insert(0, self._catch_up(now, state, limits, target))
            for motion in motions:
                if motion is not None and motion.is_within(allowed):
                    yield motion

    def _slower(self) -> Iterator[MotionLimits]:
        yield self._limits
        gentle = self._limits.gentle()
        for fast, hard in FRACTIONS[gentle is self._limits:]:
            yield replace(
                gentle, velocity=fast * gentle.velocity,
                acceleration=hard * gentle.acceleration, jerk=hard * gentle.jerk)

    def _between(self, now: int, state: Array, target: Target) -> MotionLimits:
        """Return the limits with the range narrowed to that of slower motions."""
        asked = [state[0], target.position_at(now), target.position_at(target.until)
                 + 2.0 / self._omega * target.velocity]
        stop = self._to_rest(state, self._limits, state[0], anywhere=True)
        if stop is not None:
            asked.append(stop.end[0])
        return replace(
            self._limits, lower=np.maximum(self._limits.lower, np.min(asked, axis=0) - BEYOND),
            upper=np.minimum(self._limits.upper, np.max(asked, axis=0) + BEYOND))

    def _to_rest(
        self, state: Array, limits: MotionLimits, position: Array, *, anywhere: bool,
    ) -> JerkLimitedMotion | None:
        pieces = self._jerk_limited.find(
            state, limits, self._in_range(position), np.full(state.shape[1], anywhere))
        return None if pieces is None else JerkLimitedMotion(state, *pieces)

    def _catch_up(
        self, now: int, state: Array, limits: MotionLimits, target: Target,
    ) -> JerkLimitedMotion | None:
        """Return the motion that moves with the target until `until`, and then stops.

        Joints that have not caught up by then move on to where the target stops.
        """
        lead = 2.0 / self._omega * target.velocity
        pieces = self._jerk_limited.find(
            state, limits, target.position_at(now) + lead, np.zeros(lead.size, dtype=bool),
            target.velocity)
        if pieces is None:
            return None
        left = (target.until - now) * 1e-9
        moving = JerkLimitedMotion(state, *cut_at(left, *pieces))
        rest = self._jerk_limited.find(
            moving.end, limits, self._in_range(target.position_at(target.until) + lead),
            moving.durations[:, -1] > 0.0)
        if rest is None:
            return None
        return JerkLimitedMotion(
            state, np.hstack((moving.durations, rest[0])), np.hstack((moving.jerks, rest[1])))

    def _in_range(self, position: Array) -> Array:
        lower, upper = self._limits.reachable
        return np.clip(position, lower, upper)

    def _effort_ratio(self, motion: JerkLimitedMotion, outputs: Array) -> float:
        if self._limits.effort_ratio is no_effort:
            return 0.0
        end = motion.duration + 4.0 / self._omega
        answers = (motion.steps[:, np.newaxis] + ANSWER / self._omega).ravel()
        times = np.concatenate((
            motion.instants(end, SHORTEST, max(end / INTERVALS, SHORTEST), TRAVEL),
            answers[answers < end]))
        times.sort()
        return self._limits.effort_ratio(
            motion.filtered(self._omega, outputs.copy(), times))
