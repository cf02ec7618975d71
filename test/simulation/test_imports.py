"""What the comparison needs, and what it does not."""
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def test_neither_ros_nor_the_simulator_is_loaded_before_it_is_used():
    code = (
        'import sys, hodyn_ros.cli.compare, hodyn_ros.simulation.rigid_arm\n'
        'print(sorted({"rclpy", "mujoco"} & set(sys.modules)))')
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert result.stdout == '[]\n', result.stderr
