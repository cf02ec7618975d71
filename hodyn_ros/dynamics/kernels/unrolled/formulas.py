"""Formulas in kernels: functions that only read, add, subtract, multiply and write numbers.

Python runs them at compile time, on numbers that record the operations as LLVM instructions.
Numba's own way, from bytecode by type inference, takes several times as long to compile.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
import inspect
import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils as _cgutils
from numba.core import types as _types
from numba.core.extending import _Intrinsic
from numba.extending import intrinsic

from hodyn_ros.dynamics.kernels.unrolled.taylor import (
    Packed,
    combined,
    data_of,
    derivative,
    gather,
    join,
    load,
    split,
    store,
)

cgutils: Any = _cgutils  # numba has no type stubs for its internals
types: Any = _types


class _Number:
    """A number in a formula: its type and, while code is generated, its registers."""

    def __init__(self, kind: Any, registers: Any = None, builder: Any = None) -> None:
        self.kind, self.registers, self.builder = kind, registers, builder

    @property
    def coefficients(self) -> int:
        """How many coefficients a polynomial has."""
        count: int = self.kind.coefficients
        return count

    def made_of(self, numbers: Sequence[_Number]) -> _Number:
        """Return a number of the same type with these floats or lanes as coefficients."""
        if self.builder is None:
            return self
        parts = [number.registers[0] for number in numbers]
        kind = self.kind
        registers = parts if kind.registers > 1 else gather(self.builder, kind, parts)
        return _Number(kind, registers, self.builder)

    def _constant(self, other: _Number | float) -> _Number:
        if isinstance(other, _Number):
            return other
        return _Number(types.float64, [ir.Constant(ir.DoubleType(), other)], self.builder)

    def _with(self, operation: Any, other: _Number | float) -> _Number:
        other = self._constant(other)
        kind = self.kind if isinstance(self.kind, Packed) else other.kind
        is_product = operation is operator.mul
        if isinstance(kind, Packed) and kind.coefficients > 1 and not (
                is_product or self.kind == other.kind):
            raise TypeError('a float added to a polynomial would land on every coefficient')
        if self.builder is None:
            return _Number(kind)
        registers = combined(
            self.builder, operation, (self.kind, other.kind), (self.registers, other.registers))
        return _Number(kind, registers, self.builder)

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

    def rate(self) -> _Number:
        """Return the time derivative of a polynomial; its last coefficient is undefined."""
        if self.builder is None:
            return self
        registers = derivative(self.builder, self.kind, self.registers)
        return _Number(self.kind, registers, self.builder)


class Memory:
    """An array of doubles; while code is generated, it has the address of the data.

    Indices are integers of the kernel, unknown at compile time.
    """

    def __init__(self, data: Any = None, builder: Any = None) -> None:
        self.data, self.builder = data, builder

    def floats(self, index: Any, count: int) -> list[_Number]:
        """Return the floats that start at an index, unchecked."""
        if self.builder is None:
            return [_Number(types.float64)] * count
        places = [self._place(index, k) for k in range(count)]
        return [
            _Number(types.float64, [self.builder.load(self.builder.gep(self.data, [place]))],
                    self.builder) for place in places]

    def read(self, index: Any, k: int, like: _Number) -> _Number:
        """Return number k, of the type of `like`, counted from an index, unchecked."""
        if self.builder is None:
            return _Number(like.kind)
        place = self._place(index, k * like.kind.registers * like.kind.width)
        return _Number(
            like.kind, load(self.builder, like.kind, self.data, place), self.builder)

    def write(self, index: Any, k: int, number: _Number, *, known: bool = False) -> None:
        """Store number k, counted from an index; if `known`, see `taylor.store`."""
        if self.builder is not None:
            kind = number.kind
            place = self._place(index, k * kind.registers * kind.width)
            store(self.builder, kind, self.data, place, number.registers, known=known)

    def read_vector(self, index: Any, k: int, like: _Number) -> tuple[_Number, _Number, _Number]:
        """Return numbers k, k + 1 and k + 2."""
        return self.read(index, k, like), self.read(index, k + 1, like), self.read(
            index, k + 2, like)

    def write_vector(
        self, index: Any, k: int, vector: tuple[_Number, _Number, _Number], *,
        known: bool = False,
    ) -> None:
        """Store numbers k, k + 1 and k + 2."""
        for i, number in enumerate(vector):
            self.write(index, k + i, number, known=known)

    def _place(self, index: Any, offset: int) -> ir.Value:
        start, = index.registers
        return self.builder.add(start, ir.Constant(start.type, offset))


class _Formula(_Intrinsic):  # type: ignore[misc]  # numba declares it final
    """An intrinsic that formulas can also call, as a plain function."""

    formula: Callable[..., Any]

    def __call__(self, *numbers: Any) -> Any:
        return self.formula(*numbers)


def formula(function: Callable[..., Any]) -> Any:
    """Return an intrinsic for a function of numbers, tuples of numbers, and arrays."""
    def define(typing: Any, *kinds: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = (
                Memory(data_of(context, builder, kind, value), builder)
                if isinstance(kind, types.Array) else _numbers(kind, value, builder)
                for kind, value in zip(kinds, arguments, strict=True))
            return _value(context, builder, function(*given))

        result = function(*(
            Memory() if isinstance(kind, types.Array) else _numbers(kind) for kind in kinds))
        return _kind(result)(*kinds), lower

    described: Any = define
    names = ('typing', *inspect.signature(function).parameters)
    described.__signature__ = inspect.Signature([
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
    described.__name__, described.__doc__ = function.__name__, function.__doc__
    described.formula = function  # numba passes it on to the intrinsic, and to copies
    primitive: Any = intrinsic(described)
    primitive.__class__ = _Formula
    return primitive


def _numbers(kind: Any, value: Any = None, builder: Any = None) -> Any:
    """Return an argument: a number, or nested tuples of numbers."""
    if not isinstance(kind, types.BaseTuple):
        return _Number(kind, builder and split(builder, kind, value), builder)
    values = [None] * len(kind) if builder is None else cgutils.unpack_tuple(builder, value)
    return tuple(_numbers(*part, builder) for part in zip(kind.types, values, strict=True))


def _kind(result: Any) -> Any:
    if result is None:
        return types.void
    if isinstance(result, _Number):
        return result.kind
    return types.BaseTuple.from_types([_kind(part) for part in result])


def _value(context: Any, builder: Any, result: Any) -> Any:
    if result is None:
        return context.get_dummy_value()
    if isinstance(result, _Number):
        return join(builder, result.kind, result.registers)
    values = [_value(context, builder, part) for part in result]
    return context.make_tuple(builder, _kind(result), values)
