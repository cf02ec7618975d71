from dataclasses import replace

import matplotlib
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.curves import draw_curves
from hodyn_ros.reference.rest_to_rest import move_plan


@pytest.mark.parametrize('share', [0.01, 0.9])
def test_limits_far_away_do_not_flatten_a_curve(tmp_path, share):
    """Positions of a small motion fill their axis, with the limits written above it."""
    free = hd.load_robot('twolink')
    end = np.array([1.5, 2.5])
    robot = replace(free, limits=replace(free.limits, position_min=-end, position_max=end))
    with matplotlib.rc_context({'svg.fonttype': 'none'}):
        plan = move_plan(-share * end, share * end, 1.0)
        draw_curves(plan, FeedForward(robot), tmp_path / 'curves.svg')
    text = (tmp_path / 'curves.svg').read_text().replace('\u2212', '-')
    assert ('limits -2.5, 2.5' in text) == (share == 0.01)
