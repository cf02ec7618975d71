"""Messages that are delivered together: regularly in bursts, or once after a pause."""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices

# Messages whose stamps are closer than this share of a period were delivered together.
_TOGETHER = 0.1
# Messages come in bursts if more than this share of the deliveries has several messages.
_IN_BURSTS = 0.4
# A message that a pause held up is stamped less than this share of a period after the one before.
_AFTER_PAUSE = 0.5
# A pause held messages up if more than this share of the messages due in it follow at once.
_MADE_UP = 0.5
# Longest pause, in periods, that can be a hold-up.
_LONGEST_HOLD_UP = 100.0


def ends_of_deliveries(steps: Array, period: float) -> Indices:
    """Return the index of each delivery's last message; `steps` are the steps of the stamps."""
    return np.flatnonzero(np.append(steps > _TOGETHER * period, True))


def burst_size(steps: Array, period: float) -> int:
    """Return the mean number of messages per delivery, rounded, 2 or more; 1 without bursts."""
    sizes = np.diff(ends_of_deliveries(steps, period), prepend=-1)
    return max(2, round(float(np.mean(sizes)))) if np.mean(sizes > 1) > _IN_BURSTS else 1


def were_held_up(steps: Array, period: float) -> Flags:
    """Return which steps of the stamps are followed at once by the messages due in them.

    The result has a meaning only for steps that are pauses: usual steps are marked as well.
    """
    pauses = np.append(np.flatnonzero(steps > _AFTER_PAUSE * period), len(steps))
    at_once = pauses[np.searchsorted(pauses, np.arange(len(steps)), side='right').clip(
        max=len(pauses) - 1)] - np.arange(len(steps))
    return np.asarray((at_once > _MADE_UP * steps / period) & (
        steps < _LONGEST_HOLD_UP * period))
