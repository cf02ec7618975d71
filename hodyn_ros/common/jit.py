"""`njit`: numba's, with compiled code kept on disk until one of its source files changes.

Numba itself recompiles a kernel only if the kernel's own file changes, and misses edits of kernels
and constants that this file imports. Here a change of any file of this package that it imports,
directly or indirectly, counts as well.
"""
from collections.abc import Callable, Iterator
import contextlib
import functools
import gc
import hashlib
import inspect
import os
import re
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile

_PACKAGE = __name__.split('.')[0]
_ROOT = os.path.abspath(__file__)
for _ in __name__.split('.'):
    _ROOT = os.path.dirname(_ROOT)
_IMPORTS = re.compile(
    rf'^[ \t]*(?:from ({_PACKAGE}[\w.]*) import (?:\(([^)]*)\)|(.*))'
    rf'|import ({_PACKAGE}[\w.]*))', re.MULTILINE)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return `numba.njit(cache=True, **options)`; its cache depends on all sources."""
    # No kernel is called from C, and wrappers for C take time to compile.
    compiled = numba.njit(cache=True, **{'no_cfunc_wrapper': True, **options})

    def decorate(function: Callable[..., Any]) -> Any:
        # The constants that a kernel closes over become part of its name: the linker would mix up
        # kernels with the same name that were compiled by two processes.
        for cell in function.__closure__ or ():
            if not isinstance(cell.cell_contents, int | float | str):
                raise TypeError(f'{function.__qualname__}: a kernel may close over constants only')
            function.__qualname__ += f'_{cell.cell_contents}'
        dispatcher = compiled(function)
        # Private attributes, which exist since numba 0.59; without them numba's own stamp is used.
        file: Any = getattr(getattr(dispatcher, '_cache', None), '_cache_file', None)
        if hasattr(file, '_source_stamp'):
            file._source_stamp = stamp(os.path.abspath(inspect.getfile(function)))
        if isinstance(file, IndexDataCacheFile):
            file.__class__ = _KeyedFile
        return dispatcher

    return decorate


class _KeyedFile(IndexDataCacheFile):
    """The cache files of one kernel; each also contains the key for which it was compiled.

    Numba numbers these files. Two processes that compile a kernel for different types or constants
    at the same time may use the same number; the key shows whose file it is.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))  # type: ignore[no-untyped-call]

    def load(self, key: Any) -> Any:
        *found, data = super().load(key) or (None,)  # type: ignore[no-untyped-call]
        return data if found == [self._source_stamp, key] else None


def threads() -> int:
    """Return numba's number of threads; it is 1 in worker processes, which share the cores."""
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Switch the garbage collector off, which saves a sixth of the time to compile many kernels.

    The collector would search all of numba's objects, which stay in memory, again and again.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def is_kept(kernel: Any) -> bool:
    """Return whether a kernel's compiled code is on disk; True if that is unknown."""
    file: Any = getattr(getattr(kernel, '_cache', None), '_cache_file', None)
    return file is None or bool(file._load_index())


@functools.cache
def stamp(file: str) -> str:
    """Return the hash of a file and of all files of this package that it imports, to any depth."""
    found: set[str] = set()
    new = {file}
    while new:
        found |= new
        new = {imported for known in new for imported in _source(known)[1]} - found
    return hashlib.sha256(b''.join(sorted(_source(file)[0] for file in found))).hexdigest()


@functools.cache
def _source(file: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the digest of a file, and the files of the package that it imports."""
    with open(file, 'rb') as stream:
        text = stream.read()
    found = []
    for package, several, rest, module in _IMPORTS.findall(text.decode()):
        names = re.findall(r'\w+', several or rest)
        for dotted in (package or module, *(f'{package}.{name}' for name in names)):
            found += _files(dotted)
    return hashlib.sha256(text).digest(), tuple(found)


@functools.cache
def _files(dotted: str) -> list[str]:
    """Return the file of a module; an empty list for a name that is not a module."""
    place = os.path.join(_ROOT, *dotted.split('.'))
    candidates = (f'{place}.py', os.path.join(place, '__init__.py'))
    return [file for file in candidates if os.path.isfile(file)]
