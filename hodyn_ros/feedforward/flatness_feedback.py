"""Feedback on all states of an elastic arm through its flat outputs: exact linearisation.

The links' motion q to the snap, and the stiffness σ of antagonistic joints to its second
derivative, determine all states and inputs. So q⁗ and σ̈ can be chosen freely, and the motor
torque that gives them follows from the model (De Luca and Book; Palli, Melchiorri and De Luca
2008). The errors of the links then decay by linear differential equations of order four.
"""
from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.actuators.laws import EXPONENTIAL, QUADRATIC, RIGID, VARIABLE, LinearSpring
from hodyn_ros.actuators.link_side import LinkSide
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.common.arrays import check_array, check_finite, numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.dynamics.forward_dynamics import forward_dynamics
from hodyn_ros.feedforward.torque import FeedForward
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

DEGREE, STIFFNESS_DEGREE = 4, 2
"""Relative degrees of the flat outputs: derivatives until the motors' torques appear."""


class FlatnessFeedback:
    """Motor torques that bring q, q̇, q̈ and q⃛ to a reference, from q, q̇, θ and θ̇.

    The spring torques and their rates at the measured state give q̈ and q⃛ by first-order forward
    dynamics. Then q⁗ = q⁗_d + Σ kᵢ (q⁽ⁱ⁾_d − q⁽ⁱ⁾) with i = 0 … 3 and, at antagonistic joints,
    σ̈ = σ̈_d + Σ cᵢ (σ⁽ⁱ⁾_d − σ⁽ⁱ⁾), and the motor side of that motion is the torque. With an exact
    model each error e of a joint obeys e⁗ + Σ kᵢ e⁽ⁱ⁾ = 0.

    Attributes
    ----------
    motion : (5, n) array
        q … q⃛ at the measured state, and the commanded q⁗.
    limited : (m,) array of bool
        Motors whose torque was cut at `max_effort` in the last cycle.

    Parameters
    ----------
    robot : Robot
        A fixed-base arm or tree with a spring at each joint and no dampers.
    poles : float or array
        Poles of the error, the same for every joint, rad/s: ω puts all at −ω; or four poles,
        (4,), negative, or complex pairs with negative real parts.
    stiffness_poles : float or array
        The same for the stiffness of antagonistic joints, with two poles.

    Raises
    ------
    HodynError
        For a floating base, a joint without a spring or with a damper, rotors beside actuators,
        and poles that are not stable.

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
        self._antagonistic = np.isin(actuators.kinds, (EXPONENTIAL, QUADRATIC))
        self._prescribed = actuators.kinds == VARIABLE
        self._limit = np.array([
            actuators.joints[joint].motor.max_effort for joint in actuators.motor_joints])

    def motor_torque(
        self, reference: Array, q: Array, theta: Array, stiffness: Array | None = None,
        *, ahead: float = 0.0,
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

        Raises
        ------
        HodynError
            For wrong shapes, values that are not finite, and a state at which a spring cannot
            give the torque: names the joint.
        TypeError
            For anything but writeable, C-contiguous float64 arrays.

        """
        n, actuators = self.robot.n, self.robot.require_actuators()
        check_array(reference, 'reference', (DEGREE + 1, n))
        check_array(q, 'q', (2, n))
        check_array(theta, 'theta', (2, actuators.n_motors))
        wanted = actuators.constant_stiffness() if stiffness is None else stiffness
        check_array(wanted, 'stiffness', (3, n))
        for values, name in (
                (reference, 'reference'), (q, 'q'), (theta, 'theta'), (wanted, 'stiffness')):
            check_finite(values, name)
        if not np.isfinite(ahead):
            raise HodynError(f'ahead is {ahead}: not finite')
        side, motion = self._link_side, self.motion
        side.evaluate(q[0], q[1], theta[0], theta[1], np.ascontiguousarray(wanted[0]))
        spring = np.vstack([side.torque, side.rates[0]])
        if self._prescribed.any():  # K̇ δ
            first = actuators.motor_of[:-1]
            spring[1] += np.where(self._prescribed, wanted[1] * (theta[0, first] - q[0]), 0.0)
        motion[:2] = q
        motion[2:] = 0.0
        for order in range(2):  # friction of q̈ is known once q̈ is
            on_links = spring[:order + 1]
            if self.robot.friction is not None:
                on_links = on_links - self.robot.friction.torque(motion)[:order + 1]
            motion[2:3 + order] = forward_dynamics(self.robot, q, on_links)
        motion[4] = reference[4]
        for k in range(DEGREE):  # Taylor series
            motion[k] += sum(
                ahead**j / factorial(j) * motion[k + j] for j in range(1, DEGREE + 1 - k))
        motion[4] += self._gains @ (reference[:4] - motion[:4])
        sigma = wanted.copy()
        if self._antagonistic.any():
            now = np.vstack([side.stiffness + ahead * side.rates[1], side.rates[1]])
            asked = wanted[2] + self._stiffness_gains @ (wanted[:2] - now)
            pairs = self._antagonistic
            sigma[:, pairs] = np.vstack([now, asked])[:, pairs]
        self._motor_side.evaluate(motion, self._feedforward.torque(motion), sigma)
        if not self._motor_side.feasible.all():
            joint = actuators.names[int(np.argmin(self._motor_side.feasible))]
            raise HodynError(f'joint {joint!r}: its spring cannot give the torque of this state')
        torque = self._motor_side.reference[3]
        self.limited[:] = np.abs(torque) > self._limit
        within: Array = np.clip(torque, -self._limit, self._limit)
        return within


def why_no_feedback(robot: Robot) -> str:
    """Return why `FlatnessFeedback` does not support a robot with actuators; empty if it does."""
    actuators = robot.require_actuators()
    for name, joint in zip(actuators.names, actuators.joints, strict=True):
        if joint.law.kind == RIGID:
            return f'joint {name!r} has no spring: its q⁗ cannot be chosen'
        if isinstance(joint.law, LinearSpring) and joint.law.damping > 0.0:
            return (
                f'joint {name!r} has a damper beside its spring: motor torques then act on q⃛, '
                'which this feedback does not cover')
    if robot.rotor_inertia is not None:
        return 'rotor_inertia stands for motors, which the actuators have already'
    return ''


def _gains(poles: ArrayLike, degree: int) -> Array:
    """Return the gains k₀ … for which the equation of the error has these poles."""
    values = np.asarray(poles)
    if values.ndim == 0:
        values = np.full(degree, -numbers(poles, 'poles'))
    if values.shape != (degree,):
        raise HodynError(f'poles have shape {values.shape}; expected one ω, or ({degree},)')
    coefficients = np.poly(values)
    if not (np.isrealobj(coefficients) and (values.real < 0.0).all()):
        raise HodynError(
            f'poles {poles!r}: expected ω > 0, or negative real parts in conjugate pairs')
    gains: Array = coefficients[:0:-1].astype(np.float64)
    return gains
