"""One motion of an elastic arm with each method, through node and simulated driver."""
from pathlib import Path
import tempfile
from typing import Any

from hodyn_ros.common.output_files import Contents, replacing
from hodyn_ros.robot.files import load_robot
from hodyn_ros.ros.demo.recording_figure import draw_recording
from hodyn_ros.ros.demo.run import LOOKAHEAD, DemoRun, was_disturbed
from hodyn_ros.simulation.elastic_tracking import METHODS
from hodyn_ros.simulation.examples import ActuatorKind, fast_motion, write_example_robot

TRIES = 3
"""How often a disturbed run is tried."""
CONTENTS = Contents(
    frozenset(f'{method}.png' for method in METHODS),
    {f'bag_{method}': Contents.of_bag(f'bag_{method}') for method in METHODS}, mark='full.png')
"""What is left in the folder."""


def compare_through_ros(
    robot_source: str, actuator: ActuatorKind, duration: float, speed: float, output: Path,
    stiffness: float | None = None, *, force: bool = False,
) -> dict[str, Any]:
    """Run one motion of an elastic arm with each method; return the figures.

    Parameters
    ----------
    robot_source : str
        Built-in name or path of a robot file.
    actuator : 'rigid', 'sea' or 'vsa'
        Example actuators, the same at every joint.
    duration, speed : float
        Duration of the motion, s, and its peak velocities as a share of the limits.
    output : Path
        Folder for a bag and a plot of each method.
    stiffness : float, optional
        Stiffness of the example actuators, N m/rad.
    force : bool
        Whether existing files of these names are replaced.

    """
    runs: dict[str, dict[str, Any]] = {}
    with replacing(output, CONTENTS, force=force) as results, tempfile.TemporaryDirectory() as (
        folder
    ):
        results.mkdir()
        file = Path(folder) / 'elastic.yaml'
        write_example_robot(robot_source, actuator, stiffness, file)
        robot = load_robot(file)
        times, positions = fast_motion(robot, duration, speed)
        for method in METHODS:
            run = DemoRun(
                str(file), robot, (times, positions), duration + 1.0, results / f'bag_{method}',
                method)
            for tried in range(TRIES):
                figures, recording = run.record(force=tried > 0)
                if not was_disturbed(figures):
                    break
            draw_recording(recording, robot, figures, results / f'{method}.png')
            runs[method] = figures
    comparison = {
        method: max(figures['rms_tracking_error']) for method, figures in runs.items()}
    return {
        **runs['full'], 'robot': robot.name, 'actuator': actuator,
        'lookahead': LOOKAHEAD, 'comparison': comparison,
        'rigid_over_full': comparison['rigid'] / comparison['full'], 'runs': runs}
