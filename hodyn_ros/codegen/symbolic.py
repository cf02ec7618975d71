"""Torques as formulas of SymPy: the recursion runs on symbols."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
import math
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.codegen.expressions import Expression, Graph, made_of, translated
from hodyn_ros.codegen.routines import recursion, without_round_off
from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import how_to_install
from hodyn_ros.robot import HodynError, Robot, body_table
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot.robot_check import check_robot

Expressions = NDArray[Any]

KEYS = {'mass': (), 'com': (3,), 'inertia': (3, 3), 'placement': (4, 4)}
MAX_DENOMINATOR = 10**6
"""Largest denominator of fractions that replace numbers to which they are equal up to rounding."""
MOST_TERMS = 6e5
"""Largest number of terms before like terms are collected: formulas took half a minute for three
joints to order 2 (5.1e5 terms), and over two and a half for four joints to order 0 (6.4e5)."""


@dataclass(frozen=True, eq=False)
class SymbolicTorques:
    """Formulas of the torques of a motion, as SymPy expressions.

    Attributes
    ----------
    torque : (r + 1, n) array of sympy.Expr
        τ, τ̇, … by joint.
    q : (r + 3, n) array of sympy.Symbol
        Symbols of the joint positions and their derivatives: q_1, qdot_1, qddot_1 …, which SymPy
        prints with dots in LaTeX; the fifth and higher derivatives are qd5_1, qd6_1, …

    """

    torque: Expressions
    q: Expressions


def symbolic_torques(
    robot: Robot, order: int = 2, *, symbols: Mapping[str, Mapping[str, Any]] | None = None,
    gravity: Sequence[Any] | None = None, simplify: bool = True,
) -> SymbolicTorques:
    """Return the torques of a small robot and their time derivatives as formulas.

    MK21, section 6.1, prints such formulas for two joints. Here the body-fixed recursion (KM21,
    section II) of `inverse_dynamics` and `generate_c` runs on symbols. Formulas grow quickly
    with the number of joints and the order: use `generate_c` for more than three joints (planar
    arms: four). With `simplify`, formulas that would take many minutes are refused at once.

    Parameters
    ----------
    robot : Robot
        An arm or tree on a fixed base. Its numbers are used for everything without a symbol.
    order : int
        Order r of the highest derivative of τ.
    symbols : mapping of str to mapping, optional
        By body name, SymPy expressions in place of the body's numbers: `mass`, `com` (3,),
        `inertia` (3, 3) about the centre of mass, `placement` (4, 4). Joint axes stay numbers.
    gravity : three SymPy expressions or numbers, optional
        In place of the robot's gravity, in world axes, m/s².
    simplify : bool
        Whether to turn products of sines and cosines into sums and to collect terms, which takes
        more time: each formula is then a sum of few terms. Otherwise formulas are as the recursion
        computes them and share subexpressions: give `sympy.lambdify` the option `cse=True`.

    Returns
    -------
    SymbolicTorques
        Formulas in N m/sᵏ (prismatic: N/sᵏ), and the symbols of the motion in them.

    Raises
    ------
    HodynError
        For a floating base, a negative order, formulas with too many terms, unknown bodies and
        keys, wrong shapes, and if SymPy is not installed.

    """
    check_robot(robot)
    try:
        import sympy
    except ModuleNotFoundError:
        raise HodynError(f'formulas need SymPy: {how_to_install("symbolic")}') from None
    if robot.floating:
        raise HodynError(f'robot {robot.name!r} has a floating base: formulas are for a fixed one')
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 0:
        raise HodynError(f'order must be an integer of at least 0, got {order!r}')
    graph = Graph()
    meaning: dict[Expression, Any] = {}

    def entry(value: Any) -> Any:
        """Return a number, or a variable of the recursion that stands for a formula."""
        if value.is_number:
            return float(value)
        variable = graph.variable(f'symbol{len(meaning)}')
        meaning[variable] = value
        return variable

    table = without_round_off(robot.kernel_model.body_table).astype(object)
    if symbols is not None and not isinstance(symbols, Mapping):
        raise HodynError(
            f'symbols: expected a mapping from bodies to mappings, got {reprlib.repr(symbols)}')
    for name, given in (symbols or {}).items():
        index = _body(robot, name)
        for column, formula in _row(robot, index, given).items():
            table[index, column] = entry(formula)
    weight = robot.gravity.astype(object)
    if gravity is not None:
        weight = np.array([entry(g) for g in _formulas(gravity, 'gravity', (3,))])
    q = np.empty((order + 3, robot.n), dtype=object)
    motion = graph.variables('q', *q.shape)
    for k, i in np.ndindex(*q.shape):
        q[k, i] = meaning[motion[k, i]] = sympy.Symbol(_name(k, i + 1), real=True)
    torque, _ = recursion(robot, order, table, weight, motion)
    if simplify and (terms := _terms_at_most(torque.flat)) > MOST_TERMS:
        raise HodynError(
            f'the torques of {robot.n} joints to order {order} may have {terms:.0e} terms before '
            f'like ones are collected, more than {MOST_TERMS:.0e}, which takes many minutes: use '
            'generate_c, or a lower order, symbols for fewer entries, or simplify=False')
    found = translated(
        torque.flat, meaning, lambda name, *operands: getattr(sympy, name)(*operands), _number)
    if simplify:
        found = [_collected(formula, q) for formula in found]
    return SymbolicTorques(np.array(found, dtype=object).reshape(torque.shape), q)


def _name(k: int, joint: int) -> str:
    """Return the name of a joint's k-th derivative; SymPy prints the first four with dots."""
    return f'q{"d" * k}ot_{joint}' if 0 < k < 5 else f'q_{joint}' if k == 0 else f'qd{k}_{joint}'


def _body(robot: Robot, name: str) -> int:
    names = [body.name for body in robot.bodies]
    if name not in names:
        raise HodynError(
            f'symbols: robot {robot.name!r} has no body {name!r}; its bodies are '
            f'{", ".join(names)}')
    return names.index(name)


def _formulas(values: Any, name: str, shape: tuple[int, ...]) -> Expressions:
    """Return an array of SymPy expressions, with numbers as fractions if possible."""
    import sympy

    array = np.array(values.tolist() if hasattr(values, 'tolist') else values, dtype=object)
    if array.shape != shape:
        raise HodynError(f'{name} has shape {array.shape}; expected {shape}')
    result = np.empty(shape, dtype=object)
    for place, value in np.ndenumerate(array):
        if isinstance(value, (int, float)) and math.isfinite(value):
            result[place] = _number(float(value))
        elif isinstance(value, sympy.Expr) and (  # is_real and is_finite of a nan are None
                value.is_real if value.is_number else False not in (
                    value.is_real, value.is_finite)):
            result[place] = value
        else:
            raise HodynError(
                f'{name}: {value!r} is neither a finite number nor a real expression of SymPy')
    return result


def _row(robot: Robot, index: int, given: Mapping[str, Any]) -> dict[int, Any]:
    """Return, by column, the entries of a body's row in `body_table` that symbols may change."""
    body, name = robot.bodies[index], robot.bodies[index].name
    if not isinstance(given, Mapping):
        raise HodynError(
            f'symbols of {name!r}: expected a mapping of some of {", ".join(KEYS)}, got '
            f'{reprlib.repr(given)}')
    unknown = [key for key in given if key not in KEYS]
    if unknown:
        raise HodynError(
            f'symbols: body {name!r} has no {unknown[0]!r}; known keys are {", ".join(KEYS)}')
    of = {
        key: _formulas(given.get(key, getattr(body, key)), f'symbols of {name!r}: {key}', shape)
        for key, shape in KEYS.items()}
    frames = robot.kernel_model.body_in_kernel
    in_kernel = _fractions(frames[index])
    kernel_in_body = np.eye(4, dtype=object)
    kernel_in_body[:3, :3] = in_kernel[:3, :3].T
    kernel_in_body[:3, 3] = -in_kernel[:3, :3].T @ in_kernel[:3, 3]
    home = of['placement'] @ kernel_in_body
    if body.parent >= 0:
        home = _fractions(frames[body.parent]) @ home
    rotation = in_kernel[:3, :3]
    mass = of['mass'][()]
    com = rotation @ of['com'] + in_kernel[:3, 3]
    inertia = rotation @ of['inertia'] @ rotation.T
    square = com @ com
    columns: dict[int, Any] = {body_table.MASS: mass}
    for c in range(3):
        columns[body_table.COM + c] = com[c]
        columns[body_table.HOME_POSITION + c] = home[c, 3]
        for row in range(3):
            columns[body_table.HOME_ROTATION + 3 * row + c] = home[row, c]
    for place, (a, b) in enumerate(inertias.SYMMETRIC_ENTRIES):
        columns[body_table.COM_INERTIA + place] = inertia[a, b]
        columns[body_table.ORIGIN_INERTIA + place] = (  # Steiner's theorem
            inertia[a, b] + mass * ((square if a == b else 0) - com[a] * com[b]))
    return columns


def _fractions(matrix: Array) -> Expressions:
    return np.array([[_number(float(x)) for x in row] for row in matrix], dtype=object)


def _number(value: float) -> Any:
    """Return the fraction that equals a double up to rounding, or the double."""
    import sympy

    fraction = Fraction(value).limit_denominator(MAX_DENOMINATOR)
    if abs(float(fraction) - value) <= 4e-16 * abs(value):
        return sympy.Rational(fraction.numerator, fraction.denominator)
    return sympy.Float(value)


def _terms_at_most(roots: Iterable[Any]) -> float:
    """Return a bound on the number of terms after products of sines have become sums."""
    terms: dict[Expression, float] = {}

    def of(operand: Any) -> float:
        return terms[operand] if isinstance(operand, Expression) else 1.0

    roots = list(roots)
    for expression in made_of(roots):
        counts = [of(operand) for operand in expression.operands]
        if expression.operation in ('+', '-'):
            terms[expression] = sum(counts)
        elif expression.operation in ('sin', 'cos'):
            terms[expression] = 2.0  # each such factor doubles the terms of a product
        else:
            terms[expression] = math.prod(counts)
    return sum(map(of, roots))


def _collected(formula: Any, q: Expressions) -> Any:
    """Return a formula as a sum of terms: parameters × rates × sin or cos of sums of positions."""
    import sympy
    from sympy.simplify.fu import TR8

    terms: dict[Any, Any] = {}
    for term in sympy.Add.make_args(sympy.expand(formula)):
        trigonometric, rest = sympy.S.One, sympy.S.One
        for factor in sympy.Mul.make_args(term):
            if factor.has(*q[0]) and factor.has(sympy.sin, sympy.cos):
                trigonometric *= factor
            else:
                rest *= factor
        terms[trigonometric] = terms.get(trigonometric, sympy.S.Zero) + rest
    total = sympy.S.Zero
    for trigonometric, rest in terms.items():
        total += sympy.expand(rest * sympy.expand(TR8(trigonometric)))
    return total
