"""A rigid arm in MuJoCo."""
import math

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import Robot
from hodyn_ros.simulation.mujoco_model import build_model

MAX_STEP = 1e-3  # largest step of the integration, s


class SimulatedArm:
    """Links and reflected rotors of a robot under gravity and joint torques, without friction."""

    def __init__(self, robot: Robot, position: Array) -> None:
        self.model = build_model(robot)
        import mujoco

        self._mujoco = mujoco
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        self.data = mujoco.MjData(self.model)
        #: `q`, `qd`: (n,): joint positions and velocities, views of the simulator's state
        self.q: Array = self.data.qpos
        self.qd: Array = self.data.qvel
        self.reset(position)

    def reset(self, position: Array) -> None:
        """Put the arm at rest at a position, (n,)."""
        self._mujoco.mj_resetData(self.model, self.data)
        self.q[:] = position

    def step(self, torque: Array, dt: float) -> None:
        """Advance the arm by dt, s, under a constant torque, (n,), N m."""
        steps = max(1, math.ceil(dt / MAX_STEP - 1e-9))
        self.model.opt.timestep = dt / steps
        self.data.qfrc_applied[:] = torque
        self._mujoco.mj_step(self.model, self.data, steps)

    def mass_matrix(self) -> Array:
        """Return the simulator's M(q), (n, n)."""
        self._mujoco.mj_forward(self.model, self.data)
        matrix = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(matrix.T, np.eye(self.model.nv), strict=True):
            product = np.zeros(self.model.nv)
            self._mujoco.mj_mulM(self.model, self.data, product, unit)
            column[:] = product
        return matrix

    def bias_torque(self) -> Array:
        """Return the simulator's c(q, q̇) + g(q), (n,), N m."""
        self._mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qfrc_bias)
