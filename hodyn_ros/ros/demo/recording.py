"""Recordings of the feed-forward at work: written as bags, read back and summed up."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
import time as clock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scipy.interpolate import CubicHermiteSpline

from hodyn_ros.robot import HodynError
from hodyn_ros.ros.outputs import TORQUES

Array = NDArray[np.float64]

BAG_VERSION: Literal[9] = 9
JOINT_STATE = 'sensor_msgs/msg/JointState'
TOPICS = ('joint_states', *(f'feedforward/{name}' for name in TORQUES))


class Recorder:
    """Writes serialized joint states to a rosbag2 (MCAP) as they come."""

    def __init__(self, path: Path) -> None:
        self._writer = Writer(path, version=BAG_VERSION, storage_plugin=StoragePlugin.MCAP)
        self._types = get_typestore(Stores.ROS2_JAZZY)
        self._heard: dict[str, bool] = {}

    def __enter__(self) -> Recorder:
        self._writer.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    @property
    def has_heard_all(self) -> bool:
        """Whether something was recorded of every channel."""
        return all(self._heard.values())

    def channel(self, topic: str) -> Callable[[bytes], None]:
        """Return a function that records one message of a topic, stamped on receipt."""
        connection = self._writer.add_connection(topic, JOINT_STATE, typestore=self._types)

        self._heard[topic] = False

        def record(message: bytes) -> None:
            self._heard[topic] = True
            self._writer.write(connection, clock.time_ns(), message)

        return record


@dataclass(frozen=True, eq=False)
class Recording:
    """States and answers with the same stamps, in the robot's order of joints.

    Attributes
    ----------
    time : (T,) array
        Seconds from the first.
    q, qd, effort : (T, n) arrays
        As measured, and the controller's effort.
    q_ref : (T, n) array
        The reference as published with the torque, at the same times.
    torque : (T, 3, n) array
        Q, Q̇, Q̈ as published.

    """

    time: Array
    q: Array
    qd: Array
    effort: Array
    q_ref: Array
    torque: Array

    @classmethod
    def read(cls, bag: Path, prefix: str, lookahead: float = 0.0) -> Recording:
        """Return what a bag holds of the driver's and the node's topics below a namespace.

        With a lookahead (s) the published references are later than their stamps, by that.
        """
        topics = [f'{prefix}{topic}' for topic in TOPICS]
        messages: dict[str, dict[int, Any]] = {topic: {} for topic in topics}
        with AnyReader([bag]) as reader:
            connections = [c for c in reader.connections if c.topic in messages]
            for connection, _, data in reader.messages(connections):
                message: Any = reader.deserialize(data, connection.msgtype)
                stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
                messages[connection.topic][stamp] = message
        stamps = sorted(set.intersection(*(set(found) for found in messages.values())))
        if not stamps:
            raise HodynError(f'{bag}: no joint state was answered')
        states, torques = (
            [messages[topic][stamp] for stamp in stamps] for topic in topics[:2])
        time = np.array([(stamp - stamps[0]) * 1e-9 for stamp in stamps])
        reference = CubicHermiteSpline(
            time + lookahead, [m.position for m in torques], [m.velocity for m in torques])
        return cls(
            time=time,
            q=np.array([m.position for m in states]),
            qd=np.array([m.velocity for m in states]),
            effort=np.array([m.effort for m in states]),
            q_ref=np.concatenate([
                np.tile(torques[0].position, (early := int(np.sum(time < lookahead)), 1)),
                reference(time[early:])]),
            torque=np.array([
                [messages[topic][stamp].effort for topic in topics[1:]] for stamp in stamps]),
        )

    def figures(self) -> dict[str, list[float]]:
        """Return RMS tracking errors (rad) and the largest |Q|, |Q̇|, |Q̈|, one a joint."""
        peaks = np.abs(self.torque).max(axis=0)
        return {
            'rms_tracking_error': np.sqrt(np.mean((self.q - self.q_ref) ** 2, axis=0)).tolist(),
            **{f'max_{name}': peaks[k].tolist() for k, name in enumerate(TORQUES)},
        }
