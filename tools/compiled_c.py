"""Generated C, compiled with the machine's compiler and called through ctypes."""
import ctypes
from functools import cached_property
import shutil
import subprocess

import numpy as np
import pytest

from hodyn_ros.codegen.files import file_names, files
from hodyn_ros.codegen.functions import functions
from hodyn_ros.codegen.settings import Settings

STRICT = ('-std=c99', '-Wall', '-Wextra', '-Wconversion', '-pedantic', '-Werror')
CC, CXX = shutil.which('cc'), shutil.which('g++') or shutil.which('clang++')
needs_compiler = pytest.mark.skipif(CC is None, reason='no C compiler here')


def compile_with(compiler, *arguments):
    """Call a compiler; raise for its errors, and with -Werror, which STRICT has, for warnings."""
    subprocess.run([compiler, *arguments], check=True, timeout=120)


def printed(program, *sources, flags=()):
    """Compile a program from these sources, run it, and return what it prints."""
    compile_with(CC, *STRICT, *flags, '-o', program, *sources, '-lm')
    return subprocess.run(
        [program], capture_output=True, text=True, check=True, timeout=60).stdout


class CompiledC:
    """The functions of generated code, called with arrays that have a row for each instant."""

    def __init__(self, folder, settings, *, compiler=CC, flags=('-O1',), spoil=('', '')):
        self.settings = settings
        self.functions = {one.name: one for one in functions(settings)}
        self.number = np.dtype(np.float32 if settings.single else np.float64)
        self.library = folder / f'{settings.prefix}.so'
        for name, text in files(settings).items():
            (folder / name).write_text(text.replace(*spoil, int(name.endswith('.c'))), 'utf-8')
        _, source, *_ = file_names(settings.prefix)
        compile_with(
            compiler, *STRICT, *flags, '-shared', '-fPIC', '-o', self.library, folder / source,
            '-lm')

    @cached_property
    def _loaded(self):
        return ctypes.CDLL(str(self.library))

    def self_test(self):
        return getattr(self._loaded, f'{self.settings.prefix}_self_test')()

    def call(self, name, *arguments, out):
        """Call a function at T instants; return what it writes to `out`, and its T return values.

        Arguments that are arrays, (T, …), pass one row to each call; others, such as floats, pass
        the same to all. `out` is an array, (T, …), or a tuple of arrays, and so is the result.
        """
        function = getattr(self._loaded, f'{self.settings.prefix}_{name}')
        arrays = [
            np.ascontiguousarray(one, self.number) if isinstance(one, np.ndarray) else one
            for one in arguments]
        several = isinstance(out, tuple)
        results = [
            np.ascontiguousarray(one, self.number) for one in (out if several else (out,))]
        returned = []
        for t in range(len(results[0])):
            returned.append(function(*(self._passed(one, t) for one in (*arrays, *results))))
        found = tuple(result.astype(float) for result in results)
        return (found if several else found[0]), np.array(returned)

    def _passed(self, one, t):
        if isinstance(one, np.ndarray):
            return ctypes.c_void_p(one.ctypes.data + t * one.strides[0])
        if isinstance(one, float):
            return (ctypes.c_float if self.settings.single else ctypes.c_double)(one)
        return one


def compiled(folder, robot, **settings):
    """Return the compiled code of a robot."""
    options = {
        name: settings.pop(name) for name in ('compiler', 'flags', 'spoil') if name in settings}
    return CompiledC(folder, Settings(robot, **settings), **options)


def furthest(found, right):
    """Return how far results (T, r + 1, …) are off, as a share of each order's largest entry."""
    size = np.abs(right).max(axis=(0, 2), keepdims=True)
    return float((np.abs(found - right) / np.where(size > 0.0, size, 1.0)).max())
