"""The inertia of a payload: ten parameters that the torques are linear in, always physical.

The ten are (m, m c, inertia about the origin: xx yy zz xy xz yz), in the axes of the last body.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.regressor import inertial_parameters, torque_regressor
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Payload:
    """A body fixed to the last one.

    Attributes
    ----------
    mass : float
        kg.
    com : (3,) array
        m, in the axes of the last body.
    inertia : (3, 3) array
        kg m², about the centre of mass.

    """

    mass: float
    com: Array
    inertia: Array

    @property
    def parameters(self) -> Array:
        """The ten parameters that the torques are linear in."""
        return inertial_parameters(self.mass, self.com, self.inertia)

    def fixed_to(self, robot: Robot) -> Robot:
        """Return a robot with this payload on its last body."""
        return robot.with_payload(robot.bodies[-1].name, self.mass, self.com, self.inertia)


def point_mass(theta: Array) -> Payload:
    """Return a point of mass exp(θ₀) at θ₁ … θ₃."""
    return Payload(float(np.exp(theta[0])), theta[1:4].copy(), np.zeros((3, 3)))


def rigid_body(theta: Array) -> Payload:
    """Return a body that some mass distribution has, whatever the ten numbers of θ.

    θ is (log m, c, Cholesky factor of Σ): the second moments of the mass about its centre are
    m L Lᵀ with L lower triangular, its diagonal given by logarithms; their matrix is positive,
    which is all that physics asks of an inertia, the triangle inequality included.
    """
    mass = float(np.exp(theta[0]))
    factor = np.zeros((3, 3))
    factor[np.diag_indices(3)] = np.exp(theta[4:7])
    factor[(1, 2, 2), (0, 0, 1)] = theta[7:10]
    moments = mass * factor @ factor.T
    return Payload(mass, theta[1:4].copy(), np.trace(moments) * np.eye(3) - moments)


def regressor(robot: Robot, q: Array, *, gravity: bool = True) -> Array:
    """Return the torques of unit payload parameters, (T, n, 10), at the motions q (T, 5, n).

    Parameters
    ----------
    robot : Robot
        Without the payload.
    q : (T, 5, n) array
        Positions and derivatives to the snap.
    gravity : bool
        False where the recorded efforts do not contain it.

    """
    return torque_regressor(robot, q[:, :3], gravity=gravity)[:, :, -1]
