"""Trajectories in rosbag2 bags; no ROS installation is needed."""
from contextlib import closing
from pathlib import Path

from hodyn_ros.messages.bag_writer import bag_writer
from hodyn_ros.messages.bags import first_line, open_bag
from hodyn_ros.messages.joint_trajectory import MESSAGE_TYPE, JointWaypoints, decode
from hodyn_ros.messages.message_types import TYPES
from hodyn_ros.plans.annotate import Annotated
from hodyn_ros.robot import HodynError

ANNOTATED_TOPIC = '/annotated_trajectory'


def is_bag(path: Path) -> bool:
    """Whether a path is a folder, or ends as a bag's file does."""
    return path.is_dir() or path.suffix.lower() in ('.db3', '.mcap')


def read_bag(path: Path, topic: str | None = None, index: int | None = None) -> JointWaypoints:
    """Return a trajectory of a bag: the only one, or the one chosen by topic and index from 1."""
    with closing(open_bag(path)) as reader:
        topics = sorted({c.topic for c in reader.connections if c.msgtype == MESSAGE_TYPE})
        if topic is None and len(topics) == 1:
            topic = topics[0]
        if topic is None or topic not in topics:
            known = ', '.join(topics) or 'none'
            raise HodynError(
                f'{path}: choose a topic of type {MESSAGE_TYPE}; in this bag: {known}')
        chosen = [c for c in reader.connections if c.topic == topic and c.msgtype == MESSAGE_TYPE]
        try:
            found = [data for _, _, data in reader.messages(chosen)]
        except Exception as error:  # whatever the storage raises on damaged bytes
            raise HodynError(f'{path}: damaged: {first_line(error)}') from error
    if index is None and len(found) == 1:
        index = 1
    if index is None or not 1 <= index <= len(found):
        raise HodynError(
            f'{path}: {len(found)} trajectories on {topic}; choose one by its number')
    try:
        return decode(found[index - 1])
    except HodynError as error:
        raise HodynError(f'{path}: {error}') from None


def write_bag(annotated: Annotated, path: Path, *, force: bool = False) -> None:
    """Write an annotated plan as the one message of a bag."""
    with bag_writer(path, force=force) as writer:
        connection = writer.add_connection(ANNOTATED_TOPIC, MESSAGE_TYPE, typestore=TYPES)
        writer.write(connection, 0, annotated.message())
