"""The joint motion by which a link follows a path of poses."""
import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, numbers
from hodyn_ros.dynamics.argument_checks import checked
from hodyn_ros.dynamics.inverse_kinematics import inverse_kinematics
from hodyn_ros.dynamics.pose_motion import pose_twist
from hodyn_ros.dynamics.pose_solver import solve_pose
from hodyn_ros.dynamics.taylor_coefficients import factorials
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.robot_check import check_robot

MAX_JUMP = 0.1
"""Largest deviation of a joint from its prediction by the previous sample, rad or m."""
MAX_STRETCH = 0.05
"""Largest |s − 1|: the poses move s times as far as their derivatives predict."""
# The times are checked only for at least _FEW samples, and only if half the relative change of the
# twist from sample to sample is at most _COARSE on average: the path may swing between coarser
# samples. They are not checked either for paths shorter than _STILL, rad and m.
_FEW, _COARSE = 30, 0.2
_STILL = 1e-9


def follow_path(
    robot: Robot,
    times: ArrayLike,
    poses: ArrayLike,
    link: str,
    guess: ArrayLike | None = None,
    *,
    within_limits: bool = False,
    damping: float = 0.0,
) -> Array:
    """Return the joint motion by which a link follows poses and their derivatives.

    The Taylor series of each sample predicts the positions at the next sample. From there
    `solve_pose` finds the positions that reach the pose; then `inverse_kinematics` (M21,
    Algorithm 2) returns their derivatives. Positions and derivatives agree even for more than six
    joints: the rates have least norm, and `solve_pose` corrects only the series' remainder.

    Parameters
    ----------
    robot : Robot
        Fixed base; at least six joints carry the link.
    times : (T,) array
        Seconds, increasing.
    poses : (T, k + 1, 4, 4) array
        C, Ċ, … C⁽ᵏ⁾ of the link in the world, k ≥ 1: from `PosePlan.evaluate`, with k = 4, or
        from `pose_derivatives`.
    link : str
        Name of a body, of a link that is merged into a body, or of the tool.
    guess : (n,) array, optional
        Start of the search for the first positions, as for `solve_pose`.
    within_limits : bool
        Keep the joints between their position limits.
    damping : float
        λ of `inverse_kinematics`, for the derivatives.

    Returns
    -------
    (T, k + 1, n) array
        q, q̇, … q⁽ᵏ⁾; for k = 4, an argument of `inverse_dynamics` for Q, Q̇ and Q̈.

    Raises
    ------
    HodynError
        For wrong shapes; if the distances between poses contradict the derivatives; and, naming
        the time, if a pose is not reached or is singular, or if a joint would have to jump by
        more than `MAX_JUMP`.

    """
    check_robot(robot)
    instants, path = numbers(times, 'times'), numbers(poses, 'poses')
    if path.ndim != 4 or path.shape[-2:] != (4, 4) or path.shape[1] < 2 or len(path) == 0:
        raise HodynError(
            f'poses has shape {path.shape}; expected (T, k + 1, 4, 4) with k at least 1')
    instants = checked(instants, 'times', (len(path),))
    if np.any(np.diff(instants) <= 0.0):
        raise HodynError('times must increase')
    twists = pose_twist(path, representation='hybrid')
    _check_times(instants, path[:, 0], twists[:, 0])
    scale = factorials(path.shape[1])
    result = np.empty((*path.shape[:2], robot.n))
    for t, instant in enumerate(instants):
        near = guess
        if t > 0:
            powers = (instant - instants[t - 1]) ** np.arange(path.shape[1]) / scale
            near = powers @ result[t - 1]
            if within_limits:
                near = np.clip(near, robot.limits.position_min, robot.limits.position_max)
        try:
            position = solve_pose(robot, path[t, 0], link, near, within_limits=within_limits)
            result[t] = inverse_kinematics(
                robot, position, twists[t], link, damping=damping, representation='hybrid')
        except HodynError as error:
            raise HodynError(f'at {instant:g} s: {error}') from None
        if t > 0:
            jump = np.abs(position - powers @ result[t - 1])
            if jump.max() > MAX_JUMP:
                joint = int(jump.argmax())
                raise HodynError(
                    f'at {instant:g} s: joint {robot.joint_names[joint]!r} would have to jump by '
                    f'{jump[joint]:.2g} rad or m from its predicted position: give samples closer '
                    'together, or keep the path away from singular poses and limits')
    return result


def _check_times(times: Array, poses: Array, twists: Array) -> None:
    """Raise HodynError if the times contradict the derivatives, by another unit or another pace.

    The derivatives predict that a pose moves by the mean of two samples' hybrid twists times the
    step. `stretch` is the ratio of the actual distance to the predicted one: the median over the
    steps, weighted by their squared lengths. The median ignores single jumps, which `follow_path`
    reports. Coarse samples and noise widen the tolerance.
    """
    steps = np.diff(times)[:, np.newaxis]
    moved, said = np.zeros((2, len(steps), 6))
    moved[:, 3:] = np.diff(poses[:, :3, 3], axis=0)
    turns = poses[1:, :3, :3] @ poses[:-1, :3, :3].swapaxes(1, 2)
    for row, turn in zip(moved, turns, strict=True):
        row[:3] = lie.rotation_log(turn)
    said[:] = 0.5 * steps * (twists[1:] + twists[:-1])
    weights = (said**2).sum(axis=1)
    total = weights.sum()
    if len(times) < _FEW or total < _STILL**2:
        return
    moves = weights > 0.0
    ratios = (moved * said).sum(axis=1)[moves] / weights[moves]
    weights = weights[moves] / total
    order = np.argsort(ratios)
    stretch = ratios[order[np.searchsorted(np.cumsum(weights[order]), 0.5)]]
    coarse = 0.5 * float(np.linalg.norm(
        steps * np.diff(twists, axis=0), axis=1) @ np.linalg.norm(said, axis=1)) / total
    if coarse > _COARSE:
        return
    noise = 4.0 * float(weights @ np.abs(ratios - stretch)) * float(np.linalg.norm(weights))
    if abs(stretch - 1.0) > MAX_STRETCH + coarse + noise:
        raise HodynError(
            f'times: between them the poses move {stretch:.3g} times as far as their derivatives '
            'predict: give the times of the poses in s, and their derivatives per s')
