"""Formulas in kernels: functions that add, subtract and multiply numbers, and nothing else.

Python runs them, once, on numbers that write down what is done to them. Numba's own way, through
bytecode and types to a module with passes of its own, takes several times as long to compile.
"""
from __future__ import annotations

from collections.abc import Callable
import inspect
import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils as _cgutils
from numba.core import types as _types
from numba.extending import intrinsic

from hodyn_ros.dynamics.kernels.unrolled.taylor import Packed, combined

cgutils: Any = _cgutils  # numba has no type stubs for its internals
types: Any = _types


class _Number:
    """A number of a type; of the formula that is being written, its value there."""

    def __init__(self, kind: Any, value: Any = None, builder: Any = None) -> None:
        self.kind, self.value, self.builder = kind, value, builder

    def _constant(self, other: _Number | float) -> _Number:
        if isinstance(other, _Number):
            return other
        return _Number(types.float64, ir.Constant(ir.DoubleType(), other), self.builder)

    def _with(self, operation: Any, other: _Number | float) -> _Number:
        other = self._constant(other)
        kind = self.kind if isinstance(self.kind, Packed) else other.kind
        is_product = operation is operator.mul
        if isinstance(kind, Packed) and kind.truncated and not (
                is_product or self.kind == other.kind):
            raise TypeError('a float added to a polynomial would land on every coefficient')
        if self.builder is None:
            return _Number(kind)
        value = combined(
            self.builder, operation, (self.kind, other.kind), (self.value, other.value))
        return _Number(kind, value, self.builder)

    def __add__(self, other: _Number | float) -> _Number:
        return self._with(operator.add, other)

    def __sub__(self, other: _Number | float) -> _Number:
        return self._with(operator.sub, other)

    def __rsub__(self, other: float) -> _Number:
        return self._constant(other)._with(operator.sub, self)

    def __mul__(self, other: _Number | float) -> _Number:
        return self._with(operator.mul, other)

    def __radd__(self, other: float) -> _Number:
        return self._constant(other)._with(operator.add, self)

    def __rmul__(self, other: float) -> _Number:
        return self._constant(other)._with(operator.mul, self)


def formula(function: Callable[..., Any]) -> Any:
    """Return what kernels call for a function of numbers, and of tuples of them, of `taylor`."""
    def define(typing: Any, *kinds: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = (
                _numbers(kind, value, builder)
                for kind, value in zip(kinds, arguments, strict=True))
            return _value(context, builder, function(*given))

        return _kind(function(*(_numbers(kind) for kind in kinds)))(*kinds), lower

    described: Any = define
    names = ('typing', *inspect.signature(function).parameters)
    described.__signature__ = inspect.Signature([
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
    described.__name__, described.__doc__ = function.__name__, function.__doc__
    primitive: Any = intrinsic  # whose type stub does not know that callers omit `typing`
    return primitive(described)


def _numbers(kind: Any, value: Any = None, builder: Any = None) -> Any:
    """Return an argument: a number, or a tuple of them, to any depth."""
    if not isinstance(kind, types.BaseTuple):
        return _Number(kind, value, builder)
    values = [None] * len(kind) if builder is None else cgutils.unpack_tuple(builder, value)
    return tuple(_numbers(*part, builder) for part in zip(kind.types, values, strict=True))


def _kind(result: Any) -> Any:
    if isinstance(result, _Number):
        return result.kind
    return types.BaseTuple.from_types([_kind(part) for part in result])


def _value(context: Any, builder: Any, result: Any) -> Any:
    if isinstance(result, _Number):
        return result.value
    values = [_value(context, builder, part) for part in result]
    return context.make_tuple(builder, _kind(result), values)
