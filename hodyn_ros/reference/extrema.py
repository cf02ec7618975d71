"""Extrema of a plan's derivatives, also between the knots."""
from __future__ import annotations

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.limits.peaks import largest
from hodyn_ros.reference.pieces import (
    divided,
)
from hodyn_ros.reference.plan import Plan

# These suffice: a piece has degree 9, so quantities that depend on it have only a few extrema.
SAMPLES_PER_PIECE = 12


def sample_times(plan: Plan, longest: float = np.inf) -> Array:
    """Return instants (T,), all knots among them, that resolve the motion in a plan's pieces.

    Successive instants are at most `longest` apart, s.
    """
    counts = np.maximum(SAMPLES_PER_PIECE, np.ceil(np.diff(plan.times) / longest))
    instants = divided(plan.times, counts.astype(int))
    if plan.interpolation != 'quintic':
        return instants
    # Jerk and snap jump at the knots, so each piece is also sampled at its end.
    return np.unique(np.append(instants, np.nextafter(plan.times[1:], 0.0)))


def extrema(plan: Plan, order: int) -> tuple[Array, Array]:
    """Return minima and maxima, (2, n), of the derivative of order 0 … 4, and their times.

    Raises HodynError for a derivative that overflows.
    """
    def signals(instants: Array) -> Array:
        values = plan.evaluate(instants)[:, order]
        if not np.isfinite(values).all():
            sample, joint = np.argwhere(~np.isfinite(values))[0]
            raise HodynError(
                f'joint {joint} at {instants[sample]:.4g} s: derivative {order} of the motion is '
                'not finite')
        return np.hstack((-values, values))

    peaks, instants = largest(signals, sample_times(plan))
    return peaks.reshape(2, -1) * [[-1.0], [1.0]], instants.reshape(2, -1)
