"""Shape-preserving knot derivatives: pieces that stay between their waypoints."""
from __future__ import annotations

import numpy as np

from hodyn_ros.common.arrays import Array, Flags

# With acceleration, jerk and snap zero at both ends, the Bernstein coefficients of a piece of
# length h are q_0 + (j/9) h v_0, j = 0..4, and their mirror image. So the piece is monotone if
# h (v_0 + v_1) is at most 9/4 of its step in position, half of it for each velocity.
MONOTONE = 9.0 / 8.0


def shape_preserving_knots(times: Array, fixed: Flags, knots: Array) -> None:
    """Fill in the free derivatives of `knots` (m + 1, 5, n) in place.

    Velocities are PCHIP's weighted harmonic means of the neighbouring slopes (Fritsch and
    Butland, 1984), zero at turning points, and bounded so that each piece is monotone;
    accelerations, jerks and snaps are zero.
    """
    for k in range(1, 5):
        knots[~fixed[:, k], k] = 0.0
    if len(times) < 3:
        return
    h = np.diff(times)[:, None]
    slopes = np.diff(knots[:, 0], axis=0) / h
    left, right = slopes[:-1], slopes[1:]
    weight_left = h[:-1] + 2.0 * h[1:]
    weight_right = 2.0 * h[:-1] + h[1:]
    rising = left * right > 0.0
    safe_left, safe_right = np.where(rising, left, 1.0), np.where(rising, right, 1.0)
    mean = (weight_left + weight_right) / (weight_left / safe_left + weight_right / safe_right)
    bound = MONOTONE * np.minimum(np.abs(left), np.abs(right))
    velocities = np.where(rising, np.clip(mean, -bound, bound), 0.0)
    free = ~fixed[1:-1, 1]
    knots[1:-1, 1][free] = velocities[free]
