"""Recordings of the demo: written as bags, read back and summed up."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
import time as clock
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.messages.joint_state_bag import JointStateBag, JointStates
from hodyn_ros.messages.joint_states import MESSAGE_TYPE
from hodyn_ros.messages.message_types import TYPES
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.joint_names import JointNames

TOPICS = ('joint_states', *(f'feedforward/{name}' for name in TORQUE_NAMES))


class Recorder:
    """Writes serialized joint states to the open writer of a bag as they come.

    It starts when every channel has had a message: before that the node does not answer and the
    arm gets no torque.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._heard: dict[str, bool] = {}

    @property
    def has_heard_all(self) -> bool:
        """Whether every channel has had a message."""
        return all(self._heard.values())

    def channel(self, topic: str) -> Callable[[bytes], None]:
        """Return a function that records one message of a topic, stamped on receipt."""
        connection = self._writer.add_connection(topic, MESSAGE_TYPE, typestore=TYPES)

        self._heard[topic] = False

        def record(message: bytes) -> None:
            self._heard[topic] = True
            if self.has_heard_all:
                self._writer.write(connection, clock.time_ns(), message)

        return record


@dataclass(frozen=True, eq=False)
class Recording:
    """States and answers with the same stamps, in the robot's order of joints."""

    time: Array  #: (T,): seconds from the first
    #: `q`, `qd`, `effort`: (T, n): measured positions and velocities, and the controller's effort
    q: Array
    qd: Array
    effort: Array
    q_ref: Array  #: (T, n): the published reference, interpolated to the same times
    torque: Array  #: (T, 3, n): published Q, Q̇, Q̈

    @classmethod
    def read(cls, bag: Path, robot: Robot, prefix: str, lookahead: float = 0.0) -> Recording:
        """Return the recording in a bag; `prefix` is the namespace of the topics, with a slash.

        The published references are for `lookahead` (s) after their stamps.
        """
        topics = [_read_topic(bag, robot, f'{prefix}{topic}') for topic in TOPICS]
        places = [{stamp: i for i, stamp in enumerate(topic.stamp.tolist())} for topic in topics]
        stamps = np.array(sorted(set.intersection(*map(set, places))), dtype=np.int64)
        if not len(stamps):
            raise HodynError(f'{bag}: no joint state was answered')
        states, *torques = (
            topic[np.array([place[stamp] for stamp in stamps.tolist()])]
            for topic, place in zip(topics, places, strict=True))
        time = (stamps - stamps[0]) * 1e-9
        reference = CubicHermiteSpline(
            time + lookahead, torques[0].position, torques[0].velocity)
        early = int(np.sum(time < lookahead))
        return cls(
            time=time,
            q=states.position,
            qd=states.velocity,
            effort=states.effort,
            q_ref=np.concatenate([
                np.tile(torques[0].position[0], (early, 1)), reference(time[early:])]),
            torque=np.stack([answers.effort for answers in torques], axis=1),
        )

    def results(self) -> dict[str, list[float]]:
        """Return RMS tracking errors (rad) and the largest |Q|, |Q̇|, |Q̈|, per joint."""
        peaks = np.abs(self.torque).max(axis=0)
        return {
            'rms_tracking_error': np.sqrt(np.mean((self.q - self.q_ref) ** 2, axis=0)).tolist(),
            **{f'max_{name}': peaks[k].tolist() for k, name in enumerate(TORQUE_NAMES)},
        }


def _read_topic(bag: Path, robot: Robot, topic: str) -> JointStates:
    with JointStateBag(bag, JointNames(robot), topic) as source:
        blocks = list(source.blocks())
    if not blocks:
        raise HodynError(f'{bag}: no messages on {topic}')
    return JointStates.joined(blocks)
