"""The curve by which a published quantity goes from its last value to a wanted one.

A quantity P, a joint's torque or a motor's position, should be W(t). W is C² except at events such
as a new held position, a payload or a dropped wrench. The published value is

    P = W + v(σ(t)) + m(t).

- At an event, W, Ẇ and Ẅ jump. *m* compensates the jumps of Ẇ and Ẅ:
  m = (a₁ t + a₂ t²) exp(−ω t), which begins and ends at 0.
- *v* compensates the jump of W, and has the values that are added to W sample by sample
  (`set_target`). Its input approaches the target at a bounded slope and is smoothed by
  1/(s/ω + 1)⁵, whose impulse response is nowhere negative and has area 1. So v stays between its
  beginning and its targets, and its slope keeps the bound.
- *v* runs on a time σ of its own, which slows down as Ẇ takes more of L, the limit of Ṗ: with
  x = |Ẇ|/L, dσ/dt = ε + (1 − ε)(1 − x²)² up to x = 1, and ε beyond. As x + ½ (1 − x²)² ≤ 1, a
  slope of ½ L in σ leaves |Ẇ + v̇| ≤ (1 + ε/2) L.
- `soft_limit` s is C², the identity up to a knee near 1, and below 1 + margin (strict: 1) beyond.
  If R = Ẇ + v̇ + ṁ still exceeds L, or W changes in a cycle by more than L allows, P continues
  from its last value at the rate L s(R/L), and v leads P to W afterwards. If |P| exceeds its limit
  E, E s(P/E) is published.
- The torque limit of a motor bounds P̈. If Ṗ would change faster, Ṗ approaches its wanted value
  with a P̈ that stays within the bounds and changes by at most half their width in 1/ω.

So P is C², Ṗ and P̈ are its derivatives, and |P| and |Ṗ| exceed their limits by at most the
margin, for any sequence of events. `last_gate` checks this independently: a value that it refuses
is not published, and P continues from the last published value.
"""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.jit import njit
from hodyn_ros.feedforward.last_gate import first_wrong
from hodyn_ros.feedforward.soft_limit import before_limit, soft_limit
from hodyn_ros.reference.smoothing import advance_joint

BANDWIDTH = 100.0
"""ω, rad/s: values added sample by sample, such as a measured deviation, are delayed by 5/ω."""
RATE_SHARE = 0.5
"""Slope of v as a share of the rate limit."""
SLOWEST = 0.02
"""ε, the least speed of v's time."""
TRANSIENT_SHARE = 4.6
"""Least ω L/|m̈|, with m̈ at an event: the peak of ṁ, 0.231 |m̈|/ω, is then at most 0.05 L."""
# SETTLED: time constants in which a change settles. CLOSE: relative error that ends a change.
SETTLED = 40.0
CLOSE = 1e-9
# Rows of the state of a stage, one column per quantity. EVEN: whether P continued from its last
# value in the last cycle; LED: whether `_lead` brings Ṗ to its wanted value.
(RAW, CHAIN, INPUT, TARGET, SLOPE, FIRST, SECOND, OMEGA, SINCE, WAIT, CLOCK, EVEN, LIMIT, RATE,
 KNEE, TOP, LED, FADE) = (0, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24)
ROWS = 25
CHANGING, SATURATED = 1, 2
# Least slope of v's input, units of the quantity per second.
LEAST_SLOPE = 1e-9
# In a shorter interval, s, the input of v does not move: its slope would lose digits.
SHORTEST = 1e-7
# Safety factor, so that a second derivative falls to 0 before the rate reaches its goal.
BRAKING = 0.8
# Multiple of the bounds of a second derivative beyond which `_lead` limits it.
SLACK = 1.05
# In a cycle of duration h a second derivative may jump by STEP + ω h times its bounds' width.
STEP = 0.02
# Share of its bounds' width that a second derivative may still use if the rate is at its top.
LEAST_SHARE = 0.05


@njit()
def _clock(rate: float, second: float, limit: float) -> tuple[float, float]:
    """Return dσ/dt, the speed of v's own time, and its derivative."""
    if limit == np.inf:
        return 1.0, 0.0
    x = rate / limit
    free = max(1.0 - x * x, 0.0)
    return (
        SLOWEST + (1.0 - SLOWEST) * free * free,
        -4.0 * (1.0 - SLOWEST) * free * x * second / limit)


@njit()
def go_over(
    state: Array, wanted: Array, which: Flags, ahead: float, fade: float,
) -> None:
    """Start the transition of each marked quantity from its published to its wanted values."""
    for i in range(wanted.shape[1]):
        if not which[i]:
            continue
        raw0, raw1, raw2 = state[RAW, i], state[RAW + 1, i], state[RAW + 2, i]
        limit = state[RATE, i]
        raw1, slope = before_limit(raw1, limit, state[KNEE, i], state[TOP, i])
        # The wanted values are extrapolated back to the last cycle, where the transition begins.
        # So the published value does not drift if an event comes in each cycle.
        value = raw0 - (wanted[0, i] - ahead * (wanted[1, i] - 0.5 * ahead * wanted[2, i]))
        rate = raw1 - (wanted[1, i] - ahead * wanted[2, i])
        second = raw2 / slope - wanted[2, i]
        state[CHAIN, i] = state[INPUT, i] = value
        for k in range(1, 5):
            state[CHAIN + k, i] = 0.0
        omega = BANDWIDTH
        if limit < np.inf:
            omega = max(omega, TRANSIENT_SHARE * abs(second) / limit)
        state[OMEGA, i] = omega
        state[FIRST, i] = rate
        state[SECOND, i] = 0.5 * second + omega * rate
        state[SINCE, i] = 0.0
        # With a smaller slope the steps would vanish in round-off, and v would never arrive.
        state[SLOPE, i] = max(abs(value - state[TARGET, i]) / fade, LEAST_SLOPE)
        state[WAIT, i] = SETTLED / BANDWIDTH
        state[CLOCK, i], state[CLOCK + 1, i] = _clock(wanted[1, i], wanted[2, i], limit)


@njit()
def _follow_input(state: Array, i: int, own: float) -> None:
    """Advance v's input at its slope towards the target, and v, by `own`, s, of v's time."""
    begin, target = state[INPUT, i], state[TARGET, i]
    most = min(RATE_SHARE * state[RATE, i], state[SLOPE, i]) * own
    end = target
    if abs(target - begin) > most:
        end = begin + (most if target > begin else -most)
    # The filter's output is 5/ω behind an input of constant slope, plus its free response.
    slope = (end - begin) / own
    late = 5.0 * slope / BANDWIDTH
    chain = state[CHAIN:CHAIN + 5]
    chain[0, i] -= begin - late
    chain[1, i] -= slope
    advance_joint(chain, i, 0.0, BANDWIDTH, own)
    chain[0, i] += end - late
    chain[1, i] += slope
    state[INPUT, i] = end


@njit()
def _before_top(rate: float, top: float, low: float, high: float) -> tuple[float, float]:
    """Return bounds of the second derivative with which a rate can still stay below its top."""
    steepest = BRAKING * (high - low) * BANDWIDTH
    least = LEAST_SHARE * (high - low)
    return (
        max(low, -np.sqrt(steepest * max(top + rate, 0.0)) - least),
        min(high, np.sqrt(steepest * max(top - rate, 0.0)) + least))


@njit()
def _lead(
    state: Array, i: int, rate: float, second: float, low: float, high: float, h: float,
) -> tuple[float, float]:
    """Return the next rate and second derivative, within bounds, on the way to wanted ones."""
    before, acceleration = state[RAW + 1, i], state[RAW + 2, i]
    steepest = 0.5 * (high - low) * BANDWIDTH
    gap = rate - before - 0.5 * h * acceleration
    wish = min(BRAKING * np.sqrt(2.0 * steepest * abs(gap)), BANDWIDTH * abs(gap))
    wish = min(max(second + (wish if gap > 0.0 else -wish), low), high)
    most = steepest * h
    led = acceleration + min(max(wish - acceleration, -most), most)
    end = before + 0.5 * h * (acceleration + led)
    top = state[TOP, i] * state[RATE, i]
    if abs(end) > top:
        end, led = (top if end > 0.0 else -top), 0.0
    is_there = abs(rate - end) <= most * h and abs(second - led) <= 2.0 * most
    state[LED, i] = 0.0 if is_there else 1.0
    return end, led


@njit()
def advance(
    state: Array, wanted: Array, interval: float, bounds: Array, before: Array, published: Array,
    limit: Array, rate_limit: Array, top: float,
) -> tuple[int, int, int]:
    """Write the next values; return the flags, and row and column of a refused value or −1."""
    before[:] = published
    flags = _next(state, wanted, interval, bounds, published)
    row, column = first_wrong(before, published, interval, limit, rate_limit, top)
    return flags, row, column


@njit()
def _next(
    state: Array, wanted: Array, interval: float, bounds: Array, published: Array,
) -> int:
    flags = 0
    h = interval
    chain = state[CHAIN:CHAIN + 5]
    for i in range(wanted.shape[1]):
        w0, w1, w2 = wanted[0, i], wanted[1, i], wanted[2, i]
        clock, change = _clock(w1, w2, state[RATE, i])
        own = h * (0.5 * (state[CLOCK, i] + clock) + h / 12.0 * (state[CLOCK + 1, i] - change))
        own = min(max(own, SLOWEST * h), h)
        state[CLOCK, i], state[CLOCK + 1, i] = clock, change
        target = state[TARGET, i]
        v0 = target
        v1 = v2 = m0 = m1 = m2 = 0.0
        if state[WAIT, i] > 0.0 or chain[0, i] != target or state[INPUT, i] != target:
            if own > SHORTEST:
                _follow_input(state, i, own)
            v0 = chain[0, i]
            v1 = chain[1, i] * clock
            v2 = chain[2, i] * clock * clock + chain[1, i] * change
            state[SINCE, i] += h
            a1, a2, omega = state[FIRST, i], state[SECOND, i], state[OMEGA, i]
            t = state[SINCE, i]
            if a1 != 0.0 or a2 != 0.0:
                decay = np.exp(-omega * t)
                m0 = decay * t * (a1 + a2 * t)
                m1 = decay * (a1 + (2.0 * a2 - omega * a1) * t - omega * a2 * t * t)
                m2 = decay * (
                    2.0 * a2 - 2.0 * omega * a1 + (omega * omega * a1 - 4.0 * omega * a2) * t
                    + omega * omega * a2 * t * t)
            near = CLOSE * max(abs(w0), 1.0)
            if state[INPUT, i] == target:
                # From here on v follows its target as fast as the limits allow.
                state[SLOPE, i] = np.inf
                state[WAIT, i] -= own
                if abs(v0 - target) + abs(m0) < near and (
                        abs(v1) + abs(m1) < BANDWIDTH * near):
                    for k in range(5):
                        chain[k, i] = 0.0
                    chain[0, i] = v0 = target
                    state[FIRST, i] = state[SECOND, i] = state[WAIT, i] = 0.0
                    v1 = v2 = m0 = m1 = m2 = 0.0
            else:
                state[WAIT, i] = max(state[WAIT, i], 0.0)
            if state[WAIT, i] > 0.0:
                flags |= CHANGING
        raw0, raw1, raw2 = w0 + v0 + m0, w1 + v1 + m1, w2 + v2 + m2
        rate_limit, knee, top = state[RATE, i], state[KNEE, i], state[TOP, i]
        was_even, state[EVEN, i] = state[EVEN, i], 0.0
        if abs(raw1) > knee * rate_limit:
            y, slope, _ = soft_limit(raw1 / rate_limit, knee, top)
            raw1, raw2 = y * rate_limit, slope * raw2
            state[EVEN, i] = 1.0
        low, high = bounds[0, i], bounds[1, i]
        if high < np.inf and rate_limit < np.inf:
            low, high = _before_top(state[RAW + 1, i], top * rate_limit, low, high)
        if h <= SHORTEST and high < np.inf and state[LED, i] + was_even > 0.0:
            raw1, raw2 = state[RAW + 1, i], state[RAW + 2, i]
            state[EVEN, i] = 1.0
        elif high < np.inf and h > SHORTEST and (
                state[LED, i] > 0.0 or not SLACK * low * h <= raw1 - state[RAW + 1, i] <= (
                    SLACK * high * h) or not SLACK * low <= raw2 <= SLACK * high or (
                        abs(raw2 - state[RAW + 2, i]) > (STEP + BANDWIDTH * h) * (high - low))):
            raw1, raw2 = _lead(state, i, raw1, raw2, low, high, h)
            state[EVEN, i] = 1.0
        if state[EVEN, i] + was_even > 0.0 or (
                abs(raw0 - state[RAW, i]) > h * top * rate_limit + CLOSE):
            even = state[RAW, i] + 0.5 * h * (state[RAW + 1, i] + raw1)
            chain[0, i] += even - raw0
            state[INPUT, i] += even - raw0
            state[SLOPE, i] = max(
                state[SLOPE, i], abs(state[INPUT, i] - target) / state[FADE, i])
            state[WAIT, i] = SETTLED / BANDWIDTH
            flags |= SATURATED | CHANGING
            raw0 = even
        state[RAW, i], state[RAW + 1, i], state[RAW + 2, i] = raw0, raw1, raw2
        flags |= _limit_value(state, i, published)
    return flags


@njit()
def begin_at(state: Array, published: Array) -> None:
    """Set the state whose limited values are `published`, and write these values."""
    for i in range(published.shape[1]):
        raw, slope = before_limit(
            published[0, i], state[LIMIT, i], state[KNEE, i], state[TOP, i])
        state[RAW, i] = raw
        state[RAW + 1, i] = published[1, i] / slope
        state[RAW + 2, i] = published[2, i] / slope
        _limit_value(state, i, published)


@njit()
def _limit_value(state: Array, i: int, published: Array) -> int:
    """Write the published values of a column, within the limit; return SATURATED or 0."""
    raw0, raw1, raw2 = state[RAW, i], state[RAW + 1, i], state[RAW + 2, i]
    limit, knee, top = state[LIMIT, i], state[KNEE, i], state[TOP, i]
    if abs(raw0) <= knee * limit:
        published[0, i], published[1, i], published[2, i] = raw0, raw1, raw2
        return 0
    y, slope, bend = soft_limit(raw0 / limit, knee, top)
    published[0, i] = y * limit
    published[1, i] = slope * raw1
    published[2, i] = slope * raw2 + bend * raw1 * raw1 / limit
    return SATURATED
