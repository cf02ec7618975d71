"""The overview of replayed recordings: one page, the worst first, with links to their reports."""
from __future__ import annotations

import base64
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
from hodyn_ros.fleet.task import Outcome, Row, printable

OVERVIEW = 'overview.html'

_WIDTH, _ROW = 11.0, 1.5


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
            (row['rms_error'] / medians[row['joint']], row['joint']) for row in _joints(outcome)
            if row['rms_error'] is not None and medians[row['joint']] > 0.0]
        worst = max(factors, default=(0.0, ''))
        ranked.append((*(worst if outcome.has_result else (np.inf, '')), outcome))
    return sorted(ranked, key=lambda entry: (-entry[0], entry[2].name))


def write_overview(outcomes: Sequence[Outcome], path: Path, report: str) -> None:
    """Write the page with links to each bag's `report`; an earlier page is replaced."""
    ranked = rank(outcomes)
    errors = _errors(outcomes)
    title = f'{len(outcomes)} recordings'
    count = sum(outcome.is_ok for outcome in outcomes)
    write_text(path, printable(_PAGE.format(
        title=title, count=count, other=len(outcomes) - count,
        names=''.join(f'<th>{escape(joint)}</th>' for joint in errors),
        bags=''.join(_bag_row(*entry, list(errors), report) for entry in ranked),
        joints=''.join(_joint_row(joint, outcomes) for joint in errors),
        drift=_drift(outcomes, list(errors)))), force=True)


def _joints(outcome: Outcome) -> list[Row]:
    return [row for row in outcome.rows if row.get('joint') is not None]


def _errors(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Return the RMS errors of each joint, in the order of joints."""
    found: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for row in _joints(outcome):
            if row['rms_error'] is not None:
                found[row['joint']].append(row['rms_error'])
    return dict(found)


def _bag_row(
    factor: float, joint: str, outcome: Outcome, joints: list[str], report: str,
) -> str:
    if not outcome.has_result:
        return (
            f'<tr class="failed"><td>{escape(outcome.name)}</td>'
            f'<td colspan="{len(joints) + 4}">{escape(outcome.status)}</td></tr>')
    rows = {row['joint']: row for row in _joints(outcome)}
    first = next(iter(rows.values()))
    link = quote(f'{REPORTS}/{outcome.name}/{report}')
    said = [*([] if outcome.is_ok else [outcome.status]), *first['findings']]
    figures = ''.join(
        '<td>{}</td>'.format('' if (value := rows[name]['rms_error']) is None else f'{value:.3g}')
        if name in rows else '<td></td>' for name in joints)
    return (
        f'<tr><td><a href="{link}">{escape(outcome.name)}</a></td><td>{_date(first)}</td>'
        f'<td>{first["duration"]:.4g}</td><td>{factor:.3g} {escape(joint)}</td>{figures}'
        f'<td class="said" title="{escape(" ".join(said))}">{len(said) or ""}</td></tr>')


def _joint_row(joint: str, outcomes: Sequence[Outcome]) -> str:
    found = [
        (row['rms_error'], row['rms_effort'], outcome.name) for outcome in outcomes
        for row in _joints(outcome) if row['joint'] == joint and row['rms_error'] is not None]
    errors, efforts = (np.array([entry[i] for entry in found]) for i in (0, 1))
    worst = max(found)
    return (
        f'<tr><td>{escape(joint)}</td><td>{np.median(errors):.3g}</td>'
        f'<td>{np.quantile(errors, 0.9):.3g}</td><td>{worst[0]:.3g}</td>'
        f'<td>{escape(worst[2])}</td><td>{np.median(efforts):.3g}</td></tr>')


def _date(row: Row) -> str:
    time = datetime.fromtimestamp(row['recorded'] * 1e-9, timezone.utc)
    return f'{time:%Y-%m-%d %H:%M:%S}'


def _drift(outcomes: Sequence[Outcome], joints: list[str]) -> str:
    """Return a plot of offset and friction that the prediction lacks, over date, as HTML."""
    if not joints:
        return ''
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.dates import ConciseDateFormatter
    from matplotlib.figure import Figure

    from hodyn_ros.common import plot_style

    formatter: Any = ConciseDateFormatter  # its stub has no types

    height = 0.9 + _ROW * len(joints)
    figure = Figure(figsize=(_WIDTH, height))
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(
        len(joints), 2, squeeze=False, sharex=True, gridspec_kw={
            'left': 0.08, 'right': 0.99, 'top': 1.0 - 0.3 / height, 'bottom': 0.5 / height,
            'hspace': 0.25, 'wspace': 0.16})
    for (left, right), joint in zip(axes, joints, strict=True):
        rows = [row for outcome in outcomes for row in _joints(outcome) if row['joint'] == joint]
        times = np.array([row['recorded'] for row in rows]).astype('datetime64[ns]')
        for axis, values in (
                (left, [-np.nan if row['bias'] is None else -row['bias'] for row in rows]),
                (right, [np.nan if row['coulomb_left'] is None else row['coulomb_left']
                         for row in rows])):
            axis.plot(times, values, '.', markersize=4, color=plot_style.BLUE)
            axis.axhline(0.0, color=plot_style.BLACK, linewidth=0.6)
            axis.spines[['top', 'right']].set_visible(False)
            axis.grid(color=plot_style.GRID, linewidth=0.6)
            axis.tick_params(labelsize=8)
        left.set_ylabel(joint, fontsize=8)
    axes[0, 0].set_title('offset, N m (prismatic: N)', loc='left', fontsize=9)
    axes[0, 1].set_title('Coulomb friction, N m (prismatic: N)', loc='left', fontsize=9)
    axis = axes[-1, 0].xaxis
    axis.set_major_formatter(formatter(axis.get_major_locator()))
    buffer = io.BytesIO()
    figure.savefig(buffer, format='png', dpi=110)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="offset and friction over date" src="data:image/png;base64,{data}">'


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Replay of {title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 84em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
td, th {{ padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }}
td:first-child, th:first-child, .failed td {{ text-align: left }}
.failed {{ background: #fbeaea }}
.said {{ cursor: help }}
img {{ max-width: 100% }}
</style></head><body>
<h1>Replay of {title}</h1>
<p>{count} without fault, {other} with one. Errors are RMS of prediction minus recorded effort, in
N m (of prismatic joints in N). “Worst” is the joint whose error is largest relative to the median
of its errors in all recordings, after this ratio.</p>
<h2>Recordings, the worst first</h2>
<table><tr><th>recording</th><th>date, UTC</th><th>duration, s</th><th>worst</th>{names}
<th>findings</th></tr>{bags}</table>
<h2>Errors by joint</h2>
<table><tr><th>joint</th><th>median, N m or N</th><th>9 of 10 below</th><th>largest</th><th>in</th>
<th>effort (median of RMS)</th></tr>{joints}</table>
<h2>Drift</h2>
<p>Constant offset and additional Coulomb friction that the recorded efforts have and the
prediction lacks, over the date of recording.</p>
{drift}
</body></html>
"""
