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
    """Run what the node runs before it is active, without ROS; the planner's end is its input."""
    from hodyn_ros import load_robot
    from hodyn_ros.common.jit import compiling
    from hodyn_ros.feedforward import FeedForward
    from hodyn_ros.feedforward.settings import ControllerSettings
    from hodyn_ros.feedforward.warm_up import warm_up

    with compiling():
        warm_up(FeedForward(load_robot('panda')), ControllerSettings(), sys.stdin.readline)


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
    planner, controller = (
        [sys.executable, '-c', _TIMED.format(function=function.__name__)]
        for function in (start_planner, start_controller))
    with subprocess.Popen(planner, env=environment, stdout=subprocess.PIPE) as running:
        done = subprocess.run(
            controller, env=environment, stdin=running.stdout, capture_output=True, text=True,
            check=True)
    if running.returncode:
        raise RuntimeError("the planner's kernels were not compiled")
    return float(done.stdout)
