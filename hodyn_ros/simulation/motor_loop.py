"""The motor loop of a drive: feed-forward torque plus PD on the motor encoders' values."""
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.joint_actuators import INERTIA, Actuators
from hodyn_ros.actuators.laws import RIGID
from hodyn_ros.common.errors import HodynError

Array = NDArray[np.float64]


@dataclass(eq=False)
class MotorLoop:
    """τ = feed-forward + B (ω² (θ_d − θ) + 2 ζ ω (θ̇_d − θ̇)), clipped to the motors' limits.

    Attributes
    ----------
    actuators : Actuators
        The motors, with B and the torque limits.
    bandwidth, damping : float
        ω, rad/s, and ζ.
    position_noise, velocity_noise : float
        Standard deviations of the encoders' noise, rad and rad/s.
    seed : int
        Seed of the noise.
    link_inertia : (n,) array, optional
        Inertia that each joint moves, kg m². It is used as B for a rigid joint whose motor has no
        inertia and is just a source of torque.

    Raises
    ------
    HodynError
        Another motor has no inertia: its gains would be 0.

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
                f'motor {self.actuators.motor_names[weightless[0]]!r} has no inertia, so the '
                'gains of its loop would be 0: give motor.inertia in actuators')
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
        """Return τ_m, (m,), N m, for references and states of the motors, (m,) each."""
        error = np.array([theta_d - theta, theta_rate_d - theta_rate])
        if self._noise.any():
            error -= self._noise * self._random.standard_normal(error.shape)
        wanted = feedforward + (self._gains * error).sum(axis=0)
        within: Array = np.clip(wanted, -self._limit, self._limit)
        return within
