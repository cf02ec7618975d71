"""Mutants of a file: what is wrong in each, and what is not mutated."""
import ast
from collections.abc import Iterable, Iterator
import os
from pathlib import Path
import re
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names
from parso.python.tree import Keyword

ROOT = Path(__file__).resolve().parents[1]
# Of those that Cosmic Ray has: one or two for each operator, none that is an error of types.
OPERATORS = re.compile(
    r'core/(AddNot|Replace(True|False|And|Or|Break|Continue)With\w+|NumberReplacer'
    r'|ZeroIterationForLoop|ExceptionReplacer|RemoveNamedArgument'
    r'|ReplaceUnaryOperator_Delete_(USub|Not|Invert)'
    r'|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_Mul|Pow_Mul'
    r'|BitOr_BitAnd|BitAnd_BitOr|LShift_RShift|RShift_LShift)'
    r'|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Is_IsNot|IsNot_Is'
    r'|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Lt_GtE|GtE_Lt|Gt_LtE|LtE_Gt))')
COMPILED = {'njit', 'kernel', 'batch_kernel', 'step', 'overload', 'inlined', '_primitive'}
PLACES = ('atom_expr', 'power')  # an attribute, an item or a call, as the parser has them
# One more or less of so many, ns in a second say, is no fault.
LARGE = 1e4


class Mutant(NamedTuple):
    """One wrong place in one file."""

    file: str
    line: int
    operator: str
    occurrence: int

    def source(self) -> tuple[str, str]:
        """Return the text of the file, right and wrong."""
        right = (ROOT / self.file).read_text('utf-8')
        return right, mutate_code(right, operator_named(self.operator), self.occurrence)

    def __str__(self) -> str:
        return f'{self.file}:{self.line} {self.operator.rpartition("/")[2]}'


class RemoveStatement(Operator):
    """A call, a raise, a return or what sets an attribute, an item or a sum is left out."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type == 'simple_stmt' and self._does_something(node.children[0]):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        first = node.children[0]
        prefix = first.get_first_leaf().prefix
        node.children[0] = Keyword('pass', first.start_pos, prefix)
        return node

    @staticmethod
    def _does_something(node: Any) -> bool:
        if node.type == 'expr_stmt':
            target, sign = node.children[:2]
            return target.type in PLACES or (sign.type == 'operator' and sign.value != '=')
        if node.type in PLACES:
            last = node.children[-1]
            return bool(last.type == 'trailer' and last.children[0].value == '(')
        return node.type == 'raise_stmt' or (node.type == 'keyword' and node.value == 'return')

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def operator_named(name: str) -> Any:
    return RemoveStatement() if name == 'RemoveStatement' else get_operator(name)()


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    text = file.read_text('utf-8')
    spared = sorted(_spared(ast.parse(text)))
    tree = get_ast(text)
    names = ['RemoveStatement', *filter(OPERATORS.fullmatch, operator_names())]
    for name in names:
        operator = operator_named(name)
        positions = (
            (*place, node) for node in ast_nodes(tree)
            for place in operator.mutation_positions(node))
        for occurrence, (start, *_, node) in enumerate(positions):
            # A star between arguments is no product.
            if node.parent and node.parent.type in ('parameters', 'param'):
                continue
            if not any(first <= start < last for first, last in spared):
                yield Mutant(str(file.relative_to(ROOT)), start[0], name, occurrence)


def _spared(tree: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield where stands what is not mutated, see above, from and to which line and column."""
    kernels = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and COMPILED & {
            re.split(r'[.(]', ast.unparse(one))[0] for one in node.decorator_list}]
    if os.environ.get('NUMBA_DISABLE_JIT'):
        kernels = []
    for node in ast.walk(tree):
        spared: Iterable[Any] = ()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            spared = [*node.decorator_list, *([node] if node in kernels else [])]
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                spared = [*spared, node.returns]
        elif isinstance(node, ast.arg | ast.AnnAssign):
            spared = [node.annotation] if node.annotation else ()
        elif isinstance(node, ast.Raise):
            spared = [node.exc] if node.exc else ()
        elif isinstance(node, ast.Import | ast.ImportFrom) or (
                isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING'):
            spared = [node]
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            spared = [node] if abs(node.value) > LARGE else ()
        if kernels and node in tree.body and isinstance(node, ast.Assign | ast.AnnAssign):
            spared = [node]  # compiled into them
        for one in spared:
            yield (one.lineno, one.col_offset), (one.end_lineno, one.end_col_offset)
