"""Spherical joints by rotation and angular velocity: exact, to any order, at any rotation.

AGF26, appendix D, step 3, describes such a joint by its element of SO(3). In the kernels it is a
chart: three revolute joints (`robot/spherical.py`), centred so that their coordinates are regular
at the current rotation. Inputs and results are converted between chart and SO(3) by ω = J(q) q̇
and, for the moment m, by τ = Jᵀ m (virtual power), each with its time derivatives.
"""
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.common.arrays import Array, numbers
from hodyn_ros.dynamics.argument_checks import checked, checked_motions
from hodyn_ros.dynamics.forward_kinematics import forward_kinematics, jacobian
from hodyn_ros.dynamics.taylor_coefficients import (
    coefficients,
    derivatives,
    product,
    solution,
    transposed,
)
from hodyn_ros.robot import HodynError, Limits, Robot, lie
from hodyn_ros.robot.robot_check import check_robot
from hodyn_ros.robot.spherical import first_body

Rotations = Mapping[str, ArrayLike]
"""Rotations (3, 3) or (T, 3, 3) by the names of spherical joints."""

FARTHEST = 1.0
"""A chart is re-centred if its second joint is farther than this from 0, rad (cosine 0.54)."""
_MAX_ROUND_OFF = 1e-6
"""Largest relative round-off of derivatives; coordinates with more count as singular."""


class SphericalJoint:
    """Conversion between the rotation of a spherical joint and the robot's coordinates for it.

    The rotation R takes vectors from the body's axes to the axes that the body has at the zero
    position. The angular velocity ω relative to the parent (rad/s) and the moment m of the joint
    on the body (N m) are in the body's axes, as in MuJoCo and Pinocchio; derivatives are
    component-wise. The coordinates are the positions of the joints NAME_x, NAME_y, NAME_z (rad)
    and their derivatives. With a batch, T is the first axis of all arrays.

    Attributes
    ----------
    name : str
        Name of the joint.
    columns : slice
        Place of the three coordinates in the joint vectors of the robot.
    center : (3, 3) array
        The rotation at which the coordinates are 0: see `Robot.with_rotation`.

    Raises
    ------
    HodynError
        If the robot has no such joint; from the methods, for bad input, and if the coordinates are
        so near to singular (NAME_y = ±90°) that rounding would spoil the result.

    """

    def __init__(self, robot: Robot, name: str) -> None:
        check_robot(robot)
        first = first_body(robot, name)
        bodies = robot.bodies[first:first + 3]
        start = robot.joint_names.index(bodies[0].joint)
        self.name, self.columns = name, slice(start, start + 3)
        self.center = bodies[2].placement[:3, :3]
        self._link = bodies[2].name
        self._chart = Robot(name, np.zeros(3), (
            replace(bodies[0], parent=-1, placement=np.eye(4)),
            *(replace(body, parent=k) for k, body in enumerate(bodies[1:]))), (), Limits.none(3))

    def motion(self, coordinates: ArrayLike) -> tuple[Array, Array]:
        """Return R (3, 3) and ω with its derivatives (k, 3), from coordinates (k + 1, 3)."""
        pose, twist = forward_kinematics(
            self._chart, coordinates, self._link, representation='body_fixed')
        return pose[..., :3, :3], twist[..., :3]

    def coordinates(self, rotation: ArrayLike, velocity: ArrayLike | None = None) -> Array:
        """Return the coordinates (k + 1, 3), from R (3, 3) and ω with its derivatives (k, 3).

        The first and third coordinate are within ±π, the second within ±π/2.
        """
        turn = numbers(rotation, 'rotation')
        batch = turn.shape[:1] if turn.ndim == 3 else ()
        turn = _checked_rotations(turn, self.name, batch)
        given = numbers(np.zeros((*batch, 0, 3)) if velocity is None else velocity, 'velocity')
        orders = given.shape[-2] if given.ndim > 1 else 0
        given = checked(given, 'velocity', (*batch, orders, 3))
        e = turn @ self.center.T  # Rx Ry Rz
        result = np.zeros((*batch, orders + 1, 3))
        result[..., 0, :] = np.stack([
            np.arctan2(-e[..., 1, 2], e[..., 2, 2]),
            np.arctan2(e[..., 0, 2], np.hypot(e[..., 0, 0], e[..., 0, 1])),
            np.arctan2(-e[..., 0, 1], e[..., 0, 0])], axis=-1)
        if orders:
            self._check_regular(result, orders)
            inverse = np.linalg.inv(self._jacobian(result[..., :1, :])[..., 0, :, :])
        for k in range(orders):
            # ω⁽ᵏ⁾ contains J times the next derivative of q, which is still 0 here.
            _, found = self.motion(result[..., :k + 2, :])
            missing = given[..., k, :] - found[..., k, :]
            result[..., k + 1, :] = (inverse @ missing[..., np.newaxis])[..., 0]
        return result

    def torques(self, coordinates: ArrayLike, moment: ArrayLike) -> Array:
        """Return τ of the three joints from the moment, each with its derivatives, (r + 1, 3).

        The coordinates (r + 1 or more, 3) are used up to their r-th derivative.
        """
        given, matrix, batch = self._factors(coordinates, moment, 'moment')
        return _derivatives(product(transposed, matrix, given), batch)

    def moment(self, coordinates: ArrayLike, torques: ArrayLike) -> Array:
        """Return the moment from τ, each with derivatives (r + 1, 3): the inverse of `torques`."""
        given, matrix, batch = self._factors(coordinates, torques, 'torques')
        self._check_regular(numbers(coordinates, 'q'), len(given))
        found = solution(matrix.swapaxes(-1, -2), given[..., np.newaxis])
        return _derivatives(found[..., 0], batch)

    def sine(self, rotation: Array) -> Array:
        """Return sin q of the second joint at rotations (…, 3, 3)."""
        return np.asarray(rotation[..., 0, :] @ self.center[2])

    def _jacobian(self, coordinates: Array) -> Array:
        return jacobian(
            self._chart, coordinates, self._link, representation='body_fixed')[..., :3, :]

    def _factors(
        self, coordinates: ArrayLike, efforts: ArrayLike, name: str,
    ) -> tuple[Array, Array, tuple[int, ...]]:
        """Return coefficients of efforts (r + 1, T, 3) and J (r + 1, T, 3, 3), and () or (T,)."""
        given, batch = checked_motions(efforts, name, self._chart, 1)
        orders = given.shape[1]
        motion, _ = checked_motions(coordinates, 'q', self._chart, orders)
        if len(motion) != len(given):
            raise HodynError(f'{name}: given for {len(given)} motions, q for {len(motion)}')
        columns = self._jacobian(motion[:, :orders])
        return (
            coefficients(given.swapaxes(0, 1), orders),
            coefficients(columns.swapaxes(0, 1), orders), batch)

    def _check_regular(self, coordinates: Array, orders: int) -> None:
        """Raise HodynError if round-off is too large: each order divides it by cos NAME_y."""
        cosine = np.abs(np.cos(coordinates[..., 0, 1])).min(initial=1.0)
        if _MAX_ROUND_OFF * cosine ** orders < np.finfo(float).eps:
            raise HodynError(
                f'the coordinates of spherical joint {self.name!r} are singular where '
                f"'{self.name}_y' is ±90°, and too near to that here (cosine {cosine:.1e}): "
                're-centre them (Robot.with_rotation)')


def _derivatives(values: Array, batch: tuple[int, ...]) -> Array:
    """Return derivatives (…, r + 1, 3) of coefficients (r + 1, T, 3)."""
    rows: Array = derivatives(values).swapaxes(0, 1)
    return rows.reshape(*batch, len(values), 3)


def _checked_rotations(values: ArrayLike, name: str, batch: tuple[int, ...]) -> Array:
    """Return rotations (…, 3, 3), checked."""
    where = f'rotation of joint {name!r}'
    matrices = checked(values, where, (*batch, 3, 3))
    poses = np.zeros((*batch, 4, 4))
    poses[..., :3, :3], poses[..., 3, 3] = matrices, 1.0
    if fault := lie.pose_fault(poses):
        raise HodynError(f'{where}: {fault}')
    return matrices


def inverse_on_rotations(
    call: Callable[..., Any], robot: Robot, q: ArrayLike, rotations: Rotations,
    others: Mapping[str, ArrayLike | None], **settings: Any,
) -> Any:
    """Return the result of `call`, inverse dynamics, for spherical joints given by rotations."""

    def run(chart: Robot, turns: Mapping[str, Array], motion: Array, given: Any) -> list[Array]:
        inner = _in_charts(chart, turns, motion)
        found = call(chart, inner, **given, **settings)
        torque, *base = found if robot.floating else (found,)
        for joint in (_joint(chart, name) for name in turns):
            torque[..., joint.columns] = joint.moment(
                inner[..., joint.columns], torque[..., joint.columns])
        return [torque, *base]

    return _by_charts(run, robot, q, 3, rotations, others)


def forward_on_rotations(
    call: Callable[..., Any], robot: Robot, q: ArrayLike, rotations: Rotations, tau: ArrayLike,
    others: Mapping[str, ArrayLike | None],
) -> Any:
    """Return the result of `call`, forward dynamics, for spherical joints given by rotations.

    The r-th derivative of a chart's torques needs the r-th derivative of its coordinates. Each
    call of forward dynamics determines two more derivatives of these.
    """

    def run(chart: Robot, turns: Mapping[str, Array], state: Array, given: Any) -> list[Array]:
        inner, moments = _in_charts(chart, turns, state[:, :2]), given.pop('tau')
        orders, known = moments.shape[1], 0
        joints = [_joint(chart, name) for name in turns]
        while known < orders:
            known = min(inner.shape[1], orders)
            torque = moments[:, :known].copy()
            for joint in joints:
                torque[..., joint.columns] = joint.torques(
                    inner[..., joint.columns], torque[..., joint.columns])
            found = call(chart, inner[:, :2], torque, **{
                name: values[:, :known] if name in ('base_wrench', 'external_wrenches')
                else values for name, values in given.items()})
            acceleration, *base = found if robot.floating else (found,)
            inner = np.concatenate([inner[:, :2], acceleration], axis=1)
        for joint in joints:
            acceleration[..., joint.columns] = joint.motion(inner[..., joint.columns])[1][:, 1:]
        return [acceleration, *base]

    return _by_charts(run, robot, q, 2, rotations, {'tau': tau, **others})


def regular_charts(
    robot: Robot, rotations: Mapping[str, Array],
) -> Iterator[tuple[Robot, NDArray[np.int64]]]:
    """Yield robots with regular charts, each with the indices of the rotations that fit it."""
    left = np.arange(len(next(iter(rotations.values()))))
    while True:
        fits = np.full(len(left), True)
        for name, turn in rotations.items():
            fits &= np.abs(_joint(robot, name).sine(turn[left])) <= np.sin(FARTHEST)
        if fits.any() or not left.size:
            yield robot, left[fits]
        left = left[~fits]
        if not left.size:
            return
        for name, turn in rotations.items():
            robot = robot.with_rotation(name, turn[left[0]])


def checked_rotations(
    robot: Robot, rotations: Rotations, batch: tuple[int, ...],
) -> dict[str, Array]:
    """Return the rotations of spherical joints, (…, 3, 3) each, checked."""
    if not isinstance(rotations, Mapping) or not rotations:
        raise HodynError(
            'rotations: expected rotations of spherical joints by name, as {"shoulder": R}, got '
            f'{rotations!r:.80}')
    for name in rotations:
        first_body(robot, name)
    return {name: _checked_rotations(turn, name, batch) for name, turn in rotations.items()}


@lru_cache(maxsize=128)
def _joint(robot: Robot, name: str) -> SphericalJoint:
    return SphericalJoint(robot, name)


def _in_charts(robot: Robot, rotations: Mapping[str, Array], motion: Array) -> Array:
    """Return motions (T, k + 1, n) with coordinates instead of ω in the joints' columns."""
    inner: Array = motion.copy()
    for name, turn in rotations.items():
        joint = _joint(robot, name)
        inner[..., joint.columns] = joint.coordinates(turn, motion[:, 1:, joint.columns])
    return inner


def _by_charts(
    run: Callable[..., list[Array]], robot: Robot, q: ArrayLike, least: int, rotations: Rotations,
    others: Mapping[str, ArrayLike | None],
) -> Any:
    """Return the results of `run` in regular charts, joined in the order of the batch."""
    motion, batch = checked_motions(q, 'q', robot, least)
    turns = {name: turn.reshape(len(motion), 3, 3) for name, turn in checked_rotations(
        robot, rotations, batch).items()}
    given = {}
    for name, values in others.items():
        if values is not None:
            array = numbers(values, name)
            given[name] = array if batch else array[np.newaxis]
            if len(given[name]) != len(motion):
                raise HodynError(
                    f'{name} has shape {array.shape}; expected one entry for each of the '
                    f'{len(motion)} motions')
    parts = [
        (where, run(chart, {name: turn[where] for name, turn in turns.items()}, motion[where], {
            name: values[where] for name, values in given.items()}))
        for chart, where in regular_charts(robot, turns)]
    order = np.argsort(np.concatenate([where for where, _ in parts]))
    results = [
        np.concatenate(values)[order].reshape(*batch, *values[0].shape[1:])
        for values in zip(*(found for _, found in parts), strict=True)]
    return tuple(results) if len(results) > 1 else results[0]
