"""Stamps of messages that come at once: in bursts as a rule, or after a pause."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.state_intervals import median

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_AT_ONCE = 0.5  # of a period: steps of stamps below
_CLOSE, _PAIRS = 0.1, 0.35  # of a period; share of steps below, of pairs some of which lost one
_MADE_UP = 0.5  # of the periods of a pause: as many samples come after it at least
_HELD_UP = 5.0  # periods: shorter pauses are left to the count of samples
_EVEN = 0.5  # of a period: bursts that stray less are sent by what samples evenly
_LOST_BEFORE = 2.0  # periods: as many are taken to be lost in the first burst at most
_LONGEST = 2.0  # periods: messages are spread no further apart


def burst_size(steps: Array, period: float) -> int:
    """Return how many messages come at once as a rule, of steps of stamps; 1 if they do not."""
    if not len(steps) or (median(steps) > _AT_ONCE * period and not are_pairs(steps, period)):
        return 1
    return round((1 + len(steps)) / (1 + int(np.count_nonzero(steps > period))))


def are_pairs(steps: Array, period: float) -> bool:
    """Whether messages come two at once, some of which are lost."""
    return bool(np.mean(steps < _CLOSE * period) > _PAIRS)


def newest_of_bursts(steps: Array, period: float) -> Indices:
    """Return the last message of each burst, of the steps between them."""
    return np.flatnonzero(np.append(steps > period, True))


def bounds_of_bursts(stamps: Array, newest: Indices, period: float) -> tuple[Array, Array]:
    """Return bounds of the instants of messages that come in bursts, (S,) each.

    A state is older than those that come with it after it, each by a period at least, and was not
    there yet when the burst before was sent. The newest of each burst was sampled just before it.
    """
    index, last, before = _bursts(newest)
    high = stamps[last] - period * (last - index)
    low = np.where(
        before >= 0, stamps[before] + period * (index - before - 1), high - _LOST_BEFORE * period)
    return np.where(index < last, np.minimum(low, high), high), high


def spread_bursts(stamps: Array, newest: Indices, period: float) -> Array:
    """Return messages that come in bursts spread as evenly as the bursts allow, (S,).

    Over the whole where the newest of bursts come as evenly as their messages do; else each burst
    over the pause before it.
    """
    index, last, before = _bursts(newest)
    slope, start = np.polynomial.Polynomial.fit(newest, stamps[newest], 1).convert().coef[::-1]
    line: Array = start + slope * index
    late = stamps[newest] - line[newest]
    if np.std(late) < _EVEN * period:
        return line
    pause = stamps[last] - stamps[before]
    step = np.where(before >= 0, np.minimum(pause / (last - before), _LONGEST * period), period)
    return np.asarray(stamps[last] - step * (last - index))


def _bursts(newest: Indices) -> tuple[Indices, Indices, Indices]:
    """Return of each message its index, the last one of its burst, and of the one before or −1."""
    index = np.arange(newest[-1] + 1)
    burst = np.searchsorted(newest, index)
    return index, newest[burst], np.append(-1, newest)[burst]


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
