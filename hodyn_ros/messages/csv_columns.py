"""Tables of joints in CSV: a column of times, and columns NAME, NAME.velocity … for each joint."""
from collections.abc import Mapping
import csv
from dataclasses import dataclass, field
import math
from pathlib import Path
import re

from hodyn_ros.common.errors import HodynError, did_you_mean

TIMES = ('time', 'time_from_start', 'time_s', 'seconds', 't_s', 't')
_TIMES_IN_SECONDS = ('time_s', 'seconds', 't_s')
ENCODING = 'utf-8-sig'  # spreadsheets begin their files with a byte order mark
KINDS = ('velocity', 'acceleration', 'effort')
"""Kinds of columns other than positions."""

_MISSING = ('', '-', 'na', 'n/a', '#n/a', 'null', 'none')
"""Cells, in lower case, that loggers and spreadsheets write for a missing value, besides nan."""
_UNITS = {
    'time': ('s',), 'position': ('rad', 'm'), 'velocity': ('rad/s', 'm/s'),
    'acceleration': ('rad/s^2', 'm/s^2'), 'effort': ('N m', 'N')}
_SPELLINGS = {'rad/s2': 'rad/s^2', 'rad/s²': 'rad/s^2', 'm/s2': 'm/s^2', 'm/s²': 'm/s^2',
              'Nm': 'N m', 'N·m': 'N m', 'N*m': 'N m'}
_OTHER_WORDS = {
    'position': ('pos', 'positions'), 'velocity': ('vel', 'speed', 'velocities'),
    'acceleration': ('acc', 'accel', 'accelerations'),
    'effort': ('eff', 'torque', 'tau', 'force', 'efforts')}
_SEPARATORS = {',': 'commas', ';': 'semicolons', '\t': 'tabs'}
_CURRENTS = ('current', 'currents', 'amps')
# A joint's name with the word of a kind after or before it.
_WORDS = (
    re.compile(r'(?P<joint>.+)[._/ ](?P<word>[^._/ ]+)'),
    re.compile(r'(?P<word>[^._/ ]+)[._/ ](?P<joint>.+)'))
_KIND_OF_WORD = {
    word: kind for kind, words in _OTHER_WORDS.items() for word in (kind, *words)}


@dataclass(frozen=True)
class JointTable:
    """The table in a file."""

    names: tuple[str, ...]  #: Names of the joints
    times: list[float]  #: Times of the rows, s
    #: Values in each row, by kind: `position` and the other kinds that are read. If a kind has no
    #: columns, its rows are empty.
    rows: dict[str, list[list[float]]]
    #: Line of the file, from 1, at which each row ends
    lines: list[int] = field(default_factory=list)
    #: Lines of a log that are left out: their numbers in the file, by reason
    left_out: dict[str, list[int]] = field(default_factory=dict)
    #: Whether the header says that the times are in s, as `time [s]` or `t_s` does
    says_seconds: bool = False
    #: dict of str to (str, str), by joint: the header of its first column with a unit in brackets,
    #: and its unit of position by this column, rad or m
    units: dict[str, tuple[str, str]] = field(default_factory=dict)


def read_table(path: Path, used: Mapping[str, str], *, is_log: bool = False) -> JointTable:
    """Return the table in a file; if semicolons separate columns, commas may be decimal points.

    Columns may have their SI unit in brackets after the name. Empty last columns without a name
    are left out. `used` are the kinds to read, from `position` and KINDS, with their names in
    error messages; other kinds are skipped.

    In a log, lines with a wrong number of entries and a last line cut in a number are left out,
    and cells that are empty or not finite become NaN. In other tables, these faults raise
    HodynError. Any other fault always does, with the file, and with line and column if known.
    """
    with path.open(newline='', encoding=ENCODING) as file:
        first = re.sub('"[^"]*"', '', file.readline())
        separator = max(_SEPARATORS, key=first.count)
        file.seek(0)
        reader = csv.reader(file, delimiter=separator)
        try:
            header = [column.strip() for column in next(reader, [])]
            lines = [(reader.line_num, line) for line in reader if line]
        except csv.Error as error:
            raise HodynError(f'{path}: not valid CSV: {error}') from None
    _drop_empty_ends(header, lines, path)
    written = header
    header = _without_units(header, path)
    lower = [column.lower() for column in header]
    time = next((lower.index(name) for name in TIMES if name in lower), None)
    says_seconds = time is not None and (
        written[time] != header[time] or lower[time] in _TIMES_IN_SECONDS)
    if 'time' not in header and time is not None:
        header[time] = 'time'
    pointed = next((f'line {number} has a decimal point ({value.strip()!r:.80})'
                    for number, line in lines for value in line if _has_point(value)), '')
    if separator == ';' and not pointed:
        # Commas are decimal points in this file.
        lines = [(number, [value.replace(',', '.') for value in line]) for number, line in lines]
    columns = _columns(header, path, used)
    table = JointTable(
        tuple(columns['position']), [], {kind: [] for kind in columns}, says_seconds=says_seconds,
        units=_units_of_joints(written, header))
    at = header.index('time')
    # A number may be whole, so that few commas are too many: then no line has the right number.
    surplus = math.inf if separator != ',' else 1 if not pointed and all(
        len(line) > len(header) for _, line in lines) else 2
    for number, line in lines:
        is_last = number == lines[-1][0]
        if fault := _wrong_count(line, len(header), surplus, is_last):
            _check_separator(line, separator, len(header), f'{path}, line {number}')
            if not is_log:
                raise HodynError(f'{path}, line {number}: {fault}')
            table.left_out.setdefault(fault, []).append(number)
            continue
        try:
            instant = _number(line, at, is_log)
            values = {
                kind: [_number(line, place, is_log) for place in places.values()]
                for kind, places in columns.items()}
        except _NotANumberError as wrong:
            _check_separator(line, separator, len(header), f'{path}, line {number}')
            place = wrong.args[0]
            is_comma = _is_number(line[place].replace(',', '.'))
            if is_log and is_last and len(lines) > 1 and not is_comma:
                table.left_out.setdefault('cut off in a number', []).append(number)
                continue
            hint = (
                ': a second header? Keep one recording per file' if (
                    line[place].strip().lower() in lower) else
                f': a decimal comma, but {pointed}: write all numbers alike'
                if is_comma and separator == ';' else
                ': a decimal comma: write a point, or separate the columns by semicolons'
                if is_comma else
                ('; if the value is missing, leave the cell empty' if is_log else '') + (
                    f'; if {header[place]!r} is no joint, delete its column'
                    if number == lines[0][0] and header[place] in table.names else ''))
            raise HodynError(
                f'{path}, line {number}, column {header[place]!r}: expected a finite number, got '
                f'{line[place]!r:.80}{hint}') from None
        table.times.append(instant)
        table.lines.append(number)
        for kind, row in values.items():
            table.rows[kind].append(row)
    return table


def _drop_empty_ends(header: list[str], lines: list[tuple[int, list[str]]], path: Path) -> None:
    """Remove empty last columns without a name, as spreadsheets write; refuse others."""
    columns = len(header)
    while header and not header[-1]:
        header.pop()
    for number, line in lines:
        while len(line) > len(header) and not line[-1].strip():
            line.pop()
        if len(header) < len(line) <= columns:
            raise HodynError(
                f'{path}, line {number}: {line[-1]!r:.80} is in column {len(line)}, which has no '
                'name: name the column in the first line, or delete it')
    if '' in header:
        raise HodynError(
            f'{path}: column {header.index("") + 1} has no name: name it in the first line, or '
            'delete it (pandas: to_csv(…, index=False))')


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _has_point(value: str) -> bool:
    return '.' in value and (',' in value or _is_number(value))


def _check_separator(line: list[str], separator: str, columns: int, where: str) -> None:
    """Raise HodynError if a line has another separator than the header."""
    text = separator.join(line)
    for other, name in _SEPARATORS.items():
        cells = text.split(other)
        if other != separator and len(cells) == columns > 1 and all(
                _is_number(cell.replace(',', '.')) for cell in cells if cell.strip()):
            raise HodynError(
                f'{where}: {name} separate the columns here, but {_SEPARATORS[separator]} in the '
                'first line: use the same in all lines') from None


class _NotANumberError(Exception):
    """A cell is not a number; the argument is the cell's index in the line."""


def _number(line: list[str], place: int, is_log: bool) -> float:
    """Return the number in a cell; in a log, NaN if it is missing or not finite."""
    text = line[place]
    try:
        value = float(text)
    except ValueError:
        if is_log and text.strip().lower() in _MISSING:
            return math.nan
        raise _NotANumberError(place) from None
    if math.isfinite(value):
        return value
    if not is_log:
        raise _NotANumberError(place)
    return math.nan


def _wrong_count(line: list[str], columns: int, surplus: float, is_last: bool) -> str:
    """Return the fault in the number of a line's entries; empty if it is right.

    With at least `surplus` entries too many, and no point, its numbers may have decimal commas.
    """
    entries = len(line)
    if entries == columns:
        return ''
    if is_last and entries < columns:
        return f'cut off after {entries} of {columns} entries'
    if columns + surplus <= entries <= 2 * columns and all(
            cell.strip().lstrip('+-').isdecimal() for cell in line):
        # Without the number, which differs from line to line, so that it is asked once.
        return (
            f'more entries than the {columns} columns: are these decimal commas? Then separate '
            'the columns by semicolons')
    return f'{entries} entries for {columns} columns'


def _columns(
    header: list[str], path: Path, used: Mapping[str, str],
) -> dict[str, dict[str, int]]:
    """Return, by kind and joint, the index of the column, in the order of the position columns."""
    if 'time' not in header:
        listed = ', '.join(map(repr, header)) or 'nothing'
        others = ' and '.join(f'NAME.{kind}' for kind in KINDS if kind in used)
        raise HodynError(
            f'{path}: the first line must name the columns: the time in seconds (one of '
            f'{", ".join(TIMES)}), NAME for the position of each joint, and if known {others}; '
            f'it has {listed:.200}')
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise HodynError(f'{path}: column {twice!r} occurs twice')
    _check_words(header, path)
    found: dict[str, dict[str, int]] = {kind: {} for kind in used}
    for place, column in enumerate(header):
        name, _, kind = column.rpartition('.')
        if name and kind in ('position', *KINDS):
            if kind in used:
                found[kind][name] = place
        elif column != 'time':
            found['position'][column] = place
    names = list(found['position'])
    kinds = [kind for kind, places in found.items() if places and kind != 'position']
    for kind in kinds:
        if lone := [name for name in found[kind] if name not in names]:
            raise HodynError(
                f'{path}: column {f"{lone[0]}.{kind}"!r}: no column {lone[0]!r} has the positions '
                f'of this joint{did_you_mean(lone[0], names)}')
    for name in names:
        if lacking := [kind for kind in kinds if name not in found[kind]]:
            alike = [other for other in names if lacking == [
                kind for kind in kinds if other not in found[kind]]]
            raise HodynError(
                f'{path}: no {" and ".join(used[kind] for kind in lacking)} of '
                f'{", ".join(map(repr, alike))}, though other joints have them: if this is no '
                'joint, delete its column; else add '
                + ' and '.join(repr(f'{name}.{kind}') for kind in lacking))
    return {kind: {name: places[name] for name in names if name in places}
            for kind, places in found.items()}


def _without_units(header: list[str], path: Path) -> list[str]:
    """Return the columns without units in brackets; refuse units that the kind does not have."""
    names = []
    for column in header:
        split = re.fullmatch(r'(.*\S)\s*[\[(]([^\])]*[^\])\d][^\])]*)[\])]', column)
        if split:
            name, unit = split[1], split[2].strip()
            kind = 'time' if name.lower() in TIMES else _KIND_OF_WORD.get(
                name.rpartition('.')[2].lower(), 'position')
            if _SPELLINGS.get(unit, unit) not in _UNITS[kind]:
                raise HodynError(
                    f'{path}: column {column!r}: {kind} is in {" or ".join(_UNITS[kind])}: '
                    'convert the values, and the unit in the brackets')
            column = name
        names.append(column)
    return names


def _units_of_joints(written: list[str], header: list[str]) -> dict[str, tuple[str, str]]:
    units: dict[str, tuple[str, str]] = {}
    for column, plain in zip(written, header, strict=True):
        if column != plain and plain != 'time':
            name, _, kind = plain.rpartition('.')
            unit = column[len(plain):].strip(' []()')
            units.setdefault(
                name if name and kind in ('position', *KINDS) else plain,
                (column, 'rad' if unit.startswith('rad') or 'm' in unit[1:] else 'm'))
    return units


def _check_words(header: list[str], path: Path) -> None:
    """Refuse columns with another word for a kind: they would otherwise be read as joints."""
    kinds = ('position', *KINDS)
    right = {column for column in header if column.rpartition('.')[0] and (
        column.rpartition('.')[2] in kinds)}
    joints = {column.rpartition('.')[0] for column in right}
    of_joint: dict[str, set[tuple[str, str]]] = {}
    for column in header:
        for pattern in _WORDS[:0 if column in joints else 1 if column in right else 2]:
            words = pattern.fullmatch(column)
            if words and (kind := _KIND_OF_WORD.get(words['word'].lower())):
                of_joint.setdefault(words['joint'], set()).add((kind, column))
    for joint, found in of_joint.items():
        for kind, column in sorted(found - {(kind, f'{joint}.{kind}') for kind in kinds}):
            if len(found) > 1 or joint in header:
                raise HodynError(
                    f'{path}: column {column!r}: write {joint}.{kind}, or {column}.position if '
                    'this is a joint')
    for column in header:
        split = re.fullmatch(r'(.+)([._/ ])([^._/ ]+)', column)
        kind = _KIND_OF_WORD.get(split[3].lower()) if split else None
        if split and kind and (split[2] == '.' or split[1] in header) and (
                split[2] + split[3] != '.' + kind):
            raise HodynError(f'{path}: column {column!r}: write {split[1]}.{kind}')
        if split and kind is None and (
                {split[1], f'{split[1]}.position'} & set(header)) and not any(
                f'{column}.{other}' in header for other in ('position', *KINDS)) and (
                split[2] == '.' or split[3].lower() in _CURRENTS):
            hint = (
                f': write currents as {split[1]}.effort, and give effort_gain in the robot file'
                if split[3].lower() in _CURRENTS else
                f': leave the column out, or write {column}.position if this is a joint')
            raise HodynError(
                f'{path}: column {column!r}: {split[3]!r} is not a kind of column '
                f'({", ".join("." + kind for kind in KINDS)}){hint}')
