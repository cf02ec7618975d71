"""Checks of the arguments that the public functions share."""
from collections.abc import Mapping
import math
from typing import NamedTuple
import warnings

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, check_finite, numbers
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.robot_check import check_robot

_MANY_DERIVATIVES = 32  # more rows than this are probably samples, not derivatives


def checked(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    """Return the values as C-contiguous float64, finite and of this shape; else HodynError."""
    array = numbers(values, name)
    if array.shape != shape:
        raise HodynError(f'{name} has shape {array.shape}; expected {shape}')
    check_finite(array, name)
    return array


def checked_motions(
    values: ArrayLike, name: str, robot: Robot, least: int, *, one: bool = False,
) -> tuple[Array, tuple[int, ...]]:
    """Check one motion or a batch; return motions (T, rows, n), and the shape of the batch.

    The shape is (T,) for a batch, and () for one motion (rows, n), whose T is 1. HodynError is
    raised for fewer than `least` rows and, with `one`, for a batch. If `least` is 1, `q` may be
    (n,): positions without derivatives.
    """
    check_robot(robot)
    array, n = numbers(values, name), robot.n
    if name == 'q' and least == 1 and array.shape == (n,):
        array = array[np.newaxis]  # only positions
    if array.ndim not in (2, 3 - one) or array.shape[-2] < least or array.shape[-1] != n:
        rows = f'{least} or more, {n})'
        batch = '' if one else f' or (T, {rows}'
        raise HodynError(
            f'{name} has shape {array.shape}; expected ({rows}{batch} for the {n} joints of '
            f'{robot.name!r}')
    if array.shape[-2] > _MANY_DERIVATIVES:
        warnings.warn(
            f'{name} has {array.shape[-2]} rows: row k is the k-th derivative; samples are given '
            f'as (T, {least} or more, {n})', stacklevel=4)
    _check_finite(array, name, robot)
    return (array if array.ndim == 3 else array[np.newaxis]), array.shape[:-2]


class Motions(NamedTuple):
    """Checked motions of a robot; the first axis of each array has length T, 1 for one motion."""

    q: Array  #: (T, k + 1, n): joint positions and derivatives
    #: Pose, (T, 4, 4), and spatial twist, (T, k, 6), of a floating base; () for a fixed base
    base: tuple[()] | tuple[Array, Array]
    batch: tuple[int, ...]  #: first axes of arguments and results: (T,), or () for one motion


def motions_and_base(
    robot: Robot, q: ArrayLike, least: int, base_pose: ArrayLike | None,
    base_twist: ArrayLike | None,
) -> Motions:
    """Return checked motions of joints and base; q must have `least` rows or more."""
    motions, batch = checked_motions(q, 'q', robot, least)
    return Motions(
        motions, base_state(robot, base_pose, base_twist, batch, motions.shape[1] - 1), batch)


def check_result(
    robot: Robot, result: Array, given: Mapping[str, Array], batch: tuple[int, ...],
) -> None:
    """Raise HodynError if a result overflows, naming the largest entry of the arguments.

    `given` has the arguments by name, with first axes of length T. Without a batch the message
    omits the index on this axis.
    """
    if _is_finite(result):
        return
    name, array = max(given.items(), key=lambda item: np.abs(item[1]).max(initial=0.0))
    index = np.unravel_index(int(np.abs(array).argmax()), array.shape)
    of_base = name.startswith(('base_', 'external_'))
    joint = '' if of_base else f' (joint {robot.joint_names[index[-1]]!r})'
    hint = (
        f'its {array.shape[1]} rows are derivatives; samples are given as (T, rows, {robot.n})'
        if name == 'q' and array.shape[1] > _MANY_DERIVATIVES else 'expected SI units')
    raise HodynError(
        f'{name}{[int(i) for i in index[1 - len(batch):]]}{joint} is {array[index]:g}: the result '
        f'overflows; {hint}')


def _is_finite(array: Array) -> bool:
    # The sum of squares is quick to compute; the entries are examined only if it is not finite.
    return math.isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


def _check_finite(array: Array, name: str, robot: Robot) -> None:
    """Raise HodynError for the first entry that is not finite, naming its joint or body."""
    if _is_finite(array):
        return
    index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    place = (
        f'body {robot.bodies[index[-2]].name!r}' if name == 'external_wrenches'
        else f'joint {robot.joint_names[index[-1]]!r}')
    raise HodynError(f'{name}{list(index)} ({place}) is {array[index]}: not finite')


def checked_pose(pose: ArrayLike, name: str, batch: tuple[int, ...] = ()) -> Array:
    """Return poses (…, 4, 4), checked to have rotations orthonormal to 1e-6."""
    poses = checked(pose, name, (*batch, 4, 4))
    fault = lie.pose_fault(poses)
    if fault:
        raise HodynError(f'{name}: {fault}')
    return poses


def base_state(
    robot: Robot, pose: ArrayLike | None, twist: ArrayLike | None, batch: tuple[int, ...],
    derivatives: int,
) -> tuple[()] | tuple[Array, Array]:
    """Return pose (T, 4, 4) and twist (T, derivatives, 6) of a floating base, checked.

    Returns () for a fixed base, for which pose and twist must be None. If `derivatives` is
    0, the twist may be None.
    """
    if not robot.floating:
        if pose is not None or twist is not None:
            raise HodynError(
                f'robot {robot.name!r} has a fixed base: leave out base_pose and base_twist')
        return ()
    if pose is not None and twist is None and not derivatives:
        twist = np.zeros((*batch, 0, 6))
    if pose is None or twist is None:
        raise HodynError(
            f'robot {robot.name!r} has a floating base: give its base_pose and base_twist')
    count = batch[0] if batch else 1
    return (
        checked_pose(pose, 'base_pose', batch).reshape(count, 4, 4),
        checked(twist, 'base_twist', (*batch, derivatives, 6)).reshape(count, derivatives, 6))


def external(
    robot: Robot, wrenches: ArrayLike | None, orders: int, batch: tuple[int, ...] = (),
) -> Array:
    """Return wrenches on the bodies, (T, orders, n_bodies, 6), checked; (T, 0, 0, 0) for none."""
    count = batch[0] if batch else 1
    if wrenches is None:
        return np.zeros((count, 0, 0, 0))
    array, expected = numbers(wrenches, 'external_wrenches'), (orders, len(robot.bodies), 6)
    if array.shape != (*batch, *expected):
        raise HodynError(
            f'external_wrenches has shape {array.shape}; expected {(*batch, *expected)}')
    _check_finite(array, 'external_wrenches', robot)
    return array.reshape(count, *expected)
