"""The check of files that are read."""
from collections.abc import Iterable
import errno
from itertools import islice
import os
from pathlib import Path
import stat

from hodyn_ros.common.errors import HodynError, did_you_mean

_LISTED = 2000  # greatest number of entries of a folder among which a similar name is sought


def check_file(path: Path, missing: str, names: Iterable[str] = ()) -> None:
    """Raise an error unless a path is a regular file, or a link to one.

    - FileNotFoundError: the path does not exist, or is a folder. The message begins with
      `missing`. If the path does not exist, the folder that was searched follows, and a similar
      name, if there is one, in this folder or among `names` (such as built-in robots).
    - PermissionError: a folder of the path may not be read.
    - HodynError: the path is a pipe or a device (these can block, or be read only once), or its
      links form a circle.
    """
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            raise HodynError(f'{path}: symbolic links that lead in a circle, not to a file'
                             ) from None
        if isinstance(error, PermissionError):
            raise
        raise FileNotFoundError(f'{missing}; {_what_is_there(path, names)}') from None
    if stat.S_ISDIR(kind):
        raise FileNotFoundError(f'{missing}; {path} is a folder: name a file in it')
    if not stat.S_ISREG(kind):
        raise HodynError(
            f'{path}: a pipe or a device, and a file is needed: write the content to a file, and '
            'give its name')


def _what_is_there(path: Path, names: Iterable[str]) -> str:
    """Return which folder was searched for a file, and a similar name."""
    folder = Path(os.path.abspath(path)).parent
    try:
        with os.scandir(folder) as entries:
            there = [entry.name for entry in islice(entries, _LISTED)]
    except (OSError, ValueError):
        return f'{folder} is no folder that can be read'
    name = path.name[-100:]
    return f'looked in {folder}' + (
        did_you_mean(name, there, cutoff=0.8) or did_you_mean(name, names))
