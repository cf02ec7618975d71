"""Compiled kernels on disk are used again, and not after an edit of what they import."""
import importlib
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

import pytest

PACKAGE = Path(__file__).parents[2] / 'hodyn_ros'
KERNELS = 'from hodyn_ros.common.jit import njit\nfrom hodyn_ros.middle import doubled\n\n' \
    '@njit()\ndef kernel(x):\n    return doubled(x) + 1.0\n'
MIDDLE = 'from hodyn_ros import bottom\nfrom hodyn_ros.common.jit import njit\n\n' \
    '@njit()\ndef doubled(x):\n    return bottom.FACTOR * x\n'
CALL = 'from hodyn_ros.common.jit import is_kept; from hodyn_ros.top import kernel; ' \
    'kept = is_kept(kernel); value = kernel(5.0); hits = sum(kernel.stats.cache_hits.values()); ' \
    'assert is_kept(kernel) and kept == bool(hits), (kept, hits); print(value, hits)'

MADE = 'from hodyn_ros.common.jit import njit\n\n\ndef adding(amount):\n    @njit()\n' \
    '    def add(x):\n        return x + amount\n\n    return add\n'


@pytest.fixture
def call(tmp_path):
    """Return a function that writes the constant, calls the kernel and says if it was compiled."""
    package = tmp_path / 'hodyn_ros'
    (package / 'common').mkdir(parents=True)
    (package / '__init__.py').touch()
    shutil.copy(PACKAGE / 'common' / 'jit.py', package / 'common')
    (package / 'top.py').write_text(KERNELS)
    (package / 'middle.py').write_text(MIDDLE)
    (package / 'unrelated.py').touch()

    def run(factor=None, unrelated=None):
        if factor is not None:
            (package / 'bottom.py').write_text(f'FACTOR = {factor}\n')
        if unrelated is not None:
            (package / 'unrelated.py').write_text(unrelated)
        done = subprocess.run(
            [sys.executable, '-B', '-c', CALL], capture_output=True, text=True, check=True,
            cwd=tmp_path, env={
                **os.environ, 'PYTHONPATH': str(tmp_path), 'NUMBA_DISABLE_JIT': '0',
                'NUMBA_CACHE_DIR': str(tmp_path / 'cache')})
        value, hits = done.stdout.split()
        return float(value), int(hits)

    return run


@pytest.mark.slow
def test_an_edit_of_an_imported_constant_is_seen_at_any_depth(call):
    assert call(factor=2.0) == (11.0, 0)
    assert call() == (11.0, 1)
    assert call(factor=3.0) == (16.0, 0)
    assert call(factor=2.0) == (11.0, 0)


@pytest.mark.slow
def test_an_edit_elsewhere_recompiles_nothing(call):
    assert call(factor=2.0) == (11.0, 0)
    assert call(unrelated='X = 1\n') == (11.0, 1)


def test_every_kernel_of_the_package_has_the_stamp():
    """Bare njit(cache=True) would keep stale kernels."""
    compiler = re.compile(
        r'\b(nb|numba)\.(n?jit|(gu)?vectorize)\b|^\s*from numba import', re.MULTILINE)
    for file in PACKAGE.rglob('*.py'):
        if file.name != 'jit.py':
            assert not compiler.search(file.read_text(encoding='utf-8')), file


def test_kernels_that_processes_apart_compiled_are_not_taken_for_one(tmp_path):
    """Each process counts its kernels from 1: the linker would take two of one name for one."""
    (tmp_path / 'made.py').write_text(MADE)

    def run(code):
        subprocess.run(
            [sys.executable, '-c', f'import made\n{code}'], check=True, env={
                **os.environ, 'PYTHONPATH': f'{tmp_path}{os.pathsep}{PACKAGE.parent}',
                'NUMBA_DISABLE_JIT': '0', 'NUMBA_CACHE_DIR': str(tmp_path / 'cache')})

    run('assert made.adding(1.0)(5.0) == 6.0')
    run('assert made.adding(2.0)(5.0) == 7.0')
    run('import numba\none, two = made.adding(1.0), made.adding(2.0)\n'
        'both = numba.njit(lambda x: (one(x), two(x)))\nassert both(5.0) == (6.0, 7.0), both(5.0)')


def test_code_that_another_process_put_in_its_place_is_not_used(tmp_path, monkeypatch):
    """Two processes that compile a kernel for two constants may choose one number for both."""
    (tmp_path / 'made.py').write_text(MADE)
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module('made')
    for amount in (1.0, 2.0):
        assert made.adding(amount)(5.0) == 5.0 + amount
    code = sorted(Path(made.adding(0.0).stats.cache_path).glob('made.adding*.nbc'))
    assert len(code) == 2
    shutil.copy(code[1], code[0])
    kernel = made.adding(1.0)
    assert kernel(5.0) == 6.0
    assert not kernel.stats.cache_hits
    assert made.adding(1.0)(5.0) == 6.0
