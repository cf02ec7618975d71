"""Simulation of rigid robots: their motion under given joint torques."""
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.common.arrays import numbers
from hodyn_ros.dynamics.argument_checks import checked
from hodyn_ros.dynamics.forward_dynamics import forward_dynamics
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.robot_check import check_robot

Array = NDArray[np.float64]
TorqueLaw = Callable[[float, Array], ArrayLike]
WrenchLaw = Callable[[float, Array], ArrayLike]


def simulate(
    robot: Robot,
    torque: TorqueLaw,
    start: ArrayLike,
    times: ArrayLike,
    *,
    external_wrenches: WrenchLaw | None = None,
    tolerance: float = 1e-9,
) -> Array:
    """Return the motion of a fixed-base robot under a torque law, by Runge-Kutta of order 8.

    The step adapts itself to keep the error of each step below the tolerance, relative and
    absolute.

    Parameters
    ----------
    robot : Robot
        On a fixed base.
    torque : callable
        ``torque(t, state)`` gives the joint torques (n,) at time t, s, and state (2, n).
    start : (2, n) array
        Joint positions and velocities at times[0].
    times : (T,) array
        Increasing, where the states are wanted, s.
    external_wrenches : callable, optional
        ``external_wrenches(t, state)`` gives the wrenches on the bodies (n_bodies, 6), as for
        `inverse_dynamics`.
    tolerance : float
        Largest error of a step, relative and absolute.

    Returns
    -------
    (T, 2, n) array
        The states.

    Raises
    ------
    HodynError
        When the integration fails, with the time, and for bad input.

    """
    check_robot(robot)
    # Loaded on use: nothing else in the package needs it, and a node starts faster without.
    from scipy.integrate import solve_ivp

    state, instants = _start(robot, start), numbers(times, 'times')
    instants = checked(instants, 'times', (max(instants.size, 1),))
    if np.any(np.diff(instants) <= 0.0):
        raise HodynError('times must increase')
    accelerate = _acceleration(robot, torque, external_wrenches)

    def rate(t: float, flat: Array) -> Array:
        here = flat.reshape(2, robot.n)
        return np.concatenate([here[1], accelerate(t, here)])

    solution = solve_ivp(
        rate, (instants[0], instants[-1]), state.ravel(), 'DOP853', instants,
        rtol=tolerance, atol=tolerance)
    if not solution.success:
        reached = instants[len(solution.t) - 1] if len(solution.t) else instants[0]
        raise HodynError(
            f'the motion of robot {robot.name!r} could not be integrated beyond {reached:g} s: '
            f'{solution.message}')
    states: Array = solution.y.T.reshape(-1, 2, robot.n)
    return states


def simulate_by_euler(
    robot: Robot,
    torque: TorqueLaw,
    start: ArrayLike,
    step: float,
    steps: int,
    *,
    external_wrenches: WrenchLaw | None = None,
) -> Array:
    """Return the motion under a torque law by Euler's method, as MR9 section 9.5 prints it.

    MR9 is a draft's chapter 9; in the published book dynamics is chapter 8.
    θ[k + 1] = θ[k] + h θ̇[k], θ̇[k + 1] = θ̇[k] + h θ̈[k] from k = 0 on. Its error falls with the step
    only in proportion, and it adds energy: `simulate` is the one to use.

    Parameters
    ----------
    robot, torque, start, external_wrenches
        As for `simulate`.
    step : float
        h, s, above 0.
    steps : int
        Number of steps.

    Returns
    -------
    (steps + 1, 2, n) array
        The states at times 0, h, 2 h, …

    """
    check_robot(robot)
    if not (np.isfinite(step) and step > 0.0 and steps >= 0):
        raise HodynError(f'step must be above 0 and steps not below, got {step!r} and {steps!r}')
    states = np.empty((steps + 1, 2, robot.n))
    states[0] = _start(robot, start)
    accelerate = _acceleration(robot, torque, external_wrenches)
    for k in range(steps):
        states[k + 1, 0] = states[k, 0] + step * states[k, 1]
        states[k + 1, 1] = states[k, 1] + step * accelerate(k * step, states[k])
    return states


def _start(robot: Robot, start: ArrayLike) -> Array:
    if robot.floating:
        raise HodynError(f'robot {robot.name!r} has a floating base; simulation needs a fixed one')
    return checked(start, 'start', (2, robot.n))


def _acceleration(
    robot: Robot, torque: TorqueLaw, external_wrenches: WrenchLaw | None,
) -> Callable[[float, Array], Array]:
    """Return q̈ as a function of time and state (MR9, GetJointAccel)."""

    def acceleration(t: float, state: Array) -> Array:
        tau = checked(torque(t, state), 'torque(t, state)', (robot.n,))[None]
        wrenches = None
        if external_wrenches is not None:
            wrenches = numbers(external_wrenches(t, state), 'external_wrenches')[None]
        result: Array = forward_dynamics(robot, state, tau, external_wrenches=wrenches)[0]
        return result

    return acceleration
