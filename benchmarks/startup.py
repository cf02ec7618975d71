"""What the node's kernels cost at start: compiled anew, and from numba's cache."""
import os
from pathlib import Path
import subprocess
import sys
import tempfile

# What the node runs before it is active, in its two processes, without ROS.
_NODE = """
import time
import numba
start = time.perf_counter()
import numpy as np
from hodyn_ros import load_robot
from hodyn_ros.cycle import CycleOptions, rehearse
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.annotate import PERIOD
from hodyn_ros.plans.prepare import PlanRequest, prepare_plan
from hodyn_ros.plans.trajectory import Trajectory
robot = load_robot('panda')
at = robot.limits.position_min + robot.limits.position_max
state = np.zeros((5, robot.n))
state[0] = at / 2
rehearse(FeedForward(robot), CycleOptions())
goal = Trajectory(robot.joint_names, [2.0], [list(state[0] + 0.05)])
prepare_plan(PlanRequest(goal, robot, start=state, annotate_period=PERIOD))
print(time.perf_counter() - start)
"""


def seconds() -> dict[str, float]:
    """Return the time beyond importing numba, cold and from the cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ, 'NUMBA_CACHE_DIR': cache,
            'PYTHONPATH': os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
        return {
            name: float(subprocess.run(
                [sys.executable, '-c', _NODE], env=environment, check=True, capture_output=True,
                text=True).stdout)
            for name in ('cold', 'cached')}
