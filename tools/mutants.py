"""Make mutants of a room, one wrong operator, number or statement each, and see which live.

    python tools/mutants.py hodyn_ros/robot --sample 40 --seed 1

The mutants are those of Cosmic Ray (`pip install cosmic-ray coverage`), which would write each
over its file and start pytest anew: all kernels that import the file would be compiled again,
minutes for each mutant. Here a mutant is imported in the place of its module, the file on disk
stays as it is, and so do the kernels, in a process forked from one that has imported numpy, numba
and the like. It meets the fast tests that run its line, or those of `--marks`: which these are is
kept in `.pytest_cache` until sources or tests change. What runs in other processes, live nodes
say, is not seen so: with `--whole` a mutant meets all tests of `--tests`, and so do the processes
that they start.

A mutant is killed when one of these tests fails or takes much longer than it should. Not mutated
are compiled kernels and the constants beside them, annotations, decorators, words of errors, and
what only draws. With `NUMBA_DISABLE_JIT=1` kernels are, where their tests can be run so.
"""
import argparse
import ast
from collections import Counter
from collections.abc import Iterable, Iterator
import contextlib
import difflib
import hashlib
import importlib
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
import os
from pathlib import Path
import pickle
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names
from hypothesis import Phase, settings
from parso.python.tree import Keyword
import pytest

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / '.pytest_cache' / 'mutants'
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
DRAWING = re.compile(r'(figures?|picture|overview)\.py$')
# Seconds of tests that one mutant meets; those beyond are not run.
MAX_TESTS = 60.0
# And of all that are asked for.
MAX_WHOLE = 900.0
# One more or less of so many, ns in a second say, is no fault.
LARGE = 1e4


# What each Python imports first: another code of one module.
HOOK = """
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
import sys


class InPlaceOf(SourceFileLoader):
    def find_spec(self, fullname, path=None, target=None):
        if fullname == self.name:
            return spec_from_file_location(fullname, self.path, loader=self)

    def get_code(self, fullname):
        return compile({text!r}, self.path, 'exec')


sys.meta_path.insert(0, InPlaceOf({name!r}, {path!r}))
"""


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


class Tests(NamedTuple):
    """What is known of a file of tests."""

    key: str
    hits: dict[str, dict[int, set[str]]]  # source → line → tests, or the file for what they share
    seconds: dict[str, float]


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


def statement_lines(text: str, line: int) -> range:
    """Return the lines of the innermost statement at a line; of a block, those of its head."""
    best = range(line, line + 1)
    size = sys.maxsize
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, 'body', None)
            last = body[0].lineno - 1 if body else node.end_lineno
            lines = range(node.lineno, max(last, node.lineno) + 1)
            if line in lines and len(lines) < size:
                best, size = lines, len(lines)
    return best


def is_inside_a_function(text: str, line: int) -> bool:
    return any(
        isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line <= node.end_lineno
        for node in ast.walk(ast.parse(text)))


class Contexts:
    """Tells coverage which test runs; what a file of tests shares is told by its name."""

    def __init__(self, coverage: Any) -> None:
        self.coverage = coverage
        self.seconds: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Iterator[None]:
        if isinstance(collector, pytest.Module):
            self.coverage.switch_context(collector.nodeid)
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        for module in list(sys.modules.values()):
            if module.__name__.startswith('hodyn_ros'):
                for value in vars(module).values():
                    if hasattr(value, 'cache_clear') and module.__name__ != 'hodyn_ros.common.jit':
                        value.cache_clear()
        self.coverage.switch_context(item.nodeid.partition('::')[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> None:
        self.coverage.switch_context(item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: Any) -> None:
        self.coverage.switch_context(item.nodeid.partition('::')[0])

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration


def run_pytest(marks: str, *arguments: str, plugins: Iterable[Any] = ()) -> int:
    """Run tests of these marks here; what hypothesis finds is not made smaller, nor kept."""
    settings.register_profile(
        'mutants', phases=(Phase.explicit, Phase.generate), database=None, derandomize=True,
        deadline=None)
    settings.load_profile('mutants')
    return int(pytest.main(
        ['-q', '-m', marks, '-p', 'no:cacheprovider', *arguments], plugins=[*plugins]))


def in_child(function: Any, log: Path, timeout: float = 3600.0) -> int | None:
    """Return the exit code of what runs in a forked process; None where it took too long."""
    child = os.fork()
    if child == 0:
        os.setsid()
        with open(log, 'w') as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        code = 3
        try:
            code = function()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + timeout
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid or time.monotonic() > end:
            # Also what it may have started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.waitpid(child, 0)
            return None
        time.sleep(0.02)


def tests_and_their_lines(
        files: list[str], marks: str, log: Path) -> tuple[dict[str, Tests], set[str]]:
    """Return what each file of tests runs, and the modules of others that they import."""
    cache = CACHE.with_suffix('.' + re.sub(r'\W+', '-', marks))
    cache.parent.mkdir(exist_ok=True)
    known, modules = pickle.loads(cache.read_bytes()) if cache.exists() else ({}, set())
    common = hashlib.sha256(b''.join(
        path.read_bytes() for folder in ('hodyn_ros', 'tools')
        for path in sorted((ROOT / folder).rglob('*.py')) if path != Path(__file__).resolve()
    ) + b''.join(path.read_bytes() for path in sorted((ROOT / 'test').rglob('conftest.py'))))
    keys = {}
    for file in files:
        key = common.copy()
        key.update((ROOT / file).read_bytes())
        keys[file] = key.hexdigest()
    stale = [file for file in files if file not in known or known[file].key != keys[file]]
    if stale:
        print(f'{len(stale)} files of tests are run to see which lines they reach …', flush=True)
        found = cache.with_suffix('.new')
        code = in_child(lambda: _cover(stale, marks, found), log)
        if code != 0:
            raise SystemExit(f'these tests do not pass (exit code {code}):\n{log.read_text()}')
        hits, seconds, modules_now = pickle.loads(found.read_bytes())
        found.unlink()
        modules |= modules_now
        for file in stale:
            known[file] = Tests(keys[file], {}, {
                test: time for test, time in seconds.items() if test.partition('::')[0] == file})
        for source, lines in hits.items():
            for line, tests in lines.items():
                for test in tests:
                    file = test.partition('::')[0]
                    if file in stale:
                        known[file].hits.setdefault(source, {}).setdefault(line, set()).add(test)
        cache.write_bytes(pickle.dumps((known, modules)))
    return {file: known[file] for file in files}, modules


def _cover(files: list[str], marks: str, found: Path) -> int:
    from coverage import Coverage
    coverage = Coverage(data_file=None, source=[str(ROOT / 'hodyn_ros')], config_file=False)
    contexts = Contexts(coverage)
    coverage.start()
    code = run_pytest(marks, *files, plugins=[contexts])
    coverage.stop()
    data = coverage.get_data()
    hits = {
        str(Path(source).relative_to(ROOT)): data.contexts_by_lineno(source)
        for source in data.measured_files()}
    modules = {
        name for name, module in sys.modules.items()
        if not str(getattr(module, '__file__', None) or '').startswith(str(ROOT))
        and not name.startswith(('__', 'coverage'))}
    found.write_bytes(pickle.dumps((hits, dict(contexts.seconds), modules)))
    return code


class InPlaceOf(MetaPathFinder, SourceFileLoader):
    """Imports a mutant as the module whose file it was made of."""

    def __init__(self, file: str, text: str) -> None:
        name = file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')
        SourceFileLoader.__init__(self, name, str(ROOT / file))
        self._code = compile(text, str(ROOT / file), 'exec')

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        return spec_from_file_location(fullname, self.path, loader=self) if (
            fullname == self.name) else None

    def get_code(self, fullname: str) -> Any:
        return self._code


def in_other_processes(file: str, text: str, folder: Path) -> str:
    """Return the PYTHONPATH with which they import a mutant too, by a file in a folder."""
    name = file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')
    (folder / 'sitecustomize.py').write_text(
        HOOK.format(name=name, path=str(ROOT / file), text=text), 'utf-8')
    return os.pathsep.join(filter(None, [str(folder), os.environ.get('PYTHONPATH')]))


def tests_for(file: str, line: int, tests: dict[str, Tests]) -> tuple[list[str], float]:
    """Return the tests that run a line, by files, the quickest first, and their seconds."""
    text = (ROOT / file).read_text('utf-8')
    inside, near = is_inside_a_function(text, line), statement_lines(text, line)
    chosen = []
    for name, one in tests.items():
        lines = one.hits.get(file, {})
        reached: set[str] = set()
        if inside:
            reached = reached.union(*(lines.get(k, ()) for k in near))
        elif lines:
            reached = {name}  # a constant, a default: whoever uses the module
        if reached:
            if name in reached:
                reached = {name}
                seconds = sum(one.seconds.values())
            else:
                seconds = sum(one.seconds.get(test, 0.0) for test in reached)
            order = list(one.seconds)
            chosen.append((seconds, sorted(
                reached, key=lambda test, o=order: o.index(test) if test in o else -1)))
    arguments, total = [], 0.0
    for seconds, names in sorted(chosen):
        if arguments and total + seconds > MAX_TESTS:
            break
        arguments += names
        total += seconds
    return arguments, total


def verdict(
        file: str, text: str, line: int, tests: dict[str, Tests], marks: str, log: Path) -> str:
    """Return what becomes of a wrong text of a file."""
    names, seconds = tests_for(file, line, tests)
    if not names:
        return 'not reached'
    return _judge(file, text, names, marks, 60.0 + 5.0 * seconds, log)


def _judge(
        file: str, text: str, names: list[str], marks: str, timeout: float, log: Path) -> str:
    try:
        finder = InPlaceOf(file, text)
    except SyntaxError:
        return 'no mutant'

    with tempfile.TemporaryDirectory() as folder:
        path = in_other_processes(file, text, Path(folder))

        def run() -> int:
            sys.meta_path.insert(0, finder)
            os.environ['PYTHONPATH'] = path
            return run_pytest(marks, '-x', *names)

        code = in_child(run, log, timeout)
    if code == 5:  # 4 where their file cannot be imported any more
        raise SystemExit(f'pytest did not run {names}:\n{log.read_text()}')
    return 'timeout' if code is None else 'survived' if code == 0 else 'killed'


def files_of_tests(folders: Iterable[str]) -> list[str]:
    return sorted(
        str(file.relative_to(ROOT)) for folder in folders
        for file in ([ROOT / folder] if folder.endswith('.py') else
                     (ROOT / folder).rglob('test_*.py')))


def prepare(modules: set[str]) -> None:
    """Import what all of them will, but nothing of this package nor of its tests."""
    for name in sorted(modules):
        with contextlib.suppress(Exception):  # it is imported later, or not at all
            importlib.import_module(name)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('paths', nargs='+', help='rooms or modules, such as hodyn_ros/robot')
    parser.add_argument('--sample', type=int, default=40, help='how many mutants (0: all)')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', type=int, nargs='+', metavar='N', help='these of the sample')
    parser.add_argument(
        '--tests', nargs='+', metavar='PATH',
        help='files or folders of tests (default: those of the rooms)')
    parser.add_argument(
        '--marks', default='fast', help="of these marks, such as 'not live' (default: fast)")
    parser.add_argument(
        '--whole', action='store_true',
        help='run all of these tests for each, without asking which lines they reach')
    arguments = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault('NUMBA_CACHE_DIR', str(ROOT / '.pytest_cache' / 'kernels'))
    os.environ.update(OPENBLAS_NUM_THREADS='1', MPLBACKEND='Agg')

    files = sorted({
        file for path in arguments.paths for file in (
            [ROOT / path] if path.endswith('.py') else (ROOT / path).rglob('*.py'))
        if not DRAWING.search(file.name)})
    every = [mutant for file in files for mutant in mutants_of(file)]
    size = min(arguments.sample or len(every), len(every))
    sample = sorted(random.Random(arguments.seed).sample(every, size))
    rooms = {f'test/{Path(path).parts[1].removesuffix(".py")}' for path in arguments.paths}
    log = Path(tempfile.mkstemp(prefix='mutants', suffix='.log')[1])
    names, marks = files_of_tests(arguments.tests or sorted(rooms)), arguments.marks
    if not arguments.whole:
        tests, modules = tests_and_their_lines(names, marks, log)
        prepare(modules)

    counts: Counter[str] = Counter()
    alive = []
    for k, mutant in enumerate(sample, 1):
        if arguments.only and k not in arguments.only:
            continue
        right, wrong = mutant.source()
        began = time.monotonic()
        fate = _judge(mutant.file, wrong, names, marks, MAX_WHOLE, log) if arguments.whole else (
            verdict(mutant.file, wrong, mutant.line, tests, marks, log))
        counts[fate] += 1
        print(f'{k:4d} {fate:11} {time.monotonic() - began:6.1f} s  {mutant}', flush=True)
        if fate in ('survived', 'not reached'):
            alive.append((k, mutant, fate, right, wrong))
    for k, mutant, fate, right, wrong in alive:
        print(f'\n{k}: {mutant} {fate}')
        lines = difflib.unified_diff(right.splitlines(), wrong.splitlines(), n=2, lineterm='')
        print('\n'.join(list(lines)[3:]))
    told = ', '.join(f'{number} {fate}' for fate, number in counts.most_common())
    print(f'\n{sum(counts.values())} of {len(every)} mutants: {told}')
    log.unlink()


if __name__ == '__main__':
    main()
