"""Rigid bodies by ten free numbers: whatever these are, some mass distribution has the inertia.

The numbers are log-Cholesky parameters (Rucker and Wensing, RA-L 2022): log m, c, and the
triangular factor L of the second moments of the mass about its centre, m L Lᵀ, its diagonal by
logarithms. That these moments are positive is all that physics asks of an inertia, the triangle
inequality included.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.regressor import PARAMETERS, inertial_parameters
from hodyn_ros.robot import Robot
from hodyn_ros.robot.inertia import pack

Array = NDArray[np.float64]

MASS, COM, EXTENT, SHEAR = 0, slice(1, 4), slice(4, 7), slice(7, 10)
"""Where log m, c, log diag L and the rest of L stand among the ten numbers."""

_MIN_EXTENT = 1e-3  # of the largest: bodies in files may be flat, or break the triangle inequality
_BELOW = ((1, 2, 2), (0, 0, 1))
_STEP = 1e-6


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body: one fixed to the last link, or a link itself.

    Attributes
    ----------
    mass : float
        kg.
    com : (3,) array
        m, in the axes of the link.
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

    @property
    def listed(self) -> Array:
        """Mass, centre of mass and inertia (xx yy zz xy xz yz) as ten numbers."""
        return np.concatenate([[self.mass], self.com, pack(self.inertia)])

    def fixed_to(self, robot: Robot) -> Robot:
        """Return a robot with this payload on its last body."""
        return robot.with_payload(robot.bodies[-1].name, self.mass, self.com, self.inertia)


def rigid_body(theta: Array) -> Payload:
    """Return the body of ten numbers."""
    mass = float(np.exp(theta[MASS]))
    factor = np.diag(np.exp(theta[EXTENT]))
    factor[_BELOW] = theta[SHEAR]
    moments = mass * factor @ factor.T
    return Payload(mass, theta[COM].copy(), np.trace(moments) * np.eye(3) - moments)


def log_cholesky(mass: float, com: Array, inertia: Array) -> Array:
    """Return the ten numbers of a body; of the nearest one where no rigid body has its inertia."""
    moments = (0.5 * np.trace(inertia) * np.eye(3) - inertia) / mass
    values, axes = np.linalg.eigh(moments)
    values = np.maximum(values, max((_MIN_EXTENT ** 2) * values[-1], 1e-8))
    factor = np.linalg.cholesky(axes * values @ axes.T)
    return np.concatenate([
        [np.log(mass)], com, np.log(np.diag(factor)), factor[_BELOW]])


def uncertainty(theta: Array) -> Array:
    """Return the standard deviations of the ten numbers of a body that is known to ±100 %.

    Those of the centre of mass are its coordinates', or of a share of the body's extent where
    these are smaller.
    """
    extent = np.exp(theta[EXTENT])
    radius = np.sqrt(np.sum(extent ** 2) + np.sum(theta[SHEAR] ** 2))
    return np.concatenate([
        [1.0], np.hypot(theta[COM], 0.3 * radius), np.full(3, 0.5), np.full(3, 0.3 * radius)])


def slope(theta: Array, of: str = 'parameters') -> Array:
    """Return the derivative of an attribute of the body by its ten numbers, (10, 10)."""
    return np.stack([
        (getattr(rigid_body(theta + step), of) - getattr(rigid_body(theta - step), of))
        / (2.0 * _STEP) for step in _STEP * np.eye(PARAMETERS)], axis=1)
