"""Limits from a separate file: with the keys of a robot file, or MoveIt's joint_limits.yaml."""
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
import warnings

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError, did_you_mean
from hodyn_ros.common.input_files import check_file
from hodyn_ros.robot.files import strict_yaml
from hodyn_ros.robot.files.checked_mapping import CheckedMapping
from hodyn_ros.robot.files.file_kinds import likeness
from hodyn_ros.robot.files.joint_properties import LIMIT_KEYS
from hodyn_ros.robot.locked_joints import dependence
from hodyn_ros.robot.model import Robot
from hodyn_ros.robot.robot_check import check_robot
from hodyn_ros.robot.unit_doubts import MANY_TURNS, ask_if

MAX_FILE_BYTES = 1024 * 1024
_FACTOR = 30.0
"""Ratio of a new limit to the robot's limit above which the new one is probably in degrees."""
_ROUNDED = 1.01
"""Largest ratio of a new limit to the robot's limit that counts as rounding."""
_MOVEIT = 'joint_limits'
_MOVEIT_KEYS = {
    'position': ('min_position', 'max_position'), 'velocity': ('max_velocity',),
    'acceleration': ('max_acceleration',), 'jerk': ('max_jerk',), 'effort': ('max_effort',)}


def with_limits(robot: Robot, source: str | Path | Mapping[str, Any]) -> Robot:
    """Return the robot with limits from a YAML file or its mapping; the robot's other limits stay.

    The key `limits` has, by joint, any of `position` (lowest and highest), `velocity`,
    `acceleration`, `jerk`, `effort`, `effort_rate` and `tracking_error`; null means unknown. The
    key `joint_limits` has MoveIt's format (`has_velocity_limits`, `max_velocity` …). Joint names
    may have one of the robot's prefixes; joints that the robot does not have are left out with a
    warning. HodynError: a key is wrong; the message names its joint. FileNotFoundError: there is
    no such file.
    """
    check_robot(robot)
    data, context = source, 'limits'
    if not isinstance(source, Mapping):
        path, context = Path(source), str(source)
        check_file(path, f'no file of limits {context!r}')
        data = strict_yaml.load(
            strict_yaml.read_text(path, MAX_FILE_BYTES, 'a file of limits'), context)
    if not (isinstance(data, Mapping) and {_MOVEIT, 'limits'} & set(data)):
        raise HodynError(
            f"{context}: expected the key 'limits', or MoveIt's '{_MOVEIT}'{likeness(data)}")
    if _MOVEIT in data:
        joints, read = data[_MOVEIT], _moveit_entry  # other keys are MoveIt's own scalings
    else:
        joints, read = CheckedMapping(data, context, ['limits']).get('limits'), _entry
    if not isinstance(joints, Mapping):
        raise HodynError(f'{context}: expected a mapping of joints, got {type(joints).__name__}')
    values = {
        name: np.array(getattr(robot.limits, name))
        for name in ('position_min', 'position_max', *LIMIT_KEYS)}
    known = {str(name): _joint(robot, str(name)) for name in joints}
    if not any(index is not None for index in known.values()):
        raise HodynError(
            f'{context}: none of its entries is a joint of {robot.name!r}; its joints are '
            f'{", ".join(robot.joint_names)}')
    for name, entry in joints.items():
        index = known[str(name)]
        if index is None:
            what = _why_left_out(robot, str(name))
            warnings.warn(f'{context}: joint {name!r} is left out: it {what}', stacklevel=2)
            continue
        for key, value in read(entry, f'{context}, joint {name!r}').items():
            values[key][index] = value
    lower, upper = values['position_min'], values['position_max']
    if np.any(lower >= upper):
        joint = robot.joint_names[int(np.argmax(lower >= upper))]
        raise HodynError(
            f'{context}, joint {joint!r}: its lower limit is not below the upper one')
    if _MOVEIT in data:
        _warn_of_switched_off(
            {name: entry for name, entry in joints.items() if known[str(name)] is not None},
            context)
    in_degrees, larger = _in_degrees(robot, values), _larger_velocities(robot, values['velocity'])
    ask_if(in_degrees, f'{context}: limits are in rad and rad/s: are these degrees?')
    if not in_degrees:
        ask_if(larger, f'{context}: velocity limits above those of the robot count:')
    return replace(robot, limits=replace(robot.limits, **values))


def _in_degrees(robot: Robot, values: Mapping[str, Array]) -> list[str]:
    """Return the limits of revolute joints that are probably in degrees, as they are so large."""
    found = []
    for name in ('position_min', 'position_max', 'velocity', 'acceleration'):
        before, after = np.abs(getattr(robot.limits, name)), np.abs(values[name])
        is_far = (after > _FACTOR * before) & (before > 0.0)
        if name.startswith('position'):
            is_far |= (after > MANY_TURNS) & (after != before)
        found += [
            f'{name} {values[name][i]:g} of {robot.joint_names[i]}'
            f'{_of_the_robot(getattr(robot.limits, name)[i])}'
            for i in np.flatnonzero(is_far & np.isfinite(after))
            if robot.joint_bodies[i].type == 'revolute']
    return found


def _larger_velocities(robot: Robot, velocity: Array) -> list[str]:
    """Return the new limits of velocity that are above those of the robot."""
    before = robot.limits.velocity
    return [
        f'{velocity[i]:g} of {robot.joint_names[i]}{_of_the_robot(before[i])}'
        for i in np.flatnonzero((velocity > _ROUNDED * before) & np.isfinite(velocity))]


def _of_the_robot(limit: float) -> str:
    return f" (the robot's is {limit:g})" if np.isfinite(limit) else ''


def _joint(robot: Robot, name: str) -> int | None:
    for index, joint in enumerate(robot.joint_names):
        if name in (joint, *(prefix + joint for prefix in robot.joint_prefixes)):
            return index
    return None


def _why_left_out(robot: Robot, name: str) -> str:
    """Return why a joint is left out: it is locked, follows another, or is unknown."""
    for prefix in ('', *robot.joint_prefixes):
        if why := dependence(robot, name, prefix):
            return why
    return f'is not a joint of {robot.name!r}' + did_you_mean(name, robot.joint_names, cutoff=0.8)


def _entry(entry: Any, context: str) -> dict[str, float]:
    section = CheckedMapping(entry, context, ['position', *LIMIT_KEYS])
    values = {
        key: _positive(section, key) if section.has(key) else np.inf
        for key in LIMIT_KEYS if key in section.data}
    if section.has('position'):
        values['position_min'], values['position_max'] = section.array('position', (2,)).tolist()
    elif 'position' in section.data:
        values['position_min'], values['position_max'] = -np.inf, np.inf
    return values


def _moveit_entry(entry: Any, context: str) -> dict[str, float]:
    known = [key for keys in _MOVEIT_KEYS.values() for key in keys]
    section = CheckedMapping(
        entry, context, [*known, *(f'has_{name}_limits' for name in _MOVEIT_KEYS),
                         'max_deceleration', 'has_deceleration_limits', 'angle_wraparound',
                         'has_soft_limits', 'k_position', 'k_velocity', 'soft_lower_limit',
                         'soft_upper_limit'])
    values = {}
    for name, keys in _MOVEIT_KEYS.items():
        for key in keys if section.data.get(f'has_{name}_limits', False) else ():
            if name == 'position':
                values[f'position_{key.removesuffix("_position")}'] = section.number(key)
            else:
                values[name] = _positive(section, key)
    return values


def _warn_of_switched_off(joints: Mapping[str, Mapping[str, Any]], context: str) -> None:
    """Warn of MoveIt's limits that are given and not switched on; 0 stands for none."""
    for name, keys in _MOVEIT_KEYS.items():
        ask_if([
            str(joint) for joint, entry in joints.items()
            if not entry.get(f'has_{name}_limits', False) and any(map(entry.get, keys))
        ], f'{context}: {keys[0]} counts only with has_{name}_limits: true; it is not used for')


def _positive(section: CheckedMapping, key: str) -> float:
    value = section.number(key)
    if value <= 0.0:
        section.fail(key, f'{value:g}: must be above 0')
    return value
