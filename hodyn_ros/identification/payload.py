"""The inertia of a payload: ten parameters that the torques are linear in, always physical.

The ten are (m, m c, inertia about the origin: xx yy zz xy xz yz), in the axes of the last body.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.robot import Robot
from hodyn_ros.robot.inertia import SYMMETRIC_ENTRIES, pack
from hodyn_ros.robot.lie import skew

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
        about_origin = self.inertia - self.mass * skew(self.com) @ skew(self.com)
        return np.concatenate([[self.mass], self.mass * self.com, pack(about_origin)])

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
    probes = [Payload(1.0, np.zeros(3), np.eye(3))]
    probes += [Payload(1.0, axis, np.eye(3)) for axis in np.eye(3)]
    for i, j in SYMMETRIC_ENTRIES:
        inertia = 2.0 * np.eye(3)
        inertia[i, j] = inertia[j, i] = inertia[i, j] + 0.5
        probes.append(Payload(1.0, np.zeros(3), inertia))
    bare = FeedForward(robot).torque(q, gravity=gravity, friction=False)[:, 0]
    torques = np.stack([
        FeedForward(probe.fixed_to(robot)).torque(q, gravity=gravity, friction=False)[:, 0]
        - bare for probe in probes])
    parameters = np.array([probe.parameters for probe in probes])
    return np.moveaxis(np.tensordot(np.linalg.inv(parameters), torques, axes=1), 0, 2)
