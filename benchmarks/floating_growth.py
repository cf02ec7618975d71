"""Fig. 4 of AGF26: time a call over bodies and orders, on its tree of five branches.

The paper gives the distance between its two arms alone; the five hang on a circle through both.
"""
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from benchmarks import automatic_differentiation
from benchmarks.interleaved import Contender, race
from hodyn_ros import ForwardDynamics, InverseDynamics, Limits, Robot, load_robot

Array = NDArray[np.float64]

BRANCHES = 5
LINKS = (1, 4, 20, 80, 199)
"""In each branch: N = 6 … 996."""
FIXED = 20
"""Links of a branch where the order varies: N = 101."""
ORDERS_OF_SIZES, ORDERS = range(6), range(11)
AUTOMATIC_ORDERS = range(6)
"""The paper goes to 8. Operations and memory treble with each order: all to 5 take 2.5 GB."""


@dataclass(frozen=True)
class Growth:
    """Seconds a call.

    Attributes
    ----------
    sizes : dict
        By 'inverse' and 'forward', over orders and LINKS.
    orders : dict
        The same at N = 101, over orders; by CasADi too, if it is installed.
    operations : dict
        By the same names at N = 101, over the orders of CasADi.
    difference : float
        Largest difference between CasADi's numbers and ours, as a share of the largest.

    """

    sizes: dict[str, Array]
    orders: dict[str, list[float]]
    operations: dict[str, list[int]]
    difference: float


def tree(links: int) -> Robot:
    """Return the aerial manipulator with five branches of so many links."""
    robot = load_robot('aerial_manipulator')
    bodies = [robot.bodies[0]]
    first, second = robot.bodies[1:3]
    for branch in range(BRANCHES):
        angle = 2.0 * np.pi * branch / BRANCHES
        radius = first.placement[0, 3]
        for i in range(links):
            placement = (first if i == 0 else second).placement.copy()
            if i == 0:
                placement[:2, 3] = radius * np.cos(angle), radius * np.sin(angle)
            bodies.append(replace(
                robot.bodies[1 + i % 3], name=f'link{branch}_{i}', joint=f'joint{branch}_{i}',
                parent=0 if i == 0 else len(bodies) - 1, placement=placement))
    # Files may have fewer bodies.
    return replace(robot, bodies=tuple(bodies), limits=Limits.none(len(bodies) - 1))


def _inverse(robot: Robot, order: int) -> Contender:
    """Return the call with arguments as in the paper: the base at the origin, random motion."""
    random, n = np.random.default_rng(0), robot.n
    return Contender('inverse', InverseDynamics(robot, order).floating_batch, (
        random.normal(size=(1, order + 3, n)), np.eye(4)[None],
        random.normal(size=(1, order + 2, 6)), np.empty((1, order + 1, n)),
        np.empty((1, order + 1, 6))))


def _forward(robot: Robot, order: int) -> Contender:
    """Return the call with arguments as in the paper: the base rests, no effort acts."""
    n = robot.n
    return Contender('forward', ForwardDynamics(robot, order), (
        np.random.default_rng(0).normal(size=(2, n)), np.zeros((order + 1, n)),
        np.empty((order + 1, n)), np.eye(4), np.zeros((1, 6)), np.zeros((order + 1, 6)),
        np.empty((order + 1, 6))))


OURS: dict[str, Callable[[Robot, int], Contender]] = {'inverse': _inverse, 'forward': _forward}


def automatic(casadi: Any, robot: Robot, order: int) -> Iterator[tuple[Contender, float]]:
    """Yield CasADi's calls for the same motions, and how far their results are from ours."""
    one = _inverse(robot, order)
    one.call(*one.arguments)
    q, _, twist, torque, wrench = (argument[0] for argument in one.arguments)
    yield _by_casadi(
        'CasADi, inverse', automatic_differentiation.inverse(casadi, robot, order),
        [twist, q], [wrench[-1], torque[-1]])
    one = _forward(robot, order)
    one.call(*one.arguments)
    q, torque, found, _, twist, wrench, base = one.arguments
    yield _by_casadi(
        'CasADi, forward', automatic_differentiation.forward(casadi, robot, order),
        [np.concatenate([twist, base[:-1]]), np.concatenate([q, found[:-1]]), wrench, torque],
        [base[-1], found[-1]])


def _by_casadi(
    name: str, derivative: automatic_differentiation.Derivative, motion: list[Array],
    expected: list[Array],
) -> tuple[Contender, float]:
    derivative.arguments[:] = np.concatenate([
        np.eye(4)[:3].ravel(), *(rows.ravel() for rows in motion)])
    derivative.evaluate()
    result = np.concatenate(expected)
    difference = float(np.abs(derivative.result - result).max() / np.abs(result).max())
    return Contender(name, derivative.evaluate, (), keeps=derivative), difference


def measure(casadi: Any, turns: int) -> Growth:
    """Return the times; without CasADi's where the module is None."""
    trees = [tree(links) for links in LINKS]
    by_size = {
        name: [[call(robot, order) for robot in trees] for order in ORDERS_OF_SIZES]
        for name, call in OURS.items()}
    fixed = tree(FIXED)
    by_order = {name: [call(fixed, order) for order in ORDERS] for name, call in OURS.items()}
    operations = {
        name: [automatic_differentiation.operations_of_recursion(fixed, order, name)
               for order in AUTOMATIC_ORDERS]
        for name in OURS}
    difference = 0.0
    for order in AUTOMATIC_ORDERS if casadi else ():
        for contender, one in automatic(casadi, fixed, order):
            by_order.setdefault(contender.name, []).append(contender)
            operations.setdefault(contender.name, []).append(contender.keeps.operations)
            difference = max(difference, one)
    race([*chain(*chain(*by_size.values())), *chain(*by_order.values())], turns)
    return Growth(
        {name: np.array([[min(one.seconds) for one in row] for row in rows])
         for name, rows in by_size.items()},
        {name: [min(one.seconds) for one in row] for name, row in by_order.items()},
        operations, difference)


def bodies(links: int) -> int:
    """Return N."""
    return 1 + BRANCHES * links


def draw(found: Growth, path: Path) -> None:
    """Draw the three panels."""
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 4.2), sharey=True)
    for axis, (name, times) in zip(axes, found.sizes.items(), strict=False):
        for order, row in zip(ORDERS_OF_SIZES, times, strict=True):
            axis.loglog(
                [bodies(links) for links in LINKS], row, marker='o', ms=3, label=f'order {order}')
        axis.set(title=f'{name} dynamics', xlabel='bodies N')
    axes[0].set_ylabel('s a call')
    axes[1].legend()
    for name, row in found.orders.items():
        axes[2].semilogy(range(len(row)), row, marker='o', ms=3, label=name)
    axes[2].set(title=f'N = {bodies(FIXED)}', xlabel='order r')
    axes[2].legend()
    figure.savefig(path)
    plt.close(figure)


def summary(found: Growth) -> list[tuple[str, str, str]]:
    """Return what, here, and as AGF26 says."""
    rows = []
    large = [i for i, links in enumerate(LINKS) if links >= FIXED]
    for name in OURS:
        slopes = [
            np.polyfit(np.log([bodies(LINKS[i]) for i in large]), np.log(row[large]), 1)[0]
            for row in found.sizes[name]]
        rows.append((
            f'{name}: exponent of N, orders 0 to {len(slopes) - 1}',
            f'{min(slopes):.2f} to {max(slopes):.2f}', 'O(N)'))
        slope = np.polyfit(np.log(ORDERS[4:]), np.log(found.orders[name][4:]), 1)[0]
        rows.append((f'{name}: exponent of r, 4 to {ORDERS[-1]}', f'{slope:.2f}', 'O(r²)'))
        theirs = f'CasADi, {name}'
        if theirs in found.orders:
            ratios = np.divide(
                found.orders[theirs], found.orders[name][:len(found.orders[theirs])])
            rows.append((
                f'{theirs}, as a multiple of ours, orders from 0',
                ', '.join(f'{ratio:.3g}' for ratio in ratios), 'exponential'))
    rows += [
        (f'{name}: operations in thousands, N = {bodies(FIXED)}, orders from 0',
         ', '.join(f'{count / 1e3:.0f}' for count in counts), '')
        for name, counts in found.operations.items()]
    return rows
