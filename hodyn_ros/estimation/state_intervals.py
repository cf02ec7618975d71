"""The time between samples, as the states themselves tell it: advances over velocities."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit

Array = NDArray[np.float64]

WINDOWS = (2, 5, 12, 30)
"""Samples on both sides that velocities are taken over."""

LEAST_DEVIATION = 0.03
"""Of a period: as if intervals were measured no better, however little noise there is."""

_TINY = 1e-12
_ABREAST = 256  # steps whose slopes are taken at a time
_MOTION = 1.0  # Hz, of the arm: how fast its velocities bend


def state_intervals(
    time: Array, position: Array, velocity: Array, *, apart: bool = False,
    windows: tuple[int, ...] = WINDOWS,
) -> tuple[Array, Array]:
    """Return the time between samples as the positions tell it, and its standard deviation, s.

    Velocities are those recorded, or the slopes of the positions over some samples: for each joint
    what explains its advances best. With `apart` these are slopes beside each step, which do not
    follow it where it is another than the stamps say, but twice as noisy. Without `windows`, which
    are the samples on both sides that slopes are taken over, velocities are those recorded alone,
    which hang on no stamps.
    """
    position, velocity = np.ascontiguousarray(position.T), np.ascontiguousarray(velocity.T)
    steps, advance = np.diff(time), np.diff(position)
    # A slope follows the step that it is taken over in part, and explains that much too well.
    candidates = [
        (_slopes(time, position, width, apart), 0.0 if apart else 0.75 / width,
         _aside(time, width)) for width in windows]
    if not np.isnan(velocity).any():
        candidates.append((0.5 * (velocity[:, 1:] + velocity[:, :-1]), 0.0, np.zeros_like(steps)))
    speed, aside = np.zeros((2, *advance.shape))
    noise = np.full(len(advance), np.inf)
    for candidate, itself, away in candidates:
        misfit = (advance - steps * candidate) / (1.0 - itself)
        for joint in range(len(noise)):
            found = _noise(misfit[joint], candidate[joint])
            if found < noise[joint]:
                noise[joint], speed[joint], aside[joint] = found, candidate[joint], away
    speed, advance = np.ascontiguousarray(speed.T), np.ascontiguousarray(advance.T)
    weight = 1.0 / np.maximum(noise, _TINY) ** 2
    information = np.maximum(speed ** 2 @ weight, _TINY)
    # Over a long step velocities change otherwise than linearly, and aside of it they are others.
    turns = 2.0 * np.pi * _MOTION
    bend = turns ** 2 * steps ** 3 / 12.0
    bend += turns * steps * ((speed * aside.T * speed) @ weight / information)
    return (speed * advance) @ weight / information, np.hypot(information ** -0.5, bend)


def _aside(time: Array, width: int) -> Array:
    """Return how far windows are aside of their steps at the ends, where they are lopsided, s."""
    count, begin = len(time), np.arange(len(time) - 1)
    many = min(count, 2 * width)
    middle = np.clip(begin + 1 - width, 0, count - many) + 0.5 * many - 1.0
    return np.asarray(np.abs(middle - begin) * (time[-1] - time[0]) / (count - 1))


def _noise(misfit: Array, speed: Array) -> float:
    """Return the noise of a joint's advances: their misfit where it is slow.

    Errors of time count least there.
    """
    fast = np.abs(speed)
    moving = fast > 0.02 * fast.max()
    if moving.any():
        misfit = misfit[moving & (fast <= median(fast[moving]))]
    off = np.abs(misfit)
    return float(np.sqrt(np.mean(np.minimum(off, 5.0 * 1.5 * median(off)) ** 2)))


def median(values: Array) -> float:
    """Return the median of finite values; `numpy.median` takes four times as long."""
    half = len(values) // 2
    parted = np.partition(values, half)
    upper = float(parted[half])
    return upper if len(values) % 2 else 0.5 * (float(parted[:half].max()) + upper)


@njit(nogil=True)
def _slopes(time: Array, position: Array, width: int, apart: bool) -> Array:
    """Return the slopes of lines through `width` samples on both sides of each step, (n, S−1).

    With `apart` two lines of one slope, before and after the step. At the ends, through as many
    samples that lie within. Positions are (n, S).
    """
    n, count = position.shape
    many = min(count, 2 * width)
    slopes = np.zeros((n, count - 1))
    means, squares = np.empty((2, _ABREAST)), np.empty(_ABREAST)
    begin = 0
    while begin < count - 1:
        # Steps side by side, whose first samples are so too: loops over these are vectorised.
        first = max(0, min(begin + 1 - width, count - many))
        last = begin + 1
        if first == begin + 1 - width:
            last = min(begin + _ABREAST, count - many + width)
        steps, before = last - begin, begin + 1 - first if apart else many
        square = squares[:steps]
        square[:] = 0.0
        means[:] = 0.0
        for k in range(first, first + many):
            mean, at = means[int(k >= first + before)], time[k:k + steps]
            for i in range(steps):
                mean[i] += at[i]
        means[0] /= before
        means[1] /= max(1, many - before)
        for k in range(first, first + many):
            mean, at = means[int(k >= first + before)], time[k:k + steps]
            for i in range(steps):
                square[i] += (at[i] - mean[i]) ** 2
        for joint in range(n):
            slope, middle = slopes[joint, begin:last], position[joint, begin:last]
            for k in range(first, first + many):
                mean = means[int(k >= first + before)]
                at, moved = time[k:k + steps], position[joint, k:k + steps]
                for i in range(steps):
                    slope[i] += (at[i] - mean[i]) * (moved[i] - middle[i])
            slope /= square
        begin = last
    return slopes
