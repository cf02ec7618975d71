"""The rules by which trajectories from messages and files are accepted."""
from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hodyn_ros.common.arrays import Array, Indices
from hodyn_ros.messages.joint_trajectory import JointWaypoints, Rows
from hodyn_ros.reference.fit import MAX_PIECE
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.joint_names import JointNames
from hodyn_ros.robot.locked_joints import dependence, why_not_commanded

Given = Array | list[Array | None] | None

REST = 1e-3
"""Speed, rad/s or m/s, up to which a first or last point counts as at rest.

joint_trajectory_controller is stricter, 1.2e-7, but MoveIt Servo ends at 5e-5.
"""
# A note says if the first point's velocity differs from the start's by more than REST plus this
# share of it.
_SAME_MOTION = 0.1
_ROUND_OFF = 1e-6  # smaller values, rad/s, rad/s², m/s, m/s², become 0 without a note

QUANTITIES = ('positions', 'velocities', 'accelerations')


class OtherJointsError(HodynError):
    """A trajectory names other joints than the robot's."""


class EndedError(HodynError):
    """A trajectory ended before it could begin."""


@dataclass(frozen=True, eq=False)
class AcceptedWaypoints:
    """Accepted points, in the robot's joint order, as `reference.fit_plan` takes them."""

    #: Joint names as in the trajectory: the robot's, possibly with a driver's prefix
    names: tuple[str, ...]
    times: Array  #: (m,), s from the start of the trajectory, increasing
    positions: Array  #: (m, n), rad (prismatic: m), one row per point
    #: `velocities`, `accelerations`: an (m, n) array; or a list of m rows (n,), None where a point
    #: has no values; or None if no point has any
    velocities: Given = None
    accelerations: Given = None

    def chosen(self, places: Sequence[int], free: Container[int]) -> AcceptedWaypoints:
        """Return points by index.

        Points of the result whose index is in `free` get no velocity or acceleration.
        """
        velocities, accelerations = (
            None if rows is None else [
                None if i in free else rows[place] for i, place in enumerate(places)]
            for rows in (self.velocities, self.accelerations))
        return AcceptedWaypoints(
            self.names, self.times[places], self.positions[places], velocities, accelerations)


def accept(
    trajectory: JointWaypoints,
    joints: JointNames,
    *,
    leave_out_other_joints: bool = False,
) -> AcceptedWaypoints:
    """Return the points in the robot's order, or refuse by joint_trajectory_controller's rules.

    The controller's rule about the last point is in `motion_at_end`. `leave_out_other_joints`
    leaves out joints besides the robot's, such as a gripper's, instead of refusing them.

    It raises:

    - OtherJointsError: unknown, missing or doubled joints, or joints besides the robot's that are
      not locked;
    - HodynError: no points; units of other joint types; rows of the wrong length, points without
      positions; values that are not finite; times that are negative or do not increase; a first
      time above `MAX_PIECE`.
    """
    names = trajectory.names
    if not len(trajectory.times):
        raise HodynError('the trajectory has no points')
    order = _order(names, joints, leave_out_other_joints=leave_out_other_joints)
    _check_units(trajectory, order, joints.robot)
    times = _times(trajectory.times)
    positions, velocities, accelerations = (
        _rows(getattr(trajectory, quantity), quantity, names, len(times), order)
        for quantity in QUANTITIES)
    if not isinstance(positions, np.ndarray):
        i = 0 if positions is None else next(i for i, p in enumerate(positions) if p is None)
        raise HodynError(f'point {i} has no positions')
    return AcceptedWaypoints(
        tuple(names[i] for i in order), times, positions, velocities, accelerations)


def moves_at(points: AcceptedWaypoints, index: int) -> bool:
    """Return whether a joint has a velocity above `REST` at a point."""
    given = None if points.velocities is None else points.velocities[index]
    return given is not None and bool(np.abs(given).max() > REST)


def motion_at_end(points: AcceptedWaypoints) -> str:
    """Return which joint moves faster than `REST` at the last point; empty if none does."""
    last = None if points.velocities is None else points.velocities[-1]
    if last is None or not moves_at(points, -1):
        return ''
    joint = int(np.abs(last).argmax())
    return (
        f'the last point, joint {points.names[joint]!r}: velocity {last[joint]:.6g} is not zero; '
        'end at rest')


def motion_at_start(points: AcceptedWaypoints, start: Array | None) -> str:
    """Return how the first point's velocity differs from the start's; empty if it does not.

    `start` is as in `PlanRequest`: None for a plan that begins as its first point says.
    """
    given = None if points.velocities is None else points.velocities[0]
    if given is None or points.times[0]:
        return ''
    has = np.zeros_like(given) if start is None else start[1]
    differs = np.abs(given - has)
    joint = int(differs.argmax())
    if differs[joint] <= REST + _SAME_MOTION * abs(given[joint]):
        return ''
    name = points.names[joint]
    begins = (
        'the node starts a plan with the velocity of its reference, usually 0' if start is None
        else f'the plan begins with the velocity of the reference, {has[joint]:.3g}')
    return f'the velocity of {name} at the first point is {given[joint]:.3g}, but {begins}'


def with_resting_ends(
    points: AcceptedWaypoints, *, first: bool,
) -> tuple[AcceptedWaypoints, str]:
    """Return points with velocity and acceleration 0 at ends at rest, and a note on the change.

    Time parametrisations with bang-bang accelerations, such as MoveIt's TOTG, give accelerations
    at such ends; the torque would step when the arm begins or ceases to move. `first` is whether
    the plan begins at the first point; if not, only the last point is set to rest.
    """
    notes = []
    rows = {
        kind: given.copy() for kind in QUANTITIES[1:]
        if (given := getattr(points, kind)) is not None}
    ends = {'first': 0, 'last': -1} if first else {'last': -1}
    for name, i in ends.items():
        velocity = rows['velocities'][i] if 'velocities' in rows else None
        if velocity is not None and np.abs(velocity).max() > REST:
            continue
        for kind, values in rows.items():
            given = values[i]
            if given is None or not given.any():
                continue
            joint = int(np.abs(given).argmax())
            if abs(given[joint]) > _ROUND_OFF:
                notes.append(
                    f'the {name} point is at rest: the {kind} there, such as '
                    f'{given[joint]:.3g} of {points.names[joint]}, are taken as 0')
            values[i] = np.zeros_like(given)
    return replace(points, **rows), '; '.join(notes)


def _order(
    names: Sequence[str], joints: JointNames, *, leave_out_other_joints: bool,
) -> Indices:
    """Return the indices of the robot's joints among the names."""
    try:
        order = joints.indices(names)
    except HodynError as error:
        raise OtherJointsError(str(error)) from None
    if len(names) > len(order) and not leave_out_other_joints:
        robot = joints.robot
        prefix = names[order[0]].removesuffix(robot.joint_names[0])
        known = {names[i] for i in order}
        # A locked joint may be named: `left_out_joints` refuses it if it moves.
        extra = [
            name for name in names if name not in known and not dependence(robot, name, prefix)]
        if extra:
            raise OtherJointsError(why_not_commanded(robot, extra, prefix, 'trajectory'))
    return order


def _check_units(
    trajectory: JointWaypoints, order: Indices, robot: Robot,
) -> None:
    for i, body in zip(order, robot.joint_bodies, strict=True):
        column, unit = trajectory.units.get(trajectory.names[i], ('', ''))
        right = 'm' if body.type == 'prismatic' else 'rad'
        if column and unit != right:
            raise HodynError(
                f'column {column!r}: {trajectory.names[i]} is {body.type}, {right}: convert the '
                'values, and the unit in the brackets')


def _times(values: Sequence[float]) -> Array:
    times = np.array(values, dtype=float)
    if not np.isfinite(times).all():
        raise HodynError(f'point {int(np.argmin(np.isfinite(times)))}: its time is not finite')
    if times[0] < 0.0:
        raise HodynError(f'point 0: time_from_start {times[0]:g} s is negative')
    if times[0] > MAX_PIECE:
        raise HodynError(
            f'the first point is at {times[0]:.4g} s; times are seconds from the start of the '
            f'motion, and the first may be at most {MAX_PIECE:g} s: subtract the time at which '
            'the motion starts')
    wrong = np.flatnonzero(np.diff(times) <= 0.0)
    if wrong.size:
        i = int(wrong[0])
        raise HodynError(
            f'point {i + 1}: time_from_start {times[i + 1]:g} s does not increase, '
            f'point {i} is at {times[i]:g} s')
    return times


def _rows(
    rows: Rows, quantity: str, names: tuple[str, ...], count: int, order: Indices,
) -> Given:
    """Return the rows in the robot's order, as one array if every point has a row."""
    lengths = np.array([len(row) for row in rows])
    if not lengths.any():
        return None
    if len(rows) != count:
        raise HodynError(f'{len(rows)} rows of {quantity} for {count} points')
    wrong = np.flatnonzero((lengths != len(names)) & (lengths != 0))
    if wrong.size:
        i = int(wrong[0])
        raise HodynError(f'point {i}: {lengths[i]} {quantity} for {len(names)} joints')
    places: list[int] = np.flatnonzero(lengths).tolist()
    values = np.array([rows[i] for i in places], dtype=np.float64)
    if not np.isfinite(values).all():
        row, joint = np.argwhere(~np.isfinite(values))[0]
        raise HodynError(
            f'point {places[row]}, joint {names[joint]!r}: {values[row, joint]} among the '
            f'{quantity}')
    values = values[:, order]
    if len(places) == count:
        return values
    given: list[Array | None] = [None] * count
    for i, row_values in zip(places, values, strict=True):
        given[i] = row_values
    return given
