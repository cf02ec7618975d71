"""The summary of a fleet: a table with a row for each file and joint, as Parquet."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hodyn_ros.common.output_files import replacing
from hodyn_ros.fleet.outcome import Outcome, printable
from hodyn_ros.replay.computed_parquet import need_pyarrow

SUMMARY = 'summary.parquet'

LIMITED = ('position', 'velocity', 'acceleration', 'jerk', 'torque', 'torque_rate')
"""Quantities whose share of their limit is in a row of a bag; of a plan's are those below."""

PLAN_LIMITED = (
    'position', 'velocity', 'acceleration', 'jerk', 'effort', 'effort_rate', 'motor_velocity',
    'motor_effort', 'deflection')

FIGURES = (
    'rms_error', 'rms_effort', 'share', 'rms_slow_error', 'slow_share', 'rms_fast_error', 'bias',
    'max_error', 'variance_accounted_for', 'friction_share', 'coulomb_left', 'viscous_left')
"""Figures of a joint, as of `replay.comparison.JointComparison`."""

_NUMBER, _COUNT, _TEXT, _TEXTS, _TIME = (
    'float64', 'int64', 'string', 'list', 'time')

BAG_COLUMNS: Mapping[str, str] = {
    'bag': _TEXT, 'joint': _TEXT, 'status': _TEXT, 'robot': _TEXT, 'path': _TEXT,
    'recorded': _TIME, 'duration': _NUMBER,
    'samples_total': _COUNT, 'samples_used': _COUNT, 'samples_lost': _COUNT,
    'bandwidth': _NUMBER, 'gravity_share': _NUMBER,
    **dict.fromkeys((*FIGURES, *(f'{quantity}_share' for quantity in LIMITED)), _NUMBER),
    'findings': _TEXTS,
}
PLAN_COLUMNS: Mapping[str, str] = {
    'plan': _TEXT, 'joint': _TEXT, 'status': _TEXT, 'robot': _TEXT, 'path': _TEXT,
    'output': _TEXT, 'points': _COUNT, 'duration': _NUMBER, 'stretch': _NUMBER,
    'interpolation': _TEXT, 'deviation': _NUMBER,
    **{f'{quantity}_share': _NUMBER for quantity in PLAN_LIMITED},
    'nearest': _TEXT, 'nearest_time': _NUMBER, 'nearest_share': _NUMBER, 'findings': _TEXTS,
}
"""Columns and their types; docs/many_bags.md tells what they are."""


def _printable(value: Any) -> Any:
    if isinstance(value, list):
        return [_printable(one) for one in value]
    return printable(value) if isinstance(value, str) else value


def write_summary(
    outcomes: Iterable[Outcome], columns: Mapping[str, str], path: Path,
) -> None:
    """Write the rows of outcomes, in their order; an earlier summary is replaced.

    Raises
    ------
    HodynError, OSError
        When pyarrow is not installed; when the file cannot be written.

    """
    arrow = need_pyarrow()
    types: dict[str, Any] = {
        _NUMBER: arrow.float64(), _COUNT: arrow.int64(), _TEXT: arrow.string(),
        _TEXTS: arrow.list_(arrow.string()), _TIME: arrow.timestamp('ns', tz='UTC')}
    rows = [row for outcome in outcomes for row in outcome.rows]
    table = arrow.table({
        name: arrow.array([_printable(row.get(name)) for row in rows], types[kind])
        for name, kind in columns.items()})
    # Python's own times, which readers without pandas make of them, have no nanoseconds.
    schema = arrow.schema([
        (field.name, arrow.timestamp('us', tz='UTC') if field.type == types[_TIME] else field.type)
        for field in table.schema])
    with replacing(path, force=True) as file:
        arrow.parquet.write_table(table.cast(schema, safe=False), file)
