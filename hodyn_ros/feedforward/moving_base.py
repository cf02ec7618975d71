"""The torques of an arm on a moving base, such as a ship or a drone, and the wrench on that base.

Joint torques depend on the base's tilt, angular velocity and accelerations, but not on its
position, heading or constant velocity. So the motion of the base is described in a frame with
its momentary origin and velocity, which loses no digits far from the world's origin.
"""
from dataclasses import dataclass, field

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import njit
from hodyn_ros.dynamics.inverse_dynamics import InverseDynamics
from hodyn_ros.feedforward.torque import ORDER, FeedForward, add_rotors
from hodyn_ros.reference import Plan
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.held_base import with_base_held

WRENCH_NAMES = ('base_wrench', 'base_wrench_rate', 'base_wrench_accel')
"""Names of the topics of the wrench on the base and its derivatives."""


@dataclass
class BaseMotion:
    """The motion of a base at an instant, written in place."""

    #: (1, 4, 4): rotation of the base; its position is 0
    pose: Array = field(default_factory=lambda: np.eye(4)[np.newaxis].copy())
    #: (1, 4, 6): spatial twist about the momentary origin of the base, relative to the velocity of
    #: that origin, and its derivatives
    twist: Array = field(default_factory=lambda: np.zeros((1, ORDER + 2, 6)))

    @property
    def rotation(self) -> Array:
        """Rotation from the base's axes to the world's, (3, 3); a view."""
        rotation: Array = self.pose[0, :3, :3]
        return rotation

    def rest(self, rotation: Array) -> None:
        """Set the base to rest at a rotation, (3, 3)."""
        self.rotation[:] = rotation
        self.twist[:] = 0.0

    def move(self, rotation: Array, hybrid: Array) -> None:
        """Set rotation, and twist from angular and linear velocity in world axes, (4, 6)."""
        self.rotation[:] = rotation
        write_twist(hybrid, self.twist[0])


class FollowedBase:
    """A planned motion of a base, and how far the measured base is from it.

    The plan's 12 columns are the rows of the rotation, then the position.
    """

    def __init__(self, plan: Plan, start: int) -> None:
        #: `start`, `end`: stamps of the plan's time 0 and of its end, ns; `ahead`: how far the
        #: stamps are ahead of the instants of `move`, ns
        self.start, self.end, self.ahead = start, start + round(plan.duration * 1e9), 0
        self._plan = plan
        self._values = np.empty((ORDER + 3, 12))
        self._rotation, self._hybrid = np.empty((3, 3)), np.empty((ORDER + 2, 6))
        self._turn, self._spin = np.eye(3), np.zeros(3)

    def correct(
        self, stamp: int, rotation: Array, position: Array, velocity: Array,
    ) -> tuple[Array, Array]:
        """Take a measured pose and hybrid twist (6,); return how far they are from the plan.

        A hybrid twist is the angular velocity, and the velocity of the origin, in world axes.
        Returns the rotation, (3, 3), and the differences of position, angular velocity and
        velocity, (9,), in world axes.
        """
        self._evaluate(stamp)
        self._turn = rotation @ self._rotation.T
        off = velocity - self._hybrid[0]
        self._spin = off[:3]
        return self._turn, np.concatenate([position - self._values[0, 9:], off])

    def move(self, instant: int, planned: BaseMotion, measured: BaseMotion) -> None:
        """Write the motion at an instant, ns, as planned and as corrected by the last reading.

        Both have the accelerations of the plan and their derivatives.
        """
        self._evaluate(instant + self.ahead)
        planned.move(self._rotation, self._hybrid)
        self._hybrid[0, :3] += self._spin
        measured.move(self._turn @ self._rotation, self._hybrid)

    def _evaluate(self, stamp: int) -> None:
        self._plan.evaluate((stamp - self.start) * 1e-9, self._values)
        write_base_motion(self._values, self._rotation, self._hybrid)


class MovingBaseFeedForward(FeedForward):
    """The `FeedForward` of a robot with a floating base.

    `torque` is for a base at rest; `on_base` takes a motion of the base.
    """

    is_floating = True

    def __init__(self, robot: Robot) -> None:
        """Raise HodynError for a robot with a body that its base does not carry."""
        for body in robot.bodies[1:]:
            if body.parent < 0:
                raise HodynError(
                    f'robot {robot.name!r}: body {body.name!r} is not carried by the floating '
                    f'base {robot.bodies[0].name!r}: leave it out, or give it a parent')
        #: Pose at which the base rests in `torque`; set to the measured rotation
        self.resting = BaseMotion()
        super().__init__(robot)
        self._buffers = np.empty((1, ORDER + 1, robot.n)), np.empty((1, ORDER + 1, 6))

    def _prepared(self, robot: Robot) -> '_AtRest':
        return _AtRest(InverseDynamics(robot, ORDER), self.resting)

    @property
    def columns(self) -> int:
        """Number of published quantities: joint torques, then the wrench on the base."""
        return self.robot.n + 6

    @property
    def planned_robot(self) -> Robot:
        """The robot that plans are checked with: its base rests at its present tilt."""
        return with_base_held(self.robot, self.resting.rotation)

    def on_base(
        self, q: Array, base: BaseMotion, out: Array, *, gravity: bool = True,
        friction: bool = True, wrenches: Array | None = None,
    ) -> Array:
        """Write Q, Q̇, Q̈ and, after them, the wrench on the base with its derivatives,
        (3, n + 6).

        The wrench (moment, force) that must act on the base is in the base's axes about its
        origin; its derivatives are derivatives of the components. `q` is (5, n); the options are
        as for `torque`.
        """
        torque, wrench = self._buffers
        dynamics = self._rigid if gravity else self._weightless
        dynamics.handle.floating_batch(
            q[np.newaxis], base.pose, base.twist, torque, wrench,
            None if wrenches is None else wrenches[np.newaxis])
        if friction and self.robot.friction is not None:
            self.robot.friction.add_to(q, torque[0], check=False)
        if self.robot.rotor_inertia is not None:
            add_rotors(self.robot.rotor_inertia, q, torque[0])
        out[:, :self.robot.n] = torque[0]
        write_base_wrench(base.pose[0], base.twist[0], wrench[0], out)
        return out


def feedforward_of(robot: Robot) -> FeedForward:
    """Return the feed-forward of a robot, on a fixed or a floating base."""
    return MovingBaseFeedForward(robot) if robot.floating else FeedForward(robot)


class _AtRest:
    """Inverse dynamics of a robot whose base rests, called as on a fixed base."""

    def __init__(self, handle: InverseDynamics, resting: BaseMotion) -> None:
        self.handle = handle
        self._resting = resting

    def __call__(self, q: Array, out: Array) -> None:
        self.batch(q[np.newaxis], out[np.newaxis])

    def batch(self, q: Array, out: Array, wrenches: Array | None = None) -> None:
        count = len(q)
        self.handle.floating_batch(
            q, np.repeat(self._resting.pose, count, axis=0), np.zeros((count, ORDER + 2, 6)), out,
            np.empty((count, ORDER + 1, 6)), wrenches)


@njit()
def write_base_motion(values: Array, rotation: Array, hybrid: Array) -> None:
    """Write rotation (3, 3) and hybrid twist (4, 6) of a pose and its derivatives, (5, 12).

    The columns are the rows of R, then p. By the Leibniz rule for ω̃ = Ṙ Rᵀ, derivative k of ω̃ is
    Σ_a C(k, a) R⁽ᵃ⁺¹⁾ R⁽ᵏ⁻ᵃ⁾ᵀ.
    """
    for i in range(3):
        for j in range(3):
            rotation[i, j] = values[0, 3 * i + j]
        for k in range(4):
            hybrid[k, 3 + i] = values[k + 1, 9 + i]
    for k in range(4):
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            total, choices = 0.0, 1.0
            for m in range(k + 1):
                for j in range(3):
                    # The antisymmetric part, entries (b, a) and (a, b).
                    total += 0.5 * choices * (
                        values[m + 1, 3 * b + j] * values[k - m, 3 * a + j]
                        - values[m + 1, 3 * a + j] * values[k - m, 3 * b + j])
                choices *= (k - m) / (m + 1.0)
            hybrid[k, i] = total


@njit()
def write_twist(hybrid: Array, twist: Array) -> None:
    """Write the spatial twist about the momentary origin, (4, 6), of a hybrid twist, (4, 6).

    Its linear part is v = ṗ − ω × p and the derivatives, with p = ṗ = 0 at the instant. The
    velocity ṗ in row 0 of `hybrid` is not used.
    """
    for k in range(4):
        for i in range(3):
            twist[k, i] = hybrid[k, i]
            twist[k, 3 + i] = hybrid[k, 3 + i] if k > 0 else 0.0
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        # − ω × p̈, and − 3 ω̇ × p̈ − ω × p⃛.
        twist[2, 3 + i] -= hybrid[0, a] * hybrid[1, 3 + b] - hybrid[0, b] * hybrid[1, 3 + a]
        twist[3, 3 + i] -= (
            3.0 * (hybrid[1, a] * hybrid[1, 3 + b] - hybrid[1, b] * hybrid[1, 3 + a])
            + hybrid[0, a] * hybrid[2, 3 + b] - hybrid[0, b] * hybrid[2, 3 + a])


@njit()
def _transported(twist: Array, wrench: Array, out: Array) -> None:
    """Add ad_Vᵀ W = (−ω × m − v × f, −ω × f) to out, (6,)."""
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        out[i] -= (
            twist[a] * wrench[b] - twist[b] * wrench[a]
            + twist[3 + a] * wrench[3 + b] - twist[3 + b] * wrench[3 + a])
        out[3 + i] -= twist[a] * wrench[3 + b] - twist[b] * wrench[3 + a]


@njit()
def write_base_wrench(pose: Array, twist: Array, wrench: Array, out: Array) -> None:
    """Write a wrench in world axes about the base's origin, (3, 6), to the last columns of out.

    It is written in the base's axes, by AGF26 Table 5(b): W = Adᵀ W⁰, Ẇ = Adᵀ U with
    U = Ẇ⁰ + ad_Vᵀ W⁰, and Ẅ = Adᵀ (U̇ + ad_Vᵀ U).
    """
    moved = wrench.copy()
    _transported(twist[0], wrench[0], moved[1])
    _transported(twist[1], wrench[0], moved[2])
    _transported(twist[0], wrench[1], moved[2])
    _transported(twist[0], moved[1], moved[2])
    first = out.shape[1] - 6
    for k in range(3):
        for half in (0, 3):
            for i in range(3):
                out[k, first + half + i] = (
                    pose[0, i] * moved[k, half] + pose[1, i] * moved[k, half + 1]
                    + pose[2, i] * moved[k, half + 2])
