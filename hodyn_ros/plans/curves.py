"""Plots the curves of a plan with the robot's limits."""
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np

from hodyn_ros.common import plot_style
from hodyn_ros.common.arrays import Array
from hodyn_ros.common.output_files import replacing
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.plans.limit_check import MAX_STEP
from hodyn_ros.reference import Plan
from hodyn_ros.reference.extrema import sample_times
from hodyn_ros.robot import HodynError

MIN_SHARE = 0.1
"""Least share of an axis's height for curves beside drawn limits; else the limits are written."""
# Bounds of the number of samples: enough for smooth curves, not more than a picture can show.
MIN_SAMPLES, MAX_SAMPLES = 1000, 20_000


def image_format(path: Path) -> str:
    """Return the image format that the ending of a path stands for: PNG without an ending.

    Raises HodynError for an ending that is not a known image format.
    """
    known = sorted(Figure().canvas.get_supported_filetypes())
    kind = path.suffix[1:].lower() or 'png'
    if kind not in known:
        raise HodynError(f'{path}: not an image that can be drawn; known are {", ".join(known)}')
    return kind


@plot_style.styled
def draw_curves(
    plan: Plan, feedforward: FeedForward, path: Path, *, force: bool = False,
) -> None:
    """Write q … q⃛, Q and Q̇ of every joint over time, limits dashed, to an image file.

    If the robot has actuators, the velocity, torque and deflection of their motors follow below,
    then the torque or stiffness that the springs have left. Motors of one joint share an axis,
    with the narrower of their limits. Limits that would flatten a curve are written above it.
    The path's ending gives the format. An existing file is replaced only with `force`.
    """
    form = image_format(path)
    robot = feedforward.robot
    count = int(np.clip(sample_times(plan, MAX_STEP).size, MIN_SAMPLES, MAX_SAMPLES))
    instants = np.linspace(plan.times[0], plan.times[-1], count)
    table = LimitTable(feedforward)
    values, *_ = table.taken(plan.evaluate(instants))
    table.check_finite(values, instants)
    rows = list(dict.fromkeys(column.quantity for column in table.columns))
    # Not from pyplot, which would keep state and look for a display.
    figure = Figure(figsize=(2.6 * robot.n, 1.7 * len(rows)), layout='constrained')
    axes = figure.subplots(len(rows), robot.n, sharex=True, squeeze=False)
    for (row, joint), axis in np.ndenumerate(axes):
        own = [c for c, column in enumerate(table.columns) if (
            column.quantity == rows[row] and column.place == joint)]
        axis.set_visible(bool(own))
        for c, dashes in zip(own, ('-', '--'), strict=False):  # equal curves stay visible
            column = table.columns[c]
            axis.plot(instants, values[:, c], linestyle=dashes, label=column.joint)
            axis.set_ylabel(f'{column.quantity} ({column.unit})', fontsize=6)
        if own:
            _show_limits(axis, values[:, own], float(table.lower[own].max()),
                         float(table.upper[own].min()))
        if len(own) > 1:
            axis.legend(fontsize=5)
        axis.tick_params(labelsize=6)
    for joint, name in enumerate(robot.joint_names):
        axes[0, joint].set_title(name, fontsize=8)
        last = max(row for row in range(len(rows)) if axes[row, joint].get_visible())
        axes[last, joint].set_xlabel('time (s)', fontsize=7)
        axes[last, joint].tick_params(labelbottom=True)
    with replacing(path, force=force) as file:
        figure.savefig(file, format=form, dpi=110)


def _show_limits(axis: Axes, values: Array, lower: float, upper: float) -> None:
    """Draw the limits, or write them if a curve between them would look flat."""
    known = [limit for limit in (lower, upper) if np.isfinite(limit)]
    if not known:
        return
    if np.ptp(values) < MIN_SHARE * np.ptp([*known, values.min(), values.max()]):
        text = ', '.join(f'{limit:.4g}' for limit in known)
        axis.set_title(f'limits {text}', loc='right', fontsize=5, color=plot_style.LIMIT, pad=2)
        return
    for limit in known:
        axis.axhline(limit, color=plot_style.LIMIT, linestyle='--', linewidth=0.8)
