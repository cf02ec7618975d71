"""Expressions as statements of C99, in double or single precision."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
import re
import textwrap

import numpy as np

from hodyn_ros.codegen.expressions import Expression, Number, made_of
from hodyn_ros.codegen.tracing import Branch, Leaf, Tree
from hodyn_ros.robot import HodynError

MAX_LINE = 99
_MAX_INLINE = 36  # characters; longer expressions get a name
_SUM, _PRODUCT, _SIGN, _ATOM = range(4)
_LEVELS = {'+': _SUM, '-': _SUM, '*': _PRODUCT, '/': _PRODUCT, 'negative': _SIGN}


class Language:
    """C99 in ``double``, or in ``float`` if `single`."""

    def __init__(self, *, single: bool = False) -> None:
        self.single = single
        self.type = 'float' if single else 'double'

    def number(self, value: float) -> str:
        """Return the text of a constant, exact to the last bit."""
        with np.errstate(over='ignore'):
            rounded = np.float32(value) if self.single else np.float64(value)
        if not np.isfinite(rounded):
            raise HodynError(f'the constant {value:g} does not fit into {self.type}')
        text = str(rounded)
        return text + 'f' if self.single else text

    def function(self, name: str) -> str:
        """Return the name of a function of math.h."""
        return name + 'f' if self.single else name

    def statements(self, tree: Tree) -> list[str]:
        """Return the lines that compute a tree and write its results."""
        return list(self._statements(tree, {}))

    def _statements(self, tree: Tree, named: dict[Expression, str]) -> Iterator[str]:
        text: dict[Expression, tuple[str, int]] = {
            expression: (name, _ATOM) for expression, name in named.items()}
        uses = Counter(_roots(tree))
        uses.update(
            operand for expression in made_of(uses, named) for operand in expression.operands
            if isinstance(operand, Expression))
        if isinstance(tree, Branch):
            yield from self._locals([tree.condition.value], uses, named, text)
            relation = '>' if tree.condition.strict else '>='
            yield (f'if ({self._operand(tree.condition.value, text, _SUM)} {relation} '
                   f'{self.number(0.0)}) {{')
            yield from _indented(self._statements(tree.yes, dict(named)))
            yield '} else {'
            yield from _indented(self._statements(tree.no, dict(named)))
            yield '}'
            return
        # A variable that a result overwrites must be read first: as one used twice, it is copied.
        uses.update(2 * [
            expression for expression in made_of(uses, named)
            if any(expression.operation == target for target, _ in tree.results)])
        yield from self._locals(_values(tree), uses, named, text)
        for target, value in tree.results:
            if isinstance(value, str):
                yield f'{target} = {value};'
            elif not isinstance(value, Expression) or value.operation != target:
                yield from _wrapped(f'{target} = {self._operand(value, text, _SUM)};')

    def _locals(
        self, wanted: list[Expression], uses: Counter[Expression], named: dict[Expression, str],
        text: dict[Expression, tuple[str, int]],
    ) -> Iterator[str]:
        """Yield definitions of expressions that are long or used more than once; fill `text`."""
        for expression in made_of(wanted, named):
            written, level = self._written(expression, text)
            if uses[expression] > 1 or (
                    len(written) > _MAX_INLINE and expression not in wanted):
                name = (f'x{expression.index}' if expression.operands
                        else re.sub(r'\W+', '_', written).strip('_'))
                if name != written:
                    yield from _wrapped(f'const {self.type} {name} = {written};')
                named[expression] = name
                written, level = name, _ATOM
            text[expression] = written, level

    def _written(
        self, expression: Expression, text: dict[Expression, tuple[str, int]],
    ) -> tuple[str, int]:
        operation, operands = expression.operation, expression.operands
        if not operands:
            return operation, _ATOM
        if operation not in _LEVELS:
            given = ', '.join(self._operand(operand, text, _SUM) for operand in operands)
            return f'{self.function(operation)}({given})', _ATOM
        level = _LEVELS[operation]
        if operation == 'negative':
            return '-' + self._operand(operands[0], text, _ATOM), level
        first, second = operands
        if operation == '+' and not isinstance(second, Expression) and second < 0.0:
            operation, second = '-', -second
        # A right operand of the same level gets parentheses, to keep the order of operations.
        return (f'{self._operand(first, text, level)} {operation} '
                f'{self._operand(second, text, level + 1)}'), level

    def _operand(
        self, operand: Number, text: dict[Expression, tuple[str, int]], level: int,
    ) -> str:
        if isinstance(operand, Expression):
            written, its_level = text[operand]
        else:
            written, its_level = self.number(operand), _SIGN if operand < 0.0 else _ATOM
        return written if its_level >= level else f'({written})'


def operations(tree: Tree) -> int:
    """Return the operations on the longest path; a function of math.h counts as one."""
    return max(
        sum(bool(expression.operands) for expression in made_of(wanted))
        for wanted in _paths(tree))


def quoted(text: str) -> str:
    """Return the literal in C of any text."""
    return '"' + ''.join(
        character if character.isascii() and character.isprintable() and character not in '"\\?'
        else ''.join(f'\\{byte:03o}' for byte in character.encode('utf-8')) for character in text
    ) + '"'


def initializer(items: Sequence[str], end: str = '}') -> list[str]:
    """Return the lines of an initializer, broken only between items."""
    lines, line = [], '   '
    for i, item in enumerate(items):
        word = ('' if i else '{') + item + (',' if i < len(items) - 1 else end)
        if len(line) + len(word) > MAX_LINE - 12:
            lines.append(line)
            line = '       '
        line += f' {word}'
    return [*lines, line]


def comment(text: str, indent: str = '') -> list[str]:
    """Return the lines of a comment; line breaks and indents of the text are kept."""
    safe = ''.join(c if c.isprintable() or c == '\n' else '.' for c in text)
    safe = safe.replace('*/', '* /').replace('/*', '/ *').replace('??', '? ?')
    lines = [
        line for row in safe.splitlines() for line in textwrap.wrap(
            row, MAX_LINE - len(indent) - 3, subsequent_indent='  ' if row[:1] == ' ' else '',
            break_on_hyphens=False) or ['']]
    if len(lines) == 1 and len(indent + lines[0]) <= MAX_LINE - 6:
        return [f'{indent}/* {lines[0]} */']
    return [f'{indent}/*', *(f'{indent} * {line}'.rstrip() for line in lines), f'{indent} */']


def _paths(tree: Tree, before: tuple[Expression, ...] = ()) -> Iterator[list[Expression]]:
    """Yield, for each path, the expressions that it computes."""
    if isinstance(tree, Branch):
        for branch in (tree.yes, tree.no):
            yield from _paths(branch, (*before, tree.condition.value))
    else:
        yield [*before, *_values(tree)]


def _roots(tree: Tree) -> Iterator[Expression]:
    """Yield the conditions and the results of all paths."""
    if isinstance(tree, Branch):
        yield tree.condition.value
        yield from _roots(tree.yes)
        yield from _roots(tree.no)
    else:
        yield from _values(tree)


def _values(leaf: Leaf) -> list[Expression]:
    """Return the results that are expressions, except variables assigned to themselves."""
    return [value for target, value in leaf.results
            if isinstance(value, Expression) and value.operation != target]


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f'    {line}' for line in lines)


def _wrapped(statement: str) -> list[str]:
    return textwrap.wrap(
        statement, MAX_LINE - 12, subsequent_indent='    ', break_long_words=False,
        break_on_hyphens=False)
