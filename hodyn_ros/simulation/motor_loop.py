"""The motor loop of a drive: feed-forward torque plus PD on the motor's encoder."""
import numpy as np

from hodyn_ros.actuators.joint_actuators import INERTIA, Actuators
from hodyn_ros.common.arrays import Array

BANDWIDTH, DAMPING = 50.0, 0.7
"""Bandwidth ω of the loop, rad/s, and its damping ζ."""


class MotorLoop:
    """τ = feed-forward + B (ω² (θ_d − θ) + 2 ζ ω (θ̇_d − θ̇)), clipped to the motors' limits.

    B is the inertia of the motor, and `bandwidth` is ω, rad/s. At a rigid joint whose motor has no
    inertia, B is the inertia that the joint moves, in `link_inertia`, (n,), kg m². Behind springs,
    all motors have an inertia: `elastic_arm.check_motors` refuses others.
    """

    def __init__(
        self, actuators: Actuators, link_inertia: Array, bandwidth: float = BANDWIDTH,
    ) -> None:
        of_motor, inertia = actuators.motor_joints, actuators.motors[:, INERTIA]
        is_source = actuators.rigid[of_motor] & (inertia == 0.0)
        inertia = np.where(is_source, link_inertia[of_motor], inertia)
        self._gains = np.array([inertia * bandwidth**2, inertia * 2.0 * DAMPING * bandwidth])
        self._limit = np.array([actuators.joints[joint].motor.max_effort for joint in of_motor])

    def torque(
        self, theta_d: Array, theta_rate_d: Array, feedforward: Array, theta: Array,
        theta_rate: Array,
    ) -> Array:
        """Return τ_m, (m,), N m, for references and states of the motors, (m,) each."""
        error = np.array([theta_d - theta, theta_rate_d - theta_rate])
        wanted = feedforward + (self._gains * error).sum(axis=0)
        within: Array = np.clip(wanted, -self._limit, self._limit)
        return within
