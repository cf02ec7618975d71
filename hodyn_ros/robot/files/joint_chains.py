"""Replaces planar and spherical joints in the mapping of a robot by chains of simple joints.

A simple joint has one coordinate. Only the last link of a chain, the body itself, has a mass.
"""
from collections.abc import Mapping
from typing import Any

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot.files.checked_mapping import CheckedMapping, body_label

_MOTIONS = {
    'planar': {'x': 'prismatic', 'y': 'prismatic', 'yaw': 'revolute'},
    'spherical': dict.fromkeys('xyz', 'revolute')}
"""For each type of joint, its simple joints: the suffixes of their names, and their types."""
CHAINS = tuple(_MOTIONS)
_LINK_ONLY = ('mass', 'com', 'inertia')


def coordinate_names(joint: str, kind: str) -> list[str]:
    """Return the names of the simple joints that replace a joint of this type."""
    return [f'{joint}_{suffix}' for suffix in _MOTIONS[kind]] if kind in _MOTIONS else [joint]


def with_chains(data: Mapping[str, Any], context: str) -> Mapping[str, Any]:
    """Return the mapping of a robot with a chain of bodies for each planar or spherical joint.

    Raises HodynError for keys that a body with such a joint cannot have.
    """
    entries = data.get('bodies')
    if not isinstance(entries, (list, tuple)) or not any(map(_is_chain, entries)):
        return data
    names = [entry.get('name') if isinstance(entry, Mapping) else None for entry in entries]
    bodies: list[Any] = []
    for i, entry in enumerate(entries):
        parent = entry.get('parent') if isinstance(entry, Mapping) else None
        if type(parent) is int and parent >= 0:
            # Indices count the bodies in the file, without those that chains add.
            entry = {**entry, 'parent': names[parent] if parent < len(names) else str(parent)}
        bodies += [entry] if not _is_chain(entry) else _chain(
            entry, f'robot {context!r}, body {body_label(entry, i)}')
    return {**data, 'bodies': bodies}


def _is_chain(entry: Any) -> bool:
    return isinstance(entry, Mapping) and entry.get('type') in CHAINS


def _chain(entry: Mapping[str, Any], context: str) -> list[dict[str, Any]]:
    section = CheckedMapping(entry, context, set(entry))
    kind, name = entry['type'], section.text('name')
    joint = section.text('joint') if section.has('joint') else name
    for key, what in (
        ('mimic', f'a {kind} joint cannot follow another'),
        *((key, f'a {kind} joint has none: give its placement') for key in ('dh', 'modified_dh')),
        *([('axis', 'a spherical joint has none')] if kind == 'spherical' else []),
    ):
        if section.has(key):
            section.fail(key, what)
    axes = np.eye(3) if kind == 'spherical' else _plane(section.array('axis', (3,)))
    chain: list[dict[str, Any]] = []
    for (suffix, motion), axis in zip(_MOTIONS[kind].items(), axes, strict=True):
        chain.append({
            **{key: value for key, value in entry.items() if key not in _LINK_ONLY},
            'name': f'{name} {suffix}', 'joint': f'{joint}_{suffix}', 'type': motion,
            'axis': axis.tolist()})
        if len(chain) > 1:
            chain[-1] |= {'parent': chain[-2]['name'], 'placement': np.eye(4).tolist()}
    chain[-1] |= {'name': name, **{key: entry[key] for key in _LINK_ONLY if key in entry}}
    return chain


def _plane(normal: Array) -> Array:
    """Return two axes in a plane and its normal, as rows: x, y and z for the normal z."""
    along = np.cross(np.roll(np.eye(3)[int(np.abs(normal).argmax())], 2), normal)
    across = np.cross(normal, along)
    # `read_body` will refuse a normal whose length is not 1, like any axis.
    lengths = [np.linalg.norm(axis) or 1.0 for axis in (along, across)]
    return np.array([along / lengths[0], across / lengths[1], normal])
