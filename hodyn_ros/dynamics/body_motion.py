"""Poses, twists and spatial inertias of all bodies of a moving robot, in Taylor coefficients."""
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.dynamics.argument_checks import base_state, coefficients
from hodyn_ros.dynamics.kernels import composite_body
from hodyn_ros.dynamics.kernels.kinematics import body_poses, body_twists
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]


class BodyMotion:
    """The bodies of a robot in one motion after the other, in world axes about the world origin.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    motions : (T, r + 2, n) array
        Joint positions and derivatives, checked.
    batch : tuple of int
        (T,), or () for one motion, whose base has no axis for T.
    base_pose, base_twist : (…, 4, 4) and (…, r + 1, 6) arrays, or None
        Pose and spatial twist of a floating base; None for a fixed one.
    inertias : int
        Number of coefficients of the inertias: r + 1 or r + 2.

    Attributes
    ----------
    pose : (n_bodies, 12) array
        Poses of the kernel frames, rows of R then the origin.
    screw, twist : (n_bodies, r + 2, 6) arrays
        Coefficients of the joints' screws and of the bodies' twists. The motion does not determine
        the last coefficient of the twists; it is computed with 0 for the next derivative of q.
    inertia, ad_inertia : (n_bodies, inertias, 6, 6) arrays
        Coefficients of the spatial inertia M, and of ad_Vᵀ M, whose coefficient r + 1 is not
        determined either.

    """

    def __init__(
        self, robot: Robot, motions: Array, batch: tuple[int, ...], base_pose: ArrayLike | None,
        base_twist: ArrayLike | None, inertias: int,
    ) -> None:
        orders, n_bodies = motions.shape[1] - 1, len(robot.bodies)
        if base_pose is not None and base_twist is None and not orders:
            base_twist = np.zeros((*batch, 0, 6))  # only positions
        base = base_state(robot, base_pose, base_twist, batch, orders)
        self._poses, self._twists = (np.zeros((len(motions), 0, width)) for width in (1, 6))
        if base is not None:
            self._poses = base[0].reshape(len(motions), 4, 4)
            self._twists = base[1].reshape(len(motions), orders, 6)
        self._model, self._motions = robot.kernel_model, robot.coupling.to_bodies(motions)
        self.pose = np.empty((n_bodies, 12))
        self.screw, self.twist = np.empty((2, n_bodies, orders + 1, 6))
        self.inertia, self.ad_inertia = np.empty((2, n_bodies, inertias, 6, 6))
        self._com, self._about_com = np.empty((1, 3)), np.empty((1, 6))

    def evaluate(self, t: int) -> None:
        """Fill the arrays for motion t."""
        motion, model = self._motions[t], self._model
        orders = len(motion)
        rate = coefficients(motion[1:], orders).T.copy()
        body_poses(
            model.parent, model.body_table, motion[0], self._poses[t], self.pose, self.screw)
        body_twists(
            model.parent, 0, orders, rate, coefficients(self._twists[t], orders), self.screw,
            self.twist)
        composite_body.body_inertias(
            model.body_table, self.pose, self.twist, self.inertia, self.ad_inertia, self._com,
            self._about_com)
