"""Runs kernels on expressions: calls the functions that numba compiles with another number type.

The names in a kernel's Python function get other meanings: numpy's functions take expressions,
numpy's arrays hold expressions, and called kernels are treated in the same way. The kernels
themselves do not change.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from hodyn_ros.codegen.expressions import Condition, Expression, Graph, Number, Undecided, call
from hodyn_ros.dynamics.kernels import workspace

_PACKAGE = __name__.split('.')[0]
_NAMES_IN_C = {'arcsinh': 'asinh', 'arcsin': 'asin', 'abs': 'fabs'}


@dataclass(frozen=True)
class Leaf:
    """The results at the end of a path: for each name in C, its value or the value's text in C."""

    results: tuple[tuple[str, Number | str], ...]


@dataclass(frozen=True)
class Branch:
    """A place where the path depends on a condition."""

    condition: Condition
    yes: Tree
    no: Tree


Tree: TypeAlias = Leaf | Branch


def explore(graph: Graph, record: Callable[[], dict[str, Number | str]]) -> Tree:
    """Return the results of `record`, which computes with expressions, on every path through it.

    `record` is called again for each path, so it must not change its input.
    """
    try:
        return Leaf(tuple(record().items()))
    except Undecided as turn:
        condition, before = turn.condition, dict(graph.answers)
    trees = []
    for answer in (True, False):
        graph.answers = {**before, condition: answer}
        trees.append(explore(graph, record))
    graph.answers = before
    return Branch(condition, *trees)


def on_expressions(kernel: Any, stand_ins: Mapping[Any, Callable[..., Any]] = {}) -> Any:
    """Return the function that does with expressions what a kernel does with numbers.

    `stand_ins` replace kernels whose loops end when numbers meet a condition, such as searches.
    """
    return _Names(stand_ins).function(kernel)


class _Names:
    """Meanings of the names that kernels use."""

    def __init__(self, stand_ins: Mapping[Any, Callable[..., Any]]) -> None:
        self._functions: dict[Any, Callable[..., Any]] = {
            _python(kernel): stand_in for kernel, stand_in in stand_ins.items()}

    def function(self, kernel: Any) -> Callable[..., Any]:
        python = _python(kernel)
        if python not in self._functions:
            names: dict[str, Any] = {}
            # Stored before its names are looked up, since a function may call itself.
            self._functions[python] = FunctionType(
                python.__code__, names, python.__name__, python.__defaults__)
            for name in python.__code__.co_names:
                if name in _BUILT_IN:
                    names[name] = _BUILT_IN[name]
                elif name in python.__globals__:
                    names[name] = self.value(python.__globals__[name])
        return self._functions[python]

    def value(self, value: Any) -> Any:
        if value is np:
            return _Numpy()
        if value is workspace.block:
            return _block
        if value is workspace.borrowed:
            return _same
        if isinstance(value, ModuleType) and value.__name__.startswith(_PACKAGE):
            return _Module(value, self)
        # With numba switched off, kernels are plain functions.
        ours = isinstance(value, FunctionType) and value.__module__.startswith(_PACKAGE)
        return self.function(value) if ours or hasattr(value, 'py_func') else value


def _python(kernel: Any) -> Any:
    """Return a kernel's Python function: the kernel itself, if numba is switched off."""
    return getattr(kernel, 'py_func', kernel)


class _Module:
    def __init__(self, module: ModuleType, names: _Names) -> None:
        self._module, self._names = module, names

    def __getattr__(self, name: str) -> Any:
        return self._names.value(getattr(self._module, name))


class _Numpy:
    """The part of numpy that kernels use."""

    inf = np.inf

    @staticmethod
    def empty(shape: int | tuple[int, ...]) -> Any:
        return np.empty(shape, dtype=object)

    def __getattr__(self, name: str) -> Callable[..., Number]:
        return lambda *operands: call(_NAMES_IN_C.get(name, name), *operands)


def _extremum(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(*operands: Any) -> Any:
        symbolic = any(isinstance(operand, Expression) for operand in operands)
        return call(name, *operands) if symbolic else plain(*operands)

    return chosen


_BUILT_IN: dict[str, Any] = {
    'min': _extremum('fmin', min), 'max': _extremum('fmax', max),
    'abs': _extremum('fabs', abs)}


def _block(memory: Any, start: int, shape: tuple[int, ...]) -> Any:
    return memory[start:start + int(np.prod(shape))].reshape(shape)


def _same(array: Any) -> Any:
    return array
