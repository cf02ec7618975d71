"""Writes files and folders completely or not at all, and never over protected files.

An output is written to a hidden folder, ``.hodyn-unfinished-…``, and renamed once it is complete
and on the disk. So the destination has the complete old or new output even if the process is
killed or the disk is full. But a folder that has other files as well, or that cannot be exchanged,
gets its new contents one by one: if the process is killed meanwhile, some are old and some new.

The hidden folder is beside the destination, or inside if the destination is a folder that cannot
be moved. SIGKILL leaves the hidden folder behind.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
import ctypes
from dataclasses import dataclass, field
import errno
import os
from pathlib import Path
import re
import secrets
import shutil
import stat
import sys
import tempfile

from hodyn_ros.common.errors import HodynError

UNFINISHED = '.hodyn-unfinished-'
_STREAMS = {'stdout': 1, 'stderr': 2}
_STREAM = re.compile(r'/dev/(?P<name>stdout|stderr)|(?:/dev|/proc/self)/fd/(?P<number>\d+)')
# Errors of writing for which Python gives no file name.
_WRITE_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
_METADATA = 'metadata.yaml'
_OF_BAGS = re.compile(rf'{re.escape(_METADATA)}|.*\.(mcap|db3)(\.zstd)?')
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@dataclass(frozen=True)
class Contents:
    """The contents of an output folder."""

    files: frozenset[str]  #: Names of files
    #: mapping of str to Contents: names of folders, for example bags, and their contents
    folders: Mapping[str, Contents] = field(default_factory=dict)
    #: Name of the file that marks an earlier result: a folder with this file, and with only these
    #: files and folders, may be replaced without force. Empty if there is no such file.
    mark: str = ''

    @classmethod
    def of_bag(cls, name: str) -> Contents:
        """Return the contents of a rosbag2 with one storage file and this folder name."""
        return cls(frozenset({_METADATA, f'{name}.db3', f'{name}.mcap'}))

    def all_files(self) -> list[str]:
        """Return the paths of all files, including those in folders."""
        inner = [f'{name}/{file}' for name, contents in self.folders.items()
                 for file in contents.all_files()]
        return sorted([*self.files, *inner])

    def present(self, folder: Path) -> list[Path]:
        """Return the paths of these files and folders that exist in a folder."""
        named = (folder / name for name in sorted({*self.files, *self.folders}))
        return [path for path in named if os.path.lexists(path)]

    def foreign(self, folder: Path) -> list[Path]:
        """Return the paths in a folder that differ from these contents in name or kind of file."""
        found = []
        for path in sorted(folder.iterdir()):
            kind = path.lstat().st_mode
            if path.name.startswith(UNFINISHED):
                continue
            if path.name in self.folders and stat.S_ISDIR(kind):
                found += self.folders[path.name].foreign(path)
            elif not (stat.S_ISREG(kind) and path.name in self.files):
                found.append(path)
        return found

    def is_result(self, folder: Path) -> bool:
        """Return whether a folder has an earlier result, and nothing else."""
        return bool(self.mark) and (folder / self.mark).is_file() and not self.foreign(folder)


def check_output(
    path: Path, contents: Contents | None = None, *, inputs: Iterable[Path] = (),
    force: bool = False,
) -> None:
    """Raise an error before any work is done if an output cannot or must not be written.

    Parameters
    ----------
    path : Path
        Path of the output.
    contents : Contents or None
        Contents of the output if it is a folder; None for a file.
    inputs : paths
        Files and folders to read. The output must not be one of them, contain one, or be a file
        in one.
    force : bool
        Whether existing files, and folders with these contents, are replaced.

    Raises
    ------
    HodynError
        The output is an input, contains one or is a file in one.
    OSError
        The output cannot be written; FileExistsError if something is in the way.

    """
    place = Path(os.path.realpath(path))
    for given in inputs:
        if _meet(place, Path(given)):
            raise HodynError(
                f'{path}: is the input {given}, holds it or is a file in it; choose another '
                'output')
    if contents is not None and _is_stream(path):
        raise NotADirectoryError(
            f'{path}: a pipe or a device, and this output is a folder: choose another path')
    if contents is not None:
        _check_folder(path, place, contents, force)
    elif _is_stream(path):
        return
    elif place.is_dir():
        raise IsADirectoryError(f'{path}: is a folder')
    elif not place.parent.is_dir():
        parent = place.parent if os.path.islink(path) else Path(path).parent
        raise FileNotFoundError(f'{path}: there is no folder {parent}')
    elif os.path.lexists(place):
        if not place.is_file():
            raise FileExistsError(f'{path}: is not a file that can be replaced')
        if not force:
            raise _in_the_way(path)
        if not os.access(place, os.W_OK):
            raise PermissionError(f'{path}: is write-protected')
    folder = next(one for one in (place, *place.parents) if one.is_dir() or (
        one != place and one.exists()))
    if not folder.is_dir():
        raise NotADirectoryError(f'{path}: {folder} is not a folder')
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f'{path}: {folder} cannot be written to')


@contextmanager
def replacing(
    path: Path, contents: Contents | None = None, *, force: bool = False,
) -> Iterator[Path]:
    """Yield a hidden path to write an output to, and rename it to `path` when the context ends.

    After an error, or if nothing was written, `path` is as it was. FIFOs and devices, also
    `/dev/stdout`, are written to when the context ends. A replaced file or folder passes its owner
    and mode to the new one; if it is a symbolic link, its target is replaced.

    Parameters
    ----------
    path : Path
        Path of the output; parents of a folder are made.
    contents : Contents or None
        Contents of the output if it is a folder, which the caller makes at the hidden path; None
        for a file. An existing folder is replaced as a whole and at once, where possible. If it
        has other files as well, these stay, and the contents are replaced one by one.
    force : bool
        As for `check_output`.

    Raises
    ------
    HodynError, OSError
        As in `check_output`. Errors that the caller's block raises, and errors of writing, name
        `path` instead of the hidden path.

    """
    place = Path(os.path.realpath(path))
    stream = contents is None and _is_stream(path)
    if not stream:
        check_output(path, contents, force=force)
    home = Path(tempfile.gettempdir()) if stream else _home(place, contents)
    made = [folder for folder in (home, *home.parents) if not folder.exists()]
    hidden = home / f'{UNFINISHED}{secrets.token_hex(8)}'
    # Keep name and ending: a bag's files are named after the bag, and an ending sets the format.
    new = hidden / ((path if contents is None else place).name or 'output')
    try:
        home.mkdir(parents=True, exist_ok=True)
        hidden.mkdir(mode=0o700)
        yield new
        if os.path.lexists(new):
            if stream:
                _pour(new, path)
            else:
                _finish(new, place)
                check_output(path, contents, force=force)  # files may have come meanwhile
                _put(new, place, contents, force)
    except (HodynError, OSError) as error:
        named = _named(error, str(new), str(path))
        if named is error:
            raise
        raise named from error
    finally:
        try:
            shutil.rmtree(hidden, ignore_errors=True)
        finally:  # a signal may interrupt the removal
            shutil.rmtree(hidden, ignore_errors=True)
        with suppress(OSError):  # folders with the output in them are not empty
            for folder in made:
                folder.rmdir()


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write a text file in UTF-8 by `replacing`; undecodable bytes of file names are escaped."""
    with replacing(path, force=force) as file:
        file.write_text(text, 'utf-8', 'backslashreplace')


def _meet(place: Path, given: Path) -> bool:
    """Return whether an output is an input, contains it or is a file in it, also through links."""
    source = Path(os.path.realpath(given))
    files = source.iterdir() if source.is_dir() else ()
    return place in (source, *source.parents) or any(
        _is_same(place, file) for file in (source, *files))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return False


def _is_stream(path: Path) -> bool:
    """Return whether a path is a FIFO, a device or an open descriptor, to be written directly."""
    if _STREAM.fullmatch(str(path)):
        return True
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(kind) or stat.S_ISCHR(kind)


def _pour(new: Path, path: Path) -> None:
    """Write a finished file to a stream."""
    known = _STREAM.fullmatch(str(path))
    if known:
        # Use the open descriptor with its offset: a new one would begin at 0.
        sys.stdout.flush()
        number = int(known['number'] or _STREAMS[known['name']])
        with new.open('rb') as source, os.fdopen(os.dup(number), 'wb') as target:
            shutil.copyfileobj(source, target)
    else:
        with new.open('rb') as source, open(path, 'wb') as target:
            shutil.copyfileobj(source, target)


def _in_the_way(path: Path) -> FileExistsError:
    return FileExistsError(f'{path}: exists; --force (in Python force=True) replaces it')


def _check_folder(path: Path, place: Path, contents: Contents, force: bool) -> None:
    if not place.exists():
        return
    if not place.is_dir():
        raise NotADirectoryError(
            f'{path}: is not a folder, as this output must be: choose another path')
    present, foreign = contents.present(place), contents.foreign(place)
    bag = next((file.name for file in foreign if (
        file.parent == place and _OF_BAGS.fullmatch(file.name))), None)
    if bag is not None and _METADATA not in contents.files:
        raise FileExistsError(f'{path}: is a rosbag2, with {bag}; choose another output')
    for file in foreign:
        name = file.relative_to(place).parts[0]
        if place / name in present:
            raise FileExistsError(
                f'{Path(path) / file.relative_to(place)}: is not an output of this command, and '
                'is never replaced; choose another output')
    if present and not force and not contents.is_result(place):
        raise _in_the_way(Path(path) / present[0].name)


def _home(place: Path, contents: Contents | None) -> Path:
    """Return where the hidden folder goes: beside the output, or into it if it cannot move."""
    stays = contents is not None and place.is_dir() and (
        contents.foreign(place) or os.path.ismount(place) or not os.access(place.parent, os.W_OK)
        or _is_in_use(place))
    return place if stays else place.parent


def _is_in_use(place: Path) -> bool:
    """Return whether a folder is or contains the working directory, and so must not move."""
    try:
        return Path.cwd().is_relative_to(place)
    except OSError:  # the working directory was removed already
        return False


def _finish(new: Path, place: Path) -> None:
    """Sync written files to the disk; give them owner and mode of the files they replace."""
    for path in (new, *new.rglob('*')):
        _sync(path)
        with suppress(OSError):  # nothing is replaced, or it is another user's
            former = os.stat(place / path.relative_to(new))
            os.chmod(path, stat.S_IMODE(former.st_mode))
            os.chown(path, former.st_uid, former.st_gid)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put(new: Path, place: Path, contents: Contents | None, force: bool) -> None:
    """Rename the written output to its place."""
    if contents is None:
        _put_file(new, place, force)
    elif not place.exists() or not any(place.iterdir()):
        new.rename(place)
    elif new.parent.parent == place or contents.foreign(place) or not _exchange(new, place):
        _put_contents(new, place, contents)
    for folder in {place.parent, place if contents is not None else place.parent}:
        with suppress(OSError):  # some file systems cannot sync a folder
            _sync(folder)


def _put_file(new: Path, place: Path, force: bool) -> None:
    if not force:
        try:
            os.link(new, place)  # unlike a renaming, this fails if a file came meanwhile
            return
        except FileExistsError:
            raise _in_the_way(place) from None
        except OSError:  # a file system without links
            pass
    os.replace(new, place)


def _put_contents(new: Path, place: Path, contents: Contents) -> None:
    """Replace the contents of a folder one by one, the mark last; move old ones away."""
    former = new.parent / 'former'
    former.mkdir()
    names = {path.name for path in (*new.iterdir(), *contents.present(place))}
    for name in sorted(names, key=lambda name: (name == contents.mark, name)):
        source, target = new / name, place / name
        if source.is_file():
            os.replace(source, target)
        elif not (source.exists() and target.exists() and _exchange(source, target)):
            if target.exists():
                target.rename(former / name)
            if source.exists():
                source.rename(target)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders at once; return False if the system or the file system cannot."""
    rename = getattr(ctypes.CDLL(None), 'renameat2', None)
    return rename is not None and not rename(
        _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)


def _named(error: HodynError | OSError, unfinished: str, path: str) -> HodynError | OSError:
    """Return the error with `path` instead of the hidden path or a missing file name."""
    if isinstance(error, OSError) and error.errno is not None:
        file = error.filename
        if isinstance(file, str) and UNFINISHED in file:
            return OSError(error.errno, error.strerror, path + file.partition(unfinished)[2])
        if file is None and error.errno in _WRITE_FAULTS:
            return OSError(error.errno, error.strerror, path)
        return error
    text = str(error)
    return type(error)(text.replace(unfinished, path)) if unfinished in text else error
