"""Finds wrong units and a wrong order of recorded positions by the ranges of the joints."""
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.limits.margins import position_slack
from hodyn_ros.replay.reading import DEGREES, Reading
from hodyn_ros.robot import Robot

UNITS = {1000.0: 'mm', 100.0: 'cm', DEGREES: 'degrees'}
"""Units of positions; the keys are the factors by which positions in them are too large."""

_MOSTLY = 0.5  # share of samples outside the range; correct positions leave it only briefly
_ROOM = 0.02  # share of the range by which positions inside it may exceed it
_FAR = 5.0  # distance from the range, in its widths, that no wrong zero explains


def mostly_outside(robot: Robot, position: Array) -> Flags:
    """Return which joints, (n,), are mostly outside their ranges; positions are (S, n)."""
    limits = robot.limits
    low, high = limits.position_min, limits.position_max
    outside = (position < low - position_slack(low)) | (position > high + position_slack(high))
    return np.asarray(outside.mean(axis=0) > _MOSTLY)


def are_inside(robot: Robot, position: Array) -> Flags:
    """Return which joints, (n,), are always inside their ranges, or have no known range."""
    low, high = robot.limits.position_min, robot.limits.position_max
    room = np.where(np.isfinite(high - low), _ROOM * (high - low), 0.0)
    return np.asarray(((position >= low - room) & (position <= high + room)).all(axis=0))


def unit_factors(robot: Robot, position: Array) -> dict[float, Array]:
    """Return factors, (n,), by which positions of single joints may be too large.

    There is an array for each key of `UNITS` that fits a joint; in it, this key precedes others
    that fit. Only joints far outside a known range count. Turning joints must also move
    further than the width of their range, which a wrong zero cannot explain. Without such joints
    the result is empty. If all turning joints are such, they have no factors: all are in degrees.
    """
    low, high = robot.limits.position_min, robot.limits.position_max
    slides = ~robot.turns
    beyond = np.maximum(position.max(axis=0) - high, low - position.min(axis=0))
    width = high - low
    far = np.isfinite(width) & (beyond > _FAR * width) & (
        slides | (np.ptp(position, axis=0) > width))
    if not slides.all() and far[~slides].all():
        far &= slides
    found = {}
    for first in UNITS:
        factors = np.ones(robot.n)
        for unit in sorted(UNITS, key=lambda unit: unit == first):
            is_of_type = ~slides if unit == DEGREES else slides
            factors[far & is_of_type & are_inside(robot, position / unit)] = unit
        if (factors == first).any():
            found[first] = factors
    return found


def swaps(robot: Robot, position: Array) -> Iterator[Reading]:
    """Yield readings with two swapped joints that put all positions inside their ranges.

    Yields nothing if, as recorded, no joint is mostly outside its range.
    """
    if not mostly_outside(robot, position).any():
        return
    plain = Reading.plain(robot.n)
    for i, j in combinations(range(robot.n), 2):
        order = list(range(robot.n))
        order[i], order[j] = j, i
        if are_inside(robot, position[:, order]).all():
            yield replace(plain, order=tuple(order), effort_order=tuple(order))
            yield replace(plain, order=tuple(order))


def slides_in_degrees(
    robot: Robot, position: Array, slides: Flags,
) -> tuple[bool, ...]:
    """Return the values of `Reading.are_slides_in_degrees` to be tried.

    Efforts that are mostly weight and friction hardly determine it; known ranges do.
    """
    low, high = robot.limits.position_min[slides], robot.limits.position_max[slides]
    position = position[:, slides]
    beyond = np.maximum(position.max(axis=0) - high, low - position.min(axis=0))
    if (beyond > high - low).any():
        return (True,)
    return (False,) if np.isfinite(high - low).all() else (False, True)
