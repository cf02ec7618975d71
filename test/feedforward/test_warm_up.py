"""Whether the first start says that it compiles."""
import os
import subprocess
import sys

import pytest

WARMTH = """
import hodyn_ros as hd
from hodyn_ros.feedforward.settings import ControllerSettings
from hodyn_ros.feedforward.warm_up import is_warm, warm_up
robot = hd.load_robot('panda')
warmth = [is_warm()]
hd.InverseDynamics(robot)
warmth.append(is_warm())
warm_up(hd.FeedForward(robot), ControllerSettings())
print(*warmth, is_warm())
"""


@pytest.mark.slow
def test_only_a_whole_warm_up_counts(tmp_path):
    """After one that was ended, or another command, the next start was silent for 20 s."""
    done = subprocess.run(
        [sys.executable, '-c', WARMTH], capture_output=True, text=True, check=True,
        env={**os.environ, 'NUMBA_DISABLE_JIT': '0', 'NUMBA_CACHE_DIR': str(tmp_path)})
    assert done.stdout.split() == ['False', 'False', 'True']
