"""What the node's kernels cost at start: compiled anew, and from numba's cache."""
import os
from pathlib import Path
import subprocess
import sys
import tempfile

# What the node runs before it is active, in its two processes at once, without ROS.
_CONTROLLER = """
import time
import numba
start = time.perf_counter()
from hodyn_ros import load_robot
from hodyn_ros.feedforward.controller import ControllerSettings
from hodyn_ros.feedforward.warm_up import warm_up
from hodyn_ros.feedforward import FeedForward
warm_up_planning(FeedForward(load_robot('panda')), ControllerSettings())
print(time.perf_counter() - start)
"""
_PLANNER = """
import time
import numba
start = time.perf_counter()
from hodyn_ros import load_robot
from hodyn_ros.plans.planning_process import warm_up_planning
warm_up_planning(load_robot('panda'))
print(time.perf_counter() - start)
"""


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
            [sys.executable, '-c', code], env=environment, stdout=subprocess.PIPE, text=True)
        for code in (_CONTROLLER, _PLANNER)]
    return max(float(process.communicate()[0]) for process in processes)
