"""Writes rosbag2 bags, complete or not at all; no ROS installation is needed."""
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import sqlite3
from typing import Any, Literal

from rosbags.rosbag2 import StoragePlugin, Writer, WriterError

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents, replacing


@contextmanager
def bag_writer(
    path: Path, *, version: Literal[8, 9] = 9, storage: StoragePlugin = StoragePlugin.SQLITE3,
    force: bool = False,
) -> Iterator[Any]:
    """Yield an open `rosbags.rosbag2.Writer`; the bag appears at `path` when the context ends.

    Raises HodynError for a path that the storage does not allow, and OSError, with the path, if
    the bag cannot be written.
    """
    if storage is StoragePlugin.SQLITE3 and set(str(path.absolute())) & set('?#%'):
        raise HodynError(f'{path}: the path of a bag must not contain ?, # or %')
    with replacing(path, Contents.of_bag(path.resolve().name), force=force) as unfinished:
        try:
            with Writer(unfinished, version=version, storage_plugin=storage) as writer:
                yield writer
        except (sqlite3.Error, WriterError) as error:
            raise OSError(f'{unfinished}: {error}') from error
