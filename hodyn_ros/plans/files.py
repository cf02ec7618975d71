"""Reads trajectories from plan files (YAML, JSON, CSV, bags), and writes annotated plans.

YAML and JSON have the fields of one trajectory_msgs/JointTrajectory, as ``ros2 topic echo``
prints them, or of a message that contains it: MoveIt's RobotTrajectory or DisplayTrajectory, or a
goal of FollowJointTrajectory. `time_from_start` may also be a number of seconds. CSV has a column
`time` in seconds and, for each joint, a column of positions with the joint's name; the columns
`NAME.velocity` and `NAME.acceleration` are optional, and annotation adds `NAME.effort`.
Bags need no ROS installation.
"""
from collections.abc import Callable, Mapping
import csv
import json
from pathlib import Path
from typing import Any
import warnings

import yaml

from hodyn_ros.common.input_files import check_file
from hodyn_ros.common.output_files import Contents, replacing
from hodyn_ros.messages.bag_contents import LostMessages
from hodyn_ros.messages.bag_writer import bag_writer
from hodyn_ros.messages.bags import Bag
from hodyn_ros.messages.csv_columns import ENCODING, read_table
from hodyn_ros.messages.joint_trajectory import MESSAGE_TYPE, JointWaypoints, duration
from hodyn_ros.messages.message_types import TYPES
from hodyn_ros.messages.trajectory_messages import DECODERS
from hodyn_ros.plans.annotate import Annotated
from hodyn_ros.plans.waypoints import QUANTITIES
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.files import strict_yaml
from hodyn_ros.robot.files.file_kinds import likeness

MAX_BYTES = 256 * 1024 * 1024
ANNOTATED_TOPIC = '/annotated_trajectory'
_KEYS = {'header', 'joint_names', 'points'}
_POINT_KEYS = {*QUANTITIES, 'effort', 'time_from_start'}
_CUT = '...'
"""``ros2 topic echo`` prints this in place of the rest of a long array."""
_KINDS = {'position': 'positions', 'velocity': 'velocities', 'acceleration': 'accelerations'}


def read_trajectory(
    path: Path, *, topic: str | None = None, index: int | None = None,
) -> JointWaypoints:
    """Return the trajectory in a file, unchecked.

    Parameters
    ----------
    path : Path
        The file, or a bag.
    topic, index : str and int, optional
        In a bag with several trajectories: the topic, and the number of the trajectory, from 1.

    Raises
    ------
    HodynError
        The file is not a plan; the message names file, point and key.
    FileNotFoundError
        The file does not exist.

    """
    if _is_bag(path):
        return _read_bag(path, topic, index)
    if topic is not None or index is not None:
        raise HodynError(f'{path}: topic and number are only for bags')
    check_file(path, f'{path}: no such plan file')
    if path.stat().st_size > MAX_BYTES:
        raise HodynError(f'{path}: larger than {MAX_BYTES} bytes; is it a plan?')
    readers = {'.yaml': _read_yaml, '.yml': _read_yaml, '.json': _read_json, '.csv': _read_csv}
    if path.suffix.lower() in ('.urdf', '.xacro', '.xml'):
        raise HodynError(f"{path}: a robot's file, not a plan; give it by --robot {path}")
    if path.suffix.lower() not in readers:
        raise HodynError(
            f'{path}: not a plan file; plans are bags (a folder, .db3, .mcap), .yaml, .json, .csv')
    try:
        return readers[path.suffix.lower()](path)
    except UnicodeDecodeError as error:
        raise HodynError(f'{path}: not UTF-8 text') from error


def annotated_contents(path: Path) -> Contents | None:
    """Return the contents of the bag that `write_annotated` writes; None if it writes a file.

    Raises HodynError if the path has an ending that cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix == '':
        return Contents.of_bag(path.resolve().name)
    if suffix not in _WRITERS:
        raise HodynError(
            f'{path}: ending {suffix!r} not known; write .yaml, .json, .csv, or a bag (no ending)')
    return None


def write_annotated(annotated: Annotated, path: Path, *, force: bool = False) -> None:
    """Write an annotated plan in the format of its path's ending; without an ending, as a bag.

    `path` and `force` are as for `common.output_files.replacing`. HodynError: the ending cannot be
    written. OSError: the output cannot be written; an existing output then stays unchanged.
    """
    if annotated_contents(path) is not None:
        _write_bag(annotated, path, force=force)
        return
    with replacing(path, force=force) as file:
        _WRITERS[path.suffix.lower()](annotated, file)


def _is_bag(path: Path) -> bool:
    """Whether a path is a folder, or has the ending of a bag's file."""
    return path.is_dir() or path.suffix.lower() in ('.db3', '.mcap', '.bag')


def _read_bag(path: Path, topic: str | None, index: int | None) -> JointWaypoints:
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


def _write_bag(annotated: Annotated, path: Path, *, force: bool) -> None:
    """Write an annotated plan as the only message of a bag."""
    with bag_writer(path, force=force) as writer:
        connection = writer.add_connection(ANNOTATED_TOPIC, MESSAGE_TYPE, typestore=TYPES)
        writer.write(connection, 0, annotated.message())


def _read_yaml(path: Path) -> JointWaypoints:
    documents = [
        document for document in strict_yaml.load_all(path.read_text(ENCODING), str(path))
        if document is not None
    ]
    if len(documents) != 1:
        raise HodynError(
            f'{path}: holds {len(documents)} documents; keep one trajectory' if documents
            else f'{path}: is empty; write a trajectory to it')
    return _from_mapping(documents[0], path)


def _read_json(path: Path) -> JointWaypoints:
    text = path.read_text(ENCODING)
    try:
        data = json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise HodynError(f'{path}: not valid JSON: {error}') from None
    return _from_mapping(data, path)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise HodynError(f'key {twice!r} occurs twice')
    return mapping


def _of_moveit(data: Any, path: Path) -> Any:
    """Return the joint trajectory in a goal or in a message of MoveIt; other data unchanged."""
    if isinstance(data, Mapping) and isinstance(data.get('trajectory'), Mapping):
        return data['trajectory']  # a goal of FollowJointTrajectory
    if isinstance(data, Mapping) and 'trajectory' in data:  # a DisplayTrajectory
        parts = data['trajectory']
        if not isinstance(parts, list) or len(parts) != 1:
            count = len(parts) if isinstance(parts, list) else 'no'
            raise HodynError(f'{path}: holds {count} trajectories; keep one')
        data = parts[0]
    if isinstance(data, Mapping) and 'joint_trajectory' in data:  # a RobotTrajectory
        other = data.get('multi_dof_joint_trajectory')
        if isinstance(other, Mapping) and other.get('points'):
            raise HodynError(
                f'{path}: multi_dof_joint_trajectory has points: the base moves, and only '
                'joints can be checked')
        return data['joint_trajectory']
    return data


def _from_mapping(data: Any, path: Path) -> JointWaypoints:
    data = _of_moveit(data, path)
    _check_keys(data, _KEYS, f'{path}')
    names, points = data.get('joint_names'), data.get('points')
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise HodynError(f'{path}: joint_names must be a list of names')
    if not isinstance(points, list):
        raise HodynError(f'{path}: points must be a list')
    times = []
    rows: dict[str, list[list[float]]] = {quantity: [] for quantity in QUANTITIES}
    for i, point in enumerate(points):
        where = f'{path}, point {i}'
        _check_whole([point], where)
        _check_keys(point, _POINT_KEYS, where)
        times.append(_seconds(point.get('time_from_start'), where))
        for quantity in QUANTITIES:
            rows[quantity].append(_numbers(point.get(quantity), f'{where}, {quantity}'))
    return JointWaypoints(
        tuple(names), times, rows['positions'], rows['velocities'], rows['accelerations'])


def _check_keys(data: Any, known: set[str], where: str) -> None:
    if not isinstance(data, Mapping):
        raise HodynError(f'{where}: expected a mapping with {", ".join(sorted(known))}')
    unknown = [str(key) for key in data if key not in known]
    if unknown:
        raise HodynError(
            f'{where}: unknown key {unknown[0]!r}; known keys are {", ".join(sorted(known))}'
            f'{likeness(data)}')


def _check_whole(values: list[Any], where: str) -> None:
    if _CUT in values:
        raise HodynError(
            f"{where}: '{_CUT}' stands for values that ros2 topic echo left out: run it with "
            '--full-length')


def _seconds(value: Any, where: str) -> float:
    for keys in (('sec', 'nanosec'), ('secs', 'nsecs')):  # ROS 2, ROS 1
        if isinstance(value, Mapping) and set(value) <= {*keys}:
            place = f'{where}, time_from_start'
            seconds, rest = _numbers([value.get(key, 0) for key in keys], place)
            return duration(seconds, rest, place, keys)
    if value is None:
        raise HodynError(f'{where}: time_from_start is missing')
    if isinstance(value, Mapping):
        _check_keys(value, {'sec', 'nanosec'}, f'{where}, time_from_start')
    return _numbers([value], f'{where}, time_from_start')[0]


def _numbers(values: Any, where: str) -> list[float]:
    if values is None:
        return []
    if not isinstance(values, list):
        raise HodynError(f'{where}: expected a list of numbers')
    _check_whole(values, where)
    try:
        if not any(isinstance(value, bool) for value in values):
            # Text is converted as well: YAML reads 1e-3 as text.
            return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        pass
    raise HodynError(f'{where}: expected numbers, got {values!r:.80}')


def _read_csv(path: Path) -> JointWaypoints:
    table = read_table(path, _KINDS)
    positions, velocities, accelerations = (table.rows[kind] for kind in _KINDS)
    return JointWaypoints(
        table.names, table.times, positions, velocities, accelerations, units=table.units)


def _message(annotated: Annotated) -> dict[str, Any]:
    points = []
    for time, motion, torque in zip(
        annotated.times.tolist(), annotated.motion, annotated.torque, strict=True,
    ):
        nanoseconds = round(time * 1e9)
        points.append({
            'positions': motion[0].tolist(),
            'velocities': motion[1].tolist(),
            'accelerations': motion[2].tolist(),
            'effort': torque[0].tolist(),
            'time_from_start': {
                'sec': nanoseconds // 1_000_000_000, 'nanosec': nanoseconds % 1_000_000_000,
            },
        })
    return {'joint_names': list(annotated.names), 'points': points}


def _write_yaml(annotated: Annotated, path: Path) -> None:
    # `yaml.dump` would write the same, but take ten times as long.
    message = _message(annotated)
    with path.open('w', encoding='utf-8') as file:
        yaml.dump({'joint_names': message['joint_names']}, file, default_flow_style=None)
        file.write('points:\n')
        for point in message['points']:
            begin = '- '
            for key, values in point.items():
                if key == 'time_from_start':
                    text = f'{{sec: {values["sec"]}, nanosec: {values["nanosec"]}}}'
                else:
                    text = f'[{", ".join(map(_yaml_number, values))}]'
                file.write(f'{begin}{key}: {text}\n')
                begin = '  '


def _yaml_number(value: float) -> str:
    """Return a number in YAML 1.1: 1.0e-05, as 1e-05 would be text."""
    text = repr(value)
    return text.replace('e', '.0e') if 'e' in text and '.' not in text else text


def _write_json(annotated: Annotated, path: Path) -> None:
    path.write_text(json.dumps(_message(annotated)), encoding='utf-8')


def _write_csv(annotated: Annotated, path: Path) -> None:
    kinds = ('', '.velocity', '.acceleration', '.effort')
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(['time', *(name + kind for kind in kinds for name in annotated.names)])
        for time, motion, torque in zip(
            annotated.times.tolist(), annotated.motion, annotated.torque, strict=True,
        ):
            writer.writerow([time, *motion[:3].ravel().tolist(), *torque[0].tolist()])


_WRITERS: dict[str, Callable[[Annotated, Path], None]] = {
    '.yaml': _write_yaml, '.yml': _write_yaml, '.json': _write_json, '.csv': _write_csv}
