"""Simulation of rigid robots: their motion under joint torques."""
from collections.abc import Callable
import inspect
import reprlib
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, number, numbers
from hodyn_ros.dynamics.argument_checks import base_state, checked
from hodyn_ros.dynamics.forward_dynamics import forward_dynamics
from hodyn_ros.dynamics.spherical_joints import (
    Rotations,
    SphericalJoint,
    checked_rotations,
    regular_charts,
)
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.robot_check import check_robot
from hodyn_ros.robot.spherical import singular_chart, spherical_joints

Law = Callable[..., ArrayLike]
"""Function of t, state, the pose and twist of a floating base, and rotations if they are given."""

_METHODS = {3: 'RK23', 5: 'RK45', 8: 'DOP853'}  # names in scipy.integrate
_FASTEST = 1e4
"""Speed limit of joints, rad/s or m/s, and of a turning base, rad/s: 95 000 rpm, above any robot.

Steps shrink as speeds grow, so without it the integration of a divergent motion would not end.
"""


@overload
def simulate(
    robot: Robot, torque: Law, start: ArrayLike, times: ArrayLike, *,
    external_wrenches: Law | None = ..., order: Literal[3, 5, 8] = ..., tolerance: float = ...,
    step: float | None = ...,
) -> Array: ...


@overload
def simulate(
    robot: Robot, torque: Law, start: ArrayLike, times: ArrayLike, *, base_pose: ArrayLike,
    base_twist: ArrayLike, base_wrench: Law | None = ..., external_wrenches: Law | None = ...,
    order: Literal[3, 5, 8] = ..., tolerance: float = ..., step: float | None = ...,
) -> tuple[Array, Array, Array]: ...


@overload
def simulate(
    robot: Robot, torque: Law, start: ArrayLike, times: ArrayLike, *, rotations: Rotations,
    base_pose: ArrayLike | None = ..., base_twist: ArrayLike | None = ...,
    base_wrench: Law | None = ..., external_wrenches: Law | None = ...,
    order: Literal[3, 5, 8] = ..., tolerance: float = ..., step: float | None = ...,
) -> tuple[Any, ...]: ...


def simulate(
    robot: Robot,
    torque: Law,
    start: ArrayLike,
    times: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
    base_wrench: Law | None = None,
    rotations: Rotations | None = None,
    external_wrenches: Law | None = None,
    order: Literal[3, 5, 8] = 8,
    tolerance: float = 1e-9,
    step: float | None = None,
) -> Array | tuple[Any, ...]:
    """Return the motion of a robot under given torques, by an explicit Runge-Kutta method.

    Each step has the length that keeps its error below the tolerance, relative and absolute. A
    floating base is integrated by the method of Munthe-Kaas on SE(3): its pose is C exp(X), where
    C is the pose at the start of the step, and Ẋ = dexp⁻¹(V) with the body-fixed twist V. So the
    matrix remains a pose up to rounding, and the steps do not depend on where the base is.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    torque : callable
        ``torque(t, state)`` returns the joint torques (n,) at time t, s, and state (2, n). On a
        floating base all callables get ``(t, state, base_pose, base_twist)``, (4, 4) and (1, 6).
    start : (2, n) array
        Joint positions and velocities at times[0].
    times : (T,) array
        Times of the states to return, increasing, s.
    base_pose, base_twist : (4, 4) and (1, 6) arrays, optional
        Pose and spatial twist of a floating base at times[0], in world axes.
    base_wrench : callable, optional
        Returns the wrench (moment, force) on a floating base, (6,), in world axes about the world
        origin; none acts by default.
    rotations : mapping of str to (3, 3) array, optional
        Rotations of spherical joints at times[0], as for `inverse_dynamics`: the columns of such a
        joint are 0 and ω in all states, and the moment in the torques. Each callable gets the
        rotations as last argument. Other spherical joints keep their coordinates; HodynError is
        raised when one of them reaches NAME_y = ±90°.
    external_wrenches : callable, optional
        ``external_wrenches(t, state)`` returns the wrenches on the bodies (n_bodies, 6), as for
        `inverse_dynamics`.
    order : 3, 5 or 8
        Order of the method: 3 by Bogacki and Shampine, 5 or 8 by Dormand and Prince.
    tolerance : float
        Largest error of a step, relative and absolute.
    step : float, optional
        Fixed length of the steps, s; the last one may be shorter, and `tolerance` is not used.

    Returns
    -------
    states : (T, 2, n) array
        The states.
    base_pose, base_twist : (T, 4, 4) and (T, 1, 6) arrays
        Only for a floating base: pose and spatial twist.
    rotations : dict of str to (T, 3, 3) array
        Only if `rotations` is given.

    Raises
    ------
    HodynError
        If the integration fails, with the time; if a joint moves, or a floating base turns, faster
        than 1e4 rad/s (m/s), with the time and the joint; and for bad input.

    """
    check_robot(robot)
    _check_laws(_given_to_laws(robot, rotations is not None), {
        'torque': torque, 'base_wrench': base_wrench, 'external_wrenches': external_wrenches})
    # Imported here, so that a node starts faster.
    from scipy import integrate

    state, instants = checked(start, 'start', (2, robot.n)), numbers(times, 'times')
    instants = checked(instants, 'times', (max(instants.size, 1),))
    if np.any(np.diff(instants) <= 0.0):
        raise HodynError('times must increase')
    if order not in _METHODS:
        raise HodynError(f'order {order!r}: expected one of {", ".join(map(str, _METHODS))}')
    for name, value in (('tolerance', tolerance), ('step', step)):
        if value is not None and checked(value, name, ()) <= 0.0:
            raise HodynError(f'{name} must be above 0, got {value!r}')
    motion = _Motion(
        robot, state, base_pose, base_twist, rotations, torque, base_wrench, external_wrenches)
    length = instants[-1] - instants[0]
    control: dict[str, float] = {'rtol': tolerance, 'atol': tolerance}
    if step is not None and length:  # accept any error
        control = {'atol': np.inf, 'max_step': step, 'first_step': min(step, length)}
    found = [motion.unpacked(motion.start)]
    solver = None if len(instants) == 1 else getattr(integrate, _METHODS[order])(
        motion.rate, instants[0], motion.start, instants[-1], **control)
    while solver and solver.status == 'running':
        try:
            message = solver.step()
        except HodynError as error:
            raise HodynError(f'beyond {solver.t:g} s: {error}') from None
        if solver.status == 'failed':
            raise HodynError(
                f'the motion of robot {robot.name!r} could not be integrated beyond '
                f'{solver.t:g} s: {message}')
        motion.check_speed(solver.t, solver.y)
        passed = instants[len(found):np.searchsorted(instants, solver.t, side='right')]
        found += [motion.unpacked(flat) for flat in solver.dense_output()(passed).T]
        motion.move_charts(solver.t, solver.y, solver.f)
    states, *others = zip(*found, strict=True)
    results = [np.array(states), *(np.array(values) for values in others[:2 * robot.floating])]
    if rotations is not None:
        return (*results, {
            name: np.array([turns[name] for turns in others[-1]]) for name in rotations})
    return tuple(results) if robot.floating else results[0]


class _Motion:
    """The state of a robot as a flat array, and its derivative, for the methods of scipy.

    The array is X, V, q, q̇ for a floating base with pose C exp(X) and body-fixed twist V, and q, q̇
    for a fixed base. A spherical joint at the rotation R exp(x) has x in q and ω in q̇. C and R are
    the pose and the rotation at the start of the step.
    """

    def __init__(
        self, robot: Robot, state: Array, base_pose: ArrayLike | None,
        base_twist: ArrayLike | None, rotations: Rotations | None, torque: Law,
        base_wrench: Law | None, external_wrenches: Law | None,
    ) -> None:
        base = base_state(robot, base_pose, base_twist, (), 1)
        if not base and base_wrench is not None:
            raise HodynError(f'robot {robot.name!r} has a fixed base: leave out base_wrench')
        self._laws = torque, base_wrench, external_wrenches
        self._robot, self._first = robot, 12 * robot.floating
        self._turns = {} if rotations is None else {
            name: lie.nearest_rotation(turn)
            for name, turn in checked_rotations(robot, rotations, ()).items()}
        self._fixed_charts = [name for name in spherical_joints(robot) if name not in self._turns]
        self._columns = {name: SphericalJoint(robot, name).columns for name in self._turns}
        state = state.copy()
        for columns in self._columns.values():
            state[0, columns] = 0.0
        self.start = state.ravel()
        if base:
            self._chart = _as_pose(base[0][0])
            twist = lie.adjoint(lie.inverse(self._chart)) @ base[1][0, 0]
            self.start = np.concatenate([np.zeros(6), twist, self.start])

    def unpacked(self, flat: Array) -> tuple[Any, ...]:
        """Return the state, pose and spatial twist of a floating base, and rotations, if any."""
        state = flat[self._first:].reshape(2, self._robot.n).copy()
        others: list[Any] = []
        if self._robot.floating:
            pose = self._chart @ lie.exp(flat[:6])
            others = [pose, (lie.adjoint(pose) @ flat[6:12])[np.newaxis]]
        if self._turns:
            others.append({
                name: turn @ lie.rotation_exp(state[0, self._columns[name]])
                for name, turn in self._turns.items()})
        for columns in self._columns.values():
            state[0, columns] = 0.0
        return state, *others

    def rate(self, t: float, flat: Array) -> Array:
        """Return the derivative of the flat array."""
        state, *others = self.unpacked(flat)
        found = _acceleration(self._robot, *self._laws, t, state, *others)
        acceleration = found[0] if self._robot.floating else found
        rates = np.concatenate([state[1], acceleration[0]])
        for columns in self._columns.values():
            turn = flat[self._first:][columns]
            rates[columns] = lie.dexp_inverse(
                np.append(-turn, np.zeros(3)), np.append(state[1, columns], np.zeros(3)))[:3]
        if not self._robot.floating:
            return rates
        # The spatial V̇ is Ad of the pose times the body-fixed V̇, since ad_V V = 0.
        return np.concatenate([
            lie.dexp_inverse(-flat[:6], flat[6:12]),
            lie.adjoint(lie.inverse(others[0])) @ found[1][0], rates])

    def check_speed(self, t: float, flat: Array) -> None:
        """Raise HodynError, naming the joint or base, for a speed above `_FASTEST`."""
        speeds = np.append(flat[self._first + self._robot.n:], flat[6:9][:self._first])
        fastest = int(np.argmax(np.abs(speeds)))  # the first NaN, if any
        if abs(speeds[fastest]) <= _FASTEST:
            return
        names = self._robot.joint_names
        what = f'joint {names[fastest]!r}' if fastest < len(names) else 'the base'
        raise HodynError(
            f'at {t:g} s: {what} of robot {self._robot.name!r} moves at '
            f'{abs(speeds[fastest]):.3g} rad/s (m/s): the motion diverges; check units and '
            'signs of the torques: damping must oppose the velocity')

    def move_charts(self, t: float, flat: Array, rate: Array) -> None:
        """Let the next step start at X = 0 and x = 0; the arrays are changed in place.

        Raises HodynError if a spherical joint without a given rotation has singular coordinates:
        near these the steps would become tiny.
        """
        if self._robot.floating:
            self._chart = _as_pose(self._chart @ lie.exp(flat[:6]))
            flat[:6], rate[:6] = 0.0, flat[6:12]
        for name in self._fixed_charts:
            fault = singular_chart(self._robot, f'{name}_y', flat[self._first:])
            if fault:
                raise HodynError(f'at {t:g} s: {fault}')
        if not self._turns:
            return
        (x, omega), (x_rate, _) = (
            values[self._first:].reshape(2, self._robot.n) for values in (flat, rate))
        for name, columns in self._columns.items():
            self._turns[name] = lie.nearest_rotation(
                self._turns[name] @ lie.rotation_exp(x[columns]))
            x[columns], x_rate[columns] = 0.0, omega[columns]
        # Centre the charts here, not at each evaluation.
        self._robot, _ = next(regular_charts(
            self._robot, {name: turn[np.newaxis] for name, turn in self._turns.items()}))


def _given_to_laws(robot: Robot, has_rotations: bool) -> list[str]:
    """Return the names of the arguments that callables get after time and state."""
    return ['base_pose', 'base_twist'] * robot.floating + ['rotations'] * has_rotations


def _check_laws(others: list[str], laws: dict[str, Law | None]) -> None:
    """Raise HodynError if a law is no function of t, state and the `others`."""
    arguments = ', '.join(['t', 'state', *others])
    for name, law in laws.items():
        if law is None and name != 'torque':
            continue
        if not callable(law):
            raise HodynError(
                f'{name}: expected a function of time and state, as lambda {arguments}: …, got '
                f'{reprlib.repr(law)}')
        try:
            inspect.signature(law).bind(*arguments.split(', '))
        except TypeError:
            too = f'; {" and ".join(others)} are given as well' if others else ''
            raise HodynError(
                f'{name}: expected a function of ({arguments}), as lambda {arguments}: …{too}'
            ) from None
        except ValueError:  # a function in C, whose arguments are not known
            continue


def _as_pose(matrix: Array) -> Array:
    """Return the pose nearest to a matrix that rounding has changed."""
    return lie.pose(lie.nearest_rotation(matrix[:3, :3]), matrix[:3, 3])


def simulate_by_euler(
    robot: Robot,
    torque: Law,
    start: ArrayLike,
    step: float,
    steps: int,
    *,
    external_wrenches: Law | None = None,
) -> Array:
    """Return the motion under given torques by Euler's method, as MR9 section 9.5 prints it.

    θ[k + 1] = θ[k] + h θ̇[k], θ̇[k + 1] = θ̇[k] + h θ̈[k] from k = 0 on. The error is proportional
    to the step, and the method adds energy: use it only for comparison with `simulate`.

    Parameters
    ----------
    robot : Robot
        On a fixed base.
    torque, start, external_wrenches
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
    if robot.floating:
        raise HodynError(f'robot {robot.name!r} has a floating base: use simulate')
    _check_laws([], {'torque': torque, 'external_wrenches': external_wrenches})
    if not (0.0 < number(step, 'step') < np.inf and isinstance(
            steps, (int, np.integer)) and steps >= 0):
        raise HodynError(
            f'step must be above 0 and steps an integer of at least 0, got {step!r} and {steps!r}')
    states = np.empty((steps + 1, 2, robot.n))
    states[0] = checked(start, 'start', (2, robot.n))
    for k in range(steps):
        states[k + 1, 0] = states[k, 0] + step * states[k, 1]
        states[k + 1, 1] = states[k, 1] + step * _acceleration(
            robot, torque, None, external_wrenches, k * step, states[k])[0]
    return states


def _acceleration(
    robot: Robot, torque: Law, base_wrench: Law | None, external_wrenches: Law | None, t: float,
    state: Array, *others: Any,
) -> Any:
    """Return q̈ (MR9, GetJointAccel), (1, n), and V̇ of a floating base, (1, 6)."""
    names = _given_to_laws(robot, len(others) > 2 * robot.floating)
    arguments = f'({", ".join(["t", "state", *names])})'
    tau = checked(torque(t, state, *others), f'torque{arguments}', (robot.n,))[None]
    given: dict[str, Any] = dict(zip(names, others, strict=True))
    if external_wrenches is not None:
        given['external_wrenches'] = numbers(
            external_wrenches(t, state, *others), 'external_wrenches')[None]
    if robot.floating:
        acting = np.zeros(6) if base_wrench is None else checked(
            base_wrench(t, state, *others), f'base_wrench{arguments}', (6,))
        given['base_wrench'] = acting[None]
    call: Any = forward_dynamics
    return call(robot, state, tau, **given)
