"""The requested stiffness of variable joints, as far as motors and springs can follow."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.reference.smoothing import SmoothingFilter
from hodyn_ros.robot import Robot

STEPS = 64
"""Number of steps to the requested stiffness at which the motors' reference is checked; the first
impossible step is divided into as many again."""
STIFFER = 100.0
"""Multiple of the initial stiffness up to which stiffer springs are tried, if no stiffness on the
way to the request carries the arm."""
MARGIN = 0.05
"""Share by which the stiffness stays away from the edge of what is possible: close to the edge,
motors must turn far for a small change."""
LEAST_EFFORT = 0.25
"""Share of the effort limit that the softest spring must carry at its deflection limit."""
RATE_SHARE = 0.5
"""Share of the motors' velocity limits that a change of stiffness may use."""
CLOSE = 1e-6
"""A change of stiffness ends at this deviation from the goal, as a share of the goal."""
SOFTER, BENT = 20.0, 0.2
"""Greatest ratio of the robot file's stiffness to a requested one; greatest deflection, rad, that
the present torque may cause with a smaller one if the file gives no `max_deflection`."""
LIMITS_AGE = 50_000_000
"""Age, ns, at which results from the limits are computed again, as the arm may have moved."""
MAX_DEFLECTION = 0.5 * np.pi
"""Elongation limit of a spring without `max_deflection` in the robot file, rad or m."""
LIMITS = (
    'max_velocity of the motors', 'max_effort of the motors',
    'the largest deflection of the springs', 'the law of the springs')
"""What may keep a joint from a stiffness, in the order of `StiffnessReference._shares`."""


@dataclass(frozen=True)
class JudgedStiffness:
    """A request, and what is possible of it; a new object each time that a request is judged."""

    requested: Array  #: (n,), N m/rad
    possible: Array  #: (n,), the nearest possible stiffness, N m/rad
    limits: tuple[str, ...]  #: What keeps each joint from the request; empty if nothing


class StiffnessReference:
    """σ, σ̇, σ̈ of each joint: smoothed by 1/(s/ω + 1)⁵, within the limits of motors and springs.

    The logarithm of σ approaches the requested one at a bounded rate, at which the motors use at
    most half their velocity limits. The filter keeps the bound of σ̇/σ, as its impulse response is
    nowhere negative. `side` is evaluated at single instants, without state; `effort`, (n,), are
    the joints' limits, N m or N; `bandwidth` is ω, rad/s.
    """

    def __init__(self, side: MotorSide, effort: Array, bandwidth: float) -> None:
        #: (3, n): σ, σ̇, σ̈ at the last instant; None until a stiffness is requested or resumed
        self.value: Array | None = None
        #: The request as judged last; None before the first request, and after `hold`
        self.judged: JudgedStiffness | None = None
        self._asked, self._asked_at, self._torque = np.empty(0), 0, np.empty(0)
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

    def resume(self, stiffness: Array, q: Array, torque: Array) -> Flags:
        """Begin at a stiffness, (n,); return which joints, (n,), cannot carry the arm with it.

        These joints begin at the first possible stiffness on the way to that of the robot file.
        """
        way, possible = self._way(stiffness, np.exp(self._goal), q, torque)
        possible[-1] = True
        first = possible.argmax(axis=0)
        variable = self._side.actuators.variable
        self._asked = np.where(
            variable, way[first, np.arange(stiffness.size)], np.exp(self._goal))
        self._input = self._goal = np.log(self._asked)
        self._filter = SmoothingFilter(self._asked, self._filter.omega)
        self.value = self._advance(0.0)
        return np.asarray(variable & (first > 0))

    def request(self, wanted: Array, now: int, q: Array, torque: Array) -> None:
        """Set the goal as near to a stiffness, (n,), N m/rad, as possible at `now`, ns.

        The search begins at the stiffness of the robot file or, if that is impossible, at the
        present one. It goes towards the request as long as the joint's law can give the `torque`,
        (3, n), of the motion `q`, (5, n), and motors and springs keep their limits. A joint
        becomes softer than in the robot file only if its spring keeps the deflection limit under
        a quarter of the effort limit.
        """
        if self.value is None:
            self.value = self._advance(0.0)
        if now - self._asked_at > LIMITS_AGE or not np.array_equal(self._asked, wanted):
            self._asked, self._asked_at, self._torque = wanted.copy(), now, torque.copy()
            possible = self._approach(wanted, q, torque)
            self.judged = JudgedStiffness(
                self._asked, possible, self._limits(self._asked, possible, q, torque))

    def move(
        self, now: int, interval: float, q: Array, torque: Array, *, is_feasible: bool,
    ) -> None:
        """Move on by `interval` seconds to the instant `now`, ns, once a stiffness is requested.

        The possible stiffness changes with the motion and the payload. So the request is judged
        again while the arm moves, while the motors cannot follow, and, if it was out of reach,
        when the torque has changed.
        """
        if self.value is None:
            return
        if now - self._asked_at > LIMITS_AGE and (q[1:].any() or not is_feasible or (
                self.is_out_of_reach and not np.array_equal(torque, self._torque))):
            self.request(self._asked, now, q, torque)
        self.value = self._advance(interval)

    def hold(self, now: int, q: Array, torque: Array) -> None:
        """End a change as soon as the smoothing allows."""
        if self.value is not None and self.is_changing:
            self.request(np.exp(self._input), now, q, torque)
            self.judged = None  # no user requested this goal

    def _approach(self, wanted: Array, q: Array, torque: Array) -> Array:
        """Set the goal and the rate; return the stiffness, (n,), that is possible."""
        actuators = self._side.actuators
        start, asked = actuators.constant_stiffness()[0], wanted
        wanted = np.maximum(
            np.where(actuators.variable, wanted, start), np.minimum(self._least, start))
        joints, begin = np.arange(start.size), start
        way, possible = self._way(begin, wanted, q, torque)
        if not possible[0].all():
            begin = np.where(possible[0], start, self._filter.state[0])
            way, possible = self._way(begin, wanted, q, torque)
        # The steps before the first possible one count as possible.
        found, is_begun = possible.any(axis=0), possible[0]
        is_before = ~np.logical_or.accumulate(possible, axis=0)
        last = np.logical_and.accumulate(possible | is_before, axis=0).sum(axis=0) - 1
        taken = wanted
        if (last < STEPS).any():
            edge, possible = self._way(
                way[last, joints], way[np.minimum(last + 1, STEPS), joints], q, torque)
            nearest = np.logical_and.accumulate(possible, axis=0).sum(axis=0) - 1
            limit = np.log(edge[np.maximum(nearest, 0), joints])
            back = np.where(is_begun, np.clip(np.log(begin) - limit, -MARGIN, MARGIN), 0.0)
            taken = np.where(last == STEPS, wanted, np.exp(limit + back))
        if not found.all():
            stiffer, possible = self._way(begin, STIFFER * begin, q, torque)
            taken = np.where(found, taken, np.where(
                possible.any(axis=0), stiffer[possible.argmax(axis=0), joints], begin))
        self._goal = np.log(taken)
        self._rate = self._fastest(q, torque)
        # Joints without variable stiffness do not count, even if one is beyond a limit.
        return np.where(actuators.variable, taken, asked)

    def _way(self, begin: Array, end: Array, q: Array, torque: Array) -> tuple[Array, Flags]:
        """Return σ in steps from `begin` to `end`, and whether each is possible, (T, n) each."""
        stiffness, reference, elongation, margin = self._sample(
            np.log(begin), np.log(end), q, torque)
        return stiffness, self._use(reference, elongation, margin) <= 1.0

    def _sample(
        self, begin: Array, end: Array, q: Array, torque: Array,
    ) -> tuple[Array, Array, Array, Array]:
        """Return σ, (T, n), in steps between two log σ, and the results of `MotorSide.sample`."""
        share = np.linspace(0.0, 1.0, STEPS + 1)[:, np.newaxis]
        stiffness = np.zeros((STEPS + 1, 3, begin.size))
        stiffness[:, 0] = np.exp(begin + share * (end - begin))
        motions, torques = (
            np.ascontiguousarray(np.broadcast_to(one, (STEPS + 1, *one.shape)))
            for one in (q, torque))
        return stiffness[:, 0], *self._side.sample(motions, torques, stiffness)

    @property
    def is_out_of_reach(self) -> bool:
        """Whether the request is not possible as it is."""
        return self.judged is not None and any(self.judged.limits)

    @property
    def is_changing(self) -> bool:
        """Whether the stiffness is still on its way to the goal."""
        value, rate = self._filter.state[:2]
        goal = np.exp(self._goal)
        return bool(
            np.any(np.abs(self._input - self._goal) > CLOSE)
            or np.any(np.abs(value - goal) > CLOSE * goal)
            or np.any(np.abs(rate) > CLOSE * goal * self._filter.omega))

    def _advance(self, interval: float) -> Array:
        """Move on by `interval` seconds; return σ, σ̇, σ̈, (3, n)."""
        gap = self._goal - self._input
        most = self._rate * interval if interval else np.zeros_like(gap)
        self._input = self._input + np.clip(gap, -most, most)
        reached = np.exp(self._input)
        self._filter.set_target(reached)
        return self._filter.advance(interval)[:3]

    def _limits(
        self, requested: Array, possible: Array, q: Array, torque: Array,
    ) -> tuple[str, ...]:
        """Return what keeps each joint from the request; empty if nothing does."""
        if np.array_equal(requested, possible):
            return possible.size * ('',)
        actuators = self._side.actuators
        start = actuators.constant_stiffness()[0]
        begin, end = (np.log(np.where(actuators.variable, one, start))
                      for one in (possible, requested))
        _, reference, elongation, margin = self._sample(begin, end, q, torque)
        shares = self._shares(reference, elongation, margin)
        beyond = shares.max(axis=0) > 1.0
        # If all steps are within the limits, the spring would be too soft at `LEAST_EFFORT`.
        return tuple(
            '' if requested[joint] == possible[joint]
            else LIMITS[int(shares[:, int(beyond[:, joint].argmax()), joint].argmax())]
            if beyond[:, joint].any() else f'{LIMITS[2]} at a quarter of the effort limit'
            for joint in range(possible.size))

    def _use(self, reference: Array, elongation: Array, margin: Array) -> Array:
        """Return the largest share of its limits that each joint uses, (T, n)."""
        return np.asarray(self._shares(reference, elongation, margin).max(axis=0))

    def _shares(self, reference: Array, elongation: Array, margin: Array) -> Array:
        """Return the shares of `LIMITS` that each joint uses, (4, T, n).

        The last share is infinite if the spring cannot give the torque or stiffness, and else 0.
        """
        actuators = self._side.actuators
        velocity, effort, deflection = actuators.motor_limits()
        deflection = np.where(np.isfinite(deflection), deflection, MAX_DEFLECTION)
        of_motors = np.stack((
            np.abs(reference[:, 1]) / velocity, np.abs(reference[:, 3]) / effort,
            np.abs(elongation) / deflection))
        use = np.maximum.reduceat(of_motors, actuators.motor_of[:-1], axis=2)
        return np.concatenate((use, np.where(margin > 0.0, 0.0, np.inf)[np.newaxis]))

    def _fastest(self, q: Array, torque: Array) -> Array:
        """Return the rate of log σ at which motors use `RATE_SHARE` of their limits, (n,), 1/s.

        For the same change of log σ, motors of softer springs move further. So the rate is the
        least on the whole way to the goal, from the filter's input or output, whichever is further
        away.
        """
        actuators = self._side.actuators
        output = np.log(self._filter.state[0])
        is_further = np.abs(output - self._goal) > np.abs(self._input - self._goal)
        begin = np.where(is_further, output, self._input)
        _, reference, _, margin = self._sample(begin, self._goal, q, torque)
        step = (np.abs(self._goal - begin) / STEPS)[actuators.motor_joints]
        moved = np.abs(np.diff(reference[:, 0], axis=0))
        known = (margin[1:] > 0.0) & (margin[:-1] > 0.0)
        moved = np.where(known[:, actuators.motor_joints], moved, 0.0).max(axis=0)
        with np.errstate(divide='ignore', invalid='ignore'):
            rate = RATE_SHARE * actuators.motor_limits()[0] * (step / moved)
        return np.minimum.reduceat(
            np.where((moved > 0.0) & (step > 0.0), rate, np.inf), actuators.motor_of[:-1])


def doubt_of_softness(robot: Robot, stiffness: Array, torque: Array) -> str:
    """Return a question about a stiffness, (n,), that is probably in N m/deg; else empty.

    It is far below that of the robot file, and the present torque, (n,), deflects springs far.
    """
    assert robot.actuators is not None
    usual = robot.actuators.constant_stiffness()[0]
    given = np.array([joint.max_deflection for joint in robot.actuators.joints])
    bent = np.where(np.isfinite(given), given, BENT)
    soft = robot.turns & (stiffness < usual / SOFTER) & (np.abs(torque) > bent * stiffness)
    those = [
        f'{robot.joint_names[j]} ({abs(torque[j]) / stiffness[j]:.3g} rad)'
        for j in np.flatnonzero(soft).tolist()]
    return (
        f'stiffness is in N m/rad: is this N m/deg? It is more than {SOFTER:g} times less than '
        f'in the robot file, and the torque deflects {", ".join(those)}') if those else ''
