"""From a reference motion to the joint torques that it needs, with their derivatives.

The node's cycle, the replay of bags and the check of plans all use `FeedForward`, so that the
torques that are checked offline are the published ones.
"""
from typing import Any

import numpy as np

from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.common.arrays import Array, check_array, check_kind
from hodyn_ros.common.jit import njit
from hodyn_ros.dynamics.inverse_dynamics import InverseDynamics
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.robot_check import check_robot

ORDER = 2
"""Order to which derivatives of torques are published; motions therefore include the snap."""
TORQUE_NAMES = ('torque', 'torque_rate', 'torque_accel')
"""Names of Q, Q̇ and Q̈ in topics and files."""


class FeedForward:
    """The joint torques Q, Q̇, Q̈ of a motion: rigid bodies and, if known, friction and rotors.

    A motion is (5, n), positions and derivatives to the snap, or a batch (T, 5, n); torques are
    (3, n) or (T, 3, n), N m, N m/s, N m/s². All are writeable, C-contiguous float64. Values that
    are not finite are not detected. With `out` nothing is allocated.

    Attributes
    ----------
    robot : Robot
        The robot.
    is_floating : bool
        Whether the robot has a floating base, as for `moving_base.MovingBaseFeedForward`.
    motor_side : MotorSide or None
        Computes motion and torque of the motors of elastic joints from these torques, which must
        have all their terms: ``motor_side.evaluate(q, torque)``. None for a robot without
        `actuators`.

    Raises
    ------
    HodynError
        For a robot with a floating base.

    """

    is_floating = False

    def __init__(self, robot: Robot) -> None:
        check_robot(robot)
        if robot.floating and not self.is_floating:
            raise HodynError(
                f'robot {robot.name!r} has a floating base, but a fixed one is needed here: use '
                'inverse_dynamics with the motion of its base, or the node')
        self.robot = robot
        self.motor_side = None if robot.actuators is None else MotorSide(robot.actuators)
        self._rigid = self._prepared(robot)
        self._weightless = self._prepared(robot.with_gravity((0.0, 0.0, 0.0)))

    def _prepared(self, robot: Robot) -> Any:
        return InverseDynamics(robot, ORDER)

    @property
    def columns(self) -> int:
        """Number of quantities that a cycle publishes: the joint torques."""
        return self.robot.n

    @property
    def base_name(self) -> str:
        """Name of the body that is a moving base; empty on a fixed one."""
        return self.robot.bodies[0].name if self.is_floating else ''

    @property
    def planned_robot(self) -> Robot:
        """The robot that plans are checked with."""
        return self.robot

    def torque(
        self,
        q: Array,
        out: Array | None = None,
        *,
        gravity: bool = True,
        friction: bool = True,
        wrenches: Array | None = None,
    ) -> Array:
        """Return Q, Q̇, Q̈ of a motion.

        Parameters
        ----------
        q : (5, n) or (T, 5, n) array
            The motion.
        out : (3, n) or (T, 3, n) array, optional
            Written in place when given.
        gravity, friction : bool
            Whether to include these terms and their derivatives; False for a controller that adds
            them itself.
        wrenches : (3, n_bodies, 6) array, or (T, …) for a batch, optional
            External wrenches and their derivatives, as `inverse_dynamics` takes them.

        Raises
        ------
        HodynError
            For wrong shapes.
        TypeError
            For anything but writeable, C-contiguous float64 arrays.

        """
        motions = np.shape(q)[:-2]
        if out is None:
            out = np.empty((*motions, ORDER + 1, self.robot.n))
        dynamics = self._rigid if gravity else self._weightless
        if wrenches is None:
            try:
                (dynamics.batch if motions else dynamics)(q, out)
            except HodynError:  # the kernel does not say which shapes
                check_array(q, 'q', (*motions, ORDER + 3, self.robot.n))
                check_array(out, 'out', (*motions, ORDER + 1, self.robot.n))
                raise
        elif motions:
            dynamics.batch(q, out, wrenches)
        else:
            for values, name in ((q, 'q'), (out, 'out'), (wrenches, 'wrenches')):
                check_kind(values, name)
            dynamics.batch(q[np.newaxis], out[np.newaxis], wrenches[np.newaxis])
        if friction and self.robot.friction is not None:
            self.robot.friction.add_to(q, out, check=False)  # the dynamics have checked them
        if self.robot.rotor_inertia is not None:
            if motions:
                _add_rotors_batch(self.robot.rotor_inertia, q, out)
            else:
                add_rotors(self.robot.rotor_inertia, q, out)
        return out


@njit()
def add_rotors(inertia: Array, q: Array, torque: Array) -> None:
    """Add the torques that rotors of inertia (n,) need in a motion (5, n) to torques (3, n)."""
    for k in range(ORDER + 1):
        for i in range(q.shape[1]):
            torque[k, i] += inertia[i] * q[k + 2, i]


@njit(nogil=True)
def _add_rotors_batch(inertia: Array, q: Array, torque: Array) -> None:
    for t in range(q.shape[0]):
        add_rotors(inertia, q[t], torque[t])
