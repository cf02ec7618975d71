"""Checks of the arguments that the public functions share."""
from collections.abc import Mapping
import math
import warnings

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, check_finite, numbers
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.robot_check import check_robot

_MANY_DERIVATIVES = 32  # more rows than this are probably samples, not derivatives


def checked(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    """Return the values as finite C-contiguous float64; another shape raises HodynError."""
    array = numbers(values, name)
    if array.shape != shape:
        raise HodynError(f'{name} has shape {array.shape}; expected {shape}')
    check_finite(array, name)
    return array


def checked_joints(values: ArrayLike, name: str, robot: Robot, least: int) -> Array:
    """Return derivatives of the robot's n joints, (≥ least, n), finite and C-contiguous."""
    check_robot(robot)
    return _checked_rows(numbers(values, name), name, robot, least, (2,))


def checked_motions(
    values: ArrayLike, name: str, robot: Robot, least: int,
) -> tuple[Array, tuple[int, ...]]:
    """Return the joint derivatives of T motions, (T, ≥ least, n), and the shape of the batch.

    This shape is (T,) for a batch, and () for one motion given without an axis for T; then T is 1.
    If `least` is 1, positions `q` without derivatives may be (n,).
    """
    check_robot(robot)
    array = _checked_rows(numbers(values, name), name, robot, least, (2, 3))
    count = len(array) if array.ndim == 3 else 1
    return array.reshape(count, *array.shape[-2:]), array.shape[:-2]


def doubt_derivatives(array: Array, name: str, least: int) -> None:
    """Warn if there are more rows than anybody has derivatives: they are probably samples."""
    if array.shape[-2] > _MANY_DERIVATIVES:
        warnings.warn(
            f'{name} has {array.shape[-2]} rows: row k is the k-th derivative; samples are given '
            f'as (T, {least} or more, {array.shape[-1]})', stacklevel=3)


def check_result(robot: Robot, result: Array, given: Mapping[str, Array]) -> None:
    """Raise HodynError if a result overflows, naming the largest entry of the arguments."""
    # The sum of squares is quick, and finite unless an entry is not or the sum overflows.
    if math.isfinite(np.vdot(result, result)) or np.isfinite(result).all():
        return
    name, array = max(given.items(), key=lambda item: np.abs(item[1]).max(initial=0.0))
    index = np.unravel_index(int(np.abs(array).argmax()), array.shape)
    of_base = name.startswith(('base_', 'external_'))
    joint = '' if of_base else f' (joint {robot.joint_names[index[-1]]!r})'
    raise HodynError(
        f'{name}{[int(i) for i in index]}{joint} is {array[index]:g}: the result overflows; '
        'expected SI units')


def _checked_rows(
    array: Array, name: str, robot: Robot, least: int, axes: tuple[int, ...],
) -> Array:
    if name == 'q' and least == 1 and array.shape == (robot.n,):
        array = array[np.newaxis]  # only positions
    if array.ndim not in axes or array.shape[-2] < least or array.shape[-1] != robot.n:
        rows = f'({least} or more, {robot.n})'
        batch = f' or (T, {least} or more, {robot.n})' if 3 in axes else ''
        raise HodynError(
            f'{name} has shape {array.shape}; expected {rows}{batch} for the {robot.n} joints of '
            f'{robot.name!r}')
    doubt_derivatives(array, name, least)
    if not np.all(np.isfinite(array)):
        place = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise HodynError(
            f'{name}{place} (joint {robot.joint_names[place[-1]]!r}) is {array[tuple(place)]}: '
            'not finite')
    return array


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
) -> tuple[Array, Array] | None:
    """Return pose (…, 4, 4) and twist (…, derivatives, 6) of a floating base, checked.

    Returns None for a fixed base, for which pose and twist must be None.
    """
    check_robot(robot)
    if not robot.floating:
        if pose is not None or twist is not None:
            raise HodynError(
                f'robot {robot.name!r} has a fixed base: leave out base_pose and base_twist')
        return None
    if pose is None or twist is None:
        raise HodynError(
            f'robot {robot.name!r} has a floating base: give its base_pose and base_twist')
    poses = checked_pose(pose, 'base_pose', batch)
    return poses, checked(twist, 'base_twist', (*batch, derivatives, 6))


def coefficients(derivatives: Array, orders: int) -> Array:
    """Return Taylor coefficients (orders, …) of derivatives; missing derivatives count as 0."""
    result = np.zeros((orders, *derivatives.shape[1:]))
    for k, row in enumerate(derivatives[:orders]):
        result[k] = row / math.factorial(k)
    return result


def factorials(orders: int) -> Array:
    """Return 0!, 1!, … (orders,), by which Taylor coefficients become derivatives."""
    return np.array([math.factorial(k) for k in range(orders)], dtype=float)


def external(
    robot: Robot, wrenches: ArrayLike | None, orders: int, batch: tuple[int, ...] = (),
) -> Array:
    """Return wrenches on the bodies, (…, orders, n_bodies, 6), checked; (…, 0, 0, 0) for none."""
    if wrenches is None:
        return np.zeros((*batch, 0, 0, 0))
    return checked(wrenches, 'external_wrenches', (*batch, orders, len(robot.bodies), 6))
