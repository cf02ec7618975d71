"""Quantities that are published: they go over from what was last by curves of `output_curve`."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import output_curve
from hodyn_ros.feedforward.output_curve import (
    BANDWIDTH,
    CHANGING,
    CLOCK,
    FADE,
    INPUT,
    KNEE,
    LEAST_SLOPE,
    LIMIT,
    RATE,
    RAW,
    ROWS,
    SATURATED,
    SETTLED,
    SLOPE,
    TARGET,
    TOP,
    WAIT,
)
from hodyn_ros.feedforward.soft_limit import soft_part

Array = NDArray[np.float64]


class OutputStage:
    """n quantities that are published with two derivatives, see `output_curve`.

    Parameters
    ----------
    start : (3, n) array
        What counts as published last: value, rate and second derivative.
    limit, rate_limit : (n,) arrays
        E and L, infinite where there is none.
    fade : float
        How long a change of value takes at least, s.
    margin : float
        By which fraction of them limits may be passed.
    strict : bool
        Whether the limits themselves are kept, the soft part being below them.

    Attributes
    ----------
    published : (3, n) array
        What is published, with its derivatives.
    refused : (float, int, int) or None
        The value, its derivative and its column, that the gate refused in the last cycle:
        `published` is what it was.

    """

    def __init__(
        self, start: Array, limit: Array, rate_limit: Array, fade: float, margin: float,
        *, strict: bool = False,
    ) -> None:
        n = start.shape[1]
        self.published = start.copy()
        self.refused: tuple[float, int, int] | None = None
        self._before = start.copy()
        self._fade = fade
        self._limit, self._rate_limit = limit.copy(), np.maximum(rate_limit, 1e-9)
        self._knee, self._top = soft_part(margin, strict=strict)
        self._state = np.zeros((ROWS, n))
        self._begin_at(self.published)
        self._free = np.full((2, n), np.inf)
        self._free[0] = -np.inf
        self._flags = 0

    @property
    def is_changing(self) -> bool:
        """Whether what is published still goes over to what it should be."""
        return bool(self._flags & CHANGING)

    @property
    def is_saturated(self) -> bool:
        """Whether what should be published is beyond a limit, so that less is."""
        return bool(self._flags & SATURATED)

    @property
    def changing(self) -> NDArray[np.bool_]:
        """Which of the quantities, (n,), still go over."""
        changing: NDArray[np.bool_] = self._state[WAIT] > 0.0
        return changing

    @property
    def unlimited(self) -> Array:
        """Value, (n,), as it would be without the limit of the value."""
        raw: Array = self._state[RAW]
        return raw

    def go_over(
        self, wanted: Array, which: NDArray[np.bool_] | None = None, ahead: float = 0.0,
    ) -> None:
        """Go over to another curve from now on: its value and derivatives now are (3, n).

        Parameters
        ----------
        wanted : (3, n) array
            What should be published, at the instant of the last cycle.
        which : (n,) array, optional
            Which quantities have become others; all by default.
        ahead : float
            How long after the last cycle `wanted` is, s; up to 1/ω, as it is taken to be even.

        """
        if which is None:
            which = np.ones(wanted.shape[1], dtype=np.bool_)
        output_curve.go_over(self._state, wanted, which, ahead, self._fade)
        self._flags |= CHANGING

    def set_target(self, added: Array, *, fades: bool = False) -> None:
        """Add a value, (n,), to what should be published, from now on.

        It comes as fast as the limits allow, smoothed, or over the time `fade`.
        """
        state = self._state
        state[TARGET] = added
        needed = np.abs(added - state[INPUT]) / self._fade
        if fades:
            state[SLOPE] = np.maximum(needed, LEAST_SLOPE)
            state[WAIT] = SETTLED / BANDWIDTH
            self._flags |= CHANGING
        else:
            np.maximum(state[SLOPE], needed, out=state[SLOPE])

    def advance(self, wanted: Array, interval: float, bounds: Array | None = None) -> Array:
        """Return what is published an interval (s) after the last, (3, n), in place.

        `wanted`, (3, n), is what should be, without what `set_target` adds; `bounds`, (2, n), are
        the least and the largest second derivative that there may be.
        """
        published: Array = self.published
        self._flags, row, column = output_curve.advance(
            self._state, wanted, interval, self._free if bounds is None else bounds,
            self._before, published, self._limit, self._rate_limit, self._top)
        self.refused = None
        if row >= 0:
            self.refused = float(published[row, column]), row, column
            published[:] = self._before
            self._begin_at(published)
        return published

    def _begin_at(self, published: Array) -> None:
        """Let what is published be all that is known."""
        state = self._state
        state[:] = 0.0
        state[SLOPE] = np.inf
        state[CLOCK] = 1.0
        state[FADE] = self._fade
        state[LIMIT], state[RATE] = self._limit, self._rate_limit
        state[KNEE], state[TOP] = self._knee, self._top
        output_curve.begin_at(state, published)
