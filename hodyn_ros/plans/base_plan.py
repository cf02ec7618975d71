"""The motion of a base through given poses, as a plan that the node can evaluate in a cycle."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.base_input import (
    LARGEST_ACCELERATION,
    LARGEST_TURN,
    LARGEST_VELOCITY,
)
from hodyn_ros.feedforward.moving_base import write_base_motion
from hodyn_ros.reference import Plan, PosePlan, fit_pose_plan
from hodyn_ros.reference.extrema import sample_times
from hodyn_ros.reference.pieces import divided
from hodyn_ros.robot import HodynError, lie

ACCURACY = 1e-13
"""Largest error of the Taylor terms in the middle of a piece, relative to max(1, the largest value
at the plan's ends)."""
MOST_PARTS, MOST_PIECES = 64, 5000
"""Largest numbers of pieces after refinement, per pair of poses and in all: they bound the size of
the table, which the node unpickles."""


def base_plan(times: Array, positions: Array, turns: Array, placement: Array) -> Plan:
    """Return the plan of a base: 12 columns, the rows of its rotation and then its position.

    `times`, (m,), are seconds since the start, and increase. `positions`, (m, 3), m, and `turns`,
    (m, 4), quaternions (w, x, y, z), are of a frame that moves with the base; `placement`,
    (4, 4), is the pose of this frame in the axes of the base's body. HodynError: fewer than two
    poses, poses that `fit_pose_plan` refuses, or motions faster than a base can move.
    """
    if len(times) < 2:
        raise HodynError(f'a motion of the base needs at least two poses, got {len(times)}')
    poses = np.array([
        lie.pose(lie.rotation_of_quaternion(turn), position)
        for turn, position in zip(turns, positions, strict=True)])
    table = _table(fit_pose_plan(times, poses), lie.inverse(placement))
    _judge(table)
    return table


def _table(plan: PosePlan, of_body: Array) -> Plan:
    """Return the body's motion as polynomial pieces, short enough for `ACCURACY` if possible."""
    knots = plan.position.times
    for parts in 2 ** np.arange(int(np.log2(MOST_PARTS)) + 1):
        times = divided(knots, parts)
        table = Plan.hermite(times, _values(plan, of_body, times), 'base')
        spacings = np.diff(times)
        middles = times[:-1] + 0.5 * spacings
        errors = np.abs(table.evaluate(middles) - _values(plan, of_body, middles))
        # From errors of derivatives to errors of Taylor terms over the length of the piece.
        errors *= spacings[:, None, None] ** np.arange(5)[:, None] / [[1.0], [1], [2], [6], [24]]
        if errors.max() <= ACCURACY * max(1.0, np.abs(table.ends).max()) or (
                2 * len(spacings) > MOST_PIECES):
            break
    return table


def _values(plan: PosePlan, of_body: Array, times: Array) -> Array:
    """Return the 12 entries of the body's poses with their derivatives, (T, 5, 12)."""
    poses = plan.evaluate(times) @ of_body
    return np.concatenate(
        [poses[..., :3, :3].reshape(len(times), 5, 9), poses[..., :3, 3]], axis=-1)


def _judge(table: Plan) -> None:
    """Refuse a motion that is faster than a base can move."""
    times = sample_times(table)
    rotation, hybrid = np.empty((3, 3)), np.empty((len(times), 4, 6))
    for values, twist in zip(table.evaluate(times), hybrid, strict=True):
        write_base_motion(values, rotation, twist)
    for order, part, most, what in (
        (0, 0, LARGEST_TURN, 'angular velocity is {:.4g} rad/s'),
        (0, 3, LARGEST_VELOCITY, 'velocity is {:.4g} m/s'),
        (1, 0, float(LARGEST_ACCELERATION[0]), 'angular acceleration is {:.4g} rad/s²'),
        (1, 3, float(LARGEST_ACCELERATION[1]), 'acceleration is {:.4g} m/s²'),
    ):
        sizes = np.linalg.norm(hybrid[:, order, part:part + 3], axis=1)
        if not (peak := float(sizes.max())) <= most:
            raise HodynError(
                f'its {what.format(peak)} at {times[int(sizes.argmax())]:.3g} s; at most '
                f'{most:g} is accepted: check units and times of its poses')
