"""Which tests run which lines, and what they say of a mutant, in forked processes."""
import ast
from collections import Counter
from collections.abc import Iterable, Iterator
import contextlib
import hashlib
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
import os
from pathlib import Path
import pickle
import re
import signal
import sys
import tempfile
import time
import traceback
from typing import Any, NamedTuple

from hypothesis import Phase, settings
from made_mutants import ROOT
import pytest

CACHE = ROOT / '.pytest_cache' / 'tests_of_lines'
# Seconds of tests that one mutant meets; those beyond are not run.
MAX_TESTS = 60.0
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


class Tests(NamedTuple):
    """What is known of a file of tests."""

    key: str
    hits: dict[str, dict[int, set[str]]]  # source → line → tests, or the file for what they share
    seconds: dict[str, float]


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
        for path in sorted((ROOT / folder).rglob('*.py')) if 'mutant' not in path.name
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
    return judge(file, text, names, marks, 60.0 + 5.0 * seconds, log)


def judge(
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
