"""Keys of a robot file with one entry per joint: limits, friction, rotor inertia, effort gain."""
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.robot.files.checked_mapping import CheckedMapping
from hodyn_ros.robot.joint_limits import Limits

PerJoint = TypeVar('PerJoint', Limits, SigmoidFriction)

LIMIT_KEYS = ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate', 'tracking_error')
_SIGMOID_KEYS = ('amplitude', 'slope', 'velocity_offset')


def read_limits(section: CheckedMapping, joints: list[str]) -> Limits:
    """Return the limits of the joints, in their order; infinite if the file gives none."""
    n = len(joints)
    if not section.has('limits'):
        return Limits.none(n)
    part = CheckedMapping(
        section.get('limits'), f'{section.context}, limits',
        {'position', 'stopping', *LIMIT_KEYS})
    values = {}
    for key in LIMIT_KEYS:
        values[key] = _with_gaps(part, key, np.full(n, np.inf), joints)
        _refuse(part, key, joints, values[key] <= 0.0,
                'must be above 0; write null if none is known')
    anywhere = np.tile([-np.inf, np.inf], (n, 1))
    lower, upper = _with_gaps(part, 'position', anywhere, joints).T.copy()
    _refuse(part, 'position', joints, lower >= upper,
            'its lower limit is not below the upper one')
    return Limits(lower, upper, **values, **_stopping(part, joints))


def _stopping(limits: CheckedMapping, joints: list[str]) -> dict[str, Array]:
    """Return the fields of `Limits` that make velocity limits depend on the position."""
    n = len(joints)
    part = CheckedMapping(
        limits.get('stopping') if limits.has('stopping') else {}, f'{limits.context}, stopping',
        {'position', 'deceleration', 'velocity_offset'})
    anywhere = np.tile([-np.inf, np.inf], (n, 1))
    lower, upper = _with_gaps(part, 'position', anywhere, joints).T.copy()
    deceleration = _with_gaps(part, 'deceleration', np.full(n, np.inf), joints)
    offset = _with_gaps(part, 'velocity_offset', np.zeros(n), joints)
    _refuse(part, 'position', joints, lower >= upper, 'its lower end is not below the upper one')
    _refuse(part, 'deceleration', joints, deceleration <= 0.0, 'must be above 0')
    _refuse(part, 'velocity_offset', joints, offset < 0.0, 'must not be below 0')
    return {
        'stopping_min': lower, 'stopping_max': upper, 'stopping_deceleration': deceleration,
        'stopping_offset': offset}


def read_friction(section: CheckedMapping, joints: list[str]) -> SigmoidFriction | None:
    """Return the friction of the joints, in their order; None if the file gives none."""
    if not section.has('friction'):
        return None
    part = CheckedMapping(
        section.get('friction'), f'{section.context}, friction',
        {'law', *_SIGMOID_KEYS, 'viscous'})
    law = part.text('law')
    if law != 'sigmoid':
        part.fail('law', f"expected 'sigmoid', got {law!r}")
    keys = (*_SIGMOID_KEYS, 'viscous') if part.has('viscous') else _SIGMOID_KEYS
    values = {key: _per_joint(part, key, joints) for key in keys}
    for key in ('amplitude', 'slope', 'viscous'):
        if key in values:
            wrong = values[key] < 0.0
            first = next(iter(values[key][wrong]), 0.0)
            _refuse(part, key, joints, wrong, f'{first:g} is below 0: '
                    'such friction would drive the joint; write 0 or more')
    return SigmoidFriction(**values)


def read_rotor_inertia(section: CheckedMapping, joints: list[str]) -> Array | None:
    """Return the rotors' reflected inertias, (n,); None if the file gives none."""
    if not section.has('rotor_inertia'):
        return None
    values = _per_joint(section, 'rotor_inertia', joints)
    _refuse(section, 'rotor_inertia', joints, values < 0.0, 'is below 0')
    return values


def read_effort_gain(section: CheckedMapping, joints: list[str]) -> Array | None:
    """Return the torques, N m, per unit of recorded effort, (n,); None if the file gives none."""
    if not section.has('effort_gain'):
        return None
    values = _per_joint(section, 'effort_gain', joints)
    _refuse(section, 'effort_gain', joints, values == 0.0, 'is 0')
    return values


def read_locked(section: CheckedMapping, joints: list[str]) -> dict[str, float]:
    """Return the positions, rad or m, of joints locked before the file was written."""
    given = section.get('locked') if section.has('locked') else {}
    names = list(given) if isinstance(given, Mapping) else []
    part = CheckedMapping(given, f'{section.context}, locked', names)
    for joint in joints:
        if joint in names:
            part.fail(joint, 'is a joint of a body; give locked_joints (--lock) to lock it')
    return {str(name): part.number(name) for name in names}


def read_lock_names(section: CheckedMapping, key: str, among: str) -> frozenset[str]:
    """Return the joints that `key` lists; refuse joints that the key `among` does not list."""
    if not section.has(key):
        return frozenset()
    given, known = section.get(key), section.data.get(among) or ()
    if not isinstance(given, list) or not set(map(str, given)) <= set(known):
        section.fail(key, f'expected a list of joints of `{among}`, got {given!r}')
    return frozenset(given)


def reordered(entries: PerJoint, order: list[int]) -> PerJoint:
    """Return a dataclass of arrays, one entry per joint, with the joints in another order."""
    return replace(entries, **{f.name: getattr(entries, f.name)[order] for f in fields(entries)})


def _per_joint(section: CheckedMapping, key: str, joints: list[str]) -> Array:
    _check_length(section, key, joints)
    return section.array(key, (len(joints),))


def _check_length(section: CheckedMapping, key: str, joints: list[str]) -> None:
    value = section.get(key)
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) != len(joints):
        section.fail(
            key, f'expected {len(joints)}, got {len(value)}: one for each of '
            f'{", ".join(joints)}; joints that follow others have none')


def _refuse(
    section: CheckedMapping, key: str, joints: list[str], wrong: Flags, fault: str,
) -> None:
    """Refuse a list with wrong entries, naming the first one's joint."""
    if wrong.any():
        section.fail(key, f'joint {joints[int(np.argmax(wrong))]!r}: {fault}')


def _with_gaps(
    section: CheckedMapping, key: str, unlimited: Array, joints: list[str],
) -> Array:
    """Return limits in the shape of `unlimited`, which has the values for nulls in the file."""
    if not section.has(key):
        return unlimited
    _check_length(section, key, joints)

    def filled(value: Any) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [filled(entry) for entry in value]
        return 0.0 if value is None else value

    def known(value: Any) -> Any:
        return [known(entry) for entry in value] if isinstance(value, list) else value is not None

    value = section.get(key)
    filled_in = CheckedMapping({key: filled(value)}, section.context, {key})
    numbers = filled_in.array(key, unlimited.shape, np.inf)  # any huge limit is accepted
    return np.where(np.array(known(value)), numbers, unlimited)
