"""The check of files that are read."""
import errno
from pathlib import Path
import stat

from hodyn_ros.common.errors import HodynError


def check_file(path: Path, missing: str) -> None:
    """Raise an error unless a path is a regular file, or a link to one.

    FileNotFoundError, with the text `missing`: nothing is there, or a folder. HodynError: it is a
    pipe or a device (these can block, or be read only once), or links form a circle.
    """
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            raise HodynError(f'{path}: symbolic links that lead in a circle, not to a file'
                             ) from None
        if isinstance(error, PermissionError):
            raise
        raise FileNotFoundError(missing) from None
    if stat.S_ISDIR(kind):
        raise FileNotFoundError(missing)
    if not stat.S_ISREG(kind):
        raise HodynError(
            f'{path}: a pipe or a device, and a file is needed: write the content to a file, and '
            'give its name')
