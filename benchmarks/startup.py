"""What the node's kernels cost at start: compiled anew, and from numba's cache."""
import os
from pathlib import Path
import subprocess
import sys
import tempfile

# Timed beyond importing numba, and by name, so that the checks of types and names see them.
_TIMED = """
import time
import numba
start = time.perf_counter()
from benchmarks.startup import {function}
{function}()
print(time.perf_counter() - start)
"""


def start_controller() -> None:
    """Run what the node runs before it is active, without ROS."""
    from hodyn_ros import load_robot
    from hodyn_ros.feedforward import FeedForward
    from hodyn_ros.feedforward.controller import ControllerSettings
    from hodyn_ros.feedforward.warm_up import warm_up

    warm_up(FeedForward(load_robot('panda')), ControllerSettings())


def start_planner() -> None:
    """Run what its second process does meanwhile."""
    from hodyn_ros import load_robot
    from hodyn_ros.plans.planning_process import warm_up_planning

    warm_up_planning(load_robot('panda'))


def seconds() -> dict[str, float]:
    """Return the time beyond importing numba, cold and from the cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ, 'NUMBA_CACHE_DIR': cache,
            'PYTHONPATH': os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
        return {name: _both(environment) for name in ('cold', 'cached')}


def _both(environment: dict[str, str]) -> float:
    processes = [
        subprocess.Popen(
            [sys.executable, '-c', _TIMED.format(function=function.__name__)], env=environment,
            stdout=subprocess.PIPE, text=True)
        for function in (start_controller, start_planner)]
    return max(float(process.communicate()[0]) for process in processes)
