"""Reads the reflexes in a robot file: the limits at which the vendor's controller stops."""
from itertools import combinations
from typing import Any
import warnings

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot.files.checked_mapping import CheckedMapping
from hodyn_ros.robot.joint_limits import Limits
from hodyn_ros.robot.reflexes import COMMANDS, QUANTITIES, Commands, Reflex, Reflexes

MIN_PERIOD, MAX_PERIOD = 1e-5, 0.1  # s; controllers sample every 0.1 to 10 ms
_KEYS = {'name', 'commands', 'quantity', 'joints', 'limit'}


def read_reflexes(
    section: CheckedMapping, joints: list[str], limits: Limits, order: list[int],
) -> Reflexes | None:
    """Return the reflexes with their joints reordered by `order`; None if the file has none.

    `joints` and `limits` are in the file's order. A reflex without a limit gets the one in
    `limits`. A wrong entry raises HodynError, naming file, reflex and key.
    """
    if not section.has('reflexes'):
        return None
    part = CheckedMapping(
        section.get('reflexes'), f'{section.context}, reflexes', {'period', 'gravity', 'stops'})
    period = part.number('period')
    if not MIN_PERIOD <= period <= MAX_PERIOD:
        part.fail('period', f'{period:g} s: expected {MIN_PERIOD:g} to {MAX_PERIOD:g}')
    gravity = part.data.get('gravity', True)
    if not isinstance(gravity, bool):
        part.fail('gravity', f'expected true or false, got {gravity!r}')
    stops = part.get('stops')
    if not isinstance(stops, list):
        part.fail('stops', f'expected a list, got {stops!r}')
    found = tuple(
        _stop(entry, f'{part.context}, entry {i + 1}', joints, limits, order)
        for i, entry in enumerate(stops))
    for one, other in combinations(found, 2):
        if (one.name, one.commands, one.quantity) == (
                other.name, other.commands, other.quantity) and np.any(
                np.isfinite(one.limit).all(axis=0) & np.isfinite(other.limit).all(axis=0)):
            part.fail('stops', f'{one.name!r} has two limits of {one.quantity} for one joint')
    return Reflexes(period, gravity, found)


def _stop(
    entry: Any, context: str, joints: list[str], limits: Limits, order: list[int],
) -> Reflex:
    part = CheckedMapping(entry, context, _KEYS)
    commands: Commands = _one_of(part, 'commands', COMMANDS)
    quantity = _one_of(part, 'quantity', QUANTITIES)
    speed = np.zeros(1)
    if not part.has('limit'):
        limit: Array = getattr(limits, quantity)[None]
    elif isinstance(part.data['limit'], dict):
        table = CheckedMapping(part.data['limit'], f'{context}, limit', {'speed', 'limit'})
        points = len(table.get('speed')) if isinstance(table.get('speed'), list) else 0
        speed = table.array('speed', (points,))
        if points < 2 or np.any(np.diff(speed) <= 0.0) or speed[0] < 0.0:
            table.fail('speed', 'expected two speeds or more, none below 0, increasing')
        limit = np.tile(table.array('limit', (points,))[:, None], len(joints))
    elif isinstance(part.data['limit'], list):
        limit = part.array('limit', (len(joints),))[None]
    else:
        limit = np.full((1, len(joints)), part.number('limit'))
    if np.any(limit <= 0.0):
        part.fail('limit', 'must be above 0')
    limit = limit.copy()
    if part.has('joints'):
        limit[:, [joint not in _names(part, joints) for joint in joints]] = np.inf
    if not np.isfinite(limit).any():
        warnings.warn(
            f"{context}, key 'limit': missing, and `limits` has no {quantity} for its joints: "
            f"nothing trips {part.text('name')!r}", stacklevel=2)
    return Reflex(part.text('name'), commands, quantity, speed, limit[:, order])


def _names(part: CheckedMapping, joints: list[str]) -> list[str]:
    names = part.get('joints')
    if not isinstance(names, list) or not names:
        part.fail('joints', f'expected a list of joints, got {names!r}')
    for name in names:
        if name not in joints:
            part.fail('joints', f'{name!r} is not a joint; the joints are {", ".join(joints)}')
    return names


def _one_of(part: CheckedMapping, key: str, choices: tuple[Any, ...]) -> Any:
    value = part.text(key)
    if value not in choices:
        part.fail(key, f'expected one of {", ".join(choices)}, got {value!r}')
    return value
