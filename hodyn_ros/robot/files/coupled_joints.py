"""Coupled joints in a robot file: resolves chains of mimics, and passes limits to the leaders."""
from collections.abc import Mapping, Sequence
from dataclasses import replace
import math
from typing import Any, NamedTuple
import warnings

import numpy as np

from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot.coupling import Mimic, resolved
from hodyn_ros.robot.files.bodies import fixed_at
from hodyn_ros.robot.files.checked_mapping import CheckedMapping
from hodyn_ros.robot.files.plain_values import plain
from hodyn_ros.robot.model import Body
from hodyn_ros.robot.unit_doubts import MANY_TURNS, ask_if


class JointLimits(NamedTuple):
    """Limits of a joint, infinite if unknown."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf


def with_resolved_mimics(
    links: Sequence[Body], locked: Mapping[str, float], section: CheckedMapping,
) -> tuple[list[Body], dict[str, float]]:
    """Return the links with resolved mimics, in which each leader moves by itself.

    A joint is fixed if its leader is fixed or locked, or if its multiplier is 0. Also returned, by
    joint, are the positions, rad or m, of joints that follow a locked one.
    """
    joints = {link.joint: link for link in links if link.type != 'floating'}
    mimics = resolved(
        {link.joint: link.mimic for link in links if link.mimic is not None}, section.context)
    positions = {
        joint: float(mimic.position(locked[mimic.joint]))
        for joint, mimic in mimics.items() if mimic.joint in locked}

    def following(link: Body) -> Body:
        if link.mimic is None:
            return link
        mimic = mimics[link.joint]
        leader = joints.get(mimic.joint)
        if leader is None:
            moving = ', '.join(name for name, one in joints.items() if one.type != 'fixed')
            raise HodynError(
                f'{section.context}: joint {link.joint!r} mimics {mimic.joint!r}, but there '
                f'is no joint with one degree of freedom of this name; those that move are '
                f'{moving}')
        if leader.type == 'fixed' or mimic.multiplier == 0.0:
            return fixed_at(link, positions.get(link.joint, mimic.offset))
        return replace(link, mimic=mimic)

    return [following(link) for link in links], positions


def limit_keys(
    limits: Mapping[str, JointLimits], mimics: Mapping[str, Mimic], context: str,
) -> dict[str, Any]:
    """Return the limits, as keys of a robot file, of the joints that move by themselves.

    A leader's limits are narrowed so that its followers keep theirs. If a follower cannot keep its
    range, the range is left out with a warning. Effort limits of followers have no effect, as
    followers have no motor. `mimics` are resolved; `context` names the source in messages.
    """
    result = {joint: own for joint, own in limits.items() if joint not in mimics}
    for joint, own in limits.items():
        if joint not in mimics:
            continue
        mimic = mimics[joint]
        if mimic.joint not in result or mimic.multiplier == 0.0:
            continue
        leader = result[mimic.joint]
        ends = sorted((end - mimic.offset) / mimic.multiplier for end in (own.lower, own.upper))
        lower, upper = max(leader.lower, ends[0]), min(leader.upper, ends[1])
        if not lower < upper:
            warnings.warn(
                f'{context}: joint {joint!r}, which is at {mimic}, cannot be within its range, '
                f'{own.lower:g} to {own.upper:g}, while {mimic.joint!r} is within its own: the '
                f'range of {joint!r} is left out', stacklevel=2)
            lower, upper = leader.lower, leader.upper
        result[mimic.joint] = leader._replace(lower=lower, upper=upper, **{
            name: min(getattr(leader, name), getattr(own, name) / abs(mimic.multiplier))
            for name in ('velocity', 'acceleration', 'jerk')})
    # Once the followers have narrowed it, the range no longer shows that it is in degrees.
    ask_if([
        f'{joint} ({limits[joint].lower:g} to {limits[joint].upper:g}, by its followers '
        f'{own.lower:.3g} to {own.upper:.3g})' for joint, own in result.items()
        if np.ptp(own[:2]) < MANY_TURNS < np.ptp(limits[joint][:2]) < math.inf
    ], f'{context}: ranges are far wider than those of the joints that follow: are these degrees?')
    if not result:
        return {}
    columns = dict(zip(
        JointLimits._fields, plain(list(zip(*result.values(), strict=True)), finite=True),
        strict=True))
    position = zip(columns.pop('lower'), columns.pop('upper'), strict=True)
    return {'position': list(map(list, position)), **{
        name: column for name, column in columns.items() if column.count(None) < len(column)}}
