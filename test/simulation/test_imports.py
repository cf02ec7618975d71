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


def test_actuators_know_nothing_of_robots():
    code = (
        'import sys, types, pathlib\n'
        'import hodyn_ros as package\n'
        'for name in [name for name in sys.modules if name.startswith("hodyn_ros")]:\n'
        '    del sys.modules[name]\n'
        'bare = types.ModuleType("hodyn_ros")\n'
        'bare.__path__ = list(package.__path__)\n'
        'sys.modules["hodyn_ros"] = bare\n'
        'import hodyn_ros.actuators\n'
        'print(sorted(n for n in sys.modules if n.startswith("hodyn_ros.")'
        ' and not n.startswith(("hodyn_ros.actuators", "hodyn_ros.common"))))')
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert result.stdout == '[]\n', result.stderr
