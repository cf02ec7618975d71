"""The bag of computed topics: the feed-forward of the recorded motion, beside the recording.

It opens in PlotJuggler, Foxglove and ``ros2 bag play``; stamps are those of the recording.
"""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
import sqlite3
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError

from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.messages.joint_states import MESSAGE_TYPE, blank
from hodyn_ros.messages.message_types import TYPES

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

TOPICS = tuple(f'/feedforward/{name}' for name in TORQUE_NAMES)
_VERSION: Literal[8] = 8  # of the bag format: the oldest that rosbags writes
_INSERT = 'INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)'


class ComputedBag:
    """Writes topics in blocks, as the node publishes them; a context manager.

    Position and velocity of the messages are the estimated motion, effort is Q, Q̇ or Q̈.
    """

    def __init__(
        self, path: Path, names: tuple[str, ...], topics: Sequence[str] = TOPICS,
    ) -> None:
        self.path = path
        self._names = names
        _remove_former(path)
        with self._as_os_error():
            self._writer: Any = Writer(
                path, version=_VERSION, storage_plugin=StoragePlugin.SQLITE3)
            self._writer.open()
            self._connections = [
                self._writer.add_connection(topic, MESSAGE_TYPE, typestore=TYPES)
                for topic in topics]

    def __enter__(self) -> 'ComputedBag':
        return self

    def __exit__(self, *_: object) -> None:
        # An error keeps what was written as well: the bag is closed as a whole one.
        with self._as_os_error():
            if any(self._writer.counts.values()):
                self._writer.close()
            else:
                self._writer.abort()

    @contextmanager
    def _as_os_error(self) -> Iterator[None]:
        """Name the bag in what its storage raises when it cannot write."""
        try:
            yield
        except (sqlite3.Error, WriterError) as error:
            raise OSError(f'{self.path}: {error}') from error

    def write(self, stamps: Stamps, received: Stamps, q: Array, torque: Array) -> None:
        """Write messages at header stamps (T,) and receive times (T,), both ns.

        Parameters
        ----------
        stamps, received : (T,) int64 arrays
            Header stamps and receive times, ns.
        q : (T, 5, n) array
            The motion.
        torque : (T, topics, n) array
            Q, Q̇, Q̈.

        """
        if not len(stamps):
            return
        messages = blank(self._names, len(stamps))
        messages['sec'], messages['nanosec'] = np.divmod(stamps, 1_000_000_000)
        messages['position'], messages['velocity'] = q[:, 0], q[:, 1]
        times = received.tolist()
        rows: list[tuple[int, int, bytes]] = []
        for order, connection in enumerate(self._connections):
            messages['effort'] = torque[:, order]
            raw, size = messages.tobytes(), messages.itemsize
            rows.extend(
                (connection.id, time, raw[i * size:(i + 1) * size])
                for i, time in enumerate(times))
            self._writer.counts[connection.id] += len(times)
        # In one transaction a block and past the writer's checks of each message, which are the
        # larger part of its time.
        with self._as_os_error():
            self._writer.storage.cursor.executemany(_INSERT, rows)
            self._writer.storage.conn.commit()
        self._writer.min_timestamp = min(self._writer.min_timestamp, min(times))
        self._writer.max_timestamp = max(self._writer.max_timestamp, max(times))


def _remove_former(path: Path) -> None:
    """Remove the bag of an earlier replay, and nothing else."""
    if path.is_dir():
        for name in ('metadata.yaml', f'{path.name}.db3', f'{path.name}.db3-journal'):
            (path / name).unlink(missing_ok=True)
        try:
            path.rmdir()
        except OSError:
            raise FileExistsError(
                f'{path}: holds files that are not of a replay; choose another output') from None
