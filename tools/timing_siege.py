"""Logs of many kinds and seeds with known instants: how far the restored ones are off.

`python tools/timing_siege.py --logs 120 --seed 1` makes logs one after the other, and prints
of each the errors of the instants, in periods, and of the accelerations, as restored and as
stamped, over those that the true instants give; at the end the worst of each kind. Log k of a seed
is the same whatever else is made: `--only k`.
"""
import argparse
import contextlib
from dataclasses import dataclass
import sys

import numpy as np
from recordings import PANDA, motion

from hodyn_ros.common.errors import HodynError
from hodyn_ros.estimation.derivatives import Samples, fit_noise, smooth
from hodyn_ros.estimation.timing import Timing, analyse
from hodyn_ros.messages.joint_state_bag import JointStates

PERIOD = 1e-3
MAX_WORSE = 1.05  # than with the stamps as they are


@dataclass
class Log:
    """Reads of a clocked robot: their stamps, the instants of the states, and the true motion."""

    stamps: np.ndarray
    instants: np.ndarray
    found: JointStates
    truth: np.ndarray


def rests(time, rng):
    """Return q … q⁗ (T, 5, n): from rest to rest, with pauses, as planned motions are."""
    q = np.zeros((len(time), 5, PANDA.n))
    at, begin = np.zeros(PANDA.n), 0.5
    while begin < time[-1]:
        duration = rng.uniform(0.8, 2.5)
        goal = rng.uniform(-1.0, 1.0, PANDA.n)
        x = np.clip((time - begin) / duration, 0.0, 1.0)
        moves = (goal - at) * (x > 0.0)[:, None]
        shape = np.poly1d([70, -315, 540, -420, 126, 0, 0, 0, 0, 0])
        for k in range(5):
            inside = shape.deriv(k)(x) if k else shape(x)
            if k:
                inside = np.where((x > 0.0) & (x < 1.0), inside, 0.0)
            q[:, k] += moves * inside[:, None] / duration ** k
        at, begin = goal, begin + duration + rng.choice([0.0, 0.3, 2.0])
    return q


def reader(rng, ticks, duration, *, every, skip, jitter, beat, hold_ups, longest,
           catches_up):
    """Return when a reader of the newest state stamps, and when each state was current, s."""
    rate = PERIOD * every * (1.0 + beat)
    count = int(duration / rate)
    reads = rng.uniform(0.0, PERIOD) + rate * np.arange(count)
    reads = reads + jitter * PERIOD * rng.standard_normal(count)
    reads = reads[rng.random(count) >= skip]
    held = np.where(rng.random(len(reads)) < hold_ups, rng.uniform(
        0.0, longest, len(reads)), 0.0)
    reads = np.maximum.accumulate(reads + held)
    if catches_up:  # what was missed is read in a row
        late = np.append(0.0, np.diff(reads)) == 0.0
        run = np.arange(len(reads)) - np.maximum.accumulate(
            np.where(late, 0, np.arange(len(reads))))
        reads = np.maximum.accumulate(reads + 5e-6 * run)
    return reads[np.append(True, np.diff(reads) > 2e-6)]


def make(rng, kind):
    """Return a log of a kind."""
    duration = float(rng.choice([3.0, 5.0, 10.0]))
    if kind == 'slow polls':
        duration = 10.0
    ticks = np.arange(int(duration / PERIOD) + 2000) * PERIOD
    given = {
        'every': 1, 'skip': rng.choice([0.0, 0.02, 0.06]), 'jitter': rng.choice(
            [0.03, 0.1, 0.2, 0.3]), 'beat': rng.choice([1e-5, -5e-5, 4e-4, -2e-3]),
        'hold_ups': rng.choice([0.0, 2e-3, 2e-2]), 'longest': 4e-3,
        'catches_up': rng.random() < 0.5}
    if kind == 'few repeats':
        given.update(beat=rng.choice([-1.0, 1.0]) * 5e-5, jitter=rng.choice([0.05, 0.1]))
    if kind == 'held up':
        given.update(hold_ups=2e-3, longest=rng.choice([8e-3, 30e-3, 0.1]))
    if kind == 'slow polls':
        given.update(every=10, jitter=rng.choice([0.3, 1.0, 3.0]))
    position_noise = float(rng.choice([1e-6, 5e-6, 2e-5]))
    velocity_noise = float(rng.choice([1e-4, 1e-3, 5e-3]))
    lag = float(rng.choice([0.0, 5e-3]))
    recorded = rng.random() < 0.7
    scale = float(rng.choice([0.02, 0.1])) if kind in ('slow motion', 'slow bursts') else 1.0
    stamps = reader(rng, ticks, duration, **given) + 0.5
    true = ticks[np.searchsorted(ticks, stamps, side='right') - 1]
    if kind == 'stamped late':  # what was read is stamped after a hold-up
        stamps = stamps + rng.uniform(0.0, 0.1, len(stamps)) * PERIOD
        late = np.where(rng.random(len(stamps)) < 3e-3, rng.uniform(
            0.0, 15e-3, len(stamps)), 0.0)
        stamps = np.maximum.accumulate(stamps + late + 1e-7 * np.arange(len(stamps)) / 1e4)
        keep = np.append(True, np.diff(np.round(stamps * 1e9)) > 0)
        stamps, true = stamps[keep], true[keep]
    if kind == 'milliseconds':  # the stamps are rounded
        stamps = np.round(stamps, 3)
    if kind == 'true stamps':
        stamps = true + rng.normal(0.0, 0.02 * PERIOD)
    if kind == 'drift':
        fast = 1.0 + rng.uniform(-3e-3, 3e-3)
        stamps, true, ticks = stamps * fast, true * fast, ticks * fast
    if kind == 'unclocked':  # sampled when read
        true = stamps.copy()
    if kind in ('subscriber', 'some rests'):  # every state is received once, late
        true = ticks[500:int(duration / PERIOD) + 500]
        true = true[rng.random(len(true)) >= given['skip']]
        stamps = np.maximum.accumulate(
            true + 3e-4 + rng.gamma(1.0, 3e-4 if kind == 'subscriber' else 5e-5, len(true)))
        stamps += 1e-8 * np.arange(len(stamps))
    if kind in ('bursts', 'slow bursts', 'caught up'):  # each state comes once, some wait
        true = ticks[500:int(duration / PERIOD) + 500]
        arrive = true + PERIOD * rng.uniform(0.1, 0.3, len(true))
        if kind != 'caught up':
            size, even = int(rng.integers(2, 21)), rng.random() < 0.5
            sizes = np.full(len(true), size) if even else rng.integers(1, 2 * size, len(true))
            ends = np.cumsum(sizes)
        else:
            waits = rng.random(len(true)) < 2e-3
            sizes = np.where(waits, rng.integers(5, 61, len(true)), 1)
            ends = np.cumsum(sizes)
        last = np.minimum(ends[np.searchsorted(ends, np.arange(len(true)), side='right')],
                          len(true)) - 1
        stamps = np.maximum.accumulate(arrive[last] + 1e-5 * rng.random(len(true)))
        stamps += 1e-8 * np.arange(len(stamps))
        kept = rng.random(len(true)) >= given['skip']
        stamps, true = stamps[kept], true[kept]
        given['size'] = float(sizes.max())
    kept = np.unique(np.round(stamps * 1e9), return_index=True)[1]
    stamps, true = stamps[kept], true[kept]
    instants, sample = np.unique(true, return_inverse=True)
    seed = rng.integers(1 << 30)

    def moved(time):
        q = rests(time * scale, np.random.default_rng(seed)) if (
            'rests' in kind) else motion(time * scale)
        return q[:, :3] * scale ** np.arange(3)[:, None]

    q, late = moved(instants), moved(instants - lag)
    position = q[:, 0] + position_noise * rng.standard_normal(q[:, 0].shape)
    if rng.random() < 0.2:
        position = np.round(position / 1e-5) * 1e-5
    velocity = late[:, 1] + velocity_noise * rng.standard_normal(q[:, 0].shape)
    if not recorded:
        velocity[:] = np.nan
    stamp = np.round(stamps * 1e9).astype(np.int64)
    words = ' '.join(f'{name}={value:g}' for name, value in given.items()) + (
        f' {duration:g} s q±{position_noise:g} v±{velocity_noise:g}' if recorded
        else f' {duration:g} s q±{position_noise:g} no v')
    return words, Log(stamps, true, JointStates(stamp, stamp + 250_000, *(
        values[sample] for values in (position, velocity, rng.standard_normal(q[:, 0].shape)))),
        q[sample])


KINDS = (
    'polled', 'few repeats', 'held up', 'stamped late', 'slow polls', 'slow motion', 'rests',
    'milliseconds', 'true stamps', 'drift', 'unclocked', 'subscriber', 'bursts', 'caught up',
    'slow bursts', 'some rests')


def judge(log: Log, timing: Timing, *, accelerations: bool = True) -> dict[str, float]:
    """Return errors of the instants, in periods, and of q̈ over those by the true instants."""
    off, stamped, rms, steps, ages, first_samples = [], [], [], [], [], []
    for run in timing.runs:
        first = run.first_message
        truth = log.instants[first]
        restored = run.time + log.found.stamp[run.message[0]] * 1e-9
        ages.append(restored - truth)
        off.append(ages[-1] - np.median(ages[-1]))
        first_samples.append(abs(off[-1][0]))
        stamped.append(log.stamps[first] - truth)
        stamped[-1] -= np.median(stamped[-1])
        steps.append(run.sampling_period)
        if accelerations and len(first) > 300:
            rms.append([
                squares_of_accelerations(log, first, time)
                for time in (truth, restored, log.found.stamp[first] * 1e-9)])
    true, restored, as_stamped = np.sqrt(np.sum(rms, axis=0)) if rms else [np.nan] * 3
    off, stamped, ages = (np.concatenate(values) / PERIOD for values in (off, stamped, ages))
    return {
        'runs': len(timing.runs), 'restored': float(np.mean(np.isfinite(steps))),
        'common': float(np.median(ages)), 'largest': float(np.abs(off).max()),
        'first': max(first_samples) / PERIOD,
        'error': float(np.sqrt(np.mean(off ** 2))),
        'stamped': float(np.sqrt(np.mean(stamped ** 2))),
        'q̈': float(restored / true), 'q̈ stamped': float(as_stamped / true)}


def squares_of_accelerations(log: Log, first: np.ndarray, time: np.ndarray) -> float:
    """Return the sum of squared errors of q̈ by instants; infinite where these are refused."""
    given = Samples(time, log.found.position[first], log.found.velocity[first])
    try:
        q = smooth(given, fit_noise([given])).q
    except HodynError:
        return np.inf
    return float(np.sum((q[:, 2] - log.truth[first, 2])[20:-20] ** 2))


def main() -> int:
    """Make logs and judge them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--logs', type=int, default=120)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', type=int)
    parser.add_argument('--kind', choices=KINDS)
    parser.add_argument('--instants', action='store_true', help='not the accelerations')
    given = parser.parse_args()
    table, worse = {kind: [] for kind in KINDS}, 0
    for k in range(given.logs) if given.only is None else [given.only]:
        kind = KINDS[k % len(KINDS)]
        if given.kind not in (None, kind):
            continue
        words, log = make(np.random.default_rng([given.seed, k]), kind)
        found = judge(log, analyse(log.found), accelerations=not given.instants)
        table[kind].append(found)
        bad = found['error'] > MAX_WORSE * found['stamped'] + 1e-5 or (
            found['q̈'] > MAX_WORSE * max(1.0, found['q̈ stamped']))
        worse += bad
        with contextlib.suppress(BrokenPipeError):
            print(f'{k:4d} {kind:13s}' + ' '.join(
                f'{name} {value:.3g}' for name, value in found.items()),
                '| ' + words, '| WORSE' if bad else '', flush=True)
    print('worst:')
    for kind, rows in table.items():
        if rows:
            print(f'{kind:13s} {len(rows)} logs', ' '.join(
                f'{name} {np.nanmax(np.abs([row[name] for row in rows])):.3g}'
                for name in rows[0]))
    return int(worse > 0)


if __name__ == '__main__':
    sys.exit(main())
