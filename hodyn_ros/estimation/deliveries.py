"""Messages that are delivered together: in bursts as a rule, or after a pause."""
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_TOGETHER = 0.1  # of a period: messages whose stamps are closer were delivered together
_AS_A_RULE = 0.4  # share of deliveries with several messages
_AFTER_PAUSE = 0.5  # of a period: steps of stamps below follow a pause at once
_MADE_UP = 0.5  # of the periods of a pause: as many messages follow it at once at least
_LONGEST_HOLD_UP = 100.0  # periods: in a longer one samples are counted for too long


def ends_of_deliveries(steps: Array, period: float) -> Indices:
    """Return the last message of each delivery, of the steps of the stamps."""
    return np.flatnonzero(np.append(steps > _TOGETHER * period, True))


def burst_size(steps: Array, period: float) -> int:
    """Return how many messages are delivered together in the mean; 1 if they are not as a rule."""
    sizes = np.diff(ends_of_deliveries(steps, period), prepend=-1)
    return max(2, round(float(np.mean(sizes)))) if np.mean(sizes > 1) > _AS_A_RULE else 1


def were_held_up(steps: Array, period: float) -> NDArray[np.bool_]:
    """Return after which steps of stamps as much follows at once as was sampled meanwhile."""
    pauses = np.append(np.flatnonzero(steps > _AFTER_PAUSE * period), len(steps))
    at_once = pauses[np.searchsorted(pauses, np.arange(len(steps)), side='right').clip(
        max=len(pauses) - 1)] - np.arange(len(steps))
    return np.asarray((at_once > _MADE_UP * steps / period) & (
        steps < _LONGEST_HOLD_UP * period))
