"""Rigid bodies described by ten free numbers, any values of which give a possible body.

The numbers are log-Cholesky parameters (Rucker and Wensing, RA-L 2022): log m, the centre of mass
c, and a triangular matrix L, with logarithms in place of its diagonal. The second moments of the
mass about c are m L Lᵀ. An inertia keeps the triangle inequality strictly if and only if these
moments are positive definite.
"""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.regressor import PARAMETERS, inertial_parameters
from hodyn_ros.robot import Robot
from hodyn_ros.robot.inertia import SYMMETRIC_ENTRIES, pack

MASS, COM, EXTENT, SHEAR = 0, slice(1, 4), slice(4, 7), slice(7, 10)
"""Indices of log m, c, log diag L and the rest of L among the ten numbers."""

# Least ratio of a body's extents to its largest: bodies in files may be flat, or not physical.
_MIN_EXTENT = 1e-3
_MIN_MASS = 1e-9  # mass, kg, that replaces 0, which has no logarithm
_BELOW = ((1, 2, 2), (0, 0, 1))  # rows and columns of the entries of L below its diagonal
_STEP = 1e-6  # step of the ten numbers for central differences


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body: a load fixed to the last link, or a link itself."""

    mass: float  #: kg
    com: Array  #: (3,), m, in the axes of the link
    inertia: Array  #: (3, 3), kg m², about the centre of mass

    @property
    def parameters(self) -> Array:
        """The ten parameters in which the torques are linear."""
        return inertial_parameters(self.mass, self.com, self.inertia)

    @property
    def listed(self) -> Array:
        """Mass, centre of mass and inertia (xx yy zz xy xz yz) as ten numbers."""
        return np.concatenate([[self.mass], self.com, pack(self.inertia)])

    def fixed_to(self, robot: Robot) -> Robot:
        """Return a robot with this payload on its last body."""
        return robot.with_payload(robot.bodies[-1].name, self.mass, self.com, self.inertia)


def rigid_body(theta: Array) -> Payload:
    """Return the body with these ten numbers."""
    mass = float(np.exp(theta[MASS]))
    factor = np.diag(np.exp(theta[EXTENT]))
    factor[_BELOW] = theta[SHEAR]
    moments = mass * factor @ factor.T
    return Payload(mass, theta[COM].copy(), np.trace(moments) * np.eye(3) - moments)


def log_cholesky(mass: float, com: Array, inertia: Array) -> Array:
    """Return the ten numbers of a body, or of a similar one if its inertia is not physical."""
    mass = max(mass, _MIN_MASS)
    moments = (0.5 * np.trace(inertia) * np.eye(3) - inertia) / mass
    values, axes = np.linalg.eigh(moments)
    values = np.maximum(values, max((_MIN_EXTENT ** 2) * values[-1], 1e-8))
    factor = np.linalg.cholesky(axes * values @ axes.T)
    return np.concatenate([
        [np.log(mass)], com, np.log(np.diag(factor)), factor[_BELOW]])


def uncertainty(theta: Array) -> Array:
    """Return the standard deviations of a body's ten numbers for relative errors of ±100 %.

    The deviations of the centre of mass grow with its coordinates, and are at least a fifth of the
    body's radius.
    """
    extent = np.exp(theta[EXTENT])
    radius = np.sqrt(np.sum(extent ** 2) + np.sum(theta[SHEAR] ** 2))
    return np.concatenate([
        [1.0], np.hypot(theta[COM], 0.2 * radius), np.full(3, 0.5), np.full(3, 0.3 * radius)])


def slope(theta: Array) -> Array:
    """Return the derivative of the body's ten parameters by its ten numbers, (10, 10)."""
    mass, com = np.exp(theta[MASS]), theta[COM]
    factor = np.diag(np.exp(theta[EXTENT]))
    factor[_BELOW] = theta[SHEAR]
    first = np.zeros((PARAMETERS, 4))  # of m and m c
    first[MASS] = mass, *(mass * com)
    first[COM, 1:] = mass * np.eye(3)
    # Half the derivative of the second moments about the origin, m (L Lᵀ + c cᵀ); the other half
    # is its transpose.
    half = np.zeros((PARAMETERS, 3, 3))
    half[MASS] = 0.5 * (factor @ factor.T + np.outer(com, com))
    half[COM] = np.eye(3)[:, :, None] * com
    for number, (row, column) in enumerate((
            (0, 0), (1, 1), (2, 2), *zip(*_BELOW, strict=True)), EXTENT.start):
        half[number, row] = factor[:, column] * (factor[row, column] if row == column else 1.0)
    moments = mass * (half + half.transpose(0, 2, 1))
    inertia = np.trace(moments, axis1=1, axis2=2)[:, None, None] * np.eye(3) - moments
    entries = inertia[:, [i for i, _ in SYMMETRIC_ENTRIES], [j for _, j in SYMMETRIC_ENTRIES]]
    return np.asarray(np.concatenate([first, entries], axis=1).T)


def listed_slope(theta: Array) -> Array:
    """Return the derivative of `Payload.listed` by the ten numbers, (10, 10)."""
    return np.stack([
        (rigid_body(theta + step).listed - rigid_body(theta - step).listed) / (2.0 * _STEP)
        for step in _STEP * np.eye(PARAMETERS)], axis=1)
