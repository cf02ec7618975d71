"""Published quantities that follow every change smoothly, by the curves of `output_curve`."""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags
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


class OutputStage:
    """Quantities that are published with two derivatives, see `output_curve`.

    `start`, (3, n), counts as the last published values; `limit` and `rate_limit`, (n,), are the
    limits E of the value and L of its rate, infinite for none; `fade`, s, is the least duration of
    a change of value. `margin` is the fraction of the limits by which they may be exceeded; if
    `strict`, they may not be exceeded, and the soft part is below them.
    """

    def __init__(
        self, start: Array, limit: Array, rate_limit: Array, fade: float, margin: float,
        *, strict: bool = False,
    ) -> None:
        n = start.shape[1]
        self.published = start.copy()  #: (3, n): the published values and their derivatives
        #: A value that `last_gate` refused in the last cycle, with its row and column; `published`
        #: then keeps the values of the cycle before
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
        """Whether the published values are still on their way to the wanted ones."""
        return bool(self._flags & CHANGING)

    @property
    def is_saturated(self) -> bool:
        """Whether a limit keeps the published values from the wanted ones."""
        return bool(self._flags & SATURATED)

    @property
    def changing(self) -> Flags:
        """Which quantities, (n,), are still on their way to the wanted values."""
        changing: Flags = self._state[WAIT] > 0.0
        return changing

    @property
    def unlimited(self) -> Array:
        """The values, (n,), before the limits E are applied."""
        raw: Array = self._state[RAW]
        return raw

    def go_over(
        self, wanted: Array, which: Flags | None = None, ahead: float = 0.0,
    ) -> None:
        """Start a transition to another curve, given its present value and derivatives, (3, n).

        `wanted` is for the time `ahead`, s, after the last cycle, and is extrapolated back to it;
        `ahead` should be at most 1/ω. `which`, (n,), are the quantities that have a new curve; all
        by default.
        """
        if which is None:
            which = np.ones(wanted.shape[1], dtype=np.bool_)
        output_curve.go_over(self._state, wanted, which, ahead, self._fade)
        self._flags |= CHANGING

    def set_target(self, added: Array, *, fades: bool = False) -> None:
        """Add a value, (n,), to the wanted one from now on.

        The published value approaches the sum smoothly: over the time `fade` if it `fades`, else
        as fast as the limits allow.
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
        """Advance by an `interval`, s, and return `published`, (3, n).

        `wanted`, (3, n), are the wanted values without the addition of `set_target`; `bounds`,
        (2, n), are the least and the largest second derivative allowed.
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
        """Restart from the published values, and forget every transition."""
        state = self._state
        state[:] = 0.0
        state[SLOPE] = np.inf
        state[CLOCK] = 1.0
        state[FADE] = self._fade
        state[LIMIT], state[RATE] = self._limit, self._rate_limit
        state[KNEE], state[TOP] = self._knee, self._top
        output_curve.begin_at(state, published)
