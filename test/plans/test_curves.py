import matplotlib
import pytest

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.curves import draw_curves
from hodyn_ros.reference.rest_to_rest import move_plan


@pytest.mark.parametrize('share', [0.01, 0.9])
def test_limits_far_away_do_not_flatten_a_curve(tmp_path, share):
    """Positions of a small motion fill their axis, with the limits written above it."""
    robot = hd.load_robot('iiwa14')
    reach = share * robot.limits.position_max
    with matplotlib.rc_context({'svg.fonttype': 'none'}):
        draw_curves(move_plan(-reach, reach, 1.0), FeedForward(robot), tmp_path / 'curves.svg')
    text = (tmp_path / 'curves.svg').read_text().replace('\u2212', '-')
    lower, upper = robot.limits.position_min[0], robot.limits.position_max[0]
    assert (f'limits {lower:.4g}, {upper:.4g}' in text) == (share == 0.01)
