"""One of each law, and smooth random motions that mpmath can differentiate to 50 digits."""
from dataclasses import replace

import mpmath as mp
import numpy as np

from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import (
    AntagonisticExponential,
    AntagonisticQuadratic,
    CubicSpring,
    LinearSpring,
    Rigid,
    TabulatedSpring,
    VariableStiffness,
)
from hodyn_ros.actuators.motors import Motor

TABLE_X = np.array([-0.3, -0.18, -0.1, -0.03, 0.02, 0.09, 0.2, 0.3])
TABLE_Q = 400.0 * TABLE_X + 2e3 * TABLE_X**3 + 8.0 * np.sin(9 * TABLE_X)

LAWS = {
    'rigid': Rigid(),
    'linear': LinearSpring(1000.0),
    'hardening': CubicSpring(300.0, 4e3),
    'softening': CubicSpring(900.0, -3e3),
    'table': TabulatedSpring(TABLE_X, TABLE_Q),
    'variable': VariableStiffness(600.0),
    'exponential': AntagonisticExponential(3.0, 8.0, 1200.0),
    'exponential that pushes': AntagonisticExponential(30.0, 8.0, 1200.0, pushes=True),
    'quadratic': AntagonisticQuadratic(4e3, 1200.0),
}
MOTOR = Motor(0.4, viscous=0.3, coulomb=0.7, coulomb_velocity=0.05)


def actuators(*laws, motor=MOTOR):
    names = tuple(f'j{i}' for i in range(len(laws)))
    return Actuators(names, tuple(JointActuator(law, motor) for law in laws))


def with_laws(robot, *laws, motor=MOTOR):
    """Return a robot whose joints have these laws."""
    return replace(robot, actuators=replace(
        actuators(*laws, motor=motor), names=robot.joint_names))


class Wave:
    """offset + Σ a sin(ω t + p), in floats and in mpmath numbers."""

    def __init__(self, seed, size, offset=0.0, terms=3):
        rng = np.random.default_rng(seed)
        self.offset = offset
        self.a = size / terms * rng.uniform(0.3, 1.0, terms)
        self.w = rng.uniform(0.5, 9.0, terms)
        self.p = rng.uniform(0, 6.0, terms)

    def exact(self, t):
        return mp.mpf(self.offset) + sum(
            mp.mpf(float(a)) * mp.sin(mp.mpf(float(w)) * t + mp.mpf(float(p)))
            for a, w, p in zip(self.a, self.w, self.p, strict=True))

    def derivatives(self, t, order):
        """Return values and derivatives to the order, (…, order + 1) for times t."""
        t = np.asarray(t, dtype=float)
        rows = [
            (self.a * self.w**k * np.sin(t[..., None] * self.w + self.p + k * np.pi / 2)).sum(-1)
            for k in range(order + 1)]
        rows[0] = rows[0] + self.offset
        return np.stack(rows, axis=-1)
