"""What the simulated driver is given by users, and what it says of wrong values."""
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.live


@pytest.mark.parametrize('rate', ['0.0', '-1.0'])
def test_a_rate_that_is_not_above_zero_is_refused_in_one_line(ros_environment, rate):
    driver = subprocess.run(
        [sys.executable, '-m', 'hodyn_ros.ros.simulated_driver', '--ros-args',
         '-p', f'rate:={rate}'],
        env={**os.environ, **ros_environment}, capture_output=True, text=True, timeout=60.0)
    assert driver.returncode == 2
    assert f'parameter rate is {float(rate):g}; must be above 0' in driver.stderr
    assert 'Traceback' not in driver.stderr
