"""The distance between a plan and its points."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.plans.retiming.result import Retimed
from hodyn_ros.plans.waypoints import AcceptedWaypoints
from hodyn_ros.reference import Plan
from hodyn_ros.robot import Robot

# Distance between a plan and a point that is round-off, relative to max(1, |position|).
ROUND_OFF = 1e-12
THROUGH = 1e-6
"""Largest distance, rad or m, at which a plan counts as going through a point."""


@dataclass(frozen=True)
class Deviation:
    """The point that a plan misses most, and by how much."""

    #: `joint`, `unit`: Name of the joint, and rad or m
    joint: str
    unit: str
    #: `time`, `value`: Time of the point, s, and the distance in `unit`; 0 if the plan goes
    #: through all its points
    time: float
    value: float

    def __str__(self) -> str:
        if not self.value:
            return 'through all its points'
        return (
            f'misses its points by up to {self.value:.3g} {self.unit} ({self.joint} at '
            f'{self.time:.4g} s)')


def deviation_of(
    robot: Robot, plan: Plan, points: AcceptedWaypoints, retimed: Retimed | None,
) -> Deviation:
    """Return where a plan misses its points most.

    Only a retimed plan and one of interpolation 'band' can miss points.
    """
    missed = np.zeros_like(points.positions)
    if retimed is not None and retimed.missed is not None:
        missed = retimed.missed
    elif plan.interpolation == 'band':
        missed = np.abs(plan.evaluate(points.times)[:, 0] - points.positions)
        missed[missed <= ROUND_OFF * np.maximum(1.0, np.abs(points.positions))] = 0.0
    return largest_deviation(robot, points, missed)


def largest_deviation(robot: Robot, points: AcceptedWaypoints, missed: Array) -> Deviation:
    """Return the largest of the distances, (m points, n joints), by which joints miss points."""
    point, joint = np.unravel_index(int(missed.argmax()), missed.shape)
    return Deviation(
        robot.joint_names[joint], unit(robot, int(joint), 'position'), float(points.times[point]),
        float(missed[point, joint]))
