"""Opening rosbag2 bags: a folder, or a lone file of one; no ROS installation is needed."""
from pathlib import Path
from typing import Any

from rosbags.rosbag2 import Reader

from hodyn_ros.common.errors import HodynError


def open_bag(path: Path) -> Any:
    """Return an open `rosbags.rosbag2.Reader` of a bag's folder or of its lone storage file.

    Raises FileNotFoundError where nothing is, HodynError where it is no bag, in one line.
    """
    if not path.exists():
        raise FileNotFoundError(f'no bag {str(path)!r}')
    if path.is_dir() and not (path / 'metadata.yaml').exists():
        files = [*path.glob('*.db3'), *path.glob('*.mcap')]
        if len(files) != 1:
            raise HodynError(
                f'{path}: a folder without metadata.yaml and with '
                f'{len(files)} .db3 or .mcap files; name one, or run ros2 bag reindex')
        path = files[0]
    try:
        reader = Reader(path)
        reader.open()
    except Exception as error:  # rosbags lets through what its storages raise on damaged bytes
        raise HodynError(f'{path}: not a readable rosbag2: {first_line(error)}') from error
    return reader


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its kind where it says nothing."""
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
