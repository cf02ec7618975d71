"""Writes a bag with the computed topics: the feed-forward of a recorded motion.

It has the stamps of the recording, and opens in PlotJuggler, Foxglove and ``ros2 bag play``.
"""
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
from rosbags.rosbag2 import StoragePlugin

from hodyn_ros.common.arrays import Array, Stamps
from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.messages.bag_writer import bag_writer
from hodyn_ros.messages.joint_states import MESSAGE_TYPE, blank
from hodyn_ros.messages.message_types import TYPES

TOPICS = tuple(f'/feedforward/{name}' for name in TORQUE_NAMES)
_VERSION: Literal[8] = 8  # version of the bag format, the oldest that rosbags writes


@contextmanager
def computed_bag(
    path: Path, names: tuple[str, ...], topics: Sequence[str] = TOPICS, *, force: bool = False,
) -> Iterator[Callable[[Stamps, Stamps, Array, Array], None]]:
    """Yield a function that writes a block of messages to each topic, as the node publishes them.

    The bag appears when the context ends, and not after an error. The function takes header
    stamps and receive times, (T,), ns; the motion q, (T, 5, n); and efforts, (T, topics, n), such
    as Q, Q̇ and Q̈. Receive times before 1970, which MCAP cannot store, become 0.
    """
    with bag_writer(path, version=_VERSION, storage=StoragePlugin.MCAP, force=force) as bag:
        connections = [
            bag.add_connection(topic, MESSAGE_TYPE, typestore=TYPES) for topic in topics]

        def write(stamps: Stamps, received: Stamps, q: Array, effort: Array) -> None:
            messages = blank(names, len(stamps) * len(topics)).reshape(-1, len(topics))
            messages['sec'], messages['nanosec'] = np.divmod(stamps[:, None], 1_000_000_000)
            messages['position'], messages['velocity'] = q[:, None, 0], q[:, None, 1]
            messages['effort'] = effort
            size, at = messages.itemsize, 0
            content = messages.tobytes()
            for time in np.maximum(received, 0).tolist():
                for connection in connections:
                    bag.write(connection, time, content[at:at + size])
                    at += size

        yield write
