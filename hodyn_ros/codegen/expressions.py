"""Expressions: a number type that records operations instead of computing them.

Constants stay Python floats. Expressions are simplified when they are made: constants are folded,
summands 0 and factors 1 vanish, and signs move outward until a sum absorbs them. Equal
subexpressions are one object.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
import math
import operator
from typing import Any, TypeAlias

import numpy as np

Number: TypeAlias = 'Expression | float'

FUNCTIONS: dict[str, Callable[..., float]] = {
    name: getattr(math, name) for name in (
        'sin', 'cos', 'tanh', 'sinh', 'asinh', 'asin', 'sqrt', 'exp', 'expm1', 'log', 'fabs')
} | {'fmin': min, 'fmax': max}
"""Python functions for constant operands, by their names in C."""

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    '+': operator.add, '-': operator.sub, '*': operator.mul, '/': operator.truediv}


class Undecided(Exception):
    """The path that is being recorded depends on a condition without an answer yet."""

    def __init__(self, condition: Condition) -> None:
        super().__init__(condition)
        self.condition = condition


@dataclass(frozen=True)
class Condition:
    """Whether an expression is above 0, or at least 0 if `strict` is false.

    Its truth value is the graph's answer on the path that is being recorded.
    """

    value: Expression
    strict: bool

    def __bool__(self) -> bool:
        value, known = self.value, self.value.graph.answers
        if self in known:
            return known[self]
        if known.get(Condition(value, True)):
            return True
        if known.get(Condition(value, False)) is False:
            return False
        if value.operation == 'fmin' and any(
                not isinstance(bound, Expression) and bound < 0.0 for bound in value.operands):
            return False
        raise Undecided(self)


class Expression:
    """A variable, or an operation on expressions and constants; made by a `Graph`."""

    __slots__ = ('graph', 'index', 'operands', 'operation')
    __array_ufunc__ = None  # so that numpy's numbers leave the operation to this class

    def __init__(
        self, graph: Graph, index: int, operation: str, operands: tuple[Number, ...],
    ) -> None:
        self.graph = graph
        self.index = index
        self.operation = operation
        self.operands = operands

    def __add__(self, other: Number) -> Number:
        return self.graph.add(self, other)

    def __sub__(self, other: Number) -> Number:
        return self.graph.subtract(self, other)

    def __mul__(self, other: Number) -> Number:
        return self.graph.multiply(self, other)

    def __truediv__(self, other: Number) -> Number:
        return self.graph.divide(self, other)

    def __radd__(self, other: float) -> Number:
        return self.graph.add(other, self)

    def __rsub__(self, other: float) -> Number:
        return self.graph.subtract(other, self)

    def __rmul__(self, other: float) -> Number:
        return self.graph.multiply(other, self)

    def __rtruediv__(self, other: float) -> Number:
        return self.graph.divide(other, self)

    def __neg__(self) -> Number:
        return self.graph.negate(self)

    def __pow__(self, exponent: int) -> Number:
        if exponent not in (2, 3):
            raise NotImplementedError(f'power {exponent} of an expression')
        square = self * self
        return square if exponent == 2 else square * self

    def __gt__(self, other: Number) -> bool:
        return _is_above(self - other, strict=True)

    def __ge__(self, other: Number) -> bool:
        return _is_above(self - other, strict=False)

    def __lt__(self, other: Number) -> bool:
        return _is_above(other - self, strict=True)

    def __le__(self, other: Number) -> bool:
        return _is_above(other - self, strict=False)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Expression):
            return self is other
        raise NotImplementedError('an expression has no value to compare')

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise NotImplementedError('an expression has no truth value')


def _is_above(difference: Number, *, strict: bool) -> bool:
    if isinstance(difference, Expression):
        return bool(Condition(difference, strict))
    return difference > 0.0 if strict else difference >= 0.0


class Graph:
    """All expressions made so far, each only once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Expression] = {}
        #: Truth values of the conditions on the path that is being recorded
        self.answers: dict[Condition, bool] = {}

    def variable(self, text: str) -> Expression:
        """Return the variable with this text in C."""
        return self._make(text)

    def variables(self, text: str, *shape: int) -> np.ndarray[Any, Any]:
        """Return variables for the entries of an array in C."""
        array = np.empty(shape, dtype=object)
        for index in np.ndindex(*shape):
            array[index] = self.variable(text + ''.join(f'[{i}]' for i in index))
        return array

    def add(self, a: Number, b: Number) -> Number:
        """Return a + b; an infinite summand makes the sum infinite."""
        if not isinstance(a, Expression):
            a, b = b, a
        assert isinstance(a, Expression)
        if a is b:
            return self.multiply(2.0, a)
        if a.operation == 'negative':
            return self.subtract(b, a.operands[0])
        if not isinstance(b, Expression):
            return a if b == 0.0 else b if math.isinf(b) else self._make('+', a, b)
        if b.operation == 'negative':
            return self.subtract(a, b.operands[0])
        return self._make('+', *_in_order(a, b))

    def subtract(self, a: Number, b: Number) -> Number:
        """Return a − b."""
        if not isinstance(b, Expression):
            return self.add(a, -b)
        if b.operation == 'negative':
            return self.add(a, b.operands[0])
        if not isinstance(a, Expression):
            return self.negate(b) if a == 0.0 else a if math.isinf(a) else self._make('-', a, b)
        if a is b:
            return 0.0
        if a.operation == 'negative':
            return self.negate(self.add(a.operands[0], b))
        if _key('-', b, a) in self._known:
            return self.negate(self._make('-', b, a))
        return self._make('-', a, b)

    def negate(self, a: Number) -> Number:
        """Return −a."""
        if not isinstance(a, Expression):
            return -a
        if a.operation == 'negative':
            return a.operands[0]
        if a.operation == '-' and _key('-', *reversed(a.operands)) in self._known:
            return self._make('-', *reversed(a.operands))
        return self._make('negative', a)

    def multiply(self, a: Number, b: Number) -> Number:
        """Return a b."""
        if not isinstance(b, Expression):
            a, b = b, a
        assert isinstance(b, Expression)
        if b.operation == 'negative':
            return self.negate(self.multiply(a, b.operands[0]))
        if not isinstance(a, Expression):
            return self._multiple(float(a), b)
        if a.operation == 'negative':
            return self.negate(self.multiply(a.operands[0], b))
        for quotient, divisor in ((a, b), (b, a)):
            if quotient.operation == '/' and quotient.operands[1] is divisor:
                return quotient.operands[0]
        return self._make('*', *_in_order(a, b))

    def _multiple(self, factor: float, a: Expression) -> Number:
        if factor == 0.0:
            return 0.0
        if factor < 0.0:
            return self.negate(self._multiple(-factor, a))
        if a.operation == '*' and not isinstance(a.operands[0], Expression):
            return self.multiply(factor * a.operands[0], a.operands[1])
        return a if factor == 1.0 else self._make('*', factor, a)

    def divide(self, a: Number, b: Number) -> Number:
        """Return a / b, as a product with the inverse if b is a constant."""
        if not isinstance(b, Expression):
            return self.multiply(1.0 / b, a)
        if b.operation == 'negative':
            return self.negate(self.divide(a, b.operands[0]))
        if isinstance(a, Expression) and a.operation == 'negative':
            return self.negate(self.divide(a.operands[0], b))
        return 0.0 if not isinstance(a, Expression) and a == 0.0 else self._make('/', a, b)

    def _make(self, operation: str, *operands: Number) -> Expression:
        operands = tuple(
            operand if isinstance(operand, Expression) else float(operand) for operand in operands)
        key = _key(operation, *operands)
        if key not in self._known:
            self._known[key] = Expression(self, len(self._known), operation, operands)
        return self._known[key]


def call(name: str, *operands: Number) -> Number:
    """Return a function of C applied to operands: a float if all of them are constants."""
    if name not in FUNCTIONS:
        raise NotImplementedError(f'{name} of an expression')
    for operand in operands:
        if isinstance(operand, Expression):
            return operand.graph._make(name, *operands)
    return FUNCTIONS[name](*operands)


def made_of(roots: Iterable[Any], known: Container[Expression] = ()) -> list[Expression]:
    """Return expressions and all that they depend on, operands first, except the `known` ones."""
    found: set[Expression] = set()
    waiting = list(roots)
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Expression) and operand not in found and operand not in known:
            found.add(operand)
            waiting += operand.operands
    return sorted(found, key=lambda expression: expression.index)


def translated(
    roots: Iterable[Any], meaning: Mapping[Expression, Any], function: Callable[..., Any],
    number: Callable[[float], Any] = float,
) -> list[Any]:
    """Return recorded expressions translated to objects of another library.

    `meaning` has the library's object for each variable; `function` makes an object from a
    function's name and operands, and `number` from a constant.
    """
    found = dict(meaning)

    def of(operand: Any) -> Any:
        return found[operand] if isinstance(operand, Expression) else number(float(operand))

    def make(expression: Expression) -> Any:
        operands = [of(operand) for operand in expression.operands]
        operation = expression.operation
        if operation == 'negative':
            return -operands[0]
        if operation in _ARITHMETIC:
            return _ARITHMETIC[operation](*operands)
        return function(operation, *operands)

    roots = list(roots)
    for expression in made_of(roots, meaning):
        found[expression] = make(expression)
    return [of(root) for root in roots]


def _in_order(a: Expression, b: Expression) -> tuple[Expression, Expression]:
    return (a, b) if a.index < b.index else (b, a)


def _key(operation: str, *operands: Number) -> tuple[Any, ...]:
    return operation, *(
        operand.index if isinstance(operand, Expression) else (operand,) for operand in operands)
