"""Reads the joint states of one arm from a rosbag2, in any storage and order of joints, in blocks.

The topic is found by its type, joints by their names. Each message is counted as usable, unusable
or lost.
"""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices, Stamps
from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.bag_contents import LostMessages, Topic
from hodyn_ros.messages.bags import Bag
from hodyn_ros.messages.cdr import MAX_VALUE
from hodyn_ros.messages.joint_states import MESSAGE_TYPE, Layout, SomePositions
from hodyn_ros.messages.topic_names import JointFinder, TopicNames
from hodyn_ros.messages.whole_turns import WholeTurns

USUAL_NAME, OF_MOTORS = 'joint_states', 'motor_states'
_READ_AT_ONCE = 4096
_MAX_KEPT = 1 << 27  # bytes kept in memory: 12 min of 7 joints at 1 kHz
_MAX_REASONS = 20  # number of listed reasons: damaged bytes may cause any number of reasons
_Mapping = tuple[Layout, Indices]  # a layout, and the joints' indices in its arrays


@dataclass(frozen=True, eq=False)
class JointStates:
    """Recorded joint states in the robot's order of joints."""

    #: `stamp`, `received`: (T,): header stamps and receive times, ns
    stamp: Stamps
    received: Stamps
    #: `position`, `velocity`, `effort`: (T, n), rad, rad/s, N m (prismatic: m, m/s, N). Velocities
    #: and efforts are NaN if they were not recorded, not finite or beyond MAX_VALUE.
    position: Array
    velocity: Array
    effort: Array

    def __len__(self) -> int:
        return len(self.stamp)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def __getitem__(self, index: slice | Indices) -> 'JointStates':
        return JointStates(*(getattr(self, field.name)[index] for field in fields(self)))

    @classmethod
    def joined(cls, blocks: list['JointStates']) -> 'JointStates':
        """Return the concatenated blocks."""
        return cls(*(
            np.concatenate([getattr(block, field.name) for block in blocks])
            for field in fields(cls)))


@dataclass
class Tally:
    """Counts of the messages read on a topic."""

    #: `found`, `usable`: Messages that were read, and those whose positions can be used
    found: int = 0
    usable: int = 0
    #: Number of messages that cannot be used, by reason
    unusable: dict[str, int] = field(default_factory=dict)
    #: Number of usable messages that lack efforts or velocities, by reason
    in_part: dict[str, int] = field(default_factory=dict)
    losses: list[LostMessages] = field(default_factory=list)  #: Where messages are lost
    whole_turns: WholeTurns | None = None  #: Unwraps the positions; None leaves them as recorded

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count messages that cannot be used."""
        if len(self.unusable) >= _MAX_REASONS:
            reason = reason if reason in self.unusable else 'other reasons'
        self.unusable[reason] = self.unusable.get(reason, 0) + count

    def take(
        self, received: Stamps, stamps: Stamps, values: dict[str, Array],
    ) -> JointStates:
        """Return the usable messages of those given; count the usable and the unusable ones.

        Receive times and header stamps, (T,), are in ns; `values` has the arrays `position` and,
        if recorded, `velocity` and `effort`, (T, n).
        """
        position = values['position']
        finite = np.isfinite(position).all(axis=1)
        kept = (np.abs(position) <= MAX_VALUE).all(axis=1)
        for reason, those in (
                ('positions not finite', ~finite),
                (f'positions beyond {MAX_VALUE:g}', finite & ~kept)):
            if those.any():
                self.leave_out(reason, int(np.count_nonzero(those)))
        self.usable += int(np.count_nonzero(kept))
        position = position[kept]
        measured = []
        for name in ('velocity', 'effort'):
            array = values[name][kept] if name in values else np.full(position.shape, np.nan)
            finite, possible = np.isfinite(array), np.abs(array) <= MAX_VALUE
            for reason, those in (
                    (f'{name} not finite' if name in values else f'no {name}', ~finite),
                    (f'{name} beyond {MAX_VALUE:g}', finite & ~possible)):
                count = int(np.count_nonzero(those.any(axis=1)))
                if count:
                    self.in_part[reason] = self.in_part.get(reason, 0) + count
            measured.append(np.where(possible, array, np.nan))
        stamps, received = stamps[kept], received[kept]
        if self.whole_turns is not None:
            position = self.whole_turns.unwrapped(position, stamps, received)
        return JointStates(stamps, received, position, *measured)


class JointStateBag:
    """An open rosbag2 with the joint states of a robot; a context manager.

    The bag is read to its end when it is opened, to count messages and find losses.
    """

    def __init__(
        self, path: Path, joints: JointFinder, topic: str | None = None, *,
        effort_gain: Array | None = None, turns: Flags | None = None,
    ) -> None:
        """Open a bag and choose its topic, by name or as the only possible one.

        Parameters
        ----------
        path : Path
            Folder or single file.
        joints : JointFinder
            Finds the robot's joints among the names of a message.
        topic : str, optional
            Name of the topic. By default, the only topic with joint states; if there are several,
            the only one of them called joint_states.
        effort_gain : (n,) array, optional
            Factors for recorded efforts that are not in N m.
        turns : (n,) bool array, optional
            Which joints turn: their positions may be wrapped to ±π.

        Raises
        ------
        HodynError, OSError
            The bag cannot be read or does not have the topic, or no message can be used, for
            example because all are from another robot.

        """
        self.path = Path(path)
        #: The driver's names of the robot's joints, in the robot's order
        self.names: tuple[str, ...] = ()
        self._joints = TopicNames(joints)
        self._effort_gain, self._turns = effort_gain, turns
        self._bag = Bag(self.path)
        try:
            self._topic = _chosen(self._bag, topic)
            tally = self._tally()
            self._kept: list[JointStates] | None = []
            size = 0
            for block in self._blocks(tally):
                size += block.nbytes
                if size > _MAX_KEPT:
                    self._kept = None
                elif self._kept is not None:
                    self._kept.append(block)
            #: Where messages of the topic are lost
            self.lost = self._bag.count_losses(tally.losses, tally.found, self._topic)
        except BaseException:
            self._bag.close()
            raise
        self.topic = self._topic.name  #: The topic that is read
        #: `usable`: number of messages that `blocks` yields; `in_part`: as in `Tally`
        self.usable, self.in_part = tally.usable, tally.in_part
        self.unusable: dict[str, int] = {}  #: As in `Tally`
        for reason, count in tally.unusable.items():
            # Later messages may have shown a better reason for the first ones.
            reason = self._joints.latest(reason)
            self.unusable[reason] = self.unusable.get(reason, 0) + count
        #: Number of messages on the topic, including known numbers of lost ones
        self.total = tally.found + sum(loss.messages or 0 for loss in self.lost)
        #: Other faults of the bag, joints whose positions were unwrapped, and states of motors
        self.notes = [*self._bag.notes, *(
            [] if tally.whole_turns is None else tally.whole_turns.notes(self.names)), *(
            f'{topic.name} is not read: states of motors are not used. Actuators (in the robot '
            f'file, or by --actuators) only help to recognise positions of motors in {self.topic}'
            for topic, count in self._bag.topics.items() if topic.type == MESSAGE_TYPE and count
            and topic != self._topic and topic.name.rpartition('/')[2] == OF_MOTORS)]
        if not self.usable:
            self._bag.close()
            raise HodynError(
                f'{self.path}: no usable joint states on {self.topic}: '
                + (self.wants or 'it is empty'))

    def __enter__(self) -> 'JointStateBag':
        return self

    def __exit__(self, *_: object) -> None:
        self._bag.close()

    @property
    def wants(self) -> str:
        """Why messages cannot be used or are lost, in one line; empty if all can be used."""
        return '; '.join([
            *(f'{count} ({reason})' for reason, count in self.unusable.items()),
            *(f'lost: {loss}' for loss in self.lost[:_MAX_REASONS])])

    def blocks(self) -> Iterator[JointStates]:
        """Read the joint states in blocks of some thousands, in the order of recording."""
        for block in self._blocks(self._tally()) if self._kept is None else self._kept:
            yield block if self._effort_gain is None else replace(
                block, effort=block.effort * self._effort_gain)

    def _tally(self) -> Tally:
        return Tally(whole_turns=None if self._turns is None else WholeTurns(self._turns))

    def _blocks(self, tally: Tally) -> Iterator[JointStates]:
        mappings: dict[tuple[bytes, ...], _Mapping | str] = {}
        current: _Mapping | None = None
        received: list[int] = []
        messages: list[bytes] = []
        for item in self._bag.read(self._topic):
            if isinstance(item, LostMessages):
                tally.losses.append(item)
                continue
            tally.found += 1
            if current is None or not current[0].fits(item.data):
                found = self._mapping(item.data, mappings)
                if isinstance(found, str):
                    tally.leave_out(found)
                    continue
                if current is not None and messages:
                    yield _states(current, received, messages, tally)
                current, received, messages = found, [], []
            received.append(item.received)
            messages.append(item.data)
            if len(messages) == _READ_AT_ONCE:
                yield _states(current, received, messages, tally)
                received, messages = [], []
        if current is not None and messages:
            yield _states(current, received, messages, tally)

    def _mapping(
        self, data: bytes, known: dict[tuple[bytes, ...], _Mapping | str],
    ) -> _Mapping | str:
        """Return a message's layout and the joints' indices in it, or why it cannot be used."""
        try:
            layout = Layout.of(data)
            if 'position' not in layout.offsets:
                return 'no positions'
            key = (len(data).to_bytes(8, 'little'), layout.encapsulation,
                   *(fixed for _, fixed in layout.fixed))
            if key not in known:
                try:
                    indices = self._joints.indices(layout.names)
                    self.names = tuple(layout.names[i] for i in indices)
                    known[key] = layout, indices
                except HodynError as error:
                    known[key] = str(error)
            return known[key]
        except HodynError as error:
            return str(error)


def some_positions(
    path: Path, find: Callable[[Sequence[str]], dict[str, int]], topic: str | None = None,
) -> Iterator[dict[str, Array]]:
    """Yield recorded positions, (T,), rad or m, of some joints, by name, in blocks.

    `find` is as for `SomePositions`. Each block is from messages with positions of the same
    joints. Messages without any position of these joints are skipped.
    """
    rows: dict[tuple[str, ...], list[list[float]]] = {}
    reader = SomePositions(find)
    with Bag(path) as bag:
        for item in bag.read(_chosen(bag, topic)):
            if isinstance(item, LostMessages):
                continue
            try:
                positions = reader.read(item.data)
            except HodynError:
                continue
            if positions:
                group = rows.setdefault(tuple(positions), [])
                group.append(list(positions.values()))
                if len(group) == _READ_AT_ONCE:
                    yield dict(zip(positions, np.array(group).T, strict=True))
                    group.clear()
    for names, group in rows.items():
        if group:
            yield dict(zip(names, np.array(group).T, strict=True))


def _chosen(bag: Bag, name: str | None) -> Topic:
    found = [topic for topic in bag.topics if topic.type == MESSAGE_TYPE]
    if name is not None:
        for topic in found:
            if topic.name == name:
                return topic
        for topic in bag.topics:
            if topic.name == name:
                raise HodynError(f'{bag.path}: {name} is {topic.type}, not {MESSAGE_TYPE}')
        raise HodynError(f'{bag.path}: no topic {name}; joint states: {_list(bag, found)}')
    filled = [topic for topic in found if bag.topics[topic]]
    if not filled:
        raise HodynError(
            f'{bag.path}: no messages of type {MESSAGE_TYPE}; its topics: '
            f'{_list(bag, list(bag.topics))}')
    # Drivers use this name; topics with torques or references of the same type have other names.
    usual = [topic for topic in filled if topic.name.rpartition('/')[2] == USUAL_NAME]
    if len(usual) == 1:
        return usual[0]
    if len(filled) > 1:
        raise HodynError(f'{bag.path}: joint states on several topics: {_list(bag, filled)}; '
                         'choose one with --topic')
    return filled[0]


def _list(bag: Bag, topics: list[Topic]) -> str:
    return ', '.join(
        f'{topic.name} ({topic.type}, {bag.topics[topic]} messages)'
        for topic in sorted(topics)) or 'none'


def _states(
    mapping: _Mapping, received: list[int], messages: list[bytes], tally: Tally,
) -> JointStates:
    layout, indices = mapping
    stamps, values = layout.read(messages)
    return tally.take(
        np.array(received, dtype=np.int64), stamps,
        {name: array[:, indices] for name, array in values.items()})
