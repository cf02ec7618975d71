"""Tolerances of a goal: how far the arm may be from its reference.

The rules follow joint_trajectory_controller (`tolerances.hpp` of ros2_controllers 6).
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference.limits import largest_ratio

QUANTITIES = ('position', 'velocity')
# Value that removes a default tolerance, compared in single precision.
ERASED = -1.0
EPSILON = 1.2e-7


@dataclass(frozen=True, eq=False)
class GoalTolerances:
    """Tolerances of one goal; infinite if any distance is allowed."""

    #: (2, n): tolerances of position and velocity while the reference moves, rad, rad/s or m, m/s
    path: Array
    goal: Array  #: (2, n): the same once the reference has come to its end
    #: How long after its end the arm may take to be within `goal`, s; 0 for no limit
    goal_time: float


@dataclass(frozen=True)
class JointTolerance:
    """Tolerances that a goal sets for a joint: 0 means the default, -1 no tolerance."""

    name: str
    position: float
    velocity: float


def default_tolerances(
    joints: Sequence[str], goal_time: float, stopped_velocity: float,
    trajectory: Mapping[str, float], goal: Mapping[str, float],
) -> GoalTolerances:
    """Return the tolerances of goals that set none, for joints by the robot's own names.

    `goal_time` is as in `GoalTolerances`, `stopped_velocity` the goal tolerance of each velocity,
    rad/s or m/s; 0 for none. `trajectory` and `goal` have path and goal tolerances of positions by
    joint name, with any prefix. A joint that the robot does not have raises HodynError.
    """
    path = np.zeros((2, len(joints)))
    end = np.zeros((2, len(joints)))
    end[1] = stopped_velocity
    for tolerances, by_joint, kind in ((path, trajectory, 'trajectory'), (end, goal, 'goal')):
        for name, value in by_joint.items():
            found = [i for i, joint in enumerate(joints) if name.endswith(joint)]
            if not found:
                raise HodynError(
                    f'parameter constraints.{name}.{kind}: no such joint; the joints are '
                    f'{", ".join(joints)}, with a prefix or without')
            tolerances[0, max(found, key=lambda i: len(joints[i]))] = value
    return GoalTolerances(_bounds(path), _bounds(end), goal_time)


def goal_tolerances(
    defaults: GoalTolerances, names: Sequence[Sequence[str]], path: Iterable[JointTolerance],
    goal: Iterable[JointTolerance], goal_time: float,
) -> GoalTolerances:
    """Return the tolerances of a goal.

    `path`, `goal` and `goal_time`, s, are what the goal sets (0 means the default, -1 no limit);
    the rest is from `defaults`. `names` are the accepted names of the joints, in one or more
    sequences of n. An unknown joint, and a negative tolerance that is not -1, raise HodynError.
    """
    chosen = (defaults.path.copy(), defaults.goal.copy())
    for tolerances, asked, kind in zip(
            chosen, (path, goal), ('path_tolerance', 'goal_tolerance'), strict=True):
        for one in asked:
            joint = next((row.index(one.name) for row in names if one.name in row), None)
            if joint is None:
                raise HodynError(
                    f'{kind} names joint {one.name!r}; the joints are {", ".join(names[0])}')
            for k, value in enumerate((one.position, one.velocity)):
                tolerances[k, joint] = _chosen(
                    value, float(tolerances[k, joint]), np.inf,
                    f'{kind} of joint {one.name!r}: {QUANTITIES[k]}')
    return GoalTolerances(
        *chosen, _chosen(goal_time, defaults.goal_time, 0.0, 'goal_time_tolerance'))


def violation(tolerances: Array, error: Array) -> tuple[int, int] | None:
    """Return the quantity and joint furthest beyond their tolerance; None if all are within.

    `error` has the rows of `tolerances`, (2, n), or only the first if the velocity is unknown.
    """
    worst, found = 1.0, None
    for k in range(len(error)):
        joint, ratio = largest_ratio(error[k], tolerances[k])
        if ratio > worst:
            worst, found = ratio, (k, joint)
    return found


def _chosen(asked: float, default: float, none: float, what: str) -> float:
    """Return the tolerance for a requested value: itself, the default, or `none` for no bound."""
    if asked > 0.0:
        return asked
    if asked == 0.0:
        return default
    if abs(asked - ERASED) < EPSILON:
        return none
    raise HodynError(
        f'{what} {asked:g} is neither positive, nor 0 for the default, nor -1 for none')


def _bounds(values: Array) -> Array:
    return np.where(values > 0.0, values, np.inf)
