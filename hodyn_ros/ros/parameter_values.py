"""Checks of the values of the node's parameters, and messages about wrong ones."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import Field
import sys
from typing import Any

from hodyn_ros.robot import HodynError

NAMES = {str: 'string', bool: 'truth value (true or false)', int: 'whole number', float: 'number'}
ENTRIES: dict[str, Callable[[float], bool]] = {
    '': lambda number: True,
    'above 0': lambda number: number > 0.0,
    '0 or above 0': lambda number: number >= 0.0,
    '-1, 0 or above 0': lambda number: number == -1.0 or number >= 0.0}
"""Checks of the numbers in arrays. The keys describe valid numbers in messages."""


def fault_of(name: str, value: Any, row: Field[Any]) -> str:
    """Return what is wrong with a parameter's value; empty if nothing.

    `row` is the parameter's field of `parameters.Parameters`, with its default and its bounds.
    """
    default: Any = row.default
    choices, bounds = row.metadata['choices'], row.metadata['bounds']
    kind = type(default)
    if kind is tuple:
        return _fault_of_array(name, value, default, row.metadata['entries'])
    if not _is_of(kind, value):
        quoted = (
            ': YAML reads off, on, yes and no as true or false unless they are quoted'
            if kind is str and isinstance(value, bool) else '')
        return f'{name} is {value!r}; expected a {NAMES[kind]}{quoted}'
    if choices is not None and value not in choices:
        return f'{name} is {value!r}; expected one of {", ".join(choices)}'
    if kind is float and not _is_finite(value):
        return f'{name} is {value}; expected a finite number'
    if bounds is not None and not bounds[0] <= value <= bounds[1]:
        return f'{name} is {value}; expected {bounds[0]:g} to {bounds[1]:g}'
    return ''


def read_locked_joints(texts: Sequence[str]) -> dict[str, float]:
    """Return the positions of locked joints, by name, given texts JOINT=VALUE.

    Raises HodynError for a text of another form; skips empty texts.
    """
    found = {}
    for text in filter(None, texts):
        joint, _, position = text.rpartition('=')
        try:
            found[joint] = float(position)
        except ValueError:
            joint = ''
        if not joint or not _is_finite(found[joint]):
            raise HodynError(
                f'locked_joints: {text!r}; expected JOINT=VALUE, for example finger_joint1=0.04')
    return found


def _fault_of_array(name: str, value: Any, default: tuple[Any, ...], entries: str) -> str:
    element = type(default[0])
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | array) or not all(
            _is_of(element, entry) for entry in value):
        example = ", such as ['finger_joint1=0.04']" if name == 'locked_joints' else ''
        return f'{name} is {value!r}; expected an array of {NAMES[element]}s{example}'
    if name == 'locked_joints':
        try:
            read_locked_joints(value)
        except HodynError as error:
            return str(error)
    if element is str:
        return ''
    if len(default) > 1 and len(value) != len(default):
        return f'{name} has {len(value)} numbers; expected {len(default)}'
    if not len(value):
        return f'{name} is empty; expected at least one number'
    if not all(_is_finite(entry) and ENTRIES[entries](entry) for entry in value):
        return f'{name} is {list(value)}; expected finite numbers{entries and ": " + entries}'
    return ''


def _is_finite(number: float) -> bool:
    """Return whether a number is finite as a float; whole numbers may be too large."""
    return abs(number) <= sys.float_info.max


def _is_of(kind: type, value: Any) -> bool:
    """Return whether a value is of a type; a whole number is also a float."""
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
