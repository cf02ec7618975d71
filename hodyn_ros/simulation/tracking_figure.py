"""A figure of the links' tracking errors with each method."""
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure
import numpy as np

from hodyn_ros.common import plot_style
from hodyn_ros.common.output_files import replacing
from hodyn_ros.robot import Robot
from hodyn_ros.simulation.elastic_tracking import Method, Tracking

_LABELS = {
    'rigid': 'rigid: springs ignored', 'torque': 'torque: Q',
    'torque_rate': 'torque_rate: Q and Q̇', 'full': 'full: Q, Q̇ and Q̈',
    'flatness': 'flatness: feedback of links and motors',
}
_MIN_ERROR = 1e-9  # least error on the logarithmic axis, rad


@plot_style.styled
def draw_comparison(
    robot: Robot, tracking: Mapping[Method, Tracking], title: str, path: Path,
) -> None:
    """Write the error of each method, the motion and variable stiffness over time to an image."""
    first = next(iter(tracking.values()))
    variable = bool(robot.require_actuators().variable.any())
    rows = 3 if variable else 2
    # Made without pyplot, which would keep state and look for a display.
    figure = Figure(figsize=(8.0, 3.2 * rows), layout='constrained')
    axes = figure.subplots(rows, 1, sharex=True)
    figure.suptitle(title)
    for method, run in tracking.items():
        error = np.maximum(np.abs(run.error).max(axis=1), _MIN_ERROR)
        axes[0].semilogy(
            run.times, error, label=f'{_LABELS[method]} (RMS {run.rms:.2g} rad)')
    axes[0].set_ylabel('link error, worst joint (rad)')
    axes[0].legend(fontsize=8, ncols=2, loc='lower center', bbox_to_anchor=(0.5, 1.0))
    for joint, name in enumerate(robot.joint_names):
        axes[1].plot(first.times, first.desired[:, joint], label=name)
    axes[1].set_ylabel('desired position (rad)')
    axes[1].legend(fontsize=7, ncols=4)
    if variable:
        run = tracking.get('full', first)
        for joint, name in enumerate(robot.joint_names):
            axes[2].plot(run.times, run.stiffness[:, joint], label=name)
        axes[2].set_ylabel('stiffness (N m/rad)')
    axes[-1].set_xlabel(plot_style.TIME)
    with replacing(path) as file:
        figure.savefig(file, dpi=120)
