"""How the time grows with the number of bodies and with the order, as exponents."""
import numpy as np
from numpy.typing import NDArray

from benchmarks.interleaved import Contender, race
from hodyn_ros import InverseDynamics, Robot, load_robot

Array = NDArray[np.float64]

BODIES = (25, 50, 100, 200)
ORDERS = (3, 4, 6, 8)  # order 2 has kernels of its own
SAMPLES = 64  # in a batch, so that the call from Python does not hide the growth


def arm(n: int) -> Robot:
    """Return a serial arm of n revolute joints, axes turned by a right angle each."""
    placement = [[1, 0, 0, 0.1], [0, 0, -1, 0.02], [0, 1, 0, 0.05], [0, 0, 0, 1]]
    return load_robot({'name': f'{n} joints', 'gravity': [0, 0, -9.80665], 'bodies': [{
        'name': f'body{i}', 'parent': i - 1, 'type': 'revolute', 'placement': placement,
        'axis': [0, 0, 1], 'mass': 1.0, 'com': [0.02, 0.01, 0.05],
        'inertia': [[3e-3, 1e-4, 0], [1e-4, 4e-3, 2e-4], [0, 2e-4, 2e-3]]} for i in range(n)]})


def _motions(robot: Robot, order: int, samples: int) -> tuple[Array, Array]:
    q = np.random.default_rng(0).normal(size=(samples, order + 3, robot.n))
    return q, np.empty((samples, order + 1, robot.n))


def _single(robot: Robot, formulation: str) -> Contender:
    q, out = _motions(robot, 2, 1)
    return Contender(robot.name, InverseDynamics(robot, 2, formulation), (q[0], out[0]))


def _batch(robot: Robot, order: int, formulation: str) -> Contender:
    handle = InverseDynamics(robot, order, formulation)
    return Contender(f'order {order}', handle.batch, _motions(robot, order, SAMPLES))


def _exponent(sizes: tuple[int, ...], contenders: list[Contender], turns: int) -> float:
    """Return the slope of the logarithms, by the quickest turn of each."""
    race(contenders, turns)
    times = [min(contender.seconds) for contender in contenders]
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def exponents(robot: Robot, turns: int) -> dict[str, float]:
    """Return the exponents in n, at order 2, and in r, on a robot."""
    result = {}
    for formulation in ('spatial', 'body_fixed'):
        result[f'n_{formulation}'] = _exponent(
            BODIES, [_single(arm(n), formulation) for n in BODIES], turns)
        result[f'r_{formulation}'] = _exponent(
            ORDERS, [_batch(robot, order, formulation) for order in ORDERS], turns)
    return result
