"""The report of a replay: ``summary.json`` for machines, one self-contained page for people."""
import base64
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
import json
from pathlib import Path
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.output_files import Contents, replacing, write_text
from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.replay.comparison import JointComparison, common_lag
from hodyn_ros.replay.replay_bag import Replay
from hodyn_ros.replay.statements import facts, warnings
from hodyn_ros.robot import Robot
from hodyn_ros.robot.files.plain_values import plain

Array = NDArray[np.float64]


class _Report(Contents):
    """Files of a replay; an earlier report has the bag ``computed`` beside ``summary.json``."""

    def is_result(self, folder: Path) -> bool:
        """Whether a folder is only an earlier report, with or without its page."""
        return super().is_result(folder) and (folder / 'computed').is_dir()


CONTENTS = _Report(
    frozenset({
        'report.html', 'summary.json', 'torque.png', 'friction.png', 'torque_rates.png',
        'spectrum.png', 'computed.csv', 'computed.parquet'}),
    {'computed': Contents.of_bag('computed')}, mark='summary.json')
"""Files of a replay in its folder."""


def write_report(result: Replay, robot: Robot, output: Path, *, force: bool = False) -> None:
    """Write ``summary.json``, ``report.html`` and its plots as images."""
    from hodyn_ros.replay.pictures import pictures  # Matplotlib only if pictures are drawn

    write_summary(result, output / 'summary.json', force=force)
    images = []
    for name, title, picture in pictures(result, robot):
        with replacing(output / f'{name}.png', force=force) as file:
            file.write_bytes(picture)
        images.append((title, base64.b64encode(picture).decode()))
    # The name of a bag may have bytes that are not UTF-8.
    page = _page(result, images).encode('utf-8', 'backslashreplace').decode()
    write_text(output / 'report.html', page, force=force)


def _page(result: Replay, images: Sequence[tuple[str, str]]) -> str:
    rows = ''.join(
        '<tr><td>' + '</td><td>'.join([
            escape(joint.name), *figures_of(joint), resolved(result, i)]) + '</td></tr>'
        for i, joint in enumerate(result.joints))
    limits = ''.join(
        f'<tr><td>{escape(extreme.joint)}</td><td>{extreme.quantity}</td>'
        f'<td>{extreme.value:.4g}</td><td>{_limit(extreme.allowed)}</td><td>{extreme.unit}</td>'
        f'<td>{extreme.beyond}</td>'
        f'<td>{1e-9 * (extreme.time - result.curves.start):.3f}</td></tr>'
        for extreme in result.extremes)
    pictures = ''.join(
        f'<h2>{escape(title)}</h2><label><input type="checkbox" hidden>'
        f'<img alt="{escape(title)}" src="data:image/png;base64,{data}"></label>'
        for title, data in images)
    warned, said = (''.join(f'<li>{_marked_up(sentence)}</li>' for sentence in sentences)
                    for sentences in (warnings(result), facts(result)))
    if warned:
        warned = f'<h2>Needs attention</h2><ul>{warned}</ul><h2>Results</h2>'
    return _PAGE.format(
        title=escape(f'{Path(result.bag).name}, {result.robot}'), said=said, warned=warned,
        rows=rows, limits=limits, pictures=pictures, bandwidth=result.bandwidth)


def _marked_up(sentence: str) -> str:
    """Return a sentence as HTML, with the text between backticks as code."""
    return re.sub('`([^`]+)`', r'<code>\1</code>', escape(sentence))


def figures_of(joint: JointComparison) -> list[str]:
    """Return the cells of a joint's row, in N m or N, and in %; – for undefined values."""
    values = (
        (joint.rms_error, '.3f', ''), (100 * joint.share, '.1f', ' %'),
        (joint.rms_slow_error, '.3f', ''), (100 * joint.slow_share, '.1f', ' %'),
        (joint.rms_fast_error, '.3f', ''), (joint.bias, '+.3f', ''), (joint.max_error, '+.2f', ''),
        (100 * joint.variance_accounted_for, '.2f', ' %'))
    if not np.isfinite(joint.rms_error):
        return ['no effort', *[''] * (len(values) - 1)]
    if not np.isfinite(joint.variance_accounted_for):
        return ['constant', *[''] * (len(values) - 1)]
    return [f'{value:{form}}{unit}' if np.isfinite(value) else '–' for value, form, unit in values]


def _limit(value: float) -> str:
    return f'{value:.4g}' if np.isfinite(value) else ''


def resolved(result: Replay, joint: int) -> str:
    """Return which of Q, Q̇, Q̈ the recording resolves."""
    return ' '.join(
        name for name, known in zip(
            ('Q', 'Q̇', 'Q̈'), result.torque_supported[:, joint], strict=True) if known) or '–'


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Replay of {title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums;
  display: block; overflow-x: auto }}
td, th {{ padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }}
td:first-child, th:first-child {{ text-align: left }}
label {{ display: block; overflow-x: auto }}
img {{ max-width: 100%; height: auto; cursor: zoom-in }}
:checked + img {{ max-width: none; cursor: zoom-out }}
</style></head><body>
<h1>Replay of {title}</h1>
{warned}<ul>{said}</ul>
<h2>Prediction minus recorded effort</h2>
<p>Errors of the unfiltered efforts (of prismatic joints in N). “In band”, both efforts are
filtered to {bandwidth:.2g} Hz, the bandwidth of the motion: no model of the arm predicts faster
changes, such as vibration. “Fast” is √½ of the RMS change of the error from one message to the
next: vibration and measurement noise. “Resolved” are the torques and rates whose standard
deviation is below a quarter of the signal.</p>
<table><tr><th>joint</th><th>RMS, N m</th><th>of signal</th><th>in band, N m</th>
<th>of signal</th><th>fast, N m</th><th>bias, N m</th><th>largest, N m</th>
<th>variance explained</th><th>resolved</th></tr>{rows}</table>
<p>Click a picture to see its full size.</p>
{pictures}
<h2>Limits</h2>
<table><tr><th>joint</th><th>quantity</th><th>extreme</th><th>limit</th><th>unit</th>
<th>messages beyond</th><th>at, s</th></tr>{limits}</table>
</body></html>
"""


def write_summary(result: Replay, path: Path, *, force: bool = False) -> None:
    """Write the results as JSON; numbers that are not finite become null."""
    found, fit = result.timing_statistics, result.diagnosis.fit
    summary = {
        'bag': result.bag,
        'topic': result.counts.topic,
        'robot': result.robot,
        **result.counts.figures,
        'timing': {
            'clock': found.clock,
            'period': found.period,
            'jitter': found.jitter,
            'latency': found.latency,
            'republished': found.republished,
            'sampling_period': found.sampling_period,
            'restored': found.restored,
            'told': found.determined,
            'spread': found.evenly_spaced,
            'largest_move': found.largest_move,
            'misfit': found.misfit,
            'clock_steps': found.clock_steps,
            'gaps': [{'stamp': stamp, 'seconds': pause} for stamp, pause in found.gaps],
            'resets': [{'stamp': stamp, 'seconds': jump} for stamp, jump in found.resets],
        },
        'bandwidth': result.bandwidth,
        'gravity_share': result.gravity_share,
        'effort_factor': result.effort_factor,
        'velocity_lag': dict(zip(('seconds', 'deviation'), result.velocity_lag, strict=True)),
        'unexplained': fit.unexplained,
        'misread': [] if fit.reading is None else fit.reading.causes(result.names),
        'shifted_zeros': {result.names[joint]: turn for joint, turn in fit.zeros.items()},
        'lag': dict(zip(('seconds', 'deviation'), common_lag(result.joints), strict=True)),
        'warnings': warnings(result),
        'statements': [*warnings(result), *facts(result)],
        'limits': [
            {'joint': one.joint, 'quantity': one.quantity, 'value': one.value,
             'limit': one.allowed, 'stamp': one.time, 'beyond': one.beyond,
             'intervals': one.intervals} for one in result.extremes],
        'reflexes': [
            {'name': one.reflex, 'commands': one.commands, 'joint': one.joint,
             'quantity': one.quantity, 'value': abs(one.value), 'limit': one.allowed,
             'stamp': one.time} for one in result.reflexes],
        'joints': [
            {
                **asdict(joint),
                'smoother': {
                    'process_density': result.noise.process[i],
                    'position_noise': result.noise.position[i],
                    'velocity_noise': result.noise.velocity[i],
                    'memory': result.noise.memory[i],
                },
                'motion': _derivatives(
                    ('position', 'velocity', 'acceleration', 'jerk', 'snap'),
                    result.motion_rms[:, i], result.motion_deviation[:, i],
                    result.motion_supported[:, i]),
                'torque': _derivatives(
                    TORQUE_NAMES, result.torque_rms[:, i],
                    result.torque_deviation[:, i], result.torque_supported[:, i]),
            } for i, joint in enumerate(result.joints)],
    }
    text = json.dumps(plain(summary, finite=True), indent=2, allow_nan=False)
    write_text(path, text + '\n', force=force)


def _derivatives(
    names: tuple[str, ...], rms: Array, deviation: Array, supported: NDArray[np.bool_],
) -> dict[str, dict[str, Any]]:
    return {
        name: {'rms': rms[k], 'rms_deviation': deviation[k], 'resolved': bool(supported[k])}
        for k, name in enumerate(names)}
