"""Elastic arms under control: what each part of the feed-forward is worth, measured."""
from hodyn_ros.elastic.tracking import (
    METHODS,
    Conditions,
    Loop,
    Method,
    Tracking,
    compare,
    motor_references,
)

__all__ = [
    'METHODS', 'Conditions', 'Loop', 'Method', 'Tracking', 'compare', 'motor_references',
]
