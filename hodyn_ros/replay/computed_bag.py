"""The bag of computed topics: the feed-forward of the recorded motion, beside the recording.

It opens in PlotJuggler, Foxglove and ``ros2 bag play``; stamps are those of the recording.
"""
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
import itertools
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.messages.bag_writer import bag_writer
from hodyn_ros.messages.joint_states import MESSAGE_TYPE, blank
from hodyn_ros.messages.message_types import TYPES

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

TOPICS = tuple(f'/feedforward/{name}' for name in TORQUE_NAMES)
_VERSION: Literal[8] = 8  # of the bag format: the oldest that rosbags writes
_INSERT = 'INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)'


class ComputedBag:
    """Writes topics in blocks, as the node publishes them; a context manager.

    The bag is there when the context has ended, and not at all after an error. Position and
    velocity of the messages are the estimated motion, effort is Q, Q̇ or Q̈.
    """

    def __init__(
        self, path: Path, names: tuple[str, ...], topics: Sequence[str] = TOPICS, *,
        force: bool = False,
    ) -> None:
        self._names = names
        self._topics = topics
        self._bag = bag_writer(path, version=_VERSION, force=force)
        self._end = ExitStack()

    def __enter__(self) -> 'ComputedBag':
        self._writer: Any = self._end.enter_context(self._bag)
        self._connections = [
            self._writer.add_connection(topic, MESSAGE_TYPE, typestore=TYPES)
            for topic in self._topics]
        return self

    def __exit__(self, *error: Any) -> None:
        self._end.__exit__(*error)

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
        topics: list[Iterator[tuple[int, int, bytes]]] = []
        for order, connection in enumerate(self._connections):
            messages['effort'] = torque[:, order]
            topics.append(_rows(connection.id, times, messages.tobytes(), messages.itemsize))
            self._writer.counts[connection.id] += len(times)
        # By time, as recorders write: the index of the times is then appended to.
        rows = itertools.chain.from_iterable(zip(*topics, strict=True))
        # In one transaction a block and past the writer's checks of each message, which are the
        # larger part of its time.
        self._writer.storage.cursor.executemany(_INSERT, rows)
        self._writer.storage.conn.commit()
        self._writer.min_timestamp = min(self._writer.min_timestamp, min(times))
        self._writer.max_timestamp = max(self._writer.max_timestamp, max(times))


def _rows(
    topic: int, times: list[int], messages: bytes, size: int,
) -> Iterator[tuple[int, int, bytes]]:
    """Return the rows of messages of a topic that stand one after the other."""
    return (
        (topic, time, messages[i * size:(i + 1) * size]) for i, time in enumerate(times))
