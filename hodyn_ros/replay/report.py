"""The report of a replay: ``summary.json`` for machines, one self-contained page for people."""
from dataclasses import asdict
from html import escape
import json
from pathlib import Path
import re
from typing import Any

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.output_files import Contents, replacing, write_text
from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.limits.margins import both
from hodyn_ros.replay.comparison import JointComparison, common_lag
from hodyn_ros.replay.page import page, picture, row, table
from hodyn_ros.replay.replay_bag import Replay
from hodyn_ros.replay.statements import facts, warnings
from hodyn_ros.robot import Robot
from hodyn_ros.robot.files.plain_values import plain


class _Report(Contents):
    """Files of a replay, known by the bag ``computed`` and ``summary.json`` in their folder."""

    def is_result(self, folder: Path) -> bool:
        """Whether a folder is only an earlier report, with or without its page."""
        return super().is_result(folder) and (folder / 'computed').is_dir()


_LEAST = -1000.0  # %; lower shares are shown as ``below -1000 %``
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
    drawn = pictures(result, robot)
    for name, _, png in drawn:
        with replacing(output / f'{name}.png', force=force) as file:
            file.write_bytes(png)
    body = _body(result, ''.join(
        f'<h2>{escape(title)}</h2>{picture(title, png)}' for _, title, png in drawn))
    title = f'Replay of {Path(result.bag).name}, {result.robot}'
    write_text(output / 'report.html', page(title, body), force=force)


def _body(result: Replay, pictures: str) -> str:
    joints = table(
        ('joint', 'RMS, N m', 'of signal', 'in band, N m', 'of signal', 'fast, N m', 'bias, N m',
         'largest, N m', 'variance explained', 'resolved'),
        (row(escape(joint.name), *figures_of(joint), resolved(result, i))
         for i, joint in enumerate(result.joints)))
    limits = table(
        ('joint', 'quantity', 'extreme', 'limit', 'unit', 'messages beyond', 'at, s'),
        (row(escape(extreme.joint), extreme.quantity, value,
             allowed if np.isfinite(extreme.allowed) else '', extreme.unit,
             str(extreme.beyond), f'{1e-9 * (extreme.time - result.curves.start):.3f}')
         for extreme in result.extremes
         for value, allowed in [both(extreme.value, extreme.allowed, 4)]))
    warned, said = (''.join(f'<li>{_marked_up(sentence)}</li>' for sentence in sentences)
                    for sentences in (warnings(result), facts(result)))
    if warned:
        warned = f'<h2>Needs attention</h2><ul>{warned}</ul><h2>Results</h2>'
    return f"""{warned}<ul>{said}</ul>
<h2>Prediction minus recorded effort</h2>
<p>Errors of the unfiltered efforts (N for prismatic joints). “In band”, both efforts are
filtered to {result.bandwidth:.2g} Hz, the bandwidth of the motion: no model of the arm predicts
faster changes, such as vibration. “Fast” is √½ of the RMS change of the error from one message to
the next: vibration and measurement noise. “Resolved” lists the torques and rates whose standard
deviation is below a quarter of the signal (Q̇ and Q̈ only if jerk and snap are resolved too).</p>
{joints}
<p>Click a picture to see its full size.</p>
{pictures}
<h2>Limits</h2>
{limits}"""


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
    return [
        '–' if not np.isfinite(value) else f'below {_LEAST:g} %' if unit and value < _LEAST
        else f'{value:{form}}{unit}' for value, form, unit in values]


def resolved(result: Replay, joint: int) -> str:
    """Return which of Q, Q̇, Q̈ the recording resolves."""
    return ' '.join(
        name for name, known in zip(
            ('Q', 'Q̇', 'Q̈'), result.torque_supported[:, joint], strict=True) if known) or '–'


def write_summary(result: Replay, path: Path, *, force: bool = False) -> None:
    """Write the results as JSON; numbers that are not finite become null."""
    found, fit = result.timing_statistics, result.diagnosis.fit
    efforts = result.diagnosis.efforts
    summary = {
        'bag': result.bag,
        'topic': result.counts.topic,
        'robot': result.robot,
        **result.counts.figures,
        'timing': {
            'clock': found.clock,
            'period': found.period,
            'jitter': found.jitter,
            'missing': found.missing,
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
        'gravity_share': efforts.gravity_share,
        'effort_factor': efforts.factor,
        'velocity_lag': {
            **asdict(result.velocity_lag), 'own': [
                (result.names[joint], *lag) for joint, lag in result.velocity_lag.own.items()]},
        'unexplained': fit.unexplained,
        'misread': result.diagnosis.other_units + (
            [] if fit.reading is None else fit.reading.causes(result.names)),
        'shifted_zeros': {result.names[joint]: turn for joint, turn in fit.zeros.items()},
        'lag': asdict(common_lag(result.joints)),
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
    names: tuple[str, ...], rms: Array, deviation: Array, supported: Flags,
) -> dict[str, dict[str, Any]]:
    return {
        name: {'rms': rms[k], 'rms_deviation': deviation[k], 'resolved': bool(supported[k])}
        for k, name in enumerate(names)}
