"""Feed-forward: motion → torques → motors, and the controller that evaluates it in real time."""
from hodyn_ros.feedforward.torque import ORDER, FeedForward

__all__ = ['ORDER', 'FeedForward']
