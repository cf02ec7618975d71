"""A CSV log as a bag of joint states, for recording without ROS."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import StoragePlugin

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.input_files import check_file
from hodyn_ros.messages.bag_writer import bag_writer
from hodyn_ros.messages.csv_columns import JointTable, read_table
from hodyn_ros.messages.joint_states import MESSAGE_TYPE
from hodyn_ros.messages.message_types import TYPES

TOPIC = '/joint_states'
_KINDS = {'position': 'positions', 'velocity': 'velocities', 'effort': 'efforts'}
_SLOWEST = 0.5  # greatest median time between rows, s; a longer one may be in another unit
_SET_BACK = 0.01  # largest share of rows before which the clock was set back
_LIKE = 0.9  # correlation from which recorded velocities fit the positions
_NEAR = 3.0  # with the right unit of time, slopes and velocities differ by less than this factor
_UNITS = ('seconds', 'milliseconds', 'microseconds', 'nanoseconds')
_LATEST = 2.0 ** 31  # least time that is too large for a stamp, s


@dataclass(frozen=True)
class WrittenLog:
    """What `write_log` wrote."""

    names: tuple[str, ...]  #: The joints
    #: `count`, `duration`: Number of messages, and their duration, s
    count: int
    duration: float
    kinds: tuple[str, ...]  #: Kinds of values, such as ``velocities``
    #: Lines left out, values missing, times that go back; each with the number of lines
    faults: tuple[str, ...] = ()


def write_log(path: Path, bag: Path, *, force: bool = False) -> WrittenLog:
    """Write a log, in the format of `read_table`, as the joint states of a new bag.

    Lines that lack a time or the position of a joint, or repeat a time, are left out; missing
    velocities and efforts are NaN. Times that are set back at few rows stay as they are.
    HodynError: the log is not valid, more than half of its lines are unusable, times are out of
    order, or they are repeated since they have too few digits.
    """
    check_file(path, f'{path}: no such log')
    try:
        table = read_table(path, _KINDS, is_log=True)
    except UnicodeDecodeError:
        raise HodynError(f'{path}: not UTF-8 text') from None
    times, lines = np.array(table.times), np.array(table.lines, dtype=int)
    values = {
        kind: np.array(rows) if rows else np.zeros((0, 0)) for kind, rows in table.rows.items()}
    used, left_out = _usable(table, times, values['position'])
    again = np.flatnonzero(used)[1:][np.diff(times[used]) == 0.0]
    if again.size and not _too_coarse(times[used]):
        used[again] = False
        left_out['same time as the line before'] = lines[again].tolist()
    unused = sum(map(len, left_out.values()))
    said = [f'left out: {_counted(reason, where)}' for reason, where in left_out.items()]
    if 2 * unused > unused + np.count_nonzero(used):
        raise HodynError(
            f'{path}: {unused} of {unused + np.count_nonzero(used)} lines cannot be used; '
            + '; '.join(said))
    times, lines = times[used], lines[used]
    values = {kind: rows[used] for kind, rows in values.items()}
    if not table.names or len(times) < 2:
        raise HodynError('; '.join([
            f'{path}: a log needs a column for each joint and at least two rows; joints here: '
            f'{len(table.names)}, rows: {len(times)}', *said]))
    for kind in ('velocity', 'effort'):
        missing = np.isnan(values[kind])
        if missing.any():
            joints = np.array(table.names)[missing.any(axis=0)]
            said.append('missing: ' + _counted(
                f'{kind} of {", ".join(joints)}', lines[missing.any(axis=1)].tolist()))
    _check_times(path, times, lines)
    steps = np.diff(times)
    set_back = np.flatnonzero(steps < 0.0)
    if set_back.size:
        said.append(_counted(
            f'the time goes back by {", ".join(f"{-steps[row]:.3g} s" for row in set_back[:3])}'
            f'{", …" * (set_back.size > 3)}', lines[set_back + 1].tolist()))
    # Readers sort messages by the time of recording, which therefore goes on.
    recorded = times + np.append(
        0.0, np.cumsum(np.where(steps < 0.0, np.median(steps) - steps, 0.0)))
    if question := _other_unit(times, values, table.says_seconds):
        raise HodynError(f'{path}: {question}')
    columns = [np.ascontiguousarray(values[kind]) for kind in _KINDS]
    message, header, time = (TYPES.types[name] for name in (
        MESSAGE_TYPE, 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time'))
    names = list(table.names)
    with bag_writer(bag, version=8, storage=StoragePlugin.MCAP, force=force) as writer:
        connection = writer.add_connection(TOPIC, MESSAGE_TYPE, typestore=TYPES)
        for stamp, instant, *state in zip(
                _nanoseconds(times), _nanoseconds(recorded), *columns, strict=True):
            states = message(header(time(*divmod(stamp, 10 ** 9)), ''), names, *state)
            writer.write(connection, instant, TYPES.serialize_cdr(states, MESSAGE_TYPE))
    return WrittenLog(
        table.names, len(times), float(np.ptp(recorded)),
        tuple(what for kind, what in _KINDS.items() if values[kind].size), tuple(said))


def _usable(
    table: JointTable, times: Array, position: Array,
) -> tuple[Flags, dict[str, list[int]]]:
    """Return which rows have a time and all positions, and the other lines by reason."""
    lines, left_out = np.array(table.lines, dtype=int), dict(table.left_out)
    timed, missing = np.isfinite(times), np.isnan(position)
    if not timed.all():
        left_out['no time'] = lines[~timed].tolist()
    placed = ~missing.any(axis=1)
    if (timed & ~placed).any():
        joints = np.array(table.names)[missing[timed].any(axis=0)]
        left_out[f'no position of {", ".join(joints)}'] = lines[timed & ~placed].tolist()
    return timed & placed, left_out


def _counted(reason: str, lines: list[int]) -> str:
    """Return a reason with the number of lines, and the first line."""
    return f'{reason} (line {lines[0]})' if len(lines) == 1 else (
        f'{reason} ({len(lines)} lines, the first is line {lines[0]})')


def _nanoseconds(times: Array) -> list[int]:
    found: list[int] = np.round(1e9 * times).astype(np.int64).tolist()
    return found


def _check_times(path: Path, times: Array, lines: NDArray[np.int_]) -> None:
    """Raise HodynError, with file and line, for times out of order, repeated, or below 0."""
    backward = np.diff(times) <= 0.0
    if backward.sum() > _SET_BACK * len(times) or not np.diff(times).all():
        row = int(backward.argmax()) + 1
        earlier = (
            f'is the same as in line {lines[row - 1]}' if times[row] == times[row - 1]
            else f'is not after {_digits(times[row - 1])} s: sort the rows by time, or split the '
            'log where the clock was set back')
        raise HodynError(
            f'{path}, line {lines[row]}: time {_digits(times[row])} s {earlier}'
            f'{_too_coarse(times)}')
    first = int(times.argmin())
    if times[first] < 0.0:
        raise HodynError(
            f'{path}, line {lines[first]}: time {_digits(times[first])} s is before 0: '
            f'add {_digits(-times[first])} s to all times')


def _too_coarse(times: Array) -> str:
    """Return a hint if times in single precision explain why some are equal, else empty."""
    steps = np.diff(times)
    grid = float(np.spacing(np.float32(times.max())))
    later = steps[steps > 0.0]
    if (steps < 0.0).any() or np.ptp(times) >= grid * len(steps) or (
            later.size and later.min() < 0.9 * grid):
        return ''
    return (
        ': the logger seems to have stored times in single precision, whose steps are '
        f'{grid:.3g} s at this size: record the seconds since the start')


def _digits(value: float) -> str:
    """Return a time with all its digits: times since 1970 differ only in the last ones."""
    return np.format_float_positional(value, trim='-')


def _other_unit(times: Array, values: dict[str, Array], says_seconds: bool) -> str:
    """Return why the times seem not to be in s, and what to do; empty if they may be."""
    apart, last = float(np.median(np.diff(times))), float(times[-1])
    is_late = last >= _LATEST
    if not is_late and (apart <= _SLOWEST or says_seconds):
        return ''
    rounded, end = _digits(round(apart, 6)), _digits(round(last, 6))
    said = f'rows are {rounded} s apart, the last at {end} s: '
    unit = _unit_by_velocities(times, values['position'], values['velocity'])
    if unit == 'seconds' and not is_late:
        return ''
    if unit not in ('', 'seconds'):
        return f'{said}by the velocities these are {unit}. Times must be in s'
    bounds, size = ((3e2, 3e5), apart) if apart > _SLOWEST else ((1e14, 1e17), last)
    likely = _UNITS[1 + int(np.searchsorted(bounds, size, side='right'))]
    return f'{said}are these {likely}? Times must be in s' + (
        '' if is_late else "; if they are in s already, name their column 'time [s]'")


def _unit_by_velocities(times: Array, position: Array, velocity: Array) -> str:
    """Return the unit of times in which velocities fit the positions; empty if none does."""
    if not velocity.size:
        return ''
    steps = np.diff(position, axis=0)
    expected = 0.5 * (velocity[1:] + velocity[:-1]) * np.diff(times)[:, None]
    known = np.isfinite(expected)
    steps, expected = steps[known], expected[known]
    product, square = float(steps @ expected), float(expected @ expected)
    if product <= _LIKE * float(np.sqrt(square * (steps @ steps))) or not product:
        return ''
    for power, unit in enumerate(_UNITS):
        if 1.0 / _NEAR < product / square * 1e3 ** power < _NEAR:
            return unit
    return ''
