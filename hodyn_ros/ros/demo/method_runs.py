"""One motion of an elastic arm with each method, through node and simulated driver."""
from pathlib import Path
import tempfile
from typing import Any

from hodyn_ros.robot.files import load_robot
from hodyn_ros.ros.demo.recording_figure import draw_recording
from hodyn_ros.ros.demo.run import DemoRun, was_disturbed
from hodyn_ros.simulation.elastic_tracking import METHODS
from hodyn_ros.simulation.examples import ActuatorKind, fast_motion, write_example_robot

PERIOD = 1e-3
HELD_AFTER = 1.5
"""Periods from a state to the middle of the time that its answer is held."""
TRIES = 3
"""How often a disturbed run is tried."""


def compare_through_ros(
    robot_source: str, actuator: ActuatorKind, duration: float, speed: float, output: Path,
    stiffness: float | None = None,
) -> dict[str, Any]:
    """Run one motion of an elastic arm with each method; return the figures.

    The driver's answers are held from one period after its state to two: the node looks ahead to
    the middle of that.

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

    """
    output.mkdir(parents=True, exist_ok=True)
    runs: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'elastic.yaml'
        write_example_robot(robot_source, actuator, stiffness, file)
        robot = load_robot(file)
        times, positions = fast_motion(robot, duration, speed)
        for method in METHODS:
            run = DemoRun(
                str(file), robot, (times, positions), duration + 1.0, output / f'bag_{method}',
                method, HELD_AFTER * PERIOD)
            for _ in range(TRIES):
                figures, recording = run.record()
                if not was_disturbed(figures):
                    break
            draw_recording(recording, robot, figures, output / f'{method}.png')
            runs[method] = figures
    comparison = {
        method: max(figures['rms_tracking_error']) for method, figures in runs.items()}
    return {
        **runs['full'], 'robot': robot.name, 'actuator': actuator,
        'lookahead': HELD_AFTER * PERIOD, 'comparison': comparison,
        'rigid_over_full': comparison['rigid'] / comparison['full'], 'runs': runs}
