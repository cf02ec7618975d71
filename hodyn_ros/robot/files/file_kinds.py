"""Recognises the kind of a YAML or JSON file that was given by mistake."""
from collections.abc import Mapping
from typing import Any

_KINDS = {
    'a robot file (--robot)': {'bodies'}, 'a plan': {'joint_names', 'points'},
    'a file of limits (--limits)': {'limits'}, "MoveIt's file of limits (--limits)": {
        'joint_limits'},
    'a file of springs and motors (--actuators)': {'actuators'},
    'a JointState message, which is one instant and not a plan': {'name', 'position'},
    'the metadata of a bag; give the folder of the bag': {'rosbag2_bagfile_information'}}


def likeness(data: Any) -> str:
    """Return the end of a message: the likely kind of a file's data, or nothing if unknown."""
    if not isinstance(data, Mapping):
        return ''
    known = next((kind for kind, keys in _KINDS.items() if keys <= set(data)), '')
    if any(isinstance(value, Mapping) and 'ros__parameters' in value for value in data.values()):
        known = 'a parameter file of a node'
    return known and f'; it looks like {known}'
