"""The plot of one run of the demo."""
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from hodyn_ros.common import plot_style as look
from hodyn_ros.common.output_files import replacing
from hodyn_ros.robot import Robot
from hodyn_ros.ros.demo.demo_recording import Recording


@look.styled
def draw_recording(
    recording: Recording, robot: Robot, results: dict[str, Any], path: Path,
) -> None:
    """Write reference, tracking error and torques over time to an image file."""
    trip = results['round_trip_us']
    figure = Figure(figsize=(10, 12), layout='constrained')
    axes = figure.subplots(5, 1, sharex=True)
    panels = (
        ('reference (rad)', recording.q_ref),
        ('tracking error (rad)', recording.q - recording.q_ref),
        *zip(look.TORQUES, recording.torque.swapaxes(0, 1), strict=True),
    )
    for ax, (label, curves) in zip(axes, panels, strict=True):
        ax.plot(recording.time, curves)
        ax.set_ylabel(label)
    figure.legend(
        axes[0].lines, robot.joint_names, ncols=robot.n, loc='outside lower center')
    axes[0].set_title(
        f'{robot.name}: {100 * results["answered_share"]:.2f} % of '
        f'{results["states"]} states answered, round trip p50 {trip["p50"]:.0f} µs, '
        f'p99 {trip["p99"]:.0f} µs')
    axes[-1].set_xlabel(look.TIME)
    with replacing(path) as file:
        figure.savefig(file, dpi=110)
