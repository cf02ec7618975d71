"""A batch in one thread and in several, beside Pinocchio's `rneaInParallel`, interleaved.

Motions of the Panda, Q, Q̇ and Q̈ by each formulation; Pinocchio (``pip install pin``) computes Q
alone, with as many threads. Run it as ``python -m benchmarks.batch_threads [--motions N]``. Ratios
are medians of those within each turn, and mean little on a machine whose cores are busy.
"""
import argparse
from collections.abc import Callable
import statistics
import time

import numpy as np

from benchmarks.peers import installed, pinocchio_model
from hodyn_ros import InverseDynamics, Robot, load_robot


def main() -> None:
    """Time each way once a turn, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--motions', type=int, default=1_000_000)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--turns', type=int, default=9)
    options = parser.parse_args()
    robot = load_robot('panda')
    q = np.random.default_rng(0).normal(size=(options.motions, 5, robot.n))
    out = np.zeros((options.motions, 3, robot.n))
    ways: dict[str, Callable[[], object]] = {}
    for formulation in ('spatial', 'body_fixed'):
        handle = InverseDynamics(robot, 2, formulation)
        for threads in (1, options.threads):
            ways[f'{formulation}, {threads}'] = (
                lambda handle=handle, threads=threads: handle.batch(q, out, threads=threads))
    pinocchio = _pinocchio(robot, q, options.threads)
    if pinocchio is None:
        print('Pinocchio is not installed (pip install pin): no ratios to it.')
    else:
        ways['pinocchio'] = pinocchio
    for run in ways.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.turns):
        for name, run in ways.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    for name, times in seconds.items():
        print(f'{name:15} {1e9 * statistics.median(times) / options.motions:6.0f} ns a motion')

    def ratio(name: str, other: str) -> float:
        return statistics.median(a / b for a, b in zip(seconds[name], seconds[other], strict=True))

    for formulation in ('spatial', 'body_fixed'):
        many = f'{formulation}, {options.threads}'
        rate = ratio(f'{formulation}, 1', many)
        print(f'{formulation}: {options.threads} threads at {rate:.2f} × the rate of one')
        if pinocchio is not None:
            print(f'{formulation}: {ratio(many, "pinocchio"):.2f} × the time of rneaInParallel')


def _pinocchio(robot: Robot, q: np.ndarray, threads: int) -> Callable[[], object] | None:
    pin = installed('pinocchio')
    if pin is None:
        return None
    pool = pin.ModelPool(pinocchio_model(pin, robot), threads)
    rows = [np.asfortranarray(q[:, k].T) for k in range(3)]
    torque = np.zeros_like(rows[0], order='F')
    return lambda: pin.rneaInParallel(threads, pool, *rows, torque)


if __name__ == '__main__':
    main()
