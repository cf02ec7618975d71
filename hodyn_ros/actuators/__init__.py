"""Actuator laws, motors and friction, joint by joint: they know nothing of robots."""
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.actuators.joints import Actuators, JointActuator
from hodyn_ros.actuators.laws import (
    CubicSpring,
    ExponentialAntagonism,
    Law,
    LinearSpring,
    QuadraticAntagonism,
    Rigid,
    TabulatedSpring,
    VariableStiffness,
)
from hodyn_ros.actuators.link_side import LinkSide
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.actuators.motors import Motor

__all__ = [
    'Actuators', 'CubicSpring', 'ExponentialAntagonism', 'JointActuator', 'Law', 'LinearSpring',
    'LinkSide', 'Motor', 'MotorSide', 'QuadraticAntagonism', 'Rigid', 'SigmoidFriction',
    'TabulatedSpring', 'VariableStiffness',
]
