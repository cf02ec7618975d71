"""The overview of replayed recordings: one page, the worst first, with links to their reports."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from html import escape
import io
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from hodyn_ros.common.output_files import write_text
from hodyn_ros.fleet.replay_task import REPORTS
from hodyn_ros.fleet.task import Outcome, Row
from hodyn_ros.replay.page import page, picture, row, table

OVERVIEW = 'overview.html'


def rank(outcomes: Sequence[Outcome]) -> list[tuple[float, str, Outcome]]:
    """Return a factor, a joint and the outcome of each bag, the worst bag first.

    The factor is the largest ratio of a joint's RMS error to the median of its errors in all bags;
    the joint is the one with this ratio. Bags without a result come first, then bags without
    efforts; both have an infinite factor.
    """
    medians = {
        joint: np.median([one['rms_error'] for _, one in rows])
        for joint, rows in _compared(outcomes).items()}

    def worst(outcome: Outcome) -> tuple[float, str]:
        joints = _compared([outcome])
        if not joints:
            return np.inf, ''
        return max(
            ((float(one['rms_error'] / medians[joint]), joint)
             for joint, ((_, one),) in joints.items() if medians[joint] > 0.0),
            default=(0.0, ''))

    return sorted(
        ((*worst(outcome), outcome) for outcome in outcomes),
        key=lambda entry: (-entry[0], entry[2].has_result, entry[2].name))


def counted(outcomes: Sequence[Outcome]) -> str:
    """Return the number of recordings as words."""
    return f'{len(outcomes)} recording{"" if len(outcomes) == 1 else "s"}'


def how_many_are_well(outcomes: Sequence[Outcome]) -> str:
    """Return how many recordings are read without loss, and how many of them have findings."""
    well = [outcome for outcome in outcomes if outcome.is_ok]
    found = sum(bool(outcome.rows[0]['findings']) for outcome in well)
    return (
        f'{len(well)} of {counted(outcomes)} {"is" if len(outcomes) == 1 else "are"} read without '
        f'loss, {found or "none"} of them with findings')


def write_overview(outcomes: Sequence[Outcome], path: Path, report: str) -> None:
    """Write the page with links to each bag's `report`; an earlier page is replaced."""
    joints = _compared(outcomes)
    bags = table(
        ('recording', 'date, UTC', 'duration, s', 'worst', *joints, 'findings'),
        (_bag_row(*entry, list(joints), report) for entry in rank(outcomes)))
    errors = table(
        ('joint', 'median, N m or N', '9 of 10 below', 'largest', 'largest in',
         'effort (median of RMS)'),
        (_joint_row(joint, rows) for joint, rows in joints.items()))
    write_text(path, page(f'Replay of {counted(outcomes)}', f"""
<p>{how_many_are_well(outcomes)}.
Errors are RMS of prediction minus recorded effort, in N m (of prismatic joints in N). “Worst” is
the largest ratio of a joint's error to the median of its errors in all recordings, followed by
this joint.</p>
<h2>Recordings, the worst first</h2>
{bags}
<h2>Errors by joint</h2>
{errors}
<h2>Drift</h2>
<p>Constant offset and additional Coulomb friction that the recorded efforts have and the
prediction lacks, over the date of recording.</p>
{_drift(joints) if joints else ''}"""), force=True)


def _compared(outcomes: Sequence[Outcome]) -> dict[str, list[tuple[str, Row]]]:
    """Return, for each joint with recorded efforts, the names of the bags and its rows in them."""
    found: dict[str, list[tuple[str, Row]]] = defaultdict(list)
    for outcome in outcomes:
        for one in outcome.rows:
            if one.get('rms_error') is not None:
                found[one['joint']].append((outcome.name, one))
    return dict(found)


def _bag_row(
    factor: float, joint: str, outcome: Outcome, joints: list[str], report: str,
) -> str:
    if not outcome.has_result:
        return (
            f'<tr class="failed"><td>{escape(outcome.name)}</td>'
            f'<td colspan="{len(joints) + 4}">{escape(outcome.status)}</td></tr>')
    errors = {name: f'{one["rms_error"]:.3g}' for name, ((_, one),) in _compared(
        [outcome]).items()}
    first = outcome.rows[0]
    link = quote(f'{REPORTS}/{outcome.name}/{report}')
    said = [*([] if outcome.is_ok else [outcome.status]), *first['findings']]
    date = datetime.fromtimestamp(first['recorded'] * 1e-9, timezone.utc)
    return row(
        f'<a href="{link}">{escape(outcome.name)}</a>', f'{date:%Y-%m-%d %H:%M:%S}',
        f'{first["duration"]:.4g}', f'{factor:.3g} {escape(joint)}' if errors else '–',
        *(errors.get(name, '') for name in joints),
        f'<span title="{escape(" ".join(said))}">{len(said) or ""}</span>')


def _joint_row(joint: str, rows: Sequence[tuple[str, Row]]) -> str:
    errors = [one['rms_error'] for _, one in rows]
    largest, name = max((one['rms_error'], name) for name, one in rows)
    return row(
        escape(joint), f'{np.median(errors):.3g}', f'{np.quantile(errors, 0.9):.3g}',
        f'{largest:.3g}', escape(name), f'{np.median([one["rms_effort"] for _, one in rows]):.3g}')


def _drift(joints: Mapping[str, Sequence[tuple[str, Row]]]) -> str:
    """Return a plot of offset and friction that the prediction lacks, over date, as HTML."""
    from matplotlib.dates import ConciseDateFormatter

    from hodyn_ros.common import plot_style
    from hodyn_ros.replay.plots import make_rows, set_title

    formatter: Any = ConciseDateFormatter  # its stub has no types
    figure, axes = make_rows(len(joints), 2, sharex=True)
    for (left, right), (joint, rows) in zip(axes, joints.items(), strict=True):
        times = np.array([one['recorded'] for _, one in rows]).astype('datetime64[ns]')
        for axis, column, sign in ((left, 'bias', -1.0), (right, 'coulomb_left', 1.0)):
            values = np.array([one[column] for _, one in rows], dtype=float)  # None becomes NaN
            axis.plot(times, sign * values, '.', markersize=4, color=plot_style.BLUE)
            axis.axhline(0.0, color=plot_style.BLACK, linewidth=0.6)
        left.set_ylabel(joint, fontsize=8)
    set_title(axes[0, 0], 'offset, N m (prismatic: N)')
    set_title(axes[0, 1], 'Coulomb friction, N m (prismatic: N)')
    axis = axes[-1, 0].xaxis
    axis.set_major_formatter(formatter(axis.get_major_locator()))
    buffer = io.BytesIO()
    figure.savefig(buffer, format='png', dpi=110)
    return picture('offset and friction over date', buffer.getvalue())
