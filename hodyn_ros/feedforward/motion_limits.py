"""Limits of a robot's motion: those in its file, and substitutes for missing ones."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.limit_table import LimitTable, unit
from hodyn_ros.feedforward.torque import FeedForward
from hodyn_ros.limits.margins import both
from hodyn_ros.limits.quantities import EFFORTS, QUANTITIES
from hodyn_ros.reference.limits import MotionLimits, largest_ratio
from hodyn_ros.robot import Robot
from hodyn_ros.robot.actuator_doubts import largest_deflections

# Largest part of a usual spring's largest deflection that the weight may cause. It may cause all
# of a deflection that the robot file gives.
_AT_REST = 0.5
# Durations, s, from which missing acceleration and jerk limits are derived, see `motion_limits`.
STOP_TIME, JERK_TIME = 0.25, 0.05


def motion_limits(*models: FeedForward, wrenches: Array | None = None) -> MotionLimits:
    """Return the limits of a robot's motions; efforts are the largest of all `models`.

    A missing acceleration limit is replaced by the acceleration that stops the joint from its
    velocity limit (or 1 rad/s) in STOP_TIME, and a missing jerk limit by the jerk that reaches the
    acceleration limit in JERK_TIME. Efforts include gravity, friction and the external
    wrenches, held constant: only row 0 of `wrenches`, (ORDER + 1, n_bodies, 6), is used.
    """
    limits = models[-1].robot.limits
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, 1.0)
    acceleration = np.where(
        np.isfinite(limits.acceleration), limits.acceleration, speed / STOP_TIME)
    jerk = np.where(np.isfinite(limits.jerk), limits.jerk, acceleration / JERK_TIME)
    bounds = np.vstack((limits.effort, limits.effort_rate))

    def effort_ratio(motion: Array) -> float:
        if not np.isfinite(bounds).any():
            return 0.0
        along = None
        if wrenches is not None:
            along = np.zeros((len(motion), *wrenches.shape))
            along[:, 0] = wrenches[0]
        return max(
            float((np.abs(model.torque(motion, wrenches=along)[:, :2]) / bounds).max())
            for model in models)

    return MotionLimits(
        limits.position_min, limits.position_max, limits.velocity, acceleration, jerk,
        effort_ratio, limits.velocity_law if limits.depend_on_position.any() else None)


def effort_jerk(feedforward: FeedForward, position: Array) -> float:
    """Return the largest jerk that all joints may have at once, each in either direction.

    With this jerk an arm at rest at a position, (n,), keeps its effort-rate limits. The result is
    infinite without such limits.
    """
    units = np.zeros((position.size + 1, 5, position.size))
    units[:, 0] = position
    units[1:, 2] = np.eye(position.size)
    torque = feedforward.torque(units)[:, 0]
    inertia = np.abs(torque[1:] - torque[0]).sum(axis=0)
    return float((feedforward.robot.limits.effort_rate / inertia).min())


def too_heavy(robot: Robot, weight: Array, margin: float) -> str:
    """Return a message if a weight, (n,), exceeds an effort limit by more than a share `margin`.

    It is empty if no joint exceeds its limit.
    """
    worst, share = largest_ratio(weight, np.array(robot.limits.effort))
    if share <= 1.0 + margin:
        return ''
    needed, limit = both(weight[worst], robot.limits.effort[worst])
    si = unit(robot, worst, 'effort')
    return (
        f'the weight needs {needed} {si} from {robot.joint_names[worst]}, beyond its effort limit '
        f'of {limit} {si}: correct the payload, the masses of the links or the limit')


def too_soft(robot: Robot, side: MotorSide, motion: Array, weight: Array) -> str:
    """Return a message if a weight, (n,), deflects a spring too far; else empty.

    The arm stands at the `motion`, (5, n). With springs so much too soft, the reference of the
    motors is far from the arm, and would throw it.
    """
    torque = np.zeros((1, 3, weight.size))
    torque[0, 0] = weight
    elongation = np.abs(side.sample(motion[np.newaxis], torque)[1][0])
    joints, given = side.actuators.motor_joints, side.actuators.motor_limits()[2]
    worst, share = largest_ratio(elongation, np.where(
        np.isfinite(given), given, _AT_REST * largest_deflections(robot)[joints]))
    if not share > 1.0:
        return ''
    joint, turns = int(joints[worst]), bool(robot.turns[joints[worst]])
    right, wrong = ('N m/rad', 'N m/deg') if turns else ('N/m', 'N/mm')
    return (
        f'the weight deflects the spring of {robot.joint_names[joint]} by '
        f"{elongation[worst]:.3g} {unit(robot, joint, 'position')}: is its stiffness in {wrong}? "
        f'Give it in {right}; if the spring is so soft, give its max_deflection in the robot file')


@dataclass(frozen=True)
class EffortExcess:
    """An effort, a motor's speed or a spring's deflection, beyond its limit."""

    place: int  #: Index of the joint or, for a motor's quantities, of the motor
    #: 'torque', 'torque rate', 'motor velocity', 'motor torque' or 'deflection'; if `is_refused`,
    #: any published quantity, such as 'motor position'
    quantity: str
    #: `value`, `limit`: The value, with its sign, and the limit of its magnitude: N m, N m/s,
    #: rad/s (prismatic: N, N/s, m/s)
    value: float
    limit: float
    #: Whether `last_gate`, the check before publishing, refused it, so that it is not published
    is_refused: bool = False


class EffortWatch:
    """Compares the efforts of each cycle, of links and motors, with their limits."""

    def __init__(self, feedforward: FeedForward, margin: float) -> None:
        """Take the robot's limits, and the share by which they may be exceeded."""
        # Q̈ and the motors' positions and accelerations have no limits.
        self._of_links = _Rows(feedforward, (*EFFORTS, ''))
        self._of_motors = _Rows(
            feedforward, ('', 'motor_velocity', '', 'motor_effort', 'deflection'))
        self._margin = 1.0 + margin

    def excess(self, torque: Array, motors: Array | None) -> EffortExcess | None:
        """Return the worst value beyond its limit and margin, or None.

        `torque`, (3, n), is checked in Q and Q̇. If these are within their limits, `motors`,
        (5, m), the reference θ, θ̇, θ̈, τ_m and the springs' elongations, is checked.
        """
        found = self._of_links.excess(torque, self._margin)
        if found is None and motors is not None:
            found = self._of_motors.excess(motors, self._margin)
        return found


class _Rows:
    """Bounds of the limit table as rows of an array; rows without a name have infinite bounds."""

    def __init__(self, feedforward: FeedForward, names: tuple[str, ...]) -> None:
        tables = {name: LimitTable(feedforward, quantities=(name,)) for name in names if name}
        self._names, self._count = names, max(table.upper.size for table in tables.values())
        limits = np.full((len(names), self._count), np.inf)
        for row, name in enumerate(names):
            if name:
                places = [column.rank[-1] for column in tables[name].columns]
                limits[row, places] = tables[name].upper
        self._limits = limits.ravel()

    def excess(self, values: Array, most: float) -> EffortExcess | None:
        """Return the value with the largest share of its limit, None if it is at most `most`."""
        place, ratio = largest_ratio(values.ravel(), self._limits)
        if ratio <= most:
            return None
        row, column = divmod(place, self._count)
        title = QUANTITIES[self._names[row]].title.replace('_', ' ')
        return EffortExcess(column, title, values.item(place), self._limits.item(place))
