"""Whether cycles come too rarely for a plan."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.feedforward.tracking import WARN_FRACTION
from hodyn_ros.reference import Plan
from hodyn_ros.reference.limits import largest_ratio
from hodyn_ros.robot import Robot

_TIMES = 500  # at which a plan is looked at: within a cycle, more would take long


def too_rare(
    plan: Plan, period: float, tolerance: Array, robot: Robot, names: Sequence[str],
) -> str:
    """Return how far a plan leaps from cycle to cycle; empty if that is no matter.

    Cycles come every `period`, s; 0 if that is not known. It matters if a joint leaps by more than
    half its tracking `tolerance`, (n,), rad or m. `names` are those of the joints.
    """
    allowed = WARN_FRACTION * tolerance
    if not (robot.limits.velocity * period > allowed).any():
        return ''
    times = np.linspace(0.0, plan.duration, min(int(plan.duration / period) + 2, _TIMES))
    leaps = np.abs(
        plan.evaluate(times + period)[:, 0] - plan.evaluate(times)[:, 0]).max(axis=0)
    joint, ratio = largest_ratio(leaps, allowed)
    if ratio <= 1.0:
        return ''
    return (
        f'cycles come only every {1e3 * period:.3g} ms, too rarely for this motion: its reference '
        f"leaps by up to {leaps[joint]:.3g} {unit(robot, joint, 'position')} ({names[joint]}). "
        'Raise the rate of the joint states (with trigger: timer, rate), or send a slower plan')
