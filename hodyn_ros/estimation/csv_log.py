"""A CSV log as a bag of joint states, for recording without ROS."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.bag_writer import bag_writer
from hodyn_ros.messages.csv_columns import read_table
from hodyn_ros.messages.joint_states import MESSAGE_TYPE
from hodyn_ros.messages.message_types import TYPES

TOPIC = '/joint_states'
_KINDS = {'position': 'positions', 'velocity': 'velocities', 'effort': 'efforts'}
_SLOWEST = 0.5  # s between rows, median; longer times are likely in another unit
_LATEST = 2.0 ** 31  # s, the first time that a stamp cannot hold


@dataclass(frozen=True)
class WrittenLog:
    """What was written: joints, number of messages, duration in s, and kinds of values."""

    names: tuple[str, ...]
    count: int
    duration: float
    kinds: tuple[str, ...]


def write_log(path: Path, bag: Path, *, force: bool = False) -> WrittenLog:
    """Write a log, as `read_table` reads it, as the joint states of a new bag.

    Raises HodynError with file and row if the log is not valid.
    """
    if not path.is_file():
        raise FileNotFoundError(f'{path}: no such log')
    try:
        table = read_table(path, _KINDS, 'row')
    except UnicodeDecodeError:
        raise HodynError(f'{path}: not UTF-8 text') from None
    times = np.array(table.times)
    if not table.names or len(times) < 2:
        raise HodynError(
            f'{path}: a log needs a column for each joint and at least two rows; joints here: '
            f'{len(table.names)}, rows: {len(times)}')
    values = {kind: np.array(rows) for kind, rows in table.rows.items()}
    wrong = ~np.isfinite(np.column_stack([times, *values.values()])).all(axis=1)
    if wrong.any():
        raise HodynError(f'{path}, row {wrong.argmax()}: has numbers that are not finite')
    backward = np.diff(times) <= 0.0
    if backward.any():
        row = int(backward.argmax()) + 1
        raise HodynError(
            f'{path}, row {row}: time {_digits(times[row])} s is not after '
            f'{_digits(times[row - 1])} s')
    if times[0] < 0.0:
        raise HodynError(f'{path}, row 0: time {_digits(times[0])} s is before 0')
    apart = float(np.median(np.diff(times)))
    if apart > _SLOWEST or times[-1] >= _LATEST:
        raise HodynError(
            f'{path}: rows are {_digits(apart)} s apart, up to {_digits(times[-1])} s: are these '
            f'{_likely_unit(apart, float(times[-1]))}? Times are in s')
    columns = [np.ascontiguousarray(values[kind]) for kind in _KINDS]
    message, header, time = (TYPES.types[name] for name in (
        MESSAGE_TYPE, 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time'))
    names = list(table.names)
    with bag_writer(bag, version=8, storage=StoragePlugin.MCAP, force=force) as writer:
        connection = writer.add_connection(TOPIC, MESSAGE_TYPE, typestore=TYPES)
        for stamp, *state in zip(np.round(1e9 * times).astype(np.int64).tolist(), *columns,
                                 strict=True):
            said = message(header(time(*divmod(stamp, 10 ** 9)), ''), names, *state)
            writer.write(connection, stamp, TYPES.serialize_cdr(said, MESSAGE_TYPE))
    return WrittenLog(
        table.names, len(times), float(np.ptp(times)),
        tuple(what for kind, what in _KINDS.items() if values[kind].size))


def _digits(value: float) -> str:
    """Return all digits of a time: those of a time since 1970 differ only in the last ones."""
    return np.format_float_positional(value, trim='-')


def _likely_unit(apart: float, last: float) -> str:
    """Return the likely unit of times that are not in s, by their spacing or, if small, size."""
    bounds = (3e2, 3e5) if apart > _SLOWEST else (1e14, 1e17)
    size = apart if apart > _SLOWEST else last
    return ('milliseconds', 'microseconds', 'nanoseconds')[
        int(np.searchsorted(bounds, size, side='right'))]
