"""Finds the number of the clock period in which each sample was taken."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import njit

MAX_MOVE = 20
"""The count of a sample is within this many periods of the middle of its bounds."""

# Costs are in ½ χ².
_MISCOUNT = 400.0  # greatest cost of a count that contradicts its interval: a set clock
_STRAY = 12.0  # greatest cost of a stamp long after its instant
_LOST, _MOST_LOST = 0.7, 8.0  # cost of each lost sample, and greatest cost of consecutive ones


@njit(nogil=True)
def count_periods(
    low: Array, high: Array, interval: Array, deviation: Array, period: float, beyond: float,
    max_move: int,
) -> Array:
    """Return the number of the period in which each sample was taken, (S,), by Viterbi's method.

    `low` and `high`, (S,), are bounds of the instants, from which the drift is subtracted;
    `interval` and `deviation`, (S−1,), are the time between samples and its standard deviation;
    `beyond` is the standard deviation of instants beyond their bounds; all in s. An instant long
    before its stamp costs little. An instant long after its stamp costs as much as a clock that
    was set, since no state is stamped before it was sampled.

    A count is within `max_move` periods of the middle of its bounds. `max_move` is an argument
    because loops over a constant would be unrolled and not vectorised.
    """
    samples, states = len(low), 2 * max_move + 1
    nearest = np.round(0.5 * (low + high) / period)
    came = np.zeros((samples, states), dtype=np.int8)
    cost, least, origin = np.zeros(states), np.zeros(states), np.zeros(states)
    # Costs of each move between states, −2 max_move … 2 max_move: misfit and lost samples.
    off_cost, lost_cost = np.empty(2 * states - 1), np.empty(2 * states - 1)
    for i in range(samples):
        if i > 0:
            for move in range(2 * states - 1):
                steps = nearest[i] - nearest[i - 1] + move - 2 * max_move
                misfit = (steps * period - interval[i - 1]) / deviation[i - 1]
                off_cost[move] = min(0.5 * misfit * misfit, _MISCOUNT)
                lost_cost[move] = _MISCOUNT if steps < 1 else min(
                    _LOST * (steps - 1), _MOST_LOST)
            least[:] = np.inf
            for before in range(states):
                first, here = states - 1 - before, cost[before]
                off, lost = off_cost[first:first + states], lost_cost[first:first + states]
                for state in range(states):
                    total = here + off[state] + lost[state]
                    better = total < least[state]
                    least[state] = total if better else least[state]
                    origin[state] = before if better else origin[state]
            came[i] = origin
        for state in range(states):
            time = (nearest[i] + state - max_move) * period
            early, late = max(0.0, low[i] - time) / beyond, max(0.0, time - high[i]) / beyond
            cost[state] = least[state] + min(0.5 * early * early, _STRAY) + min(
                0.5 * late * late, _MISCOUNT)
    count = np.empty(samples)
    state = int(np.argmin(cost))
    for i in range(samples - 1, -1, -1):
        count[i] = nearest[i] + state - max_move
        state = came[i, state]
    return count
