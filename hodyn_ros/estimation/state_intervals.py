"""The time between samples, from the states: advances of the positions divided by velocities."""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.jit import njit

WINDOWS = (5, 12, 30)
"""Numbers of samples on both sides over which slopes of the positions are taken."""

WIDE = (12, 30)
"""The numbers of samples if single stamps are far off."""

_TINY = 1e-12
_MOVES = 0.02  # least velocity of a joint that moves, as a share of its greatest velocity
_STEPS = 10.0  # least travel by the velocities at a frozen encoder, in steps of its resolution
_LASTS = 5  # least number of consecutive zero advances: noise causes single ones
_MOTION = 1.0  # assumed bandwidth of the motion, Hz, for the curvature of the velocities


def state_intervals(
    time: Array, position: Array, velocity: Array, windows: tuple[int, ...] = WINDOWS,
) -> tuple[Array, Array]:
    """Return the time between samples by the positions, and its standard deviation, s.

    A joint's velocities are the recorded ones, (S, n), or the slopes of its positions over one of
    the `windows`, whichever explains its advances better. If any recorded velocity is NaN, only
    slopes are used. Joints whose advances are explained well count more; a joint does not count
    where its encoder is frozen. `time`, (S,), s, is roughly when the samples were taken.
    """
    position, velocity = np.ascontiguousarray(position.T), np.ascontiguousarray(velocity.T)
    steps, advance = np.diff(time), np.diff(position)
    candidates = [
        (_slopes(time, position, width), width, _aside(time, width)) for width in windows]
    frozen = np.zeros(advance.shape, dtype=bool)
    if not np.isnan(velocity).any():
        between = 0.5 * (velocity[:, 1:] + velocity[:, :-1])
        candidates.append((between, 0, np.zeros_like(steps)))
        frozen = _frozen(advance, between, steps)
    speed, aside = np.zeros((2, *advance.shape))
    noise = np.full(len(advance), np.inf)
    for candidate, width, away in candidates:
        # A slope depends in part on the step itself, so its misfit is too small: enlarge it.
        misfit = (advance - steps * candidate) / (1.0 - (0.75 / width if width else 0.0))
        for joint in range(len(noise)):
            usable = ~_near(frozen[joint], width)
            if not usable.any():
                continue
            found = _noise(misfit[joint, usable], candidate[joint, usable])
            if found < noise[joint]:
                noise[joint], aside[joint] = found, away
                speed[joint] = np.where(usable, candidate[joint], 0.0)
    speed, advance = np.ascontiguousarray(speed.T), np.ascontiguousarray(advance.T)
    weight = 1.0 / np.maximum(noise, _TINY) ** 2
    information = np.maximum(speed ** 2 @ weight, _TINY)
    # Over a long step velocities do not change linearly, and a slope taken beside it differs.
    turns = 2.0 * np.pi * _MOTION
    bend = turns ** 2 * steps ** 3 / 12.0
    bend += turns * steps * ((speed * aside.T * speed) @ weight / information)
    return (speed * advance) @ weight / information, np.hypot(information ** -0.5, bend)


def _aside(time: Array, width: int) -> Array:
    """Return the distance of each step from its window's middle, which shifts near the ends, s."""
    count, begin = len(time), np.arange(len(time) - 1)
    many = min(count, 2 * width)
    middle = np.clip(begin + 1 - width, 0, count - many) + 0.5 * many - 1.0
    return np.asarray(np.abs(middle - begin) * (time[-1] - time[0]) / (count - 1))


def _frozen(advance: Array, speed: Array, steps: Array) -> Flags:
    """Return at which steps a joint's encoder stands still while its velocity goes on, (n, S−1).

    The step that makes up for the standstill counts as well. If most of the moving joints stand
    still at once, the message only repeats a state. A coarse encoder is not frozen: it repeats a
    count only until the joint has moved by its resolution.
    """
    fast = np.abs(speed) > _MOVES * np.abs(speed).max(axis=1, initial=0.0, keepdims=True)
    still = advance == 0.0
    alone = 2 * np.count_nonzero(still & fast, axis=0) <= np.count_nonzero(fast, axis=0)
    distance = np.where(still & fast & alone, steps * speed, 0.0)
    found = np.zeros(advance.shape, dtype=bool)
    for joint in np.flatnonzero(distance.any(axis=1)):
        moves = np.abs(advance[joint][~still[joint]])
        begins, ends = np.flatnonzero(np.diff(still[joint], prepend=False, append=False)).reshape(
            -1, 2).T
        passed = np.append(0.0, np.cumsum(distance[joint]))
        fails = (ends - begins >= _LASTS) & (
            np.abs(passed[ends] - passed[begins]) > _STEPS * moves.min(initial=np.inf))
        for begin, end in zip(begins[fails], ends[fails], strict=True):
            found[joint, begin:end + 1] = True
    return found


def _near(flags: Flags, width: int) -> Flags:
    """Return the steps whose windows, `width` samples on both sides, have flagged steps."""
    if not width or not flags.any():
        return flags
    count, begin = len(flags) + 1, np.arange(len(flags))
    many = min(count, 2 * width)
    first = np.clip(begin + 1 - width, 0, count - many)
    flagged = np.append(0, np.cumsum(flags))
    return np.asarray(flagged[first + many - 1] > flagged[first])


def _noise(misfit: Array, speed: Array) -> float:
    """Return the noise of a joint's advances: their misfit while it moves slowly.

    Errors of time matter least then. Single large misfits count little.
    """
    fast = np.abs(speed)
    moving = fast > _MOVES * fast.max()
    if moving.any():
        misfit = misfit[moving & (fast <= np.median(fast[moving]))]
    off = np.abs(misfit)
    return float(np.sqrt(np.mean(np.minimum(off, 5.0 * np.mean(off)) ** 2)))


@njit(nogil=True)
def _slopes(time: Array, position: Array, width: int) -> Array:
    """Return the slopes of lines through `width` samples on both sides of each step, (n, S−1).

    Near the ends the windows shift inward and keep their number of samples. Positions are (n, S).
    """
    n, count = position.shape
    many = min(count, 2 * width)
    slopes = np.empty((n, count - 1))
    weight = np.empty(many)
    for i in range(count - 1):
        first = max(0, min(i + 1 - width, count - many))
        mean = 0.0
        for k in range(many):
            mean += time[first + k]
        mean /= many
        square = 0.0
        for k in range(many):
            weight[k] = time[first + k] - mean
            square += weight[k] * weight[k]
        for joint in range(n):
            slope = 0.0
            for k in range(many):
                slope += weight[k] * (position[joint, first + k] - position[joint, i])
            slopes[joint, i] = slope / square
    return slopes
