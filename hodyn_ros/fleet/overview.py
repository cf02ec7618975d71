"""The overview of replayed recordings: one page, the worst first, with links to their reports."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
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
    """Return how much worse each bag is than the others, the worst first.

    Returns
    -------
    list of (float, str, Outcome)
        RMS error of the worst joint over the median of this joint's errors; that joint; and the
        bag. Bags that could not be replayed are first, with infinity.

    """
    medians = {joint: float(np.median(values)) for joint, values in _errors(outcomes).items()}
    ranked = []
    for outcome in outcomes:
        factors = [
            (one['rms_error'] / medians[one['joint']], one['joint']) for one in _joints(outcome)
            if one['rms_error'] is not None and medians[one['joint']] > 0.0]
        worst = max(factors, default=(0.0, ''))
        ranked.append((*(worst if outcome.has_result else (np.inf, '')), outcome))
    return sorted(ranked, key=lambda entry: (-entry[0], entry[2].name))


def write_overview(outcomes: Sequence[Outcome], path: Path, report: str) -> None:
    """Write the page with links to each bag's `report`; an earlier page is replaced."""
    joints = list(_errors(outcomes))
    count = sum(outcome.is_ok for outcome in outcomes)
    bags = table(
        ('recording', 'date, UTC', 'duration, s', 'worst', *joints, 'findings'),
        (_bag_row(*entry, joints, report) for entry in rank(outcomes)))
    errors = table(
        ('joint', 'median, N m or N', '9 of 10 below', 'largest', 'in', 'effort (median of RMS)'),
        (_joint_row(joint, outcomes) for joint in joints))
    write_text(path, page(f'Replay of {len(outcomes)} recordings', f"""
<p>{count} without fault, {len(outcomes) - count} with one. Errors are RMS of prediction minus
recorded effort, in N m (of prismatic joints in N). “Worst” is the joint whose error is largest
relative to the median of its errors in all recordings, after this ratio.</p>
<h2>Recordings, the worst first</h2>
{bags}
<h2>Errors by joint</h2>
{errors}
<h2>Drift</h2>
<p>Constant offset and additional Coulomb friction that the recorded efforts have and the
prediction lacks, over the date of recording.</p>
{_drift(outcomes, joints)}"""), force=True)


def _joints(outcome: Outcome) -> list[Row]:
    return [one for one in outcome.rows if one.get('joint') is not None]


def _errors(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Return the RMS errors of each joint, in the order of joints."""
    found: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for one in _joints(outcome):
            if one['rms_error'] is not None:
                found[one['joint']].append(one['rms_error'])
    return dict(found)


def _bag_row(
    factor: float, joint: str, outcome: Outcome, joints: list[str], report: str,
) -> str:
    if not outcome.has_result:
        return (
            f'<tr class="failed"><td>{escape(outcome.name)}</td>'
            f'<td colspan="{len(joints) + 4}">{escape(outcome.status)}</td></tr>')
    errors = {one['joint']: one['rms_error'] for one in _joints(outcome)}
    first = _joints(outcome)[0]
    link = quote(f'{REPORTS}/{outcome.name}/{report}')
    said = [*([] if outcome.is_ok else [outcome.status]), *first['findings']]
    date = datetime.fromtimestamp(first['recorded'] * 1e-9, timezone.utc)
    return row(
        f'<a href="{link}">{escape(outcome.name)}</a>', f'{date:%Y-%m-%d %H:%M:%S}',
        f'{first["duration"]:.4g}', f'{factor:.3g} {escape(joint)}',
        *('' if (error := errors.get(name)) is None else f'{error:.3g}' for name in joints),
        f'<span title="{escape(" ".join(said))}">{len(said) or ""}</span>')


def _joint_row(joint: str, outcomes: Sequence[Outcome]) -> str:
    found = [
        (one['rms_error'], one['rms_effort'], outcome.name) for outcome in outcomes
        for one in _joints(outcome) if one['joint'] == joint and one['rms_error'] is not None]
    errors, efforts = (np.array([entry[i] for entry in found]) for i in (0, 1))
    largest, _, name = max(found)
    return row(
        escape(joint), f'{np.median(errors):.3g}', f'{np.quantile(errors, 0.9):.3g}',
        f'{largest:.3g}', escape(name), f'{np.median(efforts):.3g}')


def _drift(outcomes: Sequence[Outcome], joints: list[str]) -> str:
    """Return a plot of offset and friction that the prediction lacks, over date, as HTML."""
    if not joints:
        return ''
    from matplotlib.dates import ConciseDateFormatter

    from hodyn_ros.common import plot_style
    from hodyn_ros.replay.plots import make_rows, set_title

    formatter: Any = ConciseDateFormatter  # its stub has no types
    figure, axes = make_rows(len(joints), 2, sharex=True)
    for (left, right), joint in zip(axes, joints, strict=True):
        rows = [
            one for outcome in outcomes for one in _joints(outcome) if one['joint'] == joint]
        times = np.array([one['recorded'] for one in rows]).astype('datetime64[ns]')
        for axis, figure_of, sign in ((left, 'bias', -1.0), (right, 'coulomb_left', 1.0)):
            values = np.array([one[figure_of] for one in rows], dtype=float)  # None becomes NaN
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
