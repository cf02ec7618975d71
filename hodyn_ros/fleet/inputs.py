"""Which files are meant: bags or plans named one by one, in folders, or by a pattern."""
from collections.abc import Callable, Iterable, Iterator
import glob
import os
from pathlib import Path
import re

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.outcome import Job

_STORAGE = re.compile(r'(?P<stem>.+)\.(db3|mcap)(\.zstd)?', re.IGNORECASE)
_PLANS = ('.yaml', '.yml', '.json', '.csv')
_METADATA = 'metadata.yaml'
_RESULTS = {'ledger.jsonl', 'report.html'}  # of a fleet, of a replay


def is_many(arguments: Iterable[Path]) -> bool:
    """Whether arguments of a command mean several files: more than one, a pattern, a folder."""
    paths = list(arguments)
    return len(paths) != 1 or (not paths[0].exists() and glob.has_magic(str(paths[0]))) or (
        paths[0].is_dir() and not _is_given_bag(paths[0]))


def find_bags(arguments: Iterable[Path]) -> list[Job]:
    """Return the bags that are meant, by name.

    Parameters
    ----------
    arguments : paths
        Bags, folders that hold bags at any depth, and patterns (``**`` for any depth). The name
        of a bag is its path from the folder that was given.

    Raises
    ------
    HodynError
        When there is none, or two have the same name.
    FileNotFoundError
        When an argument is not there.

    """
    return _found(
        arguments, 'bag there, a folder with metadata.yaml or a .db3 or .mcap file',
        lambda name: bool(_STORAGE.fullmatch(name)))


def find_plans(arguments: Iterable[Path]) -> list[Job]:
    """Return the plans that are meant, as `find_bags` does."""
    return _found(
        arguments, 'plan there, a bag or a .yaml, .json or .csv file',
        lambda name: bool(_STORAGE.fullmatch(name)) or name.lower().endswith(_PLANS))


def fingerprint(path: Path) -> list[list[str | int]]:
    """Return names, sizes and modification times, ns, of the files of a bag, or of the one file.

    What has the same fingerprint is taken for the same.
    """
    try:
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.is_file())
        else:  # with the log that SQLite leaves
            files = [path, *filter(Path.exists, [Path(f'{path}-wal')])]
        return [[file.name, (known := file.stat()).st_size, known.st_mtime_ns] for file in files]
    except OSError:  # the task says it
        return []


def _is_given_bag(path: Path) -> bool:
    """Whether a path is what a command for one bag takes."""
    if not path.is_dir():
        return True
    files = os.listdir(path)
    stored = [name for name in files if _STORAGE.fullmatch(name)]
    alone = len(stored) == 1 and not any(
        (path / name).is_dir() or name.lower().endswith(_PLANS) for name in files)
    return alone or _is_bag_folder(path.resolve().name, files)


def _is_bag_folder(name: str, files: list[str]) -> bool:
    """Whether a folder of a name that holds these files is a bag, and not one of bags.

    It is if it has its metadata, or the parts NAME_0, NAME_1, … as a recorder leaves them that
    was killed.
    """
    parts = {_STORAGE.sub(r'\g<stem>', file) for file in files if _STORAGE.fullmatch(file)}
    return _METADATA in files or (
        bool(parts) and parts == {f'{name}_{i}' for i in range(len(parts))})


def _found(
    arguments: Iterable[Path], what: str, is_file: Callable[[str], bool],
) -> list[Job]:
    found: dict[str, Path] = {}
    for argument in arguments:
        count = 0
        for name, path in _matches(argument, is_file):
            count += 1
            path = Path(os.path.abspath(path))
            if found.setdefault(name, path) != path:
                raise HodynError(
                    f'{found[name]} and {path}: both would be called {name!r}; give the folder '
                    'that holds both')
        if not count:
            raise HodynError(f'{argument}: no {what}')
    return [Job(name, found[name]) for name in sorted(found)]


def _matches(
    argument: Path, is_file: Callable[[str], bool],
) -> Iterator[tuple[str, Path]]:
    if argument.exists():
        if _is_given_bag(argument):
            yield argument.resolve().name, argument
        else:
            yield from _below(argument, argument, is_file)
        return
    if not glob.has_magic(str(argument)):
        raise FileNotFoundError(f'{argument}: no such file or folder')
    fixed = 0
    while not glob.has_magic(argument.parts[fixed]):
        fixed += 1
    root = Path(*argument.parts[:fixed])
    for text in sorted(glob.glob(str(argument), recursive=True)):
        path = Path(text)
        if path.is_dir():
            if _is_bag_folder(path.name, os.listdir(path)):
                yield str(path.relative_to(root)), path
            else:
                yield from _below(path, root, is_file)
        elif is_file(path.name) and not _is_bag_folder(path.parent.name, os.listdir(path.parent)):
            yield str(path.relative_to(root)), path


def _below(
    folder: Path, root: Path, is_file: Callable[[str], bool],
) -> Iterator[tuple[str, Path]]:
    for place, folders, files in os.walk(folder):
        here = Path(place)
        if not _RESULTS.isdisjoint(files):
            folders.clear()  # bags in it are our own
            continue
        folders[:] = sorted(name for name in folders if not name.startswith('.'))
        if here != root and _is_bag_folder(here.name, files):
            folders.clear()
            yield str(here.relative_to(root)), here
            continue
        for name in sorted(files):
            if is_file(name) and not name.startswith('.'):
                yield str((here / name).relative_to(root)), here / name
