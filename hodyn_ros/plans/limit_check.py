"""Checks a plan before it runs: q … q⃛, Q and Q̇ against the robot's limits, between samples too.

A robot with actuators has its motors checked as well: their speed and torque, the deflection of
the springs, and whether the springs can carry the torque at all.

Kinematic peaks are exact (`reference.extrema`). Torques are sampled densely enough for the
polynomials under them, and their peaks refined. Limits are of the full torque, with gravity and
friction, whatever the outputs leave out.
"""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.motor_limits import MOTOR_QUANTITIES, motor_peaks
from hodyn_ros.reference import Plan, extrema
from hodyn_ros.robot import HodynError, Limits, Robot

Array = NDArray[np.float64]

KINEMATIC = ('position', 'velocity', 'acceleration', 'jerk')
EFFORTS = ('effort', 'effort_rate')
_UNITS = {
    'position': ('rad', 'm'),
    'velocity': ('rad/s', 'm/s'),
    'acceleration': ('rad/s²', 'm/s²'),
    'jerk': ('rad/s³', 'm/s³'),
    'effort': ('N m', 'N'),
    'effort_rate': ('N m/s', 'N/s'),
    'torque': ('N m', 'N'),
    'torque_rate': ('N m/s', 'N/s'),
    'power': ('W', 'W'),
    'motor_velocity': ('rad/s', 'm/s'),
    'motor_effort': ('N m', 'N'),
    'deflection': ('rad', 'm'),
    'spring_torque_left': ('N m', 'N'),
    'stiffness_left': ('N m/rad', 'N/m'),
}

# A piece is of degree 9: Q and Q̇ have no more than a few turns on it.
SAMPLES_PER_PIECE = 12
MAX_STEP = 5e-3
BLOCK = 8192
# Round-off, so that a peak brought to its limit on purpose passes.
TOLERANCE = 1e-9
# Sampled maxima within this of the largest are refined, at most so many of a joint's quantity.
NEAR, CANDIDATES = 0.98, 6
ROUNDS = 5


@dataclass(frozen=True)
class LimitMargin:
    """Where a quantity of a joint comes closest to its limit, or exceeds it most.

    Attributes
    ----------
    joint, quantity, unit : str
        Names of the joint and the quantity, and the SI unit of the latter.
    time : float
        s, from the plan's zero.
    value, lower, upper : float
        In `unit`; a limit is infinite where none is known, and the value then the largest.

    """

    joint: str
    quantity: str
    unit: str
    time: float
    value: float
    lower: float
    upper: float

    @property
    def limit(self) -> float:
        """The limit that is nearer."""
        return self.upper if self.upper - self.value <= self.value - self.lower else self.lower

    @property
    def margin(self) -> float:
        """What is left to the limit, in `unit`; negative beyond it."""
        return min(self.upper - self.value, self.value - self.lower)

    @property
    def exceeded(self) -> bool:
        """Whether the value is beyond its limit by more than round-off."""
        return self.margin < -TOLERANCE * max(1.0, abs(self.value))

    def __str__(self) -> str:
        return (
            f'{self.joint}: {self.quantity} {self.value:.6g} {self.unit} at {self.time:.4g} s, '
            f'limit {self.limit:.6g} {self.unit}')


@dataclass(frozen=True)
class LimitReport:
    """The worst value of each quantity of each joint, joint by joint."""

    worst: tuple[LimitMargin, ...]

    @property
    def violations(self) -> tuple[LimitMargin, ...]:
        """Those beyond their limits, the largest excess in proportion first."""
        beyond = [entry for entry in self.worst if entry.exceeded]
        return tuple(sorted(beyond, key=lambda e: e.margin / max(abs(e.limit), 1e-12)))

    @property
    def within_limits(self) -> bool:
        """Whether no limit is passed."""
        return not self.violations

    @property
    def knows_limits(self) -> bool:
        """Whether there is a limit that might be passed."""
        return any(np.isfinite([entry.lower, entry.upper]).any() for entry in self.worst)

    @property
    def unknown_quantities(self) -> list[str]:
        """The quantities, but positions, that no joint has a limit of, or of which joints."""
        found: dict[str, list[str]] = {}
        for entry in self.worst:
            known = np.isfinite([entry.lower, entry.upper]).any()
            if entry.quantity != 'position' and not known:
                found.setdefault(entry.quantity, []).append(entry.joint)
        everyone = len({entry.joint for entry in self.worst})
        return [quantity if len(joints) == everyone else f'{quantity} of {", ".join(joints)}'
                for quantity, joints in found.items()]


def bounds(limits: Limits, quantity: str) -> tuple[Array, Array]:
    """Return lower and upper limits (n,) of a quantity."""
    if quantity == 'position':
        return limits.position_min, limits.position_max
    upper: Array = getattr(limits, quantity)
    lower: Array = -upper
    return lower, upper


def check_limits(plan: Plan, feedforward: FeedForward) -> LimitReport:
    """Return the worst value of each quantity over the whole plan, holds at its ends included."""
    robot = feedforward.robot
    peaks = {KINEMATIC[k]: extrema(plan, k) for k in range(len(KINEMATIC))}
    values, times = _torque_peaks(plan, feedforward)
    peaks.update({EFFORTS[k]: (values[k], times[k]) for k in range(len(EFFORTS))})
    near_the_ends = _near_the_ends(plan, robot)
    entries = []
    for joint, name in enumerate(robot.joint_names):
        for quantity, (value, time) in peaks.items():
            lower, upper = (float(bound[joint]) for bound in bounds(robot.limits, quantity))
            below, above = float(value[0, joint]), float(value[1, joint])
            if np.isinf(lower) and np.isinf(upper):
                side = int(abs(above) > abs(below))
            else:
                side = int(upper - above < below - lower)
            entries.append(LimitMargin(
                name, quantity, unit(robot, joint, quantity), float(time[side, joint]),
                (below, above)[side], lower, upper))
            if quantity == 'velocity' and joint in near_the_ends:
                entries[-1] = min(entries[-1], near_the_ends[joint], key=lambda e: e.margin)
    return LimitReport((*entries, *_motor_side(plan, feedforward)))


def _near_the_ends(plan: Plan, robot: Robot) -> dict[int, LimitMargin]:
    """Return where each joint comes closest to velocity limits that depend on its position."""
    joints = np.flatnonzero(robot.limits.depend_on_position)
    if not joints.size:
        return {}

    def at(instants: Array) -> Array:
        motion: Array = plan.evaluate(instants)
        lower, upper = robot.limits.velocity_range(motion[..., 0, :])
        return np.stack([motion[..., 1, :], lower, upper])

    each = np.arange(joints.size)
    coarse = sample_times(plan)
    found, instants = at(coarse)[..., joints], np.tile(coarse[:, None], joints.size)
    reach = float(np.diff(coarse).max()) if coarse.size > 1 else 0.0
    for i in range(ROUNDS + 1):
        velocity, lower, upper = found
        worst = np.minimum(upper - velocity, velocity - lower).argmin(axis=0), each
        if i < ROUNDS:
            instants = np.clip(
                instants[worst] + reach * np.linspace(-1.0, 1.0, 9)[:, None],
                plan.times[0], plan.times[-1])
            found = at(instants)[..., each, joints]
            reach /= 4.0
    return {
        joint: LimitMargin(
            robot.joint_names[joint], 'velocity', unit(robot, joint, 'velocity'), *values)
        for joint, *values in zip(
            joints.tolist(), instants[worst].tolist(), *(value[worst].tolist() for value in found),
            strict=True)}


def _motor_side(plan: Plan, feedforward: FeedForward) -> Iterator[LimitMargin]:
    robot, actuators = feedforward.robot, feedforward.robot.actuators
    if actuators is None:
        return
    upper = actuators.motor_limits()
    peaks, times, margins, margin_times = motor_peaks(plan, feedforward, sample_times(plan))
    for motor, (name, joint) in enumerate(
            zip(actuators.motor_names, actuators.motor_joints, strict=True)):
        for k, quantity in enumerate(MOTOR_QUANTITIES):
            if quantity == 'deflection' and actuators.rigid[joint]:
                continue
            limit = float(upper[k, motor])
            yield LimitMargin(
                name, quantity, unit(robot, joint, quantity), float(times[k, motor]),
                float(peaks[k, motor]), -limit, limit)
    for joint in np.flatnonzero(margins < np.inf).tolist():
        quantity = 'stiffness_left' if actuators.variable[joint] else 'spring_torque_left'
        yield LimitMargin(
            robot.joint_names[joint], quantity, unit(robot, joint, quantity),
            float(margin_times[joint]), float(margins[joint]), 0.0, np.inf)


def unit(robot: Robot, joint: int, quantity: str) -> str:
    """Return the SI unit of a quantity of a joint."""
    prismatic = robot.joint_bodies[joint].type == 'prismatic'
    return _UNITS[quantity][prismatic]


def sample_times(plan: Plan) -> Array:
    """Return instants (T,) that resolve the torques of a plan, its knots among them."""
    spacings = np.diff(plan.times)
    if not spacings.size:
        held: Array = plan.times.copy()
        return held
    counts = np.maximum(SAMPLES_PER_PIECE, np.ceil(spacings / MAX_STEP)).astype(int)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    within = np.arange(counts.sum()) - first
    instants = np.repeat(plan.times[:-1], counts) + within * np.repeat(spacings / counts, counts)
    return np.append(instants, plan.times[-1])


def torques(
    plan: Plan, feedforward: FeedForward, instants: Array, stretch: float = 1.0,
) -> Array:
    """Return Q and Q̇, (T, 2, n), of the plan run `stretch` times slower, at its own instants."""
    motion: Array = plan.evaluate(instants)
    motion *= (stretch ** -np.arange(5.0))[:, None]
    result: Array = feedforward.torque(motion)[:, :len(EFFORTS)]
    if not np.isfinite(result).all():
        sample, _, joint = np.argwhere(~np.isfinite(result))[0]
        raise HodynError(
            f'{feedforward.robot.joint_names[joint]}: the torque at {instants[sample]:.4g} s '
            'is not finite; check the plan and the robot file')
    return result


def blocks(instants: Array) -> Iterator[Array]:
    """Split instants so that what is computed for each part at once stays small."""
    for first in range(0, instants.size, BLOCK):
        yield instants[first:first + BLOCK]


def _torque_peaks(plan: Plan, feedforward: FeedForward) -> tuple[Array, Array]:
    """Return least and largest Q and Q̇, (2, 2, n), and their times."""
    n = plan.n
    values = np.empty((len(EFFORTS), 2, n))
    times = np.empty_like(values)
    values[:, 0], values[:, 1] = np.inf, -np.inf
    instants = sample_times(plan)
    near: dict[tuple[int, int, int], list[tuple[float, float, float]]] = {}
    for first in range(0, instants.size, BLOCK):
        # Overlapping by a sample at each side, so that no maximum hides at a block's edge.
        part = instants[max(first - 1, 0):first + BLOCK + 1]
        torque = torques(plan, feedforward, part)
        width = np.diff(part).max() if part.size > 1 else 0.0
        for side, sign in ((0, -1.0), (1, 1.0)):
            signed = sign * torque
            best = signed.argmax(axis=0)
            for k in range(len(EFFORTS)):
                for joint in range(n):
                    signal = signed[:, k, joint]
                    top = float(signal[best[k, joint]])
                    if top > sign * values[k, side, joint]:
                        values[k, side, joint] = sign * top
                        times[k, side, joint] = part[best[k, joint]]
                    if width:
                        near.setdefault((k, side, joint), []).extend(
                            _maxima(part, signal, top))
    _refine(plan, feedforward, near, values, times)
    return values, times


def _maxima(instants: Array, signal: Array, top: float) -> list[tuple[float, float, float]]:
    """Return the local maxima near the top as (value, time, distance to their neighbours)."""
    padded = np.concatenate(([-np.inf], signal, [-np.inf]))
    peak = (signal >= padded[:-2]) & (signal > padded[2:]) & (
        signal >= top - (1.0 - NEAR) * abs(top))
    places = np.flatnonzero(peak)
    if places.size > CANDIDATES:
        places = places[np.argsort(signal[places])[-CANDIDATES:]]
    before = instants[np.maximum(places - 1, 0)]
    after = instants[np.minimum(places + 1, instants.size - 1)]
    centre = instants[places]
    reach = np.maximum(centre - before, after - centre)
    return list(zip(
        signal[places].tolist(), centre.tolist(), reach.tolist(), strict=True))


def _refine(
    plan: Plan,
    feedforward: FeedForward,
    near: dict[tuple[int, int, int], list[tuple[float, float, float]]],
    values: Array,
    times: Array,
) -> None:
    """Look around the sampled maxima more and more closely, all at once."""
    chosen = [
        (*key, centre, reach)
        for key, found in near.items()
        for value, centre, reach in sorted(found)[-CANDIDATES:]
    ]
    if not chosen:
        return
    table = np.array(chosen)
    quantity, side, joint = (table[:, k].astype(int) for k in range(3))
    centre, reach = table[:, 3], table[:, 4]
    sign = np.where(side == 1, 1.0, -1.0)
    offsets = np.linspace(-1.0, 1.0, 9)
    rows = np.arange(len(table))
    for _ in range(ROUNDS):
        instants = np.clip(
            centre[:, None] + reach[:, None] * offsets, plan.times[0], plan.times[-1])
        torque = torques(plan, feedforward, instants.ravel()).reshape(
            len(table), offsets.size, len(EFFORTS), -1)
        signal = torque[rows, :, quantity, joint] * sign[:, None]
        best = signal.argmax(axis=1)
        centre, top = instants[rows, best], signal[rows, best]
        reach = reach / 4.0
    for k, s, j, value, time in zip(quantity, side, joint, sign * top, centre, strict=True):
        if (value > values[k, s, j]) if s == 1 else (value < values[k, s, j]):
            values[k, s, j], times[k, s, j] = value, time
