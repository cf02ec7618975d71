"""The motor loop of a drive: feed-forward torque plus PD on what the motor encoders say."""
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.joint_actuators import INERTIA, Actuators
from hodyn_ros.actuators.laws import RIGID
from hodyn_ros.common.errors import HodynError

Array = NDArray[np.float64]


@dataclass(eq=False)
class MotorLoop:
    """τ = feed-forward + B (ω² (θ_d − θ) + 2 ζ ω (θ̇_d − θ̇)), within what the motors can.

    Attributes
    ----------
    actuators : Actuators
        Give B and the torque limits.
    bandwidth, damping : float
        ω, rad/s; ζ.
    position_noise, velocity_noise : float
        Standard deviations of the encoders' noise, rad and rad/s.
    seed : int
        Seed of the noise.
    link_inertia : (n,) array, optional
        Inertia that each joint moves, kg m²: B of a rigid joint whose motor has none, which is a
        plain source of torque.

    Raises
    ------
    HodynError
        For any other motor without inertia: its gains would be 0, and the loop open.

    """

    actuators: Actuators
    bandwidth: float = 50.0
    damping: float = 0.7
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    seed: int = 1
    link_inertia: Array | None = None
    _gains: Array = field(init=False, repr=False)
    _limit: Array = field(init=False, repr=False)
    _noise: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        of_motor, inertia = self.actuators.motor_joints, self.actuators.motors[:, INERTIA]
        if self.link_inertia is not None:
            is_source = (self.actuators.kinds[of_motor] == RIGID) & (inertia == 0.0)
            inertia = np.where(is_source, self.link_inertia[of_motor], inertia)
        weightless = np.flatnonzero(inertia == 0.0)
        if weightless.size:
            raise HodynError(
                f'motor {self.actuators.motor_names[weightless[0]]!r} has no inertia, of which '
                'the gains of its loop are made: give motor.inertia in actuators')
        self._gains = np.array([
            inertia * self.bandwidth**2, inertia * 2.0 * self.damping * self.bandwidth])
        joints = [self.actuators.joints[joint] for joint in of_motor]
        self._limit = np.array([joint.motor.max_effort for joint in joints])
        self._noise = np.array([[self.position_noise], [self.velocity_noise]])
        self._random = np.random.default_rng(self.seed)

    def torque(
        self, theta_d: Array, theta_rate_d: Array, feedforward: Array, theta: Array,
        theta_rate: Array,
    ) -> Array:
        """Return τ_m, (m,), N m, for a reference and the motors' state, (m,) each."""
        error = np.array([theta_d - theta, theta_rate_d - theta_rate])
        if self._noise.any():
            error -= self._noise * self._random.standard_normal(error.shape)
        wanted = feedforward + (self._gains * error).sum(axis=0)
        within: Array = np.clip(wanted, -self._limit, self._limit)
        return within
