"""Samples per second of a replay, from a bag to the bag of computed topics, on one core.

Writes a bag of Panda states at 1 kHz from a known motion, replays it through reading, smoothing,
computing with uncertainties, comparing and writing three topics, and prints the rate and the
growth of memory. Run it as ``python benchmarks/replay_speed.py [--samples N]``.
"""
import argparse
import os
from pathlib import Path
import resource
import tempfile
import time

# Before numpy: one core.
os.environ.update(OMP_NUM_THREADS='1', OPENBLAS_NUM_THREADS='1', NUMBA_NUM_THREADS='1')

import numpy as np

from hodyn_ros import load_robot
from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.computed_bag import TOPICS, computed_bag
from hodyn_ros.replay.replay_bag import replay


def write_recording(path: Path, samples: int) -> None:
    """Write states of two sines a joint with noise; the efforts are zero."""
    rng = np.random.default_rng(0)
    robot = load_robot('panda')
    omega, phase = rng.uniform(1.0, 4.0, (2, 7)), rng.uniform(0.0, 6.0, (2, 7))
    names = tuple(f'fer_{name}' for name in robot.joint_names)
    with computed_bag(path, names, (TOPICS[0],)) as write:
        for begin in range(0, samples, 10_000):
            index = np.arange(begin, min(begin + 10_000, samples))
            stamps = index * 1_000_000 + 1_000_000_000
            angle = index[:, None, None] * 1e-3 * omega + phase
            q = np.zeros((len(index), 5, 7))
            q[:, 0] = (0.15 * np.sin(angle)).sum(axis=1)
            q[:, 0, [3, 5]] += [-1.5, 1.8]
            q[:, 1] = (0.15 * omega * np.cos(angle)).sum(axis=1)
            q[:, :2] += rng.standard_normal((len(index), 2, 7)) * [[1e-5], [1e-3]]
            write(stamps, stamps, q, np.zeros((len(index), 1, 7)))


def main() -> None:
    """Replay a short bag to compile and warm up, then a long one, timed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--samples', type=int, default=600_000)
    samples = parser.parse_args().samples
    robot = load_robot('panda')
    with tempfile.TemporaryDirectory() as folder:
        for count in (20_000, samples):
            path = Path(folder) / f'bag{count}'
            write_recording(path, count)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            begin, begin_cpu = time.perf_counter(), time.process_time()
            with open_recording(path, robot) as bag:
                replay(bag, FeedForward(robot), Path(folder) / f'out{count}')
            wall, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            print(f'{count} samples: {count / wall:,.0f} samples/s ({count / cpu:,.0f} a second '
                  f'of processor time), memory {before // 1024} → {after // 1024} MiB at most')


if __name__ == '__main__':
    main()
