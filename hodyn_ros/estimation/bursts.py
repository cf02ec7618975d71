"""Stamps of messages that come at once: in bursts as a rule, or after a pause."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.state_intervals import median

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_AT_ONCE = 0.5  # of a period: steps of stamps below
_MADE_UP = 0.5  # of the periods of a pause: as many samples come after it at least
_HELD_UP = 5.0  # periods: shorter pauses are left to the count of samples


def burst_size(steps: Array, period: float) -> int:
    """Return how many messages come at once as a rule, of steps of stamps; 1 if they do not."""
    if not len(steps) or median(steps) > _AT_ONCE * period:
        return 1
    return round((1 + len(steps)) / (1 + int(np.count_nonzero(steps > period))))


def newest_of_bursts(steps: Array, period: float) -> Indices:
    """Return the last message of each burst, of the steps between them."""
    return np.flatnonzero(np.append(steps > period, True))


def made_up_for(steps: Array, period: float) -> Array:
    """Return by how many periods the messages were held up that come at once after each step.

    0 where as many as a pause has periods do not follow it: these were not sampled, or are lost.
    """
    held_up: Array = steps / period
    at_once = _ends_at_once(steps, period) - np.arange(len(steps))
    return np.where(
        (steps > _AT_ONCE * period) & (at_once > _MADE_UP * held_up), held_up, 0.0)


def spread_out(stamps: Array, period: float) -> Array:
    """Return stamps with those that were held up spread over the pause, as they were sampled."""
    steps = np.diff(stamps)
    ends = _ends_at_once(steps, period)
    out: Array = stamps.copy()
    for i in np.flatnonzero(made_up_for(steps, period) > _HELD_UP):
        end = ends[i]
        out[i:end + 1] = np.linspace(stamps[i], stamps[end], end + 1 - i)
    return out


def _ends_at_once(steps: Array, period: float) -> Indices:
    """Return the last of the messages that come at once after each step."""
    pauses = np.append(np.flatnonzero(steps > _AT_ONCE * period), len(steps))
    return pauses[np.searchsorted(pauses, np.arange(len(steps)), side='right')]
