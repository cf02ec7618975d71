"""The functions of one robot: its recursion, friction, rotors and actuators run on expressions."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators import friction, laws, motor_side, springs
from hodyn_ros.codegen.expressions import Graph, Number
from hodyn_ros.codegen.table_search import POINT, found_point, search_operations
from hodyn_ros.codegen.tracing import Tree, explore, on_expressions
from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.formulations import Formulation, any_order_kernels
from hodyn_ros.dynamics.inverse_dynamics import NO_WRENCHES
from hodyn_ros.feedforward import torque as feedforward
from hodyn_ros.robot import HodynError, Robot, body_table
from hodyn_ros.robot import inertia as inertias

Expressions: TypeAlias = NDArray[Any]
"""Arrays of expressions and floats."""

ROUND_OFF = 1e-15
"""Distance to 0 or ±1, as a share of the largest constant of its kind, that counts as round-off:
such constants become 0 or ±1."""


@dataclass(frozen=True)
class Section:
    """A part of a function with variables of its own."""

    heading: str  #: The joint's name in motor functions; otherwise empty
    tree: Tree  #: Expressions that the section computes
    #: Statement before `tree` that finds the spring's point in a table; empty without a table
    search: str = ''
    search_operations: int = 0  #: Largest number of operations of this statement
    #: Names in C of values that must be finite; if one is not, `held` replaces `tree`
    finite: tuple[str, ...] = ()
    held: Tree | None = None  #: Expressions for values that are not finite


def inverse_dynamics(
    robot: Robot, order: int, *, gravity: bool = False, payload_link: str | None = None,
    formulation: Formulation = 'body_fixed',
) -> list[Section]:
    """Return `torque`, the rigid-body torques Q of a motion `q`, with derivatives to the order r.

    For a floating base the variables `base_pose` and `base_twist` are its motion, and
    `base_wrench` is computed as well. With `gravity`, the gravity vector is a variable instead of
    a constant; `payload_link` carries the variable `payload`; `formulation` is as for
    `dynamics.inverse_dynamics`.
    """
    graph, model = Graph(), robot.kernel_model
    q = graph.variables('q', order + 3, robot.n)
    vector = graph.variables('gravity', 3) if gravity else robot.gravity
    base = (graph.variables('base_pose', 4, 4), graph.variables('base_twist', order + 2, 6)) if (
        robot.floating) else None
    table = without_round_off(model.body_table).astype(object)
    if payload_link is not None:
        _add_payload(graph, robot, payload_link, table)

    def record() -> dict[str, Number | str]:
        torque, wrench = recursion(robot, order, table, vector, q, formulation, base)
        return _named('torque', torque) | _named('base_wrench', wrench)

    return [Section('', explore(graph, record))]


def recursion(
    robot: Robot, order: int, table: Expressions, gravity: Expressions, q: Expressions,
    formulation: Formulation = 'body_fixed', base: tuple[Expressions, Expressions] | None = None,
) -> tuple[Expressions, Expressions]:
    """Return Q and its derivatives (r + 1, n), and the wrench on the base, as expressions.

    The wrench is (r + 1, 6) for a floating base with pose (4, 4) and twist (r + 2, 6), and (0, 6)
    for a fixed base.
    """
    model, bodies, kernels = robot.kernel_model, len(robot.bodies), any_order_kernels(formulation)
    memory = _empty(len(kernels.workspace(bodies, order)))
    torque = _empty(1, order + 1, bodies - robot.floating)
    wrench = _empty(1, 0 if base is None else order + 1, 6)
    on_expressions(kernels.inverse_dynamics)(
        model.parent, table, model.body_in_kernel, gravity, memory,
        () if base is None else (base[0][np.newaxis], base[1][np.newaxis], wrench), NO_WRENCHES,
        robot.coupling.to_bodies(q)[np.newaxis], torque)
    return robot.coupling.to_joints(torque[0]), wrench[0]


def joint_friction(robot: Robot, order: int) -> list[Section]:
    """Return `friction` (order + 1, n) of a motion `q` (order + 3, n)."""
    law, graph = robot.friction, Graph()
    assert law is not None
    # The law reads four rows of q; friction to a lower order depends only on the order + 2 first.
    q = graph.variables('q', 4, robot.n)

    def record() -> dict[str, Number | str]:
        torque = np.zeros((3, robot.n), dtype=object)
        on_expressions(friction.add_friction)(
            law.amplitude, law.slope, law.velocity_offset, law.viscous, q, torque)
        return _named('friction', torque[:order + 1])

    return [Section('', explore(graph, record))]


def rotors(robot: Robot, order: int) -> list[Section]:
    """Return `torque` plus the torque that accelerates the rotors."""
    graph = Graph()
    q = graph.variables('q', feedforward.ORDER + 3, robot.n)

    def record() -> dict[str, Number | str]:
        torque = graph.variables('torque', feedforward.ORDER + 1, robot.n)
        on_expressions(feedforward.add_rotors)(robot.rotor_inertia, q, torque)
        return _named('torque', torque[:order + 1])

    return [Section('', explore(graph, record))]


def motor_reference(robot: Robot, *, started: bool) -> list[Section]:
    """Return `motor`, the motors' reference for a motion `q` with torques `torque`.

    There is one section per joint. If the joint cannot do the motion, or its values are not
    finite, its motors are held, and `stuck` becomes its number, from 1, unless an earlier joint
    has set it. `started` is false for the first instant. Only later instants can hold the last
    reference, and read `state->memory` and `dt`, the time since the previous instant, for dampers.
    """
    actuators = robot.require_actuators()

    def section(i: int) -> Section:
        graph = Graph()
        first, last = actuators.motor_of[i], actuators.motor_of[i + 1]
        table = actuators.tables[slice(*actuators.table_rows[i:i + 2])]
        search, search_size = '', 0
        if len(table):
            search, search_size = found_point(actuators, i), search_operations(len(table))
            # Three rows: the table's ends and, between them, the piece that the search finds.
            table = np.array(
                [table[0], graph.variables(f'{POINT}.piece', table.shape[1]), table[-1]])
        known = True
        evaluate = on_expressions(motor_side.evaluate_instant, {
            springs.solve_table: lambda table, torque: (1, graph.variable(f'{POINT}.x')),
            motor_side.is_finite: lambda *_: known})
        q, torque, stiffness = (
            graph.variables(name, 3, robot.n)[:, i:i + 1]
            for name in ('q', 'torque', 'stiffness'))

        def record() -> dict[str, Number | str]:
            reference = graph.variables('motor', 4, actuators.n_motors)[:, first:last]
            memory = graph.variables(
                'state->memory', motor_side.MEMORY, robot.n)[:, i:i + 1]
            feasible = _empty(1)
            evaluate(
                actuators.kinds[i:i + 1], actuators.parameters[i:i + 1],
                table, np.array([0, len(table)]),
                actuators.motor_of[i:i + 2] - first, actuators.motors[first:last],
                q, torque, stiffness, graph.variable('dt') if started else 0.0, started, memory,
                reference, _empty(last - first), _empty(1), feasible)
            results = {
                **_named('motor', reference, first), **_named('state->memory', memory, i)}
            if not feasible[0]:
                results['stuck'] = f'stuck == 0 ? {i + 1} : stuck'
            return results

        tree = explore(graph, record)
        known = False
        return Section(
            actuators.names[i], tree, search, search_size,
            finite_values(i, varies=bool(actuators.variable[i])), explore(graph, record))

    return [section(i) for i in range(actuators.n)]


def finite_values(joint: int, *, varies: bool) -> tuple[str, ...]:
    """Return the names in C of the values that `actuators.motor_side.is_finite` checks."""
    names = ('q', 'torque', *(('stiffness',) if varies else ()))
    return tuple(f'{name}[{k}][{joint}]' for name in names for k in range(3))


def is_damped(law: laws.Law) -> bool:
    """Whether a law has a damper, and so depends on earlier instants."""
    return isinstance(law, laws.LinearSpring) and law.damping > 0.0


def check_laws(robot: Robot, *, single: bool) -> None:
    """Raise HodynError for laws that need more digits than single precision has."""
    actuators = robot.require_actuators()
    for name, joint in zip(actuators.names, actuators.joints, strict=True):
        if single and isinstance(joint.law, laws.TabulatedSpring) and _is_blurred(joint.law):
            raise HodynError(
                f'robot {robot.name!r}: the table of joint {name!r} has points too close together '
                'or too far from 0, or is too flat in a place, for the digits of float; use '
                'double')
        if single and is_damped(joint.law):
            raise HodynError(
                f'robot {robot.name!r}: the damper at joint {name!r} needs differences of torques '
                'from one instant to the next, for which float has too few digits; use double')


def _is_blurred(law: laws.TabulatedSpring) -> bool:
    """Whether, in float, points coincide, or their span or a slope has too few digits."""
    points, slope = law.table[:, :2], law.table[:, 2]
    one = np.diff(points.astype(np.float32), axis=0) <= 0.0
    narrow = np.ptp(points, axis=0) < 0.01 * np.abs(points).max(axis=0)
    # The error of the elongation's acceleration is about 1e-10 over the square of this share.
    flat = slope.min() < 3e-3 * slope.max()
    return bool(one.any() or narrow.any() or flat)


def _empty(*shape: int) -> Expressions:
    return np.empty(shape, dtype=object)


def _named(name: str, array: Expressions, column: int = 0) -> dict[str, Number | str]:
    """Return the entries of an array by their names in C, where `column` is its first column."""
    return {f'{name}[{k}][{column + i}]': value for (k, i), value in np.ndenumerate(array)}


def without_round_off(table: Array) -> Array:
    """Return the table with exact zeros and ones instead of round-off from changes of axes."""
    table = table.copy()
    groups = (
        (body_table.HOME_ROTATION, 9, 1.0),
        (body_table.HOME_POSITION, 3, np.abs(table[:, body_table.HOME_POSITION:][:, :3]).max()),
        (body_table.COM, 3, np.abs(table[:, body_table.COM:][:, :3]).max()),
        (body_table.ORIGIN_INERTIA, 6, None))
    for start, width, scale in groups:
        entries = table[:, start:start + width]
        like = np.abs(entries).max(axis=1, keepdims=True) if scale is None else scale
        entries[np.abs(entries) <= ROUND_OFF * like] = 0.0
    rotation = table[:, body_table.HOME_ROTATION:][:, :9]
    ones = np.abs(np.abs(rotation) - 1.0) <= ROUND_OFF
    rotation[ones] = np.sign(rotation[ones])
    return table


def _add_payload(graph: Graph, robot: Robot, link: str, table: Expressions) -> None:
    """Add the variable payload to the row in `table` of the body that carries the link."""
    index = robot.body_index(link)
    in_kernel = robot.kernel_model.body_in_kernel[index] @ robot.frame(link)[1]
    in_kernel[np.abs(in_kernel) <= ROUND_OFF] = 0.0
    rotation, origin = in_kernel[:3, :3], in_kernel[:3, 3]
    row = table[index]
    mass = graph.variable('payload->mass')
    com = rotation @ graph.variables('payload->com', 3) + origin
    inertia = _empty(3, 3)
    for entry, (a, b) in enumerate(inertias.SYMMETRIC_ENTRIES):
        inertia[a, b] = inertia[b, a] = graph.variable(f'payload->inertia[{entry}]')
    inertia = rotation @ inertia @ rotation.T
    # About the origin, Steiner's theorem adds m (c² 1 − c cᵀ).
    for entry, (a, b) in enumerate(inertias.SYMMETRIC_ENTRIES):
        square = com @ com if a == b else 0.0
        row[body_table.ORIGIN_INERTIA + entry] += inertia[a, b] + mass * (square - com[a] * com[b])
    total = row[body_table.MASS] + mass
    for i in range(3):
        entry = body_table.COM + i
        row[entry] = (row[body_table.MASS] * row[entry] + mass * com[i]) / total
    row[body_table.MASS] = total
