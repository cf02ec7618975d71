"""What the modules of a package import, read from their sources."""
import ast
from collections.abc import Iterator
from pathlib import Path


def modules(package: Path) -> dict[str, Path]:
    """Return the files of a package by their modules' names."""
    return {
        '.'.join(path.relative_to(package.parent).with_suffix('').parts).removesuffix('.__init__'):
        path for path in sorted(package.rglob('*.py'))}


def imported(path: Path) -> Iterator[str]:
    """Yield the names that a file imports anywhere in it, of modules or of what is in them."""
    for node in ast.walk(ast.parse(path.read_text('utf-8'))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}:{node.lineno}: a relative import'
            yield from (f'{node.module}.{name.name}' for name in node.names)
            yield node.module
