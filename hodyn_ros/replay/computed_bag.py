"""The bag of computed topics: the feed-forward of the recorded motion.

It opens in PlotJuggler, Foxglove and ``ros2 bag play``, under the stamps of the recording.
"""
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import StoragePlugin

from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.messages.bag_writer import bag_writer
from hodyn_ros.messages.joint_states import MESSAGE_TYPE, blank
from hodyn_ros.messages.message_types import TYPES

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

TOPICS = tuple(f'/feedforward/{name}' for name in TORQUE_NAMES)
_VERSION: Literal[8] = 8  # version of the bag format, the oldest that rosbags writes


class ComputedBag:
    """Writes topics in blocks, as the node publishes them; a context manager.

    The bag appears when the context ends, and not after an error. Position and
    velocity of the messages are the estimated motion, effort is Q, Q̇ or Q̈.
    """

    def __init__(
        self, path: Path, names: tuple[str, ...], topics: Sequence[str] = TOPICS, *,
        force: bool = False,
    ) -> None:
        self._names = names
        self._topics = topics
        self._bag = bag_writer(
            path, version=_VERSION, storage=StoragePlugin.MCAP, force=force)
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
            Header stamps and receive times, ns; receive times before 1970, which MCAP cannot
            store, become 0.
        q : (T, 5, n) array
            The motion.
        torque : (T, topics, n) array
            Q, Q̇, Q̈.

        """
        if not len(stamps):
            return
        topics = len(self._connections)
        messages = blank(self._names, len(stamps) * topics).reshape(-1, topics)
        seconds, nanoseconds = np.divmod(stamps[:, None], 1_000_000_000)
        messages['sec'], messages['nanosec'] = seconds, nanoseconds
        messages['position'], messages['velocity'] = q[:, None, 0], q[:, None, 1]
        messages['effort'] = torque
        size, at = messages.itemsize, 0
        content = messages.tobytes()
        for time in np.maximum(received, 0).tolist():
            for connection in self._connections:
                self._writer.write(connection, time, content[at:at + size])
                at += size
