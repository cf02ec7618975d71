"""Largest values of smooth signals, also between samples."""
from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hodyn_ros.common.arrays import Array

BLOCK = 8192  # number of instants that are evaluated at once
CANDIDATES = 6
"""Largest number of sampled maxima per signal around which finer samples are taken."""
# Sampling is refined ROUNDS times; OFFSETS are the samples of each, in spacings of the one before.
ROUNDS = 3
OFFSETS = np.linspace(-1.0, 1.0, 9)
# A refined peak counts only if it exceeds the largest sample by more than this, relative to
# max(1, |sample|): a signal at rest has round-off.
ROUND_OFF = 1e-12
# Largest assumed height of a peak above its highest sample, as a share of the sum of the steps
# down from this sample to both neighbours; a parabola has at most an eighth.
HIGHER = 0.5


def blocks(instants: Array) -> Iterator[Array]:
    """Split instants into blocks, so that arrays computed per block stay small."""
    for first in range(0, instants.size, BLOCK):
        yield instants[first:first + BLOCK]


def largest(signals: Callable[[Array], Array], instants: Array) -> tuple[Array, Array]:
    """Return the largest values of signals, (C,), and their instants, (C,).

    `signals` takes instants (T,) and returns (T, C). The signals are sampled at `instants`, (T,),
    then more and more closely around the sampled maxima that may be the largest. `instants` must
    increase, and be so close that no signal has two maxima between neighbours.
    """
    best = where = np.empty(0)
    found: list[Array] = []
    for first in range(0, instants.size, BLOCK):
        # Blocks overlap by a sample at each side, so that no maximum is missed at an edge.
        part = instants[max(first - 1, 0):first + BLOCK + 1]
        values = signals(part)
        at = values.argmax(axis=0)
        top = values[at, np.arange(at.size)]
        if not first:
            best, where = np.full(at.size, -np.inf), np.full(at.size, part[0])
        higher = top > best
        best[higher], where[higher] = top[higher], part[at[higher]]
        if part.size > 1:
            found.append(_candidates(part, values, best))
    if not found:
        return best, where
    column, centre, reach, height = np.concatenate(found, axis=1)
    column = column.astype(np.intp)
    order = np.lexsort((-height, column))
    rank = np.arange(order.size) - np.searchsorted(column[order], column[order])
    kept = order[(rank < CANDIDATES) & (height[order] >= best[column[order]])]
    column, centre, reach = column[kept], centre[kept], reach[kept]
    value = np.empty(column.size)
    rows = np.arange(column.size)

    def at_each(times: Array) -> Array:
        clipped: Array = np.clip(times, instants[0], instants[-1])
        every = np.concatenate([signals(part) for part in blocks(clipped.ravel())])
        chosen: Array = every.reshape(*clipped.shape, -1)[rows, :, column]
        return chosen

    for _ in range(ROUNDS if column.size else 0):
        around = centre[:, None] + reach[:, None] * OFFSETS
        near = at_each(around)
        place = near.argmax(axis=1)
        value = near[rows, place]
        centre = np.clip(around[rows, place], instants[0], instants[-1])
        reach = reach / 4.0
    if column.size:
        # The vertex of the parabola through the highest sample and its neighbours is the peak.
        place = np.clip(place, 1, OFFSETS.size - 2)
        before, here, after = (near[rows, place + i] for i in (-1, 0, 1))
        bend = 2.0 * here - before - after
        with np.errstate(divide='ignore', invalid='ignore'):
            shift = np.clip(np.nan_to_num(0.5 * (after - before) / bend), -1.0, 1.0)
        vertex = np.clip(
            around[rows, place] + shift * reach, instants[0], instants[-1])
        last = at_each(vertex[:, None])[:, 0]
        better = last > value
        value, centre = np.where(better, last, value), np.where(better, vertex, centre)
    for c, v, t in zip(column.tolist(), value.tolist(), centre.tolist(), strict=True):
        if v > best[c] + ROUND_OFF * max(1.0, abs(best[c])):
            best[c], where[c] = v, t
    return best, where


def _candidates(instants: Array, values: Array, best: Array) -> Array:
    """Return maxima that may be the largest, (4, K): column, instant, spacing, possible height."""
    padded = np.pad(values, ((1, 1), (0, 0)), constant_values=-np.inf)
    sample, column = np.nonzero((values >= padded[:-2]) & (values > padded[2:]))
    top = values[sample, column]
    height = top.copy()
    for beside in (padded[sample, column], padded[sample + 2, column]):
        height += np.where(np.isfinite(beside), HIGHER * (top - beside), 0.0)
    may = height >= best[column]
    sample, column, height = sample[may], column[may], height[may]
    spacing = np.diff(instants)
    reach = np.maximum(
        spacing[np.maximum(sample - 1, 0)], spacing[np.minimum(sample, spacing.size - 1)])
    return np.array([column, instants[sample], reach, height])
