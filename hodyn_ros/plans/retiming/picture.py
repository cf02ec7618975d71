"""Plots the limits that keep a motion from being faster, over time."""
from pathlib import Path

from matplotlib import rcParams
from matplotlib.figure import Figure
import numpy as np

from hodyn_ros.common import plot_style
from hodyn_ros.common.output_files import replacing
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.limits.quantities import QUANTITIES
from hodyn_ros.plans.curves import image_format
from hodyn_ros.plans.retiming.result import SAMPLES, binding_limits
from hodyn_ros.reference import Plan
from hodyn_ros.robot.reflexes import Commands


@plot_style.styled
def draw_margins(
    plan: Plan, feedforward: FeedForward, path: Path, commands: Commands, *,
    force: bool = False,
) -> None:
    """Draw the share of its limits that a plan uses, over time, to an image file.

    Each quantity has a line: the largest share of any joint at each instant. Below are the joints
    and quantities at their limits. `commands` is as in `retime`. The path's ending gives the
    format; an existing file is replaced only with `force`.
    """
    form = image_format(path)
    table = LimitTable(feedforward, commands)
    instants = np.linspace(0.0, plan.duration, SAMPLES)
    taken = np.abs(table.shares(plan.evaluate(instants)))
    figure = Figure(figsize=(9.0, 5.0), layout='constrained')
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    quantities = [q for q in QUANTITIES if any(c.quantity == q for c in table.limited_columns)]
    # A quantity looks the same in every plot.
    looks = dict(zip(QUANTITIES, rcParams['axes.prop_cycle'], strict=False))
    for quantity in quantities:
        columns = [k for k, c in enumerate(table.limited_columns) if c.quantity == quantity]
        above.plot(
            instants, taken[:, columns].max(axis=1), label=quantity, **looks[quantity])
    above.axhline(1.0, color='black', linestyle='--', linewidth=0.8)
    above.set_ylabel('share of the limit, worst joint')
    above.set_ylim(0.0, 1.1)
    above.legend(loc='upper center', bbox_to_anchor=(0.5, 1.15), ncols=6, fontsize=8)
    binding = binding_limits(plan, table)
    rows = sorted({(b.joint, b.quantity) for b in binding})
    for b in binding:
        below.barh(
            rows.index((b.joint, b.quantity)), max(b.end - b.begin, plan.duration / 300.0),
            left=b.begin, color=looks[b.quantity]['color'])
    below.set_yticks(range(len(rows)), [f'{joint} {quantity}' for joint, quantity in rows])
    below.tick_params(axis='y', labelsize=7)
    below.invert_yaxis()
    below.set_xlabel(plot_style.TIME)
    below.set_title('at the limit', fontsize=9)
    with replacing(path, force=force) as file:
        figure.savefig(file, format=form, dpi=110)
