"""Trajectories in rosbag2 bags; no ROS installation is needed."""
from pathlib import Path
import warnings

from hodyn_ros.messages.bag_contents import LostMessages
from hodyn_ros.messages.bag_writer import bag_writer
from hodyn_ros.messages.bags import Bag
from hodyn_ros.messages.joint_trajectory import MESSAGE_TYPE, JointWaypoints
from hodyn_ros.messages.message_types import TYPES
from hodyn_ros.messages.trajectory_messages import DECODERS
from hodyn_ros.plans.annotate import Annotated
from hodyn_ros.robot import HodynError

ANNOTATED_TOPIC = '/annotated_trajectory'


def is_bag(path: Path) -> bool:
    """Whether a path is a folder, or has the ending of a bag's file."""
    return path.is_dir() or path.suffix.lower() in ('.db3', '.mcap', '.bag')


def read_bag(path: Path, topic: str | None = None, index: int | None = None) -> JointWaypoints:
    """Return a trajectory in a bag: the only one, or the one chosen by topic and index from 1."""
    with Bag(path) as bag:
        topics = {known.name: known for known in bag.topics if known.type in DECODERS}
        if topic is None and len(topics) == 1:
            topic = next(iter(topics))
        if topic is None or topic not in topics:
            known = ', '.join(sorted(topics)) or 'none'
            raise HodynError(
                f'{path}: choose a topic of type {", ".join(DECODERS)}; this bag has: {known}')
        found: list[bytes] = []
        losses: list[LostMessages] = []
        for item in bag.read(topics[topic]):
            if isinstance(item, LostMessages):
                losses.append(item)
            else:
                found.append(item.data)
        lost = '; '.join(map(str, bag.count_losses(losses, len(found), topics[topic])))
    if lost:
        warnings.warn(
            f'{path}: damaged: --number counts only the trajectories on {topic} that can be read; '
            f'lost: {lost}',
            stacklevel=2)
    if index is None and len(found) == 1:
        index = 1
    if index is None or not 1 <= index <= len(found):
        asked = '' if index is None else f', so there is no --number {index}'
        choose = f'; choose one with --number, 1 to {len(found)}' if found else ''
        raise HodynError(
            f'{path}: {len(found)} trajectories on {topic}{asked}{choose}'
            + (f'; lost: {lost}' if lost else ''))
    try:
        return DECODERS[topics[topic].type](found[index - 1])
    except HodynError as error:
        raise HodynError(f'{path}: {error}') from None


def write_bag(annotated: Annotated, path: Path, *, force: bool = False) -> None:
    """Write an annotated plan as the only message of a bag."""
    with bag_writer(path, force=force) as writer:
        connection = writer.add_connection(ANNOTATED_TOPIC, MESSAGE_TYPE, typestore=TYPES)
        writer.write(connection, 0, annotated.message())
