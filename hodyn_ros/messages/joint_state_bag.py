"""Joint states of one arm from a rosbag2: any storage, any order of joints, in blocks.

Only rosbags is used, so no ROS is needed. A topic is found by its type, joints by their names.
"""
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import HodynError, NoKnownJointError
from hodyn_ros.messages.bags import first_line, open_bag
from hodyn_ros.messages.joint_states import MESSAGE_TYPE, JointFinder, Layout

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

_READ_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class JointStates:
    """Recorded joint states in the robot's order of joints.

    Attributes
    ----------
    stamp, received : (T,) int64 arrays
        Header stamps and receive times, ns.
    position, velocity, effort : (T, n) arrays
        rad, rad/s, N m (prismatic: m, m/s, N); velocities and efforts are NaN where not recorded
        or not finite.

    """

    stamp: Stamps
    received: Stamps
    position: Array
    velocity: Array
    effort: Array

    def __len__(self) -> int:
        return len(self.stamp)

    def __getitem__(self, index: slice | NDArray[np.intp]) -> 'JointStates':
        return JointStates(*(getattr(self, field.name)[index] for field in fields(self)))

    @classmethod
    def joined(cls, blocks: list['JointStates']) -> 'JointStates':
        """Return blocks one after the other."""
        return cls(*(
            np.concatenate([getattr(block, field.name) for block in blocks])
            for field in fields(cls)))


class JointStateBag:
    """An open rosbag2 with the joint states of a robot; a context manager.

    Attributes
    ----------
    topic : str
        Topic that is read.
    total : int
        Messages on the topic.
    names : tuple of str
        The driver's names of the robot's joints, in the robot's order, once one was read.
    foreign : int
        Messages read so far that name none of the robot's joints, a gripper's say.
    foreign_reason : str
        Which names the last of them had.
    unusable : dict
        Messages read so far that could not be used: reason and count.

    """

    def __init__(self, path: Path, joints: JointFinder, topic: str | None = None) -> None:
        self.path = Path(path)
        self.names: tuple[str, ...] = ()
        self.foreign = 0
        self.foreign_reason = ''
        self.unusable: dict[str, int] = {}
        self._joints = joints
        self._reader = open_bag(self.path)
        try:
            self._connections = _connections(self._reader, self.path, topic)
        except BaseException:
            self._reader.close()
            raise
        self.topic = str(self._connections[0].topic)
        self.total = sum(int(connection.msgcount) for connection in self._connections)

    def __enter__(self) -> 'JointStateBag':
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    @property
    def span(self) -> tuple[int, int]:
        """First and last receive time in the bag, ns."""
        return int(self._reader.start_time), int(self._reader.end_time)

    def blocks(self, start: int | None = None, stop: int | None = None) -> Iterator[JointStates]:
        """Read the joint states in blocks of some thousands, in the order of reception.

        Parameters
        ----------
        start, stop : int, optional
            Receive times to read between, ns.

        Raises
        ------
        HodynError
            When the bag is damaged, and when its joints are another robot's.

        """
        layouts: dict[tuple[int, bytes], tuple[Layout, NDArray[np.intp]] | None] = {}
        current: tuple[Layout, NDArray[np.intp]] | None = None
        received: list[int] = []
        messages: list[bytes] = []
        damage: HodynError | None = None
        reading = self._messages(start, stop)
        while True:
            try:
                time, data = next(reading)
            except StopIteration:
                break
            except HodynError as error:  # hand on what was read before
                damage = error
                break
            if current is None or not current[0].fits(data):
                if current is not None and messages:
                    found = self._layout(data, layouts)
                    if found is None:
                        continue
                    yield _states(current, received, messages)
                    current, received, messages = found, [], []
                else:
                    current = self._layout(data, layouts)
                    if current is None:
                        continue
            received.append(time)
            messages.append(data)
            if len(messages) == _READ_AT_ONCE:
                yield _states(current, received, messages)
                received, messages = [], []
        if current is not None and messages:
            yield _states(current, received, messages)
        if damage is not None:
            raise damage

    def _messages(self, start: int | None, stop: int | None) -> Iterator[tuple[int, bytes]]:
        messages = self._reader.messages(self._connections, start, stop)
        while True:
            try:
                _, time, data = next(messages)
            except StopIteration:
                return
            except Exception as error:  # whatever the storage raises on damaged bytes
                raise HodynError(f'{self.path}: damaged: {first_line(error)}') from error
            yield time, data

    def _layout(
        self, data: bytes, known: dict[tuple[int, bytes], tuple[Layout, NDArray[np.intp]] | None],
    ) -> tuple[Layout, NDArray[np.intp]] | None:
        """Return the layout of a message and where the joints stand in it; None: skip it."""
        try:
            layout = Layout.of(data)
        except HodynError as error:
            self.unusable[str(error)] = self.unusable.get(str(error), 0) + 1
            return None
        counts = b''.join(count for _, count in layout.counts)
        key = layout.size, layout.encapsulation + layout.text + counts
        if key not in known:
            try:
                indices = self._joints.indices(layout.names)
                known[key] = (layout, indices)
                self.names = tuple(layout.names[i] for i in indices)
            except NoKnownJointError as error:
                self.foreign_reason = str(error)
                known[key] = None
        found = known[key]
        if found is None:
            self.foreign += 1
        elif 'position' not in layout.offsets:
            reason = 'no positions'
            self.unusable[reason] = self.unusable.get(reason, 0) + 1
            return None
        return found


def _connections(reader: Any, path: Path, topic: str | None) -> list[Any]:
    found: dict[str, list[Any]] = {}
    for connection in reader.connections:
        if connection.msgtype == MESSAGE_TYPE:
            found.setdefault(connection.topic, []).append(connection)
    if topic is not None:
        others = [c for c in reader.connections if c.topic == topic]
        if topic not in found and others:
            raise HodynError(f'{path}: {topic} is {others[0].msgtype}, not {MESSAGE_TYPE}')
        if topic not in found:
            raise HodynError(f'{path}: no topic {topic}; joint states: {_list(found)}')
        return found[topic]
    filled = {name: some for name, some in found.items() if sum(c.msgcount for c in some)}
    if not filled:
        topics = {c.topic: [c] for c in reader.connections}
        raise HodynError(
            f'{path}: no messages of type {MESSAGE_TYPE}; its topics: {_list(topics)}')
    if len(filled) > 1:
        raise HodynError(f'{path}: joint states on several topics: {_list(filled)}; '
                         'choose one with --topic')
    return next(iter(filled.values()))


def _states(
    layout: tuple[Layout, NDArray[np.intp]], received: list[int], messages: list[bytes],
) -> JointStates:
    stamps, values = layout[0].read(messages)
    missing = np.full((len(messages), len(layout[1])), np.nan)
    position, velocity, effort = (
        values[field][:, layout[1]] if field in values else missing
        for field in ('position', 'velocity', 'effort'))
    for measured in (velocity, effort):
        measured[~np.isfinite(measured)] = np.nan
    return JointStates(stamps, np.array(received, dtype=np.int64), position, velocity, effort)


def _list(topics: dict[str, list[Any]]) -> str:
    return ', '.join(
        f'{name} ({some[0].msgtype}, {sum(c.msgcount for c in some)} messages)'
        for name, some in sorted(topics.items())) or 'none'
