"""Parts of recordings whose efforts do not fit: a contact, a picked-up load, warming joints."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices
from hodyn_ros.identification.payload import EXTENT
from hodyn_ros.identification.recordings import FOLDS, STRETCH
from hodyn_ros.identification.regression import Fit, inverse
from hodyn_ros.identification.terms import Terms

_FEWEST = 12  # a recording with fewer blocks is not searched for changes
# A block does not fit if its squared error exceeds the usual one by more than the factor _MUCH
# and, as a logarithm, by more than _SCATTER robust standard deviations.
_MUCH, _SCATTER = 10.0, 6.0
_NORMAL = 1.4826  # ratio of standard deviation to median absolute deviation of normal values
_LONG = 2  # least number of successive blocks that do not fit
# Smaller RMS errors are not reported, as shares of the standard deviation of the joint's torques:
# in blocks that do not fit, and in a recording whose model may change.
_LARGE, _NOTABLE = 0.1, 0.02
_PARTS = 4  # the blocks are divided into this many parts, each predicted from the others
_EXPLAINED = 0.6  # share of the squared error that a change of the model must explain
_SPEEDS = (0.1, 0.25, 0.5, 0.75)  # shares of the samples that are slower than the ends of friction
_UNCHANGED = 1 + len(_SPEEDS)  # number of columns whose coefficients never change
_SWITCHES = np.linspace(0.2, 0.8, 7)  # times of a change to try, as shares of the recording


@dataclass(frozen=True)
class Change:
    """A part of a recording in which a joint's efforts do not fit, or need other parameters."""

    joint: str  #: Name of the joint
    bag: int  #: Number of the recording
    #: `begin`, `end`: The part, s from the start of the recording
    begin: float
    end: float
    #: `error`, `usual`: RMS errors, N m: in the part and outside of it; if `is_lasting`, errors of
    #: the whole recording without and with the change in the model
    error: float
    usual: float
    #: Whether other parameters fit from `begin` to the end of the recording. If `begin` is 0,
    #: they change gradually.
    is_lasting: bool


def changes(model: Terms, found: Fit) -> tuple[Change, ...]:
    """Return the parts of the recordings whose efforts do not fit."""
    data, theta = model.data, found.theta
    error = np.where(
        model.known, (data.effort - model.evaluate(theta)[0]) / model.effort_per_torque(theta),
        np.nan)
    law = model.friction(theta)
    moves = np.tanh(0.5 * law.slope * data.q[:, 1])
    load = model.load_columns(theta, np.ones(len(data.q), np.bool_))[..., :EXTENT.start]
    out: list[Change] = []
    first = 0
    for bag in np.unique(data.bag):
        own = data.bag == bag
        block = data.block[own] - first
        for j in np.flatnonzero(model.known[own].any(axis=0)):
            columns = np.column_stack([
                np.ones(len(block)), moves[own, j], data.q[own, 1, j], load[own, j],
                data.q[own, 2, j], _slow_friction(data.q[own, 1, j], model.known[own, j])])
            torque = data.effort[own, j] / model.effort_per_torque(theta)[j]
            for part in _of_joint(error[own, j], torque, columns, block):
                out.append(Change(model.robot.joint_names[j], int(bag), *part))
        cycle = STRETCH * FOLDS
        first += (int(block.max()) // cycle + 1) * cycle
    return tuple(out)


def _slow_friction(velocity: Array, known: Flags) -> Array:
    """Return friction at low speed, (T, k): added to the law, it has another shape.

    Each column falls to 0 at another usual speed of the joint.
    """
    speed = np.abs(velocity)
    ends = np.maximum(np.quantile(speed[known], _SPEEDS), 1e-9)
    return np.asarray(np.sign(velocity)[:, np.newaxis] * np.maximum(
        1.0 - speed[:, np.newaxis] / ends, 0.0))


def _of_joint(
    error: Array, torque: Array, columns: Array, block: Indices,
) -> list[tuple[float, float, float, float, bool]]:
    """Return begin, end, error, usual and is_lasting of a joint's changes in a recording."""
    known = np.isfinite(error)
    error, torque, columns, block = error[known], torque[known], columns[known], block[known]
    times, order, count = np.unique(block, return_inverse=True, return_counts=True)
    if len(times) < _FEWEST:
        return []
    short = _short(error, torque, order, times)
    fits = np.ones(len(times), np.bool_)
    for begin, end, *_ in short:
        fits &= (times < begin) | (times >= end)
    fits &= count >= 0.3 * np.median(count)
    return [*short, *_lasting(error, torque, columns, order, times, fits)]


def _short(
    error: Array, torque: Array, order: Indices, times: Indices,
) -> list[tuple[float, float, float, float, bool]]:
    """Return successive blocks with large errors, for example from a contact.

    A block counts by the median of its squared errors, since the law of friction is wrong for a
    moment at each reversal.
    """
    squares = np.array([
        np.median(error[order == k] ** 2) for k in range(len(times))])
    size = np.log(np.maximum(squares, 1e-12 * squares.max() + 1e-300))
    middle = float(np.median(size))
    scatter = _NORMAL * float(np.median(np.abs(size - middle)))
    large = size > middle + max(np.log(_MUCH), _SCATTER * scatter)
    out = []
    edges = np.flatnonzero(np.diff(times) > 1) + 1
    for run in np.split(np.arange(len(times)), np.union1d(
            edges, np.flatnonzero(np.diff(large.astype(int)) != 0) + 1)):
        if large[run].all() and len(run) >= _LONG:
            inside = np.isin(order, run)
            much, usual = (_rms(error[those]) for those in (
                inside, np.isin(order, np.flatnonzero(~large))))
            if much > max(_LARGE * np.std(torque), np.sqrt(_MUCH) * usual):
                out.append((
                    float(times[run[0]]), float(times[run[-1]] + 1), much, usual, False))
    return out


def _lasting(
    error: Array, torque: Array, columns: Array, order: Indices, times: Indices,
    fits: Flags,
) -> list[tuple[float, float, float, float, bool]]:
    """Return the change of friction, offset and load in time that explains most of the error.

    The coefficients of `columns` change at once or gradually, except those of the last ones, the
    rotor's and of friction at low speed: friction that only falls with speed is no change. The
    errors with and without a change are measured on blocks that were not used to fit these
    coefficients.
    """
    size = columns.shape[1]
    both = np.column_stack([columns, error])
    sums = np.zeros((len(times), size + 1, size + 1))
    for k in np.flatnonzero(fits):
        own = both[order == k]
        sums[k] = own.T @ own
    where = np.cumsum(fits) - 1
    part = where // 2 % _PARTS
    share = (times - times[0]) / max(float(times[-1] - times[0]), 1.0)
    before = _predicted(sums, np.zeros((0, len(times))), part, fits)
    best, begin = before, 0.0
    for switch in (0.0, *_SWITCHES):
        change = share - 0.5 if switch == 0.0 else (share >= switch).astype(float)
        left = _predicted(sums, change[None], part, fits)
        if left < best:
            best, begin = left, switch
    count = float(np.isin(order, np.flatnonzero(fits)).sum())
    if not best < (1.0 - _EXPLAINED) * before or (
            before < count * (_NOTABLE * np.std(torque)) ** 2):
        return []
    start = float(times[np.argmax(share >= begin)]) if begin else 0.0
    return [(
        start, float(times[-1] + 1), float(np.sqrt(before / count)),
        float(np.sqrt(max(best, 0.0) / count)), True)]


def _predicted(
    sums: Array, change: Array, part: Indices, fits: Flags,
) -> float:
    """Return the sum of squared errors of the blocks, each predicted by a fit to the other parts.

    `sums`, (b, c + 1, c + 1), are each block's products of the c columns and the error. Each row
    of `change`, (k, b), adds all columns except the last ones, which never change, once more,
    times a factor per block.
    """
    size = sums.shape[1] - 1
    used = [*range(size), *(
        size * k + i for k in range(1, 1 + len(change)) for i in range(size - _UNCHANGED))]
    factors = np.stack([np.ones(len(sums)), *change])
    products = np.einsum('kb,lb,bij->bkilj', factors, factors, sums[:, :size, :size]).reshape(
        len(sums), len(factors) * size, -1)[:, used][:, :, used]
    moment = np.einsum('kb,bi->bki', factors, sums[:, :size, size]).reshape(
        len(sums), -1)[:, used]
    total = 0.0
    for one in range(_PARTS):
        own, others = fits & (part == one), fits & (part != one)
        found = inverse(products[others].sum(axis=0)) @ moment[others].sum(axis=0)
        total += float(
            sums[own, size, size].sum() - 2.0 * found @ moment[own].sum(axis=0)
            + found @ products[own].sum(axis=0) @ found)
    return total


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values ** 2)))
