"""Plots of a replay: drawn without a display, one row per joint."""
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
import numpy as np

from hodyn_ros.common import plot_style
from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.replay.comparison import JointComparison, percent
from hodyn_ros.replay.replay_bag import Replay
from hodyn_ros.replay.traces import Trace
from hodyn_ros.robot import Robot

RECORDED, PREDICTED, ERROR = plot_style.BLUE, plot_style.RED, plot_style.GREY
_GRID = plot_style.GRID
_RAISED = str.maketrans('0123456789-', '⁰¹²³⁴⁵⁶⁷⁸⁹⁻')
_WIDTH, _ROW = 11.0, 1.55  # width of a figure and height of a row; all lengths are in inches
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.75, 0.12, 0.32, 0.55
_GAP = 0.36  # gap between rows, for a title
_LABEL, _BELOW = 0.53, 0.31  # distances from an axis to the labels of y and x; numbers lie between


def make_rows(
    count: int, columns: int = 1, *, row: float = _ROW, gap: float = _GAP, top: float = _TOP,
    **options: Any,
) -> tuple[Figure, Any]:
    """Return a figure with axes at fixed places.

    A layout that measures the labels takes three times as long as drawing.
    """
    height = top + row * count + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height))
    FigureCanvasAgg(figure)
    wide = (_WIDTH - _LEFT - _RIGHT - (columns - 1) * _LEFT) / columns
    high = row - gap * (count - 1) / count
    axes = figure.subplots(count, columns, squeeze=False, gridspec_kw={
        'left': _LEFT / _WIDTH, 'right': 1.0 - _RIGHT / _WIDTH, 'wspace': _LEFT / wide,
        'bottom': _BOTTOM / height, 'top': 1.0 - top / height, 'hspace': gap / high,
        'height_ratios': options.pop('height_ratios', None)}, **options)
    for axis in axes.flat:
        axis.spines[['top', 'right']].set_visible(False)
        axis.grid(color=_GRID, linewidth=0.6)
        axis.set_axisbelow(True)
        axis.tick_params(labelsize=8)
        axis.margins(x=0.01)
        axis.yaxis.set_label_coords(-_LABEL / wide, 0.5)
        axis.xaxis.set_label_coords(0.5, -_BELOW / axis.bbox.height * figure.dpi)
        set_title(axis, '')
    return figure, axes


def set_title(axis: Any, text: str) -> None:
    """Set the title of axes at a fixed place."""
    axis.set_title(text, loc='left', fontsize=9, y=1.0)  # without y, Matplotlib measures its place


def _label_once(axes: Any, label: str) -> None:
    """Put numbers and label of x below the last plot of each column; others have only a grid.

    The five artists of each tick would take more time than all curves.
    """
    for column in axes.T:
        *above, last = (axis for axis in column if axis.get_visible())
        last.set_xlabel(label, fontsize=9)
        last.tick_params(labelbottom=True)
        grid = [((x, 0.0), (x, 1.0)) for x in last.xaxis.get_majorticklocs()]
        for axis in above:
            axis.xaxis.set_visible(False)
            axis.add_collection(LineCollection(
                grid, transform=axis.get_xaxis_transform(), colors=_GRID, linewidths=0.6,
                zorder=0.5), autolim=False)


def _curve(axis: Any, trace: Trace, column: int, color: str, label: str, width: float) -> None:
    """Draw a curve, or its envelope if it has more samples than a figure has pixels."""
    if trace.bin == 1:
        axis.plot(trace.time, trace.upper[:, column], color=color, linewidth=width, label=label)
    else:
        axis.fill_between(
            trace.time, trace.lower[:, column], trace.upper[:, column], color=color, alpha=0.6,
            linewidth=0.3, label=label)


def torque_figure(result: Replay, robot: Robot) -> Figure:
    """Draw predicted and recorded effort, and below each pair their difference."""
    names, trace, n = result.names, result.curves.torques, len(result.names)
    figure, axes = make_rows(2 * n, row=1.05, gap=0.26, sharex=True, height_ratios=[2, 1] * n)
    for i, joint in enumerate(result.joints):
        upper, lower = axes[2 * i, 0], axes[2 * i + 1, 0]
        _curve(upper, trace, n + i, RECORDED, 'recorded', 1.3)
        _curve(upper, trace, i, PREDICTED, 'predicted', 1.0)
        _curve(lower, trace, 2 * n + i, ERROR, '', 0.8)
        lower.axhline(0.0, color='black', linewidth=0.6)
        of = unit(robot, i, 'effort')
        _crop(lower, joint, of)
        set_title(upper, _title(names[i], joint, of))
        upper.set_ylabel(of, fontsize=8)
        lower.set_ylabel('error', fontsize=8)
    axes[0, 0].legend(loc='upper right', fontsize=8, ncols=2, frameon=False)
    _label_once(axes, _time_label(trace))
    return figure


def _crop(axis: Any, joint: JointComparison, of: str) -> None:
    """Cut an isolated peak that would flatten the rest of the error, and label the cut."""
    reach = 4.0 * joint.rms_error
    if np.isfinite(reach) and reach > 0.0 and abs(joint.max_error) > reach:
        axis.set_ylim(-reach, reach)
        axis.text(0.995, 0.9, f'cut: up to {joint.max_error:+.2g} {of}', fontsize=7, ha='right',
                  va='top', transform=axis.transAxes, color=ERROR)


def _title(name: str, joint: JointComparison, of: str) -> str:
    if not np.isfinite(joint.rms_error):
        return f'{name}: no effort recorded'
    share = f', {percent(joint.share)} of the signal' if np.isfinite(joint.share) else ''
    return f'{name}: RMS error {joint.rms_error:.3g} {of}{share}; bias {joint.bias:+.2g} {of}'


def rate_figure(result: Replay, robot: Robot) -> Figure:
    """Draw Q̇ and Q̈ with bands of two standard deviations; unresolved rates only as bands."""
    names, trace, n = result.names, result.curves.rates, len(result.names)
    figure, axes = make_rows(n, 2, sharex=True)
    for i, name in enumerate(names):
        for order, per in enumerate(('/s', '/s²')):
            axis, column = axes[i, order], order * n + i
            known = bool(result.torque_supported[1 + order, i])
            deviation = trace.upper[:, 2 * n + column]
            axis.fill_between(
                trace.time, trace.lower[:, column] - 2 * deviation,
                trace.upper[:, column] + 2 * deviation, color=PREDICTED if known else ERROR,
                alpha=0.3, linewidth=0)
            if known:
                _curve(axis, trace, column, PREDICTED, '', 0.9)
            set_title(axis, f'{name}: {("Q̇", "Q̈")[order]}' + (
                '' if known else ', not resolved: uncertainty of its slow part'))
            axis.set_ylabel(unit(robot, i, 'effort') + per, fontsize=8)
    _label_once(axes, _time_label(trace))
    return figure


def friction_figure(result: Replay, robot: Robot) -> Figure:
    """Draw recorded effort minus rigid-body part over velocity, and the error over position."""
    n, curves = len(result.names), result.curves
    figure, axes = make_rows(n, 2, gap=0.5, top=0.6)
    for i, name in enumerate(result.names):
        left, right = axes[i]
        for axis, profile in ((left, curves.friction), (right, curves.over_position)):
            axis.errorbar(
                profile.centres[:, i], profile.mean[:, i], profile.deviation[:, i], fmt='o',
                markersize=3, color=RECORDED, ecolor=plot_style.SKY, elinewidth=1.0,
                label='mean and standard deviation')
            axis.axhline(0.0, color='black', linewidth=0.6)
            axis.set_ylabel(unit(robot, i, 'effort'), fontsize=8)
        if robot.friction is not None:
            velocity = np.linspace(curves.friction.edges[0, i], curves.friction.edges[-1, i], 400)
            q = np.zeros((400, 4, n))
            q[:, 1, i] = velocity
            left.plot(velocity, robot.friction.torque(q)[:, 0, i], color=PREDICTED, linewidth=1.2,
                      label='friction law')
        set_title(left, f'{name}: recorded minus rigid body over velocity')
        set_title(right, 'prediction minus recorded over position')
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc='upper right', fontsize=8,
                  ncols=2, frameon=False)
    for axis, quantity in zip(axes[-1], ('velocity', 'position'), strict=True):
        units = dict.fromkeys(unit(robot, i, quantity) for i in range(n))
        axis.set_xlabel(f'{quantity}, {" or ".join(units)}', fontsize=9)
    return figure


def spectrum_figure(result: Replay, robot: Robot) -> Figure:
    """Draw the amplitude density of the errors, and the bandwidth of the estimated motion."""
    n = len(result.names)
    period = result.timing_statistics.period
    frequency, density = result.curves.comparison.spectrum.density(period)
    figure, axes = make_rows((n + 1) // 2, 2, sharex=True)
    for i, axis in enumerate(axes.flat):
        if i >= n:
            axis.set_visible(False)
            continue
        set_title(axis, result.names[i])
        width = 0.5 / np.pi / result.noise.memory[i]
        axis.axvline(width, color=PREDICTED, linewidth=1.0, linestyle='--',
                     label=f'bandwidth of the motion, {width:.2g} Hz')
        if np.any(density[1:, i] > 0.0):
            axis.loglog(frequency[1:], density[1:, i], color=RECORDED, linewidth=1.0)
            axis.xaxis.set_major_formatter(_power_of_ten)
            axis.yaxis.set_major_formatter(_power_of_ten)
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_ylabel(f"{unit(robot, i, 'effort')}/√Hz", fontsize=8)
        axis.legend(loc='lower left', fontsize=7, frameon=False)
    _label_once(axes, 'frequency, Hz')
    return figure


def _power_of_ten(value: float, _: int) -> str:
    """Return 10⁻³ for 0.001; mathtext would take more time than the rest of the figure."""
    return '10' + f'{np.log10(value):.0f}'.translate(_RAISED)


def _time_label(trace: Trace) -> str:
    if trace.bin == 1:
        return 'time since the first message, s'
    return f'time since the first message, s (least and greatest of each {trace.bin} messages)'
