"""Joint positions that bring a link to a pose: geometric inverse kinematics."""
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, number
from hodyn_ros.dynamics.argument_checks import checked, checked_pose
from hodyn_ros.dynamics.forward_kinematics import forward_kinematics, jacobian, path_to
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.robot_check import check_robot

RESTARTS = 20  # further starts of the search if no guess is given


def solve_pose(
    robot: Robot,
    pose: ArrayLike,
    link: str,
    guess: ArrayLike | None = None,
    *,
    within_limits: bool = False,
    tolerance: float = 1e-10,
    iterations: int = 200,
) -> Array:
    """Return joint positions at which a link has this pose, by Newton's method.

    The error is (rotation vector of R_d Rᵀ, p_d − p), with the wanted pose (R_d, p_d) and the
    link's (R, p). Only steps that reduce it are accepted. Levenberg's damping of the steps
    vanishes near a regular solution. A redundant arm stays near the guess.

    Parameters
    ----------
    robot : Robot
        Fixed base.
    pose : (4, 4) array
        Wanted pose of the link in the world.
    link : str
        Name of a body, of a link that is merged into a body, or of the tool.
    guess : (n,) array, optional
        Start of the search. By default it starts in the middle of the joints' ranges (half a turn
        or 1 m each way for joints without limits) and, if that fails, at points spread over them.
    within_limits : bool
        Keep the joints between their position limits.
    tolerance : float
        Largest error of the result, rad and m.
    iterations : int
        Largest number of iterations from each start.

    Returns
    -------
    (n,) array
        Joint positions. Joints that do not carry the link keep their guess.

    Raises
    ------
    HodynError
        If the pose is not reached, with the remaining error: the pose may be out of reach or
        beyond the limits, or the guess too far away; and for wrong shapes.

    """
    check_robot(robot)
    if robot.floating:
        raise HodynError(
            f'robot {robot.name!r} has a floating base; inverse kinematics needs a fixed one')
    if not (
            number(tolerance, 'tolerance') > 0.0
            and isinstance(iterations, (int, np.integer)) and iterations >= 1):
        raise HodynError(
            'tolerance must be above 0 and iterations an integer of at least 1, got '
            f'{tolerance!r} and {iterations!r}')
    target = checked_pose(pose, 'pose')
    low, high = robot.limits.position_min, robot.limits.position_max
    starts = _starts(robot) if guess is None else [checked(guess, 'guess', (robot.n,)).copy()]
    q = starts[0]
    if within_limits and np.any((q < low) | (q > high)):
        joint = int(np.argmax((q < low) | (q > high)))
        raise HodynError(
            f'guess of joint {robot.joint_names[joint]!r} is {q[joint]:g}, beyond its limits '
            f'{low[joint]:g} … {high[joint]:g}')
    carriers = path_to(robot, robot.frame(link)[0])
    if not carriers:
        raise HodynError(f'link {link!r} of robot {robot.name!r} is fixed to the world')
    joints = robot.coupling.joints_of(carriers)
    bounds = (low[joints], high[joints]) if within_limits else None

    residuals = []
    for start in starts:
        found, residual = _descend(
            robot, start, link, joints, target, bounds, tolerance, iterations)
        if np.abs(residual.error).max() <= tolerance:
            return found
        residuals.append(residual)
    best = min(residuals, key=lambda residual: residual.cost)
    turn, shift = np.linalg.norm(best.error[:3]), np.linalg.norm(best.error[3:])
    raise HodynError(
        f'link {link!r} of robot {robot.name!r} does not reach the pose'
        f'{" within the joint limits" if within_limits else ""}: {shift:.3g} m and {turn:.3g} rad '
        'remain; is it out of reach, or is the guess too far away?')


class _Residual(NamedTuple):
    """Pose error (6,) of a configuration, half its squared norm, and the Jacobian."""

    error: Array
    cost: float
    jacobian: Array


def _residual(
    robot: Robot, q: Array, link: str, joints: list[int], target: Array,
) -> _Residual:
    pose, _ = forward_kinematics(robot, q, link)
    error = np.concatenate([
        lie.rotation_log(target[:3, :3] @ pose[:3, :3].T), target[:3, 3] - pose[:3, 3]])
    columns = jacobian(robot, q, link, representation='hybrid')[0][:, joints]
    return _Residual(error, 0.5 * float(error @ error), columns)


def _descend(
    robot: Robot, q: Array, link: str, joints: list[int], target: Array,
    bounds: tuple[Array, Array] | None, tolerance: float, iterations: int,
) -> tuple[Array, _Residual]:
    """Return the last configuration from one start, and its residual."""
    damping = 1e-3
    here = _residual(robot, q, link, joints, target)
    for _ in range(iterations):
        if np.abs(here.error).max() <= tolerance:
            break
        step = _step(here, damping * here.cost, q[joints], bounds)
        if np.abs(step).max() <= 1e-15 * max(1.0, np.abs(q).max()):
            break
        ahead = q.copy()
        ahead[joints] += step
        there = _residual(robot, ahead, link, joints, target)
        if there.cost < here.cost:
            q, here, damping = ahead, there, 0.1 * damping
        else:
            damping = max(10.0 * damping, 1e-12)
    return q, here


def _step(here: _Residual, damping: float, q: Array, bounds: tuple[Array, Array] | None) -> Array:
    """Return the damped Newton step, in which joints stop at their limits."""
    step = np.zeros(len(q))
    error, free = here.error, np.ones(len(q), dtype=bool)
    while np.any(free):
        jacobian = here.jacobian[:, free]
        stacked = np.concatenate([jacobian, np.sqrt(damping) * np.eye(jacobian.shape[1])])
        step[free] = np.linalg.lstsq(
            stacked, np.concatenate([error, np.zeros(jacobian.shape[1])]), rcond=1e-12)[0]
        if bounds is None:
            break
        low, high = bounds
        beyond = free & ((q + step < low) | (q + step > high))
        if not np.any(beyond):
            break
        step[beyond] = np.clip(q + step, low, high)[beyond] - q[beyond]
        free &= ~beyond
        error = here.error - here.jacobian[:, ~free] @ step[~free]
    return step


def _starts(robot: Robot) -> list[Array]:
    """Return the middle of the joint ranges, and `RESTARTS` points spread evenly over them."""
    low, high = robot.limits.position_min, robot.limits.position_max
    reach = np.where(robot.turns, np.pi, 1.0)
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2.0 * reach, -reach))
    high = np.where(np.isfinite(high), high, np.maximum(low + 2.0 * reach, reach))
    # The points (i/x, i/x², … i/xⁿ) modulo 1, with xⁿ⁺¹ = x + 1, fill the unit cube evenly.
    base = 2.0
    for _ in range(50):
        base = (1.0 + base) ** (1.0 / (robot.n + 1))
    points = np.outer(np.arange(1, RESTARTS + 1), base ** -np.arange(1.0, robot.n + 1)) % 1.0
    return [0.5 * (low + high), *(low + (high - low) * points)]
