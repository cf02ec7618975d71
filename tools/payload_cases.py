"""Payloads found by a model whose links are off by 5 %: how often 90 % intervals contain them.

    python tools/payload_cases.py --cases 200 [--gains 0.01] [--alike 0.05]
    python tools/payload_cases.py --unloaded | --two-steps | --none …

An exciting motion of the Panda, efforts with noise of 0.2 N m, masses of 0.5 to 4 kg. Mass, each
coordinate of the centre of mass and the inertia of every link are off by 5 % (one deviation), the
gains of the drives by none, or --gains each, and --alike of all by one factor. With --two-steps
links and gains are identified from a bare motion first, and the payload by the robot file that
this writes. With --none the arm carries nothing: how often a payload is found all the same, and
how heavy it could be where not. The first case is --first.
"""
import argparse
from dataclasses import replace
from pathlib import Path
import tempfile

import numpy as np
from recordings import PANDA

from hodyn_ros import load_robot
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.identify import identify
from hodyn_ros.identification.payload import Payload
from hodyn_ros.identification.robot_writer import write_robot

RATE, DURATION = 25.0, 25.0
ERROR, NOISE = 0.05, 0.2


def wrong(robot, rng):
    """Return the robot with links that are off."""
    bodies = []
    for body in robot.bodies:
        factor = 1.0 + ERROR * rng.standard_normal()
        bodies.append(replace(
            body, mass=body.mass * factor,
            com=body.com * (1.0 + ERROR * rng.standard_normal(3)),
            inertia=body.inertia * factor * (1.0 + ERROR * rng.standard_normal())))
    return replace(robot, bodies=tuple(bodies))


def exciting(rng):
    """Return instants and a motion of four harmonics, (T, 5, n)."""
    time = np.arange(round(RATE * DURATION)) / RATE
    low, high = PANDA.limits.position_min, PANDA.limits.position_max
    q = np.zeros((len(time), 5, PANDA.n))
    q[:, 0] = 0.5 * (low + high)
    for k in range(1, 5):
        omega = 0.2 * np.pi * k
        amplitude = 0.15 * (high - low) / k * rng.uniform(-1.0, 1.0, PANDA.n)
        phase = rng.uniform(0.0, 2.0 * np.pi, PANDA.n)
        for d in range(5):
            q[:, d] += amplitude * omega ** d * np.sin(
                omega * time[:, None] + phase + 0.5 * np.pi * d)
    return time, q


def recording(arm, rng, gain, number, *, loaded):
    """Return the data of an exciting motion of an arm."""
    time, q = exciting(rng)
    effort = FeedForward(arm).torque(q)[:, 0]
    effort = gain * effort + NOISE * rng.standard_normal(effort.shape)
    return Data(
        q, effort, time.astype(np.intp) + 64 * number, bag=np.full(len(q), number),
        loaded=np.full(len(q), loaded))


def joined(*parts):
    """Return the data of several recordings as one."""
    return Data(**{
        key: np.concatenate([getattr(part, key) for part in parts])
        for key in ('q', 'effort', 'block', 'bag', 'loaded')})


def identified(data, folder):
    """Return the robot of the file that is written of links and gains found from a bare motion."""
    path = Path(folder) / 'identified.yaml'
    write_robot('panda', PANDA, identify(PANDA, data, ('links', 'gains')), path)
    return load_robot(path)


def bare_case(seed, terms, *, gains=0.0):
    """Return the estimate of an arm that carries nothing, as if that were not known."""
    rng = np.random.default_rng(seed)
    gain = 1.0 + gains * np.random.default_rng([seed, 1]).standard_normal(PANDA.n)
    return identify(PANDA, recording(wrong(PANDA, rng), rng, gain, 0, loaded=True), terms)


def case(seed, *, unloaded, two_steps=False, gains=0.0, alike=0.0):
    """Return the true mass, and the estimate."""
    rng = np.random.default_rng(seed)
    arm = wrong(PANDA, rng)
    mass = rng.uniform(0.5, 4.0)
    payload = Payload(mass, rng.normal([0.0, 0.0, 0.12], 0.04),
                      mass * np.diag([0.002, 0.002, 0.0015]))
    gain = 1.0 + gains * np.random.default_rng([seed, 1]).standard_normal(PANDA.n)
    gain *= 1.0 + alike * np.random.default_rng([seed, 2]).standard_normal()
    data = recording(payload.fixed_to(arm), rng, gain, 0, loaded=True)
    if not (unloaded or two_steps):
        return mass, identify(PANDA, data, ('payload',))
    bare = recording(arm, rng, gain, 1, loaded=False)
    if two_steps:
        with tempfile.TemporaryDirectory() as folder:
            robot = identified(bare, folder)
        data = replace(data, effort=data.effort * robot.effort_gain)
        return mass, identify(robot, data, ('payload',))
    return mass, identify(PANDA, joined(data, bare), ('payload',))


def main():
    """Print the share of intervals that contain the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--cases', type=int, default=200)
    parser.add_argument('--first', type=int, default=0)
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument('--unloaded', action='store_true')
    beside.add_argument('--two-steps', action='store_true')
    beside.add_argument('--none', action='store_true')
    parser.add_argument('--gains', type=float, default=0.0, help='share that gains are off by')
    parser.add_argument('--alike', type=float, default=0.0, help='share that all are off by')
    options = parser.parse_args()
    if options.none:
        for terms in (('payload',), ('friction', 'payload', 'offsets')):
            found = [
                bare_case(seed, terms, gains=options.gains)
                for seed in range(options.first, options.first + options.cases)]
            most = [one.payload_at_most for one in found if one.payload is None]
            print(f'{" ".join(terms)}: no payload in {len(most)} of {len(found)}; it could weigh '
                  f'{np.max(most):.2g} kg at most, {np.median(most):.2g} kg (median)')
        return
    inside, errors, widths = [], [], []
    for seed in range(options.first, options.first + options.cases):
        mass, found = case(
            seed, unloaded=options.unloaded, two_steps=options.two_steps, gains=options.gains,
            alike=options.alike)
        if found.payload is None:
            inside.append(False)
            continue
        error, width = found.payload.mass - mass, found.payload_interval[0]
        inside.append(abs(error) < width)
        errors.append(error / mass)
        widths.append(width / mass)
    print(f'{np.mean(inside):.1%} of {len(inside)} intervals of 90 % contain the mass; error '
          f'{np.sqrt(np.mean(np.square(errors))):.2%} RMS, {np.abs(errors).max():.2%} at most; '
          f'half width {np.median(widths):.2%} (median)')


if __name__ == '__main__':
    main()
