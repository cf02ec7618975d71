"""Finds bags or plans that are given one by one, in folders, or by a pattern."""
from collections.abc import Callable, Collection, Iterable, Iterator
import glob
from itertools import takewhile
import os
from pathlib import Path
import re

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.task import Job, printable

MARK = 'fleet.json'
"""Name of the file that marks the folder of a fleet."""

_STORAGE = re.compile(r'(?P<stem>.+)\.(db3|mcap)(\.zstd)?', re.IGNORECASE)
_PLANS = ('.yaml', '.yml', '.json', '.csv')
_METADATA = 'metadata.yaml'


def is_many(arguments: Iterable[Path]) -> bool:
    """Whether arguments mean several files: several paths, a pattern, or a folder of files."""
    paths = list(arguments)
    return len(paths) != 1 or (not paths[0].exists() and glob.has_magic(str(paths[0]))) or (
        paths[0].is_dir() and not _is_given_bag(paths[0]))


def find_bags(arguments: Iterable[Path]) -> list[Job]:
    """Return the bags that are given, by name.

    Arguments are bags, folders that hold bags at any depth, and patterns (``**`` for any depth).
    The name of a bag is its path from the folder that was given. Links are followed; a bag that is
    reached in several ways counts once. Results of this package are skipped. HodynError: an
    argument has no bag, or two bags have the same name. FileNotFoundError: an argument does not
    exist.
    """
    return _found(
        arguments, 'bag there (a folder with metadata.yaml, or a .db3 or .mcap file)',
        lambda name: bool(_STORAGE.fullmatch(name)))


def each_bag(arguments: Iterable[Path]) -> list[Path]:
    """Return bags in the order given; bags of a folder or pattern as from `find_bags`."""
    return [path for given in arguments for path in (
        [job.path for job in find_bags([given])] if is_many([given]) else [given])]


def find_plans(arguments: Iterable[Path]) -> list[Job]:
    """Return the plans that are given, as `find_bags` does."""
    return _found(
        arguments, 'plan there (a bag, or a .yaml, .json or .csv file)',
        lambda name: bool(_STORAGE.fullmatch(name)) or name.lower().endswith(_PLANS))


def fingerprint(path: Path) -> list[list[str | int]]:
    """Return names, sizes and modification times, ns, of the files of a bag, or of a file.

    Files with the same fingerprint count as the same.
    """
    try:
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.is_file())
        else:  # the file, and the log that SQLite may leave
            files = [path, *filter(Path.exists, [Path(f'{path}-wal')])]
        return [[file.name, (known := file.stat()).st_size, known.st_mtime_ns] for file in files]
    except OSError:  # the task reports it
        return []


def size(path: Path) -> int:
    """Return the bytes of a bag or file."""
    return sum(int(count) for _, count, _ in fingerprint(path))


def _is_given_bag(path: Path) -> bool:
    """Whether a command for one bag accepts a path."""
    if not path.is_dir():
        return True
    files = os.listdir(path)
    stored = [name for name in files if _STORAGE.fullmatch(name)]
    alone = len(stored) == 1 and not any(
        (path / name).is_dir() or name.lower().endswith(_PLANS) for name in files)
    return alone or _is_bag_folder(path.resolve().name, files)


def _is_bag_folder(name: str, files: list[str]) -> bool:
    """Whether a folder with this name and these files is a bag, and not a folder of bags.

    A bag has metadata, or the parts NAME_0, NAME_1, … that a killed recorder leaves.
    """
    parts = {_STORAGE.sub(r'\g<stem>', file) for file in files if _STORAGE.fullmatch(file)}
    return _METADATA in files or (
        bool(parts) and parts == {f'{name}_{i}' for i in range(len(parts))})


def _is_result(files: Collection[str]) -> bool:
    """Whether a folder with these files is the result of a fleet or of a replay."""
    return MARK in files or {'summary.json', 'computed'}.issubset(files)


def _found(
    arguments: Iterable[Path], what: str, is_file: Callable[[str], bool],
) -> list[Job]:
    found: dict[str, Path] = {}
    for argument in arguments:
        jobs = _once(_matches(argument, is_file))
        for name, path in jobs:
            if found.setdefault(name, path) != path:
                raise HodynError(
                    f'{found[name]} and {path}: both would be called {name!r}; give the folder '
                    'that holds both')
        if not jobs:
            raise HodynError(f'{argument}: no {what}')
    return [Job(name, found[name]) for name in sorted(found)]


def _once(matches: Iterable[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """Return each file once: under its own name, else under that of the least nested link."""
    found: dict[str, tuple[bool, int, str, Path]] = {}
    for name, path in matches:
        place = os.path.realpath(path)
        one = (not place.endswith(f'{os.sep}{name}'), name.count(os.sep), printable(name),
               Path(os.path.abspath(path)))
        found[place] = min(found.get(place, one), one)
    return [(name, path) for _, _, name, path in found.values()]


def _matches(
    argument: Path, is_file: Callable[[str], bool],
) -> Iterator[tuple[str, Path]]:
    if argument.exists():
        if _is_given_bag(argument):
            yield argument.resolve().name, argument
            return
        root, matches = argument, [argument]
    elif glob.has_magic(str(argument)):
        root = Path(*takewhile(lambda part: not glob.has_magic(part), argument.parts))
        matches = [Path(text) for text in sorted(glob.glob(str(argument), recursive=True))]
    else:
        raise FileNotFoundError(f'{argument}: no such file or folder')
    for path in matches:
        is_folder = path.is_dir()
        parts = path.parts if is_folder else path.parts[:-1]
        for depth in range(len(root.parts), len(parts) + 1):
            folder = Path(*parts[:depth])
            files = os.listdir(folder)
            if _is_result(files):
                break
            if _is_bag_folder(folder.resolve().name, files):
                # A storage file in a bag stands for this bag; metadata.yaml is not a plan.
                if is_folder or _STORAGE.fullmatch(path.name):
                    yield (folder.resolve().name if folder == root
                           else str(folder.relative_to(root))), folder
                break
        else:
            if is_folder:
                yield from _below(path, root, is_file, root.resolve().parents)
            elif is_file(path.name):
                yield str(path.relative_to(root)), path


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links in a circle: the task reports them
        return False


def _below(
    folder: Path, root: Path, is_file: Callable[[str], bool], inside: Collection[Path],
) -> Iterator[tuple[str, Path]]:
    """Yield the matches in a folder; `inside` are the folders on the way to it."""
    place = folder.resolve()
    if place in inside:  # a link back: following it would never end
        return
    try:
        found = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # no permission to read it
        return
    folders = {entry.name for entry in found if _is_folder(entry)}
    names = [entry.name for entry in found]
    if _is_result(names):  # its bags are results
        return
    if folder != root and _is_bag_folder(
            folder.name, [name for name in names if name not in folders]):
        yield str(folder.relative_to(root)), folder
        return
    for entry in found:
        path = folder / entry.name
        if entry.name.startswith('.'):
            continue
        if entry.name in folders:
            yield from _below(path, root, is_file, [*inside, place])
        elif is_file(entry.name):
            yield str(path.relative_to(root)), path
