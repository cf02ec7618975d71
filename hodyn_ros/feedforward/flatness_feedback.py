"""Full-state feedback of an elastic arm through its flat outputs: exact linearisation.

The links' motion q to the snap, and the stiffness σ of antagonistic joints to its second
derivative, determine all states and inputs. So q⁗ and σ̈ can be chosen freely, and the motor
torque that gives them follows from the model (De Luca and Book; Palli, Melchiorri and De Luca
2008). The errors of the links then decay by linear differential equations of order four.
"""
from collections.abc import Callable
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.actuators.laws import EXPONENTIAL, QUADRATIC, RIGID, VARIABLE, LinearSpring
from hodyn_ros.actuators.link_side import LinkSide
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.common.arrays import Array, check_array, check_finite, numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.dynamics.forward_dynamics import ForwardDynamics, forward_dynamics
from hodyn_ros.feedforward.torque import ORDER, FeedForward
from hodyn_ros.robot import Robot

DEGREE, STIFFNESS_DEGREE = 4, 2
"""Relative degrees of the flat outputs q and σ: order of the derivative that contains τ_m."""


class FlatnessFeedback:
    """Motor torques that bring q, q̇, q̈ and q⃛ to a reference, from q, q̇, θ and θ̇.

    The spring torques and their rates at the measured state give q̈ and q⃛ by first-order forward
    dynamics. Then q⁗ = q⁗_d + Σ kᵢ (q⁽ⁱ⁾_d − q⁽ⁱ⁾) with i = 0 … 3 and, at antagonistic joints,
    σ̈ = σ̈_d + Σ cᵢ (σ⁽ⁱ⁾_d − σ⁽ⁱ⁾) with i = 0, 1. `MotorSide` gives the motor torque of this
    motion. With an exact model the error e of each joint obeys e⁗ + Σ kᵢ e⁽ⁱ⁾ = 0.

    Attributes
    ----------
    motion : (5, n) array
        q … q⃛ at the measured state, and the commanded q⁗.
    spring : (2, n) array
        Torques of the springs on the links at the measured state, N m, and their rates.
    limited : (m,) array of bool
        Motors whose torque the last call cut at `max_effort`.

    Parameters
    ----------
    robot : Robot
        A fixed-base arm or tree with a spring at each joint and no dampers.
    poles : float or array
        Poles of the error, the same for every joint, rad/s: ω > 0 puts all at −ω; else four poles
        with negative real parts, (4,), complex ones in conjugate pairs.
    stiffness_poles : float or array
        The same for the stiffness of antagonistic joints: ω > 0, or two poles.

    Raises
    ------
    HodynError
        For a floating base, a joint without a spring or with a damper, `rotor_inertia` in addition
        to actuators, and poles that are not stable.

    """

    def __init__(
        self, robot: Robot, poles: ArrayLike = 30.0, stiffness_poles: ArrayLike = 30.0,
    ) -> None:
        why_not = why_no_feedback(robot)
        if why_not:
            raise HodynError(f'robot {robot.name!r}: {why_not}')
        actuators = robot.require_actuators()
        self.robot = robot
        self.motion = np.zeros((DEGREE + 1, robot.n))
        self.limited = np.zeros(actuators.n_motors, dtype=np.bool_)
        self._gains = _gains(poles, DEGREE)
        self._stiffness_gains = _gains(stiffness_poles, STIFFNESS_DEGREE)
        self._feedforward = FeedForward(robot)
        self._motor_side = MotorSide(actuators)
        self._link_side = LinkSide(actuators)
        self.spring = np.zeros((2, robot.n))
        self._pairs = np.flatnonzero(np.isin(actuators.kinds, (EXPONENTIAL, QUADRATIC)))
        self._prescribed = np.flatnonzero(actuators.kinds == VARIABLE)
        self._limit = actuators.motor_limits()[1].copy()
        self._accelerations = [self._prepared(order) for order in range(2)]
        self._constant = actuators.constant_stiffness()
        self._wanted = self._constant.copy()
        self._torque, self._friction = np.zeros((2, ORDER + 1, robot.n))
        self._ahead, self._series = 0.0, np.eye(DEGREE + 1)

    def _prepared(self, order: int) -> Callable[[Array, Array, Array], object]:
        if not self.robot.coupling.followers.size:
            return ForwardDynamics(self.robot, order)
        return lambda q, tau, out: np.copyto(out, forward_dynamics(self.robot, q, tau))

    def motor_torque(
        self, reference: Array, q: Array, theta: Array, stiffness: Array | None = None,
        *, ahead: float = 0.0, check: bool = True,
    ) -> Array:
        """Return τ_m, (m,), N m, at a measured state.

        All arrays are writeable, C-contiguous float64.

        Parameters
        ----------
        reference : (5, n) array
            q_d … q⁗_d, at the time `ahead` after the state.
        q : (2, n) array
            Positions and velocities of the links.
        theta : (2, m) array
            Positions and velocities of the motors, in link-side units.
        stiffness : (3, n) array, optional
            σ_d, σ̇_d, σ̈_d of joints with variable stiffness, N m/rad; by default the robot's.
        ahead : float
            How long after the state the torque acts, s; half a period if it is held for one.
        check : bool
            False skips the checks of the arguments, for loops; wrong arrays would then corrupt
            memory, and values that are not finite would give torques that are not finite.

        Raises
        ------
        HodynError
            For wrong shapes, values that are not finite, and a state at which a spring, whose
            joint is named, cannot give the torque.
        TypeError
            For anything but writeable, C-contiguous float64 arrays.

        """
        wanted = self._constant if stiffness is None else stiffness
        if check:
            self._check(reference, q, theta, wanted, ahead)
        side, motion, actuators = self._link_side, self.motion, self._link_side.actuators
        side.evaluate(q[0], q[1], theta[0], theta[1], wanted[0])
        spring = self.spring
        spring[0], spring[1] = side.torque, side.rates[0]
        if self._prescribed.size:  # K̇ δ
            some = self._prescribed
            spring[1, some] += wanted[1, some] * (
                theta[0, actuators.motor_of[some]] - q[0, some])
        motion[:2] = q
        motion[2:] = 0.0
        friction, on_links = self.robot.friction, self._torque[:2]
        if friction is not None:  # its rate needs q̈, which is computed first
            self._friction[:] = 0.0
            friction.add_to(motion, self._friction, check=False)
            np.subtract(spring[:1], self._friction[:1], out=on_links[:1])
            self._accelerations[0](q, on_links[:1], motion[2:3])
            self._friction[:] = 0.0
            friction.add_to(motion, self._friction, check=False)
        np.subtract(spring, self._friction[:2], out=on_links)
        self._accelerations[1](q, on_links, motion[2:4])
        motion[4] = reference[4]
        if ahead:
            if ahead != self._ahead:
                self._ahead, self._series = ahead, _taylor_series(ahead)
            motion[:] = self._series @ motion
        motion[4] += self._gains @ (reference[:4] - motion[:4])
        if self._pairs.size:
            sigma, some = self._wanted, self._pairs
            sigma[:] = wanted
            sigma[0, some] = side.stiffness[some] + ahead * side.rates[1, some]
            sigma[1, some] = side.rates[1, some]
            sigma[2, some] += self._stiffness_gains @ (wanted[:2, some] - sigma[:2, some])
            wanted = sigma
        self._feedforward.torque(motion, self._torque)
        torque = self._motor_side.evaluate(motion, self._torque, wanted, check=False)[3]
        if not self._motor_side.feasible.all():
            joint = actuators.names[int(np.argmin(self._motor_side.feasible))]
            raise HodynError(f'joint {joint!r}: its spring cannot give the torque of this state')
        self.limited[:] = np.abs(torque) > self._limit
        within: Array = np.clip(torque, -self._limit, self._limit)
        return within

    def _check(
        self, reference: Array, q: Array, theta: Array, stiffness: Array, ahead: float,
    ) -> None:
        n, m = self.robot.n, self.limited.size
        given = (
            (reference, 'reference', (DEGREE + 1, n)), (q, 'q', (2, n)), (theta, 'theta', (2, m)),
            (stiffness, 'stiffness', (3, n)))
        for values, name, shape in given:
            check_array(values, name, shape)
        for values, name, _ in given:
            check_finite(values, name)
        if not np.isfinite(ahead):
            raise HodynError(f'ahead is {ahead}: not finite')


def why_no_feedback(robot: Robot) -> str:
    """Return why `FlatnessFeedback` does not support a robot with actuators; empty if it does."""
    if robot.floating:
        return 'its base floats, which full-state feedback does not cover'
    actuators = robot.require_actuators()
    for name, joint in zip(actuators.names, actuators.joints, strict=True):
        if joint.law.kind == RIGID:
            return f'joint {name!r} has no spring: its q⁗ cannot be chosen'
        if isinstance(joint.law, LinearSpring) and joint.law.damping > 0.0:
            return (
                f'joint {name!r} has a damper beside its spring: motor torques then act on q⃛, '
                'which this feedback does not cover')
    if robot.rotor_inertia is not None:
        return 'rotor_inertia stands for motors, which the actuators include already'
    return ''


def _taylor_series(ahead: float) -> Array:
    """Return the matrix that advances a motion, (5, n), by `ahead` seconds."""
    series = np.eye(DEGREE + 1)
    for k in range(DEGREE):
        for j in range(1, DEGREE + 1 - k):
            series[k, k + j] = ahead**j / factorial(j)
    return series


def _gains(poles: ArrayLike, degree: int) -> Array:
    """Return the gains k₀ … for which the equation of the error has these poles."""
    values = np.asarray(poles)
    if values.ndim == 0:
        values = np.full(degree, -numbers(poles, 'poles'))
    if values.shape != (degree,):
        raise HodynError(f'poles have shape {values.shape}; expected one ω, or ({degree},)')
    coefficients = np.poly(values)
    if not (np.isrealobj(coefficients) and np.isfinite(coefficients).all()
            and (values.real < 0.0).all()):
        raise HodynError(
            f'poles {poles!r}: expected finite ω > 0, or negative real parts in conjugate pairs')
    gains: Array = coefficients[:0:-1].astype(np.float64)
    return gains
