"""Feed-forward: motion → torques → motors, and the controller that evaluates it in real time."""
from hodyn_ros.actuators import MotorSide
from hodyn_ros.feedforward.torque import ORDER, TORQUE_NAMES, FeedForward

__all__ = ['ORDER', 'TORQUE_NAMES', 'FeedForward', 'MotorSide']
