"""Zeros, gains and offsets found from noise that lasts: how often 90 % intervals contain them.

    python tools/coloured_cases.py --terms zeros friction --times 0 0.05 0.2 0.5 --cases 200

Exciting motions of the Panda whose links are right and whose friction, of 2 % of the limits of
effort, is unknown, with noise of 1 %, whose autocorrelation falls by e in each of the --times, s.
Zeros are off by up to 0.05 rad, gains by 30 ± 3 %, or there are offsets of up to 1 %. The first
case is --first.
"""
import argparse
from dataclasses import replace
from itertools import pairwise

import numpy as np
from payload_cases import RATE, exciting
from recordings import PANDA

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.identify import identify


def coloured(rng, count, width, time):
    """Return noise of variance 1, (count, width), autocorrelated over a time, s, at `RATE`."""
    noise = rng.standard_normal((count, width))
    share = np.exp(-1.0 / (RATE * time)) if time else 0.0
    for before, here in pairwise(noise):
        here *= np.sqrt(1.0 - share ** 2)
        here += share * before
    return noise


def recording(seed, terms, time):
    """Return the data of a recording, and the true values."""
    rng = np.random.default_rng([seed, 77])
    instants, shown = exciting(rng)
    n, most = PANDA.n, PANDA.limits.effort
    truth = {'zero': np.zeros(n), 'effort_gain': np.ones(n), 'offset': np.zeros(n)}
    if 'zeros' in terms:
        truth['zero'][1:6] = rng.uniform(-0.05, 0.05, 5)
    if 'gains' in terms:
        truth['effort_gain'] = 1.3 * (1.0 + 0.03 * rng.standard_normal(n))
    if 'offsets' in terms:
        truth['offset'] = rng.uniform(-0.01, 0.01, n) * most
    q = shown.copy()
    q[:, 0] += truth['zero']
    law = SigmoidFriction(0.02 * most, np.full(n, 30.0), np.zeros(n))
    effort = FeedForward(PANDA).torque(q, friction=False)[:, 0] + law.torque(q)[:, 0]
    effort += truth['offset'] + 0.01 * most * coloured(rng, len(instants), n, time)
    return Data(shown, effort / truth['effort_gain'], instants.astype(np.intp)), truth


def inside(seed, terms, time):
    """Return whether the interval of each value that is found contains the truth."""
    given, truth = recording(seed, terms, time)
    found = identify(replace(PANDA, friction=None), given, terms)
    values = {**found.joints, **({'offset': found.offset} if found.offset.size else {})}
    intervals = {**found.intervals, 'offset': found.offset_interval}
    return np.concatenate([
        np.abs(values[key] - truth[key])[stated] < intervals[key][stated]
        for key in truth if key in values for stated in [np.isfinite(intervals[key])]])


def main():
    """Print the share of intervals that contain the truth, for each correlation time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--terms', nargs='+', default=['zeros', 'friction'])
    parser.add_argument('--times', nargs='+', type=float, default=[0.0, 0.05, 0.2, 0.5])
    parser.add_argument('--cases', type=int, default=200)
    parser.add_argument('--first', type=int, default=0)
    options = parser.parse_args()
    for time in options.times:
        held = np.concatenate([
            inside(seed, options.terms, time)
            for seed in range(options.first, options.first + options.cases)])
        print(f'{time:g} s: {held.mean():.1%} of {len(held)} intervals of 90 % contain the truth',
              flush=True)


if __name__ == '__main__':
    main()
