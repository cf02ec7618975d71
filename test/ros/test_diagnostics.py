"""What the node counts."""
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: no ROS 2 here')

from hodyn_ros.ros.diagnostics import Durations, Monitor


def test_the_period_is_found_after_a_first_interval_that_was_too_short():
    monitor = Monitor()
    for interval in (0.0, 1e-4, *[0.033] * 500):
        monitor.arrived(interval, 0.0)
    assert monitor.period == pytest.approx(0.033, rel=0.01)


def test_gaps_are_counted_and_hardly_move_the_period():
    monitor = Monitor()
    for interval in (0.0, *[1e-3] * 100, 0.5, *[1e-3] * 100, 0.5):
        monitor.arrived(interval, 0.0)
    assert monitor.gaps == 2
    assert monitor.period == pytest.approx(1e-3, rel=0.05)


def test_cycles_longer_than_the_period_are_counted():
    monitor = Monitor()
    for work in (0.2e-3, 0.4e-3, 3e-3):
        monitor.cycle(work, 1e-3)
    monitor.cycle(3e-3, 0.0)  # the period is not known yet
    values = {value.key: value.value for value in monitor.status('', '', '', '').values}
    assert values['overruns'] == '1'
    assert values['work p99 (us)'] == '3000'


@pytest.mark.parametrize('count', [0, 1, 2, 100, 5000])
def test_percentiles_are_those_of_the_latest(count):
    durations = Durations()
    values = np.random.default_rng(count).permutation(count) * 1e-6
    for value in values:
        durations.add(value)
    kept = values[-4096:] if count else [0.0]
    want = np.percentile(kept, [50, 99], method='higher')
    np.testing.assert_allclose(durations.percentiles(), want, atol=1.5e-6 * (count > 0))
