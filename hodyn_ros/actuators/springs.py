"""Kernels: from the torque of a joint to the elongation of its springs, and back.

Elongations are x = θ − q; antagonistic pairs have x₁ = θ₁ − q and x₂ = q − θ₂. The kernels take
the values of one joint, and write results to arrays of the caller.
"""
import numpy as np

from hodyn_ros.actuators.laws import (
    CUBIC,
    EXPONENTIAL,
    LINEAR,
    QUADRATIC,
    RIGID,
    TABULATED,
    VARIABLE,
)
from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import njit

MAX_STEPS = 20
"""Largest number of Newton steps on a piece of a table; tests never needed more than 14."""
CLOSE = 4e-15
"""Residual, as a share of a piece's rise in torque, below which one more step is exact."""


@njit()
def elongations(
    kind: int, p: Array, table: Array, torque: Array, stiffness: Array, out: Array,
) -> float:
    """Write the elongations, their rates and accelerations of one joint; return the margin.

    The margin is the distance to the bound of Q's magnitude (N m) or of σ (N m/rad): negative if
    the law cannot produce Q and σ, infinite without bound. `torque` and `stiffness`, (3,), have Q,
    Q̇, Q̈ and σ, σ̇, σ̈ (σ only for variable laws); `out`, (2, 3), gets x, ẋ, ẍ of the first and
    second motor, unless the margin is negative. `table` is empty for all laws but TABULATED. The
    damper of a LINEAR law is ignored: see `damped_acceleration`.
    """
    t0, t1, t2 = torque
    s0, s1, s2 = stiffness
    margin = np.inf
    if kind == RIGID:
        out[0] = 0.0
    elif kind == LINEAR:
        out[0, 0] = t0 / p[0]
        out[0, 1] = t1 / p[0]
        out[0, 2] = t2 / p[0]
    elif kind == CUBIC:
        margin = p[2] - abs(t0)
        if margin >= 0.0:
            x = _solve_cubic(p[0], p[1], t0)
            _through_slope(
                x, p[0] + 3.0 * p[1] * x * x, 6.0 * p[1] * x, t1, t2, out)
    elif kind == TABULATED:
        margin = min(t0 - table[0, 1], table[-1, 1] - t0)
        if margin >= 0.0:
            piece, x = solve_table(table, t0)
            _, slope, bend = on_piece(table, piece, x)
            _through_slope(table[piece, 0] + x, slope, bend, t1, t2, out)
    elif kind == VARIABLE:
        margin = _above(s0, 0.0)
        if margin >= 0.0:
            _quotient(t0, t1, t2, s0, s1, s2, out[0])
    elif kind == EXPONENTIAL:
        a, b, pushes = p[0], p[1], p[2]
        margin = _above(s0, b * abs(t0)) if pushes else s0 - b * (abs(t0) + 2.0 * a)
        if margin >= 0.0:
            for k, sign in enumerate((1.0, -1.0)):
                f0 = s0 / b + sign * t0
                r1 = (s1 / b + sign * t1) / f0
                r2 = (s2 / b + sign * t2) / f0
                out[k, 0] = np.log(f0 / (2.0 * a)) / b
                out[k, 1] = r1 / b
                out[k, 2] = (r2 - r1 * r1) / b
    elif kind == QUADRATIC:
        margin = _above(s0, np.sqrt(2.0 * p[0] * abs(t0)))
        if margin >= 0.0:
            _quotient(t0, t1, t2, s0, s1, s2, out[1])
            for i in range(3):
                half = stiffness[i] / (2.0 * p[0])
                ratio = out[1, i]
                out[0, i] = half + ratio
                out[1, i] = half - ratio
    return margin


@njit()
def _above(value: float, bound: float) -> float:
    """Return value − bound, made negative at equality, as the law breaks down there."""
    return value - bound if value > bound else min(value - bound, -1e-300)


@njit()
def _through_slope(
    x: float, slope: float, bend: float, t1: float, t2: float, out: Array,
) -> None:
    """Write x, ẋ = Q̇/φ′ and ẍ = (Q̈ − φ″ ẋ²)/φ′ of a spring Q = φ(x), with slope φ′, bend φ″."""
    rate = t1 / slope
    out[0, 0] = x
    out[0, 1] = rate
    out[0, 2] = (t2 - bend * rate * rate) / slope


@njit()
def _quotient(
    t0: float, t1: float, t2: float, s0: float, s1: float, s2: float, out: Array,
) -> None:
    """Write Q/σ and its derivatives."""
    out[0] = t0 / s0
    out[1] = (t1 - s1 * out[0]) / s0
    out[2] = (t2 - 2.0 * s1 * out[1] - s2 * out[0]) / s0


@njit()
def _solve_cubic(k1: float, k3: float, torque: float) -> float:
    """Return the root of k₁ x + k₃ x³ = Q nearest to 0; the slope there must be positive."""
    if k3 == 0.0:
        return torque / k1
    # The root is x = 2 s sinh(asinh(w)/3), with sin and asin if k₃ < 0; a Newton step follows.
    s = np.sqrt(k1 / (3.0 * abs(k3)))
    w = 1.5 * torque / (k1 * s)
    if k3 > 0.0:
        x = 2.0 * s * np.sinh(np.arcsinh(w) / 3.0)
    else:
        x = 2.0 * s * np.sin(np.arcsin(min(max(w, -1.0), 1.0)) / 3.0)
    root: float = x - (k1 * x + k3 * x**3 - torque) / (k1 + 3.0 * k3 * x * x)
    return root


@njit()
def on_piece(table: Array, piece: int, x: float) -> tuple[float, float, float]:
    """Return the rise of Q = φ(x), φ′ and φ″; x and the rise count from the piece's start."""
    c1, c2, c3 = table[piece, 2], table[piece, 3], table[piece, 4]
    return (
        x * (c1 + x * (c2 + x * c3)), c1 + x * (2.0 * c2 + 3.0 * c3 * x),
        2.0 * c2 + 6.0 * c3 * x)


@njit()
def solve_table(table: Array, torque: float) -> tuple[int, float]:
    """Return the piece on which the curve reaches a torque, and x from the piece's start.

    `codegen.table_search` has this search in C: change both together.
    """
    low, high = 0, len(table) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if table[middle, 1] <= torque:
            low = middle
        else:
            high = middle
    wanted = torque - table[low, 1]
    rise = table[low + 1, 1] - table[low, 1]
    left, right = 0.0, table[low + 1, 0] - table[low, 0]
    x = right * wanted / rise
    for _ in range(MAX_STEPS):
        reached, slope, _ = on_piece(table, low, x)
        excess = reached - wanted
        if excess > 0.0:
            right = x
        else:
            left = x
        x -= excess / slope
        if not left <= x <= right:
            x = 0.5 * (left + right)
        # The residual before this step was so small that further steps would be round-off.
        if abs(excess) <= CLOSE * rise:
            break
    return low, x


@njit()
def forces(
    kind: int, p: Array, table: Array, elongation: Array, rate: Array, stiffness: float,
    out: Array,
) -> float:
    """Write each spring's force, N m, and its first and second derivatives by x, (2, 3).

    Return the stiffness, −∂Q/∂q at fixed motors, N m/rad: the sum of the slopes, infinite if
    rigid. This is the inverse of `elongations`: Q is the first force minus the second. Beyond its
    table, a tabulated spring is linear; tendons that cannot push are slack below x = 0.
    """
    x = elongation[0]
    out[:] = 0.0
    if kind == LINEAR:
        out[0, 0] = p[0] * x + p[1] * rate[0]
        out[0, 1] = p[0]
    elif kind == CUBIC:
        out[0, 0] = p[0] * x + p[1] * x**3
        out[0, 1] = p[0] + 3.0 * p[1] * x * x
        out[0, 2] = 6.0 * p[1] * x
    elif kind == TABULATED:
        piece = min(max(np.searchsorted(table[:, 0], x, side='right') - 1, 0), len(table) - 2)
        end = table[piece + 1, 0] - table[piece, 0]
        local = x - table[piece, 0]
        inside = min(max(local, 0.0), end)
        above, slope, bend = on_piece(table, piece, inside)
        out[0, 0] = table[piece, 1] + above + slope * (local - inside)
        out[0, 1] = slope
        out[0, 2] = bend if inside == local else 0.0
    elif kind == VARIABLE:
        out[0, 0] = stiffness * x
        out[0, 1] = stiffness
    elif kind == EXPONENTIAL:
        for k in range(2):
            if elongation[k] > 0.0 or p[2] > 0.0:
                out[k, 0] = p[0] * np.expm1(p[1] * elongation[k])
                out[k, 1] = p[1] * (out[k, 0] + p[0])
                out[k, 2] = p[1] * out[k, 1]
    elif kind == QUADRATIC:
        for k in range(2):
            if elongation[k] > 0.0:
                out[k, 0] = 0.5 * p[0] * elongation[k] ** 2
                out[k, 1] = p[0] * elongation[k]
                out[k, 2] = p[0]
    else:
        return np.inf
    total: float = out[0, 1] + out[1, 1]
    return total


@njit()
def damped_acceleration(
    stiffness: float, damping: float, h: float, before: Array, now: Array, acceleration: float,
) -> float:
    """Return ẍ of a spring with a damper beside it, h (s) after it was `acceleration`.

    By the second derivative of Q = K x + D ẋ, ẍ follows Q̈/K as a first-order lag of rate K/D.
    The step is exact for a cubic Q̈(t) that agrees with Q, Q̇, Q̈ at both ends, `before` and `now`,
    (3,). D occurs only in K h / D: for D → 0 this is the pure spring.
    """
    first, last = before[2], now[2]
    b = last - first
    i = (now[1] - before[1]) / h - first
    j = ((now[0] - before[0]) / h - before[1]) / h - 0.5 * first
    c3 = 10.0 * b - 60.0 * i + 120.0 * j
    c2 = -12.0 * b + 84.0 * i - 180.0 * j
    c1 = 3.0 * b - 24.0 * i + 60.0 * j
    z = stiffness * h / damping
    # w_k = z ∫ e^{−z (1 − s)} sᵏ ds over [0, 1], by the recursion in the direction that is stable.
    if z < 1.0:
        term = z / 4.0
        w3 = term
        for m in range(1, 20):
            term *= -z / (m + 4.0)
            w3 += term
        w2 = (1.0 - w3) * z / 3.0
        w1 = (1.0 - w2) * z / 2.0
        w0 = (1.0 - w1) * z
    else:
        w0 = -np.expm1(-z)
        w1 = 1.0 - w0 / z
        w2 = 1.0 - 2.0 * w1 / z
        w3 = 1.0 - 3.0 * w2 / z
    forced = first * w0 + c1 * w1 + c2 * w2 + c3 * w3
    after: float = (1.0 - w0) * acceleration + forced / stiffness
    return after
