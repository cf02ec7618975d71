"""How far the arm may be away from a reference that it was given as a goal.

The rules are those of joint_trajectory_controller (`tolerances.hpp` of ros2_controllers 6).
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference.limits import largest_ratio

Array = NDArray[np.float64]

QUANTITIES = ('position', 'velocity')
# Asks for no tolerance where there is one by default; single precision's epsilon about it will do.
ERASED = -1.0
EPSILON = 1.2e-7


@dataclass(frozen=True, eq=False)
class GoalTolerances:
    """Tolerances of one goal; infinite where any distance will do.

    Attributes
    ----------
    path : (2, n) array
        Of position and velocity while the reference moves, rad and rad/s, or m and m/s.
    goal : (2, n) array
        The same, once it has come to its end.
    goal_time : float
        How long after that the arm may take to be within `goal`, s; 0 for ever.

    """

    path: Array
    goal: Array
    goal_time: float


@dataclass(frozen=True)
class JointTolerance:
    """What a goal asks for a joint: 0 takes the default, -1 asks for none."""

    name: str
    position: float
    velocity: float


def default_tolerances(
    joints: Sequence[str], goal_time: float, stopped_velocity: float,
    trajectory: Mapping[str, float], goal: Mapping[str, float],
) -> GoalTolerances:
    """Return the tolerances that hold for goals that ask for none.

    Parameters
    ----------
    joints : sequence of str
        The robot's own names of its joints, n.
    goal_time, stopped_velocity : float
        As `GoalTolerances.goal_time`; goal tolerance of each velocity, rad/s or m/s. 0 for none.
    trajectory, goal : mapping of str to float
        Path and goal tolerances of positions by the names of joints, with any prefix.

    Raises
    ------
    HodynError
        For a joint that the robot does not have.

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

    Parameters
    ----------
    defaults : GoalTolerances
        Hold where the goal asks for nothing.
    names : sequence of sequences of str
        Names that the joints may be given, one sequence or more of n.
    path, goal : iterables of JointTolerance
        What the goal asks for.
    goal_time : float
        The same, s: 0 takes the default, -1 waits for ever.

    Raises
    ------
    HodynError
        For an unknown joint, and for a negative tolerance that is not -1.

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
    """Return quantity and joint that are beyond their tolerance most; None if none is.

    `error` has the rows of `tolerances`, (2, n), or, where the velocity is not known, the first.
    """
    worst, found = 1.0, None
    for k in range(len(error)):
        joint, ratio = largest_ratio(error[k], tolerances[k])
        if ratio > worst:
            worst, found = ratio, (k, joint)
    return found


def _chosen(asked: float, default: float, none: float, what: str) -> float:
    """Return the tolerance that an asked one and the default make; `none` is that of no bound."""
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
