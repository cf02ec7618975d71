"""A live node that runs what it is sent as fast as the limits allow."""
from live_motions import NOW, move, table
import numpy as np
import pytest

import hodyn_ros as hd

pytestmark = pytest.mark.live


def test_a_slow_plan_is_followed_at_its_fastest_within_all_limits(live, home):
    node = live('stretch:=retime', 'gravity_in_output:=true', 'friction_in_output:=true')
    node.first_answer(NOW, home)
    goal = move(node, home, 0.3, 8.0)
    t = node.send_states_until_log('trajectory accepted', NOW + 0.001, home)
    assert ' s, retimed, prepared in ' in node.log
    for k in range(1, 1500):
        assert node.answer(t + 0.001 * k, home) is not None
    stamps, values = table(node, 'torque')
    position, velocity, torque = np.moveaxis(np.array(values), 1, 0)
    np.testing.assert_allclose(position[-1], goal, atol=1e-9)
    moving = np.abs(velocity).max(axis=1) > 1e-6
    assert 0.1 < np.ptp(np.array(stamps)[moving]) < 1.5
    limits = hd.load_robot('panda').limits
    assert (np.abs(velocity) <= limits.velocity * (1.0 + 1e-6)).all()
    assert (np.abs(torque) <= limits.effort * (1.0 + 1e-6)).all()
