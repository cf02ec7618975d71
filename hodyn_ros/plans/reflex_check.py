"""Checks whether a plan, sampled as the vendor's controller does, trips the arm's reflexes."""
from __future__ import annotations

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import COMMANDED_RATE, LimitTable
from hodyn_ros.limits.margins import LimitMargin
from hodyn_ros.limits.quantities import EFFORTS, KINEMATIC
from hodyn_ros.reference import Plan
from hodyn_ros.robot.reflexes import Commands

# Number of samples that are checked at once.
BLOCK = 20_000
# Number of samples before the present one that the third difference of the positions uses.
BACK = 3


def reflex_peaks(
    plan: Plan, feedforward: FeedForward, commands: Commands, *, joins: bool = False,
) -> tuple[LimitMargin, ...]:
    """Return how close a plan comes to each reflex under these commands, the closest first.

    The arm is at rest before the plan (unless the plan `joins` a motion) and after it.
    """
    reflexes = feedforward.robot.reflexes
    table = LimitTable(feedforward, commands, quantities=())
    if reflexes is None or not plan.duration or not table.columns:
        return ()
    gathered = table.extremes_of(np.float64)
    first = 0 if joins else -BACK
    last = int(np.ceil(plan.duration / reflexes.period)) + BACK
    for begin in range(first, last, BLOCK):
        instants = plan.times[0] + reflexes.period * np.arange(
            max(begin - BACK, first), min(begin + BLOCK, last) + 1)
        motion = plan.evaluate(instants)
        # The limits of a step of the commanded position are those at the position before it.
        place = motion if commands == 'effort' else np.concatenate((motion[:1], motion[:-1]))
        table.gather(gathered, instants, place, _as_sampled(motion, feedforward, commands))
    return table.worst_of_reflexes(gathered)


def _as_sampled(
    motion: Array, feedforward: FeedForward, commands: Commands,
) -> dict[str, Array]:
    """Return the quantities that reflexes compare with their limits, each (T, n).

    Differences of samples are 0 at the first samples, which lack predecessors.
    """
    reflexes = feedforward.robot.reflexes
    assert reflexes is not None

    def differences(values: Array, order: int) -> Array:
        found = np.zeros_like(values)
        found[order:] = np.diff(values, n=order, axis=0) / reflexes.period**order
        return found

    found = dict(zip(KINEMATIC, motion.transpose(1, 0, 2), strict=False))
    if commands == 'position':
        found.update({
            name: differences(motion[:, 0], order) for order, name in enumerate(KINEMATIC)})
    effort, rate = EFFORTS
    found[effort] = feedforward.torque(motion)[:, 0]
    commanded = found[effort] if reflexes.gravity else (
        feedforward.torque(motion, gravity=False)[:, 0])
    found[rate] = found[COMMANDED_RATE] = differences(commanded, 1)
    return found
