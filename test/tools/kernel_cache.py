"""A folder of compiled kernels that belongs to the sources of these kernels.

Numba looks at the file that a kernel stands in, not at those that it calls into: after an edit
there, callers in other files would go on with the old machine code.
"""
from hashlib import sha256
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
import shutil
import sys

from imports import imported, modules

KEPT = 5  # folders, of the latest sources: branches come and go


def kernel_sources(package: Path) -> list[Path]:
    """Return the files of a package that import numba, and all that these import."""
    files = modules(package)
    names = {name: set(imported(path)) for name, path in files.items()}
    left = {
        name for name, found in names.items() if any(x.split('.')[0] == 'numba' for x in found)}
    reached: set[str] = set()
    while left:
        reached |= left
        left = {x for name in left for x in names[name] if x in files} - reached
    return [files[name] for name in sorted(reached)]


def kernel_cache(folder: Path) -> Path:
    """Return the place in a folder for kernels of the package as it is; drop the oldest others."""
    spec = find_spec('hodyn_ros')
    assert spec is not None, 'hodyn_ros is not installed'
    assert spec.origin is not None
    digest = sha256(f'{sys.version} {metadata.version("numba")}'.encode())
    for path in kernel_sources(Path(spec.origin).parent):
        digest.update(path.read_bytes())
    cache = folder / digest.hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)
    cache.touch()
    for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return cache
