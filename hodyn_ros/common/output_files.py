"""Writing of files and folders: completely or not at all, and never over protected files.

An output is written to a hidden folder, ``.hodyn-unfinished-…``, beside its destination, and
renamed once it is complete and on the disk. So the destination holds the complete old or new
output, whenever the process is killed or the disk is full; after SIGKILL the hidden folder is
left beside it.
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
# Faults of writing, in whose errors Python names no file.
_WRITE_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
_METADATA = 'metadata.yaml'
_OF_BAGS = re.compile(rf'{re.escape(_METADATA)}|.*\.(mcap|db3)(\.zstd)?')
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@dataclass(frozen=True)
class Contents:
    """What is written to a folder.

    Attributes
    ----------
    files : set of str
        Names of files.
    folders : mapping of str to Contents
        Names of folders, for example bags, and their contents.
    mark : str
        The file that marks an earlier result: a folder with it, and with nothing else than these
        files and folders, may be replaced without force. None by default.

    """

    files: frozenset[str]
    folders: Mapping[str, Contents] = field(default_factory=dict)
    mark: str = ''

    @classmethod
    def of_bag(cls, name: str) -> Contents:
        """Return what is in a rosbag2 of one storage file, whose folder has a name."""
        return cls(frozenset({_METADATA, f'{name}.db3', f'{name}.mcap'}))

    def all_files(self) -> list[str]:
        """Return all files, those in folders by their path."""
        inner = [f'{name}/{file}' for name, contents in self.folders.items()
                 for file in contents.all_files()]
        return sorted([*self.files, *inner])

    def present(self, folder: Path) -> list[Path]:
        """Return what has one of these names in a folder."""
        named = (folder / name for name in sorted({*self.files, *self.folders}))
        return [path for path in named if os.path.lexists(path)]

    def foreign(self, folder: Path) -> list[Path]:
        """Return the other contents of a folder: other names, and names of another kind."""
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
        """Whether a folder is an earlier result, and nothing else."""
        return bool(self.mark) and (folder / self.mark).is_file() and not self.foreign(folder)


def check_output(
    path: Path, contents: Contents | None = None, *, inputs: Iterable[Path] = (),
    force: bool = False,
) -> None:
    """Raise now, rather than after the work, for an output that could or must not be written.

    Parameters
    ----------
    path : Path
        Where the output is to be.
    contents : Contents or None
        What is written to it if it is a folder; None for a file.
    inputs : paths
        Files and folders that are read: an output is none of these, holds none, and is no
        file of a folder that is read.
    force : bool
        Whether existing files, and folders of these contents, are replaced.

    Raises
    ------
    HodynError
        When the output is an input.
    OSError
        FileExistsError for what is in the way; what else makes it impossible to write.

    """
    place = Path(os.path.realpath(path))
    for given in inputs:
        if _meet(place, Path(given)):
            raise HodynError(f'{path}: is or holds the input {given}; choose another output')
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
            raise FileExistsError(f'{path}: is no file that can be replaced')
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
    """Yield where to write what is to be at a path, and rename it when the context ends.

    An error leaves the path as it was, and so does a context in which nothing was written.
    FIFOs and devices, `/dev/stdout` among them, are written to when the context ends. A file or
    folder that is replaced hands on its owner and mode; of a symbolic link, what it points to is
    replaced.

    Parameters
    ----------
    path : Path
        Where the output is to be; of a folder, parents are made.
    contents : Contents or None
        What is written to it if it is a folder, which the caller makes; None for a file. Of a
        folder that holds other things as well, these files and folders alone are replaced, one by
        one. Otherwise the folder is replaced at once, where the file system can do that.
    force : bool
        As for `check_output`.

    Raises
    ------
    HodynError, OSError
        As of `check_output`; and those of the context and of writing, with the path instead of
        the hidden one.

    """
    place = Path(os.path.realpath(path))
    stream = contents is None and _is_stream(path)
    if not stream:
        check_output(path, contents, force=force)
    home = Path(tempfile.gettempdir()) if stream else _home(place, contents)
    made = [folder for folder in (home, *home.parents) if not folder.exists()]
    hidden = home / f'{UNFINISHED}{secrets.token_hex(8)}'
    # A bag's files have its name, and the extension of a file is its format.
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
                check_output(path, contents, force=force)  # what came meanwhile counts as well
                _put(new, place, contents, force)
    except (HodynError, OSError) as error:
        named = _named(error, str(new), str(path))
        if named is error:
            raise
        raise named from error
    finally:
        try:
            shutil.rmtree(hidden, ignore_errors=True)
        finally:  # a signal may come while it is removed
            shutil.rmtree(hidden, ignore_errors=True)
        with suppress(OSError):  # not empty: the output is in them
            for folder in made:
                folder.rmdir()


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write a text file in UTF-8 by `replacing`."""
    with replacing(path, force=force) as file:
        file.write_text(text, 'utf-8')


def _meet(place: Path, given: Path) -> bool:
    """Whether an output is an input, a file of one, or a folder that holds one, by any name."""
    source = Path(os.path.realpath(given))
    files = source.iterdir() if source.is_dir() else ()
    return place in (source, *source.parents) or any(
        _is_same(place, file) for file in (source, *files))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return False


def _is_stream(path: Path) -> bool:
    """Whether a path is written to as it is: a FIFO, a device, an open file of this process."""
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
        raise NotADirectoryError(f'{path}: is not a folder')
    present, foreign = contents.present(place), contents.foreign(place)
    bag = next((file.name for file in foreign if (
        file.parent == place and _OF_BAGS.fullmatch(file.name))), None)
    if bag is not None and _METADATA not in contents.files:
        raise FileExistsError(f'{path}: is a rosbag2, with {bag}; choose another output')
    for file in foreign:
        name = file.relative_to(place).parts[0]
        if place / name in present:
            raise FileExistsError(
                f'{Path(path) / file.relative_to(place)}: is not of this command, and is never '
                'replaced; choose another output')
    if present and not force and not contents.is_result(place):
        raise _in_the_way(Path(path) / present[0].name)


def _home(place: Path, contents: Contents | None) -> Path:
    """Return where the hidden folder is made: beside the place, or within one that must stay."""
    stays = contents is not None and place.is_dir() and (
        contents.foreign(place) or os.path.ismount(place) or not os.access(place.parent, os.W_OK)
        or _is_in_use(place))
    return place if stays else place.parent


def _is_in_use(place: Path) -> bool:
    """Whether a folder is or contains the working directory, which must not be removed."""
    try:
        return Path.cwd().is_relative_to(place)
    except OSError:  # it has lost its own already
        return False


def _finish(new: Path, place: Path) -> None:
    """Bring all that was written to the disk, with owner and mode of what it replaces."""
    for path in (new, *new.rglob('*')):
        _sync(path)
        with suppress(OSError):  # there is none, or it is another's
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
    """Rename what was written to its place."""
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
            os.link(new, place)  # a file that came meanwhile is not replaced
            return
        except FileExistsError:
            raise _in_the_way(place) from None
        except OSError:  # a file system without links
            pass
    os.replace(new, place)


def _put_contents(new: Path, place: Path, contents: Contents) -> None:
    """Replace these contents of a folder one by one, the mark last, and remove former ones."""
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
    """Exchange two folders at once; False where the system or the file system cannot."""
    rename = getattr(ctypes.CDLL(None), 'renameat2', None)
    return rename is not None and not rename(
        _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)


def _named(error: HodynError | OSError, unfinished: str, path: str) -> HodynError | OSError:
    """Return an error that names the path, if it names where it was written to, or no file."""
    if isinstance(error, OSError) and error.errno is not None:
        file = error.filename
        if isinstance(file, str) and UNFINISHED in file:
            return OSError(error.errno, error.strerror, path + file.partition(unfinished)[2])
        if file is None and error.errno in _WRITE_FAULTS:
            return OSError(error.errno, error.strerror, path)
        return error
    text = str(error)
    return type(error)(text.replace(unfinished, path)) if unfinished in text else error
