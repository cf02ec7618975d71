"""The example of a node's client: what it prints is the torque of the plan that it sends."""
from pathlib import Path
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest

from hodyn_ros import FeedForward, fit_plan, load_robot

pytestmark = pytest.mark.live

SCRIPT = Path(__file__).parents[2] / 'examples' / 'node_client.py'
PATIENCE = 60.0


def test_the_client_gets_the_torques_of_its_plan(live):
    node = live('robot:=panda', ready=False)
    node.wait_log('waiting: for a joint state', PATIENCE)
    ended = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=PATIENCE,
        check=False)
    assert ended.returncode == 0, ended.stderr
    line = re.search(r'^largest torques, N m: (.*)$', ended.stdout, re.MULTILINE)
    names = runpy.run_path(str(SCRIPT))
    plan = fit_plan(np.array([0.0, 2.0]), np.array([names['HOME'], names['GOAL']]))
    motion = plan.evaluate(np.linspace(0.0, plan.duration, 1001))
    torque = FeedForward(load_robot('panda')).torque(motion)
    expected = np.abs(torque[:, 0]).max(axis=0)
    np.testing.assert_allclose([float(x) for x in line[1].split()], expected, rtol=0.02, atol=0.1)
