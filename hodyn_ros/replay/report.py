"""The report of a replay: ``summary.json`` for machines, one self-contained page for people."""
import base64
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.output_files import Contents, replacing, write_text
from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.replay import figures
from hodyn_ros.replay.comparison import common_lag
from hodyn_ros.replay.playback import Agreement
from hodyn_ros.replay.replay_bag import Replay
from hodyn_ros.robot import Robot
from hodyn_ros.robot.files.plain_values import plain

Array = NDArray[np.float64]

CONTENTS = Contents(
    frozenset({
        'report.html', 'summary.json', 'torque.png', 'friction.png', 'torque_rates.png',
        'spectrum.png', 'computed.csv'}),
    {name: Contents.of_bag(name) for name in ('computed', 'live')}, mark='report.html')
"""What a replay leaves in its folder."""


def write_report(result: Replay, robot: Robot, output: Path, *, force: bool = False) -> None:
    """Write ``summary.json``, ``report.html`` and its figures as images."""
    write_summary(result, output / 'summary.json', force=force)
    drawn = [
        ('torque', 'Predicted and recorded effort', figures.torque_figure(result)),
        ('friction', 'Friction and what is left, over velocity',
         figures.friction_figure(result, robot)),
        ('torque_rates', 'Torque rates, with bands of two standard deviations',
         figures.rate_figure(result)),
        ('spectrum', 'Spectrum of prediction less recorded effort',
         figures.spectrum_figure(result)),
    ]
    images = []
    for name, title, figure in drawn:
        buffer = io.BytesIO()
        figure.savefig(buffer, format='png', dpi=110)
        with replacing(output / f'{name}.png', force=force) as file:
            file.write_bytes(buffer.getvalue())
        images.append((title, base64.b64encode(buffer.getvalue()).decode()))
    write_text(output / 'report.html', _page(result, images), force=force)


def statements(result: Replay) -> list[str]:
    """Return what can be said of the recording and of the prediction, in sentences."""
    found, noise = result.timing_statistics, result.noise
    said = [
        *result.counts.sentences,
        f'They come at {1.0 / found.period:.4g} Hz by their {found.clock} stamps, with a jitter '
        f'of {1e3 * found.jitter:.2g} ms.']
    for word, events in (('gaps', found.gaps), ('jumps back of the clock', found.resets)):
        if events:
            said.append(
                f'{len(events)} {word}, the longest of {max(s for _, s in events):.3g} s: the '
                'parts are smoothed apart and nothing is interpolated over.')
    rate = 1.0 / found.period
    if found.republished:
        rate = 1.0 / found.sampling_period
        said.append(
            f'{found.republished} messages repeat the state before them under a new stamp: the '
            f'states were sampled every {1e3 * found.sampling_period:.4g} ms and republished, so '
            'stamps are late by up to that. The instants of sampling are restored from positions '
            'and velocities.')
    measured = 'positions and velocities' if np.isfinite(noise.velocity).all() else 'positions'
    width = 0.5 / np.pi / noise.memory
    said.append(
        f'The motion is estimated from {measured}, by maximum likelihood, with a bandwidth of '
        f'{_range(width)} Hz; samples at {rate:.4g} Hz tell nothing of what is faster than '
        f'{0.5 * rate:.3g} Hz. Position noise is {_range(1e3 * noise.position)} mrad.')
    if result.still.any():
        joints = ', '.join(np.array(result.names)[result.still])
        said.append(f'Standing still: {joints}.')
    names = ('velocity', 'acceleration', 'jerk', 'snap')
    for k, name in enumerate(names, start=1):
        poor = [joint for joint, known in zip(
            result.names, result.motion_supported[k], strict=True) if not known]
        if poor:
            who = 'any joint' if len(poor) == len(result.names) else ', '.join(poor)
            torque = ('', '', ', nor Q̇', ', nor Q̈')[k - 1]
            said.append(f'The recording does not resolve the {name} of {who}{torque}.')
    if np.isfinite(result.gravity_share):
        semantics = (
            'with gravity' if result.gravity_share > 0.75 else 'without gravity'
            if result.gravity_share < 0.25 else 'with an unclear part of gravity')
        said.append(
            f'The driver reports efforts {semantics}: they contain {result.gravity_share:.3f} of '
            'the gravity torque of the model.')
        if result.gravity_share < 0.5:
            said.append('They are compared with Q less gravity; the computed bag holds all of Q.')
    lag, deviation = common_lag(result.joints)
    if np.isfinite(lag):
        said.append(
            f'Recorded efforts run behind the prediction by {1e3 * lag:.2g} ± '
            f'{2e3 * deviation:.2g} ms (two deviations), all joints together; errors of the '
            'friction law pass for a lag as well.')
    beyond = [extreme for extreme in result.extremes if extreme.beyond]
    for extreme in beyond:
        said.append(
            f'Beyond its limit: {extreme.quantity} of {extreme.joint}, {extreme.value:.4g} where '
            f'{extreme.limit:.4g} is allowed, in {extreme.beyond} messages.')
    if not any(np.isfinite(extreme.limit) for extreme in result.extremes):
        said.append('No limit of the robot is known: none was watched.')
    elif not beyond:
        said.append('The estimated motion keeps all known limits of the robot.')
    if result.live is not None:
        said.append(_live(result.live))
    return said


def _live(live: Agreement) -> str:
    def listed(values: Array) -> str:
        units = ('N m', 'N m/s', 'N m/s²')
        return ', '.join(
            f'{value:.2g} {unit}' for value, unit in zip(values, units, strict=True))

    verdict = 'which is round-off' if live.holds else 'which is more than round-off'
    return (
        f'The live node answered {live.samples} of {live.played} samples. Its Q, Q̇, Q̈ differ by '
        f'at most {listed(live.worst_difference)} from the same trajectory computed offline, '
        f'{verdict}, and by {listed(live.worst_from_estimate)} from the estimate, whose jerk and '
        f'snap no message tells it; the largest are {listed(live.peak)}.')


def _range(values: Array) -> str:
    low, high = f'{values.min():.2g}', f'{values.max():.2g}'
    return low if low == high else f'{low} to {high}'


def _page(result: Replay, images: Sequence[tuple[str, str]]) -> str:
    rows = ''.join(
        '<tr><td>' + '</td><td>'.join([
            escape(joint.name), f'{joint.rms_error:.3f}', f'{100 * joint.share:.1f}',
            f'{joint.rms_fast_error:.3f}', f'{joint.bias:+.3f}', f'{joint.max_error:+.2f}',
            f'{100 * joint.variance_accounted_for:.2f}', resolved(result, i)]) + '</td></tr>'
        for i, joint in enumerate(result.joints))
    limits = ''.join(
        f'<tr><td>{escape(extreme.joint)}</td><td>{extreme.quantity}</td>'
        f'<td>{extreme.value:.4g}</td><td>{_limit(extreme.limit)}</td><td>{extreme.beyond}</td>'
        f'<td>{1e-9 * (extreme.stamp - result.curves.start):.3f}</td></tr>'
        for extreme in result.extremes)
    pictures = ''.join(
        f'<h2>{escape(title)}</h2><img alt="{escape(title)}" src="data:image/png;base64,{data}">'
        for title, data in images)
    said = ''.join(f'<li>{escape(sentence)}</li>' for sentence in statements(result))
    return _PAGE.format(
        title=escape(f'{Path(result.bag).name}, {result.robot}'), said=said, rows=rows,
        limits=limits, pictures=pictures)


def _limit(value: float) -> str:
    return f'{value:.4g}' if np.isfinite(value) else ''


def resolved(result: Replay, joint: int) -> str:
    """Return which of Q, Q̇, Q̈ the recording resolves."""
    return ' '.join(
        name for name, known in zip(
            ('Q', 'Q̇', 'Q̈'), result.torque_supported[:, joint], strict=True) if known) or '–'


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Replay of {title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
td, th {{ padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }}
td:first-child, th:first-child {{ text-align: left }}
img {{ max-width: 100% }}
</style></head><body>
<h1>Replay of {title}</h1>
<ul>{said}</ul>
<h2>Prediction less recorded effort</h2>
<p>Efforts as recorded, unfiltered. “Fast” is what changes from one message to the next, √½ of the
RMS difference: vibration and measurement noise, which a smoothed motion cannot predict. “Resolved”
is what the recording tells with a standard deviation below a quarter of the signal.</p>
<table><tr><th>joint</th><th>RMS, N m</th><th>of signal, %</th><th>fast, N m</th><th>bias, N m</th>
<th>largest, N m</th><th>variance explained, %</th><th>resolved</th></tr>{rows}</table>
{pictures}
<h2>Limits</h2>
<table><tr><th>joint</th><th>quantity</th><th>extreme</th><th>limit</th><th>messages beyond</th>
<th>at, s</th></tr>{limits}</table>
</body></html>
"""


def write_summary(result: Replay, path: Path, *, force: bool = False) -> None:
    """Write the figures for machines; numbers that are not finite become null."""
    found = result.timing_statistics
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
            'gaps': [{'stamp': stamp, 'seconds': pause} for stamp, pause in found.gaps],
            'resets': [{'stamp': stamp, 'seconds': jump} for stamp, jump in found.resets],
        },
        'gravity_share': result.gravity_share,
        'lag': dict(zip(('seconds', 'deviation'), common_lag(result.joints), strict=True)),
        'statements': statements(result),
        'limits': [asdict(extreme) for extreme in result.extremes],
        **({} if result.live is None else {'live': _agreement(result.live)}),
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


def _agreement(live: Agreement) -> dict[str, Any]:
    return {
        'played': live.played, 'samples': live.samples, 'agrees': live.holds,
        **{name: dict(zip(TORQUE_NAMES, values, strict=True))
           for name, values in (
               ('worst_difference', live.worst_difference),
               ('worst_from_estimate', live.worst_from_estimate), ('peak', live.peak))}}


def _derivatives(
    names: tuple[str, ...], rms: Array, deviation: Array, supported: NDArray[np.bool_],
) -> dict[str, dict[str, Any]]:
    return {
        name: {'rms': rms[k], 'rms_deviation': deviation[k], 'resolved': bool(supported[k])}
        for k, name in enumerate(names)}
