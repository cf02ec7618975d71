"""The summary of a fleet: a table with a row for each file and joint, as Parquet."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hodyn_ros.common.output_files import replacing
from hodyn_ros.fleet.task import Outcome, printable
from hodyn_ros.replay.computed_parquet import need_pyarrow

SUMMARY = 'summary.parquet'

LIMITED = ('position', 'velocity', 'acceleration', 'jerk', 'torque', 'torque_rate')
"""Quantities whose share of their limit is in a bag's row."""

PLAN_LIMITED = (
    'position', 'velocity', 'acceleration', 'jerk', 'effort', 'effort_rate', 'motor_velocity',
    'motor_effort', 'deflection')
"""Quantities whose share of their limit is in a plan's row."""

FIGURES = (
    'rms_error', 'rms_effort', 'share', 'rms_slow_error', 'slow_share', 'rms_fast_error', 'bias',
    'max_error', 'variance_accounted_for', 'friction_share', 'coulomb_left', 'viscous_left')
"""Values of a joint, as in `replay.comparison.JointComparison`."""

BAG_COLUMNS = (
    'bag', 'joint', 'status', 'robot', 'path', 'recorded', 'duration', 'samples_total',
    'samples_used', 'samples_lost', 'bandwidth', 'gravity_share', *FIGURES,
    *(f'{quantity}_share' for quantity in LIMITED), 'findings')
PLAN_COLUMNS = (
    'plan', 'joint', 'status', 'robot', 'path', 'output', 'points', 'duration', 'stretch',
    'interpolation', 'deviation', *(f'{quantity}_share' for quantity in PLAN_LIMITED), 'nearest',
    'nearest_time', 'nearest_share', 'findings')
"""Columns; docs/many_bags.md explains them, `write_summary` has their types."""

_TEXTS = {
    'bag', 'plan', 'joint', 'status', 'robot', 'path', 'output', 'interpolation', 'nearest'}
_COUNTS = {'samples_total', 'samples_used', 'samples_lost', 'points'}


def _printable(value: Any) -> Any:
    if isinstance(value, list):
        return [_printable(one) for one in value]
    return printable(value) if isinstance(value, str) else value


def write_summary(outcomes: Iterable[Outcome], columns: Sequence[str], path: Path) -> None:
    """Write the rows of outcomes, in their order; an earlier summary is replaced.

    HodynError or OSError: pyarrow is not installed, or the file cannot be written.
    """
    arrow = need_pyarrow()
    types = {
        **dict.fromkeys(columns, arrow.float64()), **dict.fromkeys(_TEXTS, arrow.string()),
        **dict.fromkeys(_COUNTS, arrow.int64()), 'findings': arrow.list_(arrow.string()),
        'recorded': arrow.timestamp('ns', tz='UTC')}
    rows = [row for outcome in outcomes for row in outcome.rows]
    table = arrow.table({
        name: arrow.array([_printable(row.get(name)) for row in rows], types[name])
        for name in columns})
    # Without pandas, readers convert times to Python's datetime, which has no nanoseconds.
    types['recorded'] = arrow.timestamp('us', tz='UTC')
    schema = arrow.schema([(name, types[name]) for name in columns])
    with replacing(path, force=True) as file:
        arrow.parquet.write_table(table.cast(schema, safe=False), file)
