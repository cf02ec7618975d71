"""Actuator laws, motors and friction, joint by joint, without a robot."""
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import (
    AntagonisticExponential,
    AntagonisticQuadratic,
    CubicSpring,
    Law,
    LinearSpring,
    Rigid,
    TabulatedSpring,
    VariableStiffness,
)
from hodyn_ros.actuators.link_side import LinkSide
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.actuators.motors import Motor

__all__ = [
    'Actuators',
    'AntagonisticExponential',
    'AntagonisticQuadratic',
    'CubicSpring',
    'JointActuator',
    'Law',
    'LinearSpring',
    'LinkSide',
    'Motor',
    'MotorSide',
    'Rigid',
    'SigmoidFriction',
    'TabulatedSpring',
    'VariableStiffness',
]
