"""The recursions of order 0 differentiated by CasADi, as Fig. 4(c) of AGF26 compares them.

CasADi gets the very operations of the kernels, and makes the r-th derivative by repeated `jtimes`
in the direction in which the motion goes. It is evaluated as it is, not compiled, as in the paper.
"""
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import in_casadi
from hodyn_ros import Robot
from hodyn_ros.codegen.c_text import operations
from hodyn_ros.codegen.expressions import Graph
from hodyn_ros.codegen.routines import recursion, without_round_off
from hodyn_ros.codegen.tracing import Leaf, on_expressions
from hodyn_ros.dynamics.kernels import articulated_body

Array = NDArray[np.float64]
Expressions = NDArray[Any]


class _Regular(dict[Any, bool]):
    """The answer to each condition of the kernels: no articulated inertia is singular."""

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: Any) -> bool:
        return True


class Derivative:
    """Derivative r of the torques and base wrench, or of the accelerations, of a floating base.

    ``evaluate()`` reads `arguments` and writes `result`: the base's 6 numbers, then the joints'.

    Attributes
    ----------
    operations : int
        How many CasADi evaluates.
    arguments : array
        The pose (12, by rows), and each of the tracks with its derivatives.
    result : (6 + n,) array
        Written.

    """

    def __init__(self, casadi: Any, value: Any, order: int, pose: Any, tracks: list[Any]) -> None:
        # The base moves as Ċ = [V] C; whatever else moves, moves to its next derivative.
        place, twist = casadi.reshape(pose, 4, 3).T, tracks[0][0]
        motion = casadi.skew(twist[:3]) @ place
        motion[:, 3] += twist[3:]
        moves = casadi.reshape(motion.T, 12, 1)
        for k in range(order):
            known = [rows[:len(rows) - order + k] for rows in tracks]
            following = [rows[1:len(rows) - order + k + 1] for rows in tracks]
            value = casadi.jtimes(
                value, casadi.vertcat(pose, *chain(*known)),
                casadi.vertcat(moves, *chain(*following)))
        every = casadi.vertcat(pose, *chain(*tracks))
        self._function = casadi.Function('derivative', [every], [value])
        self.operations = self._function.n_instructions()
        self.arguments, self.result = np.empty(every.numel()), np.empty(value.numel())
        self._buffers, self.evaluate = self._function.buffer()
        self._buffers.set_arg(0, memoryview(self.arguments))
        self._buffers.set_res(0, memoryview(self.result))


def inverse(casadi: Any, robot: Robot, order: int) -> Derivative:
    """Return that of the torques and base wrench; tracks: V (r + 2, 6) and q (r + 3, n)."""
    return _derivative(casadi, order, *_recorded(robot, 0, 'inverse'))


def forward(casadi: Any, robot: Robot, order: int) -> Derivative:
    """Return that of V̇ and q̈; tracks: V and q to r and r + 1, base wrench and torques to r."""
    return _derivative(casadi, order, *_recorded(robot, 0, 'forward'))


def operations_of_recursion(robot: Robot, order: int, what: str) -> int:
    """Return how many operations the recursion takes for all orders to r, constants folded."""
    results, *_ = _recorded(robot, order, what)
    return operations(Leaf(tuple(('', result) for result in results)))


def _recorded(
    robot: Robot, order: int, what: str,
) -> tuple[list[Any], Expressions, list[Expressions]]:
    """Return the results of 'inverse' or 'forward', and of what pose and tracks they are."""
    n = robot.n
    record: Callable[..., list[Any]] = _forward
    shapes = [(1, 6), (2, n), (order + 1, 6), (order + 1, n)]
    if what == 'inverse':
        record, shapes = _inverse, [(order + 2, 6), (order + 3, n)]
    graph = Graph()
    graph.answers = _Regular()
    pose = np.vstack([graph.variables('pose', 3, 4), [0.0, 0.0, 0.0, 1.0]])
    tracks = [graph.variables(f'track{i}', *shape) for i, shape in enumerate(shapes)]
    return record(robot, pose, *tracks), pose, tracks


def _derivative(
    casadi: Any, order: int, results: list[Any], pose: Expressions, given: list[Expressions],
) -> Derivative:
    symbols = casadi.SX.sym('pose', 12)
    tracks = [
        [casadi.SX.sym(f'track{i}_{k}', array.shape[1]) for k in range(len(array) + order)]
        for i, array in enumerate(given)]
    value = in_casadi(casadi, results, [(pose[:3].flat, symbols), *(
        pair for rows, array in zip(tracks, given, strict=True)
        for pair in zip(array, rows, strict=False))])
    return Derivative(casadi, value, order, symbols, tracks)


def _model(robot: Robot) -> tuple[Any, ...]:
    model = robot.kernel_model
    return (
        model.parent, without_round_off(model.body_table).astype(object), model.body_in_kernel,
        robot.gravity)


def _empty(*shape: int) -> Expressions:
    return np.empty(shape, dtype=object)


def _inverse(robot: Robot, pose: Expressions, twist: Expressions, q: Expressions) -> list[Any]:
    _, table, _, gravity = _model(robot)
    torque, wrench = recursion(
        robot, len(q) - 3, table, gravity, q, 'spatial', base=(pose, twist))
    return [*wrench.flat, *torque.flat]


def _forward(
    robot: Robot, pose: Expressions, twist: Expressions, q: Expressions, wrench: Expressions,
    torque: Expressions,
) -> list[Any]:
    bodies, order = len(robot.bodies), len(torque) - 1
    acceleration, base = _empty(order + 1, robot.n), _empty(order + 1, 6)
    on_expressions(articulated_body.hybrid_dynamics)(
        *_model(robot), q, pose, twist, np.zeros(robot.n, dtype=bool), torque, False, wrench,
        _empty(0, 0, 0), acceleration, base, _empty(2, bodies),
        _empty(len(articulated_body.workspace(bodies, order))))
    return [*base.flat, *acceleration.flat]
