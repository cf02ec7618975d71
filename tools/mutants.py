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
from collections import Counter
from collections.abc import Iterable
import contextlib
import difflib
import importlib
import os
from pathlib import Path
import random
import re
import sys
import tempfile
import time

from judged_mutants import judge, tests_and_their_lines, verdict
from made_mutants import ROOT, mutants_of

DRAWING = re.compile(r'(figures?|picture|overview)\.py$')
# Seconds of tests that one mutant meets when all are asked for.
MAX_WHOLE = 900.0


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
        fate = judge(mutant.file, wrong, names, marks, MAX_WHOLE, log) if arguments.whole else (
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
