"""Where the quantities of a motion come closest to their limits, or exceed them most."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.common.arrays import Array, Flags

# Excess over a limit, relative to max(1, |value|), that counts as round-off: a plan scaled until
# its peak just reaches the limit passes.
TOLERANCE = 1e-9
# Distance from a limit of position, relative to max(1, |limit|), that counts as round-off: many
# drivers, sliders and files have positions in single precision.
SINGLE = 1e-6
# Largest number of intervals beyond the bounds that are kept per column.
LISTED = 20
# Number of significant digits that distinguish any two floats.
_DIGITS = 17


@dataclass(frozen=True)
class LimitMargin:
    """Where a quantity of a joint comes closest to its limit, or exceeds it most."""

    #: `joint`, `quantity`, `unit`: Names of the joint and the quantity, and the quantity's SI unit
    joint: str
    quantity: str
    unit: str
    time: float  #: Time from the plan's zero, s; for recordings the stamp, ns
    #: `value`, `lower`, `upper`: Value and limits, in `unit`. Unknown limits are infinite; if both
    #: are unknown, the value is the one of largest magnitude.
    value: float
    lower: float
    upper: float
    #: `reflex`, `commands`: Name of the `robot.reflexes.Reflex` with this limit, and its kind of
    #: commands, 'effort' or 'position'; both are empty for limits of the robot
    reflex: str = ''
    commands: str = ''
    #: `tripped_at`, `tripped_by`: float and str: when the reflex is first tripped, and by which
    #: joint; None if it is not tripped
    tripped_at: float | None = None
    tripped_by: str | None = None
    beyond: int = 0  #: For recordings: number of messages beyond the limit
    #: tuple of (ns, ns): for recordings: first and last stamp of each interval beyond the limit,
    #: at most the first `LISTED` intervals
    intervals: tuple[tuple[int, int], ...] = ()

    @property
    def limit(self) -> float:
        """The nearer limit."""
        return self.upper if self.upper - self.value <= self.value - self.lower else self.lower

    @property
    def allowed(self) -> float:
        """Magnitude of the nearer limit; for positions, the limit with its sign."""
        return self.limit if self.quantity == 'position' else abs(self.limit)

    @property
    def margin(self) -> float:
        """Distance to the nearer limit, in `unit`; negative beyond it."""
        return min(self.upper - self.value, self.value - self.lower)

    @property
    def exceeded(self) -> bool:
        """Whether the value is beyond its limit by more than round-off."""
        if self.quantity == 'position':
            return self.margin < -float(position_slack(self.limit))
        return self.margin < -TOLERANCE * max(1.0, abs(self.value))

    @property
    def is_known(self) -> bool:
        """Whether the quantity has a limit."""
        return bool(np.isfinite([self.lower, self.upper]).any())

    @property
    def is_needless(self) -> bool:
        """Whether this is the angle of a joint that turns without end, which needs no limit."""
        return (self.quantity, self.unit) == ('position', 'rad') and not self.is_known

    @property
    def share(self) -> float:
        """Ratio of the value to its nearer limit, as a magnitude."""
        return abs(self.value / self.limit) if self.limit else np.inf

    @property
    def range_share(self) -> float:
        """Distance from the middle of the range over half its width; NaN without a range."""
        half = 0.5 * (self.upper - self.lower)
        return abs(self.value - 0.5 * (self.upper + self.lower)) / half if (
            0.0 < half < np.inf) else np.nan

    @property
    def trips(self) -> bool:
        """Whether the motion trips the reflex."""
        return self.tripped_at is not None

    def __str__(self) -> str:
        if not self.trips:
            value, limit = both(self.value, self.limit)
            return (
                f'{self.joint}: {self.quantity} {value} {self.unit} at {self.time:.4g} s, '
                f'limit {limit} {self.unit}')
        value, limit = both(abs(self.value), abs(self.limit))
        return (
            f'would trip {self.reflex} at {self.tripped_at:.4g} s, {self.tripped_by}: '
            f'{self.quantity} up to {value} {self.unit} ({self.joint} at '
            f'{self.time:.4g} s), {limit} {self.unit} allowed')


def both(value: float, limit: float, digits: int = 6) -> tuple[str, str]:
    """Return a value and its limit as text, with enough digits to show that they differ."""
    for many in (digits, *range(digits + 1, _DIGITS + 1)):
        said = f'{value:.{many}g}', f'{limit:.{many}g}'
        if said[0].lstrip('-') != said[1].lstrip('-'):
            return said
    return f'{value:.{digits}g}', f'{limit:.{digits}g}'


def position_slack(limit: ArrayLike) -> Array:
    """Return by how much positions may exceed a finite limit, rad or m, to count as at it."""
    return np.asarray(SINGLE * np.maximum(1.0, np.abs(limit)))


def at_limits(position: Array, lower: Array, upper: Array) -> Array:
    """Return positions, (…, n); those beyond their limits by round-off are at them."""
    nearest = np.clip(position, lower, upper)
    is_there: Flags = np.abs(position - nearest) <= position_slack(nearest)
    return np.where(is_there, nearest, position)


def margins(values: Array, lower: Array, upper: Array) -> Array:
    """Return the distance of each value to its nearer bound; −|value| if it has no bound."""
    left = np.minimum(upper - values, values - lower)
    free = np.isinf(lower) & np.isinf(upper)
    if free.any():
        free = np.broadcast_to(free, left.shape)
        left[free] = -np.abs(values[free])
    return left


def shares(values: Array, limit: Array) -> Array:
    """Return |value|/limit; a limit below `TOLERANCE`, such as 0, counts as `TOLERANCE`."""
    found: Array = np.abs(values) / np.maximum(limit, TOLERANCE)
    return found


class Extremes:
    """Finds, block by block, the instants at which C columns are nearest to their bounds.

    The caller gives the nearness of each sample: −`margins`, `shares`, or another number that
    grows as the value approaches its bound and passes it.
    """

    def __init__(self, allowed: Array, instants: Any) -> None:
        """Take the largest allowed nearness of each column, (C,), and the dtype of instants."""
        self._allowed = allowed
        self.nearness = np.full(allowed.size, -np.inf)  #: (C,): largest nearness of each column
        #: `value`, `lower`, `upper`: (C,), of the sample with the largest nearness
        self.value, self.lower, self.upper = np.full((3, allowed.size), np.nan)
        self.instant = np.zeros(allowed.size, instants)  #: (C,): instant of that sample
        #: (C,): number of samples beyond the allowed nearness
        self.beyond = np.zeros(allowed.size, dtype=np.int64)
        #: Per column, first and last instants of the first `LISTED` intervals of such samples
        self.intervals: list[list[tuple[Any, Any]]] = [[] for _ in allowed]

    def add(
        self, columns: slice, instants: NDArray[Any], values: Array, lower: Array, upper: Array,
        nearness: Array,
    ) -> None:
        """Add values of columns, (T, k), with bounds, (k,) or (T, k), and nearness, (T, k)."""
        at = nearness.argmax(axis=0)
        highest = nearness[at, np.arange(at.size)]
        nearer = np.flatnonzero(highest > self.nearness[columns])
        at = at[nearer]
        for kept, new in (
                (self.nearness, nearness), (self.value, values), (self.lower, lower),
                (self.upper, upper)):
            kept[columns][nearer] = (new[nearer] if new.ndim == 1 else new[at, nearer])
        self.instant[columns][nearer] = instants[at]
        allowed = self._allowed[columns]
        for k in np.flatnonzero(highest > allowed).tolist():
            edges = np.diff((nearness[:, k] > allowed[k]).astype(np.int8), prepend=0, append=0)
            begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
            self.beyond[columns][k] += (ends - begins).sum()
            found = self.intervals[columns.start + k]
            room = LISTED - len(found)
            found += zip(
                instants[begins[:room]].tolist(), instants[ends[:room] - 1].tolist(), strict=True)
