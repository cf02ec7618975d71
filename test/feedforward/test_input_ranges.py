"""Which streamed samples are within the arm's limits: fast."""
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.feedforward.stream_schedule import check_range

pytestmark = pytest.mark.fast

PANDA = hd.load_robot('panda')
LIMITS = PANDA.limits


def check(position, velocity=None) -> None:
    check_range(LIMITS, PANDA.joint_names, position, velocity)


def test_a_slider_at_its_end_is_within_the_limits():
    check(LIMITS.position_min.copy(), LIMITS.velocity.copy())
    check(LIMITS.position_max.copy(), -LIMITS.velocity)


@pytest.mark.parametrize('joint', range(7))
def test_what_is_beyond_a_limit_is_refused_by_joint_and_value(joint):
    name = PANDA.joint_names[joint]
    for limit, away in ((LIMITS.position_min, -np.inf), (LIMITS.position_max, np.inf)):
        position = 0.5 * (LIMITS.position_min + LIMITS.position_max)
        position[joint] = np.nextafter(limit[joint], away)
        with pytest.raises(hd.HodynError, match=(
                rf"position .* of joint '{name}' is (below|above) -?\d")):
            check(position)
    for sign in (-1.0, 1.0):
        velocity = np.zeros(7)
        velocity[joint] = sign * np.nextafter(LIMITS.velocity[joint], np.inf)
        with pytest.raises(hd.HodynError, match=rf"velocity .* of joint '{name}' is beyond"):
            check(0.5 * (LIMITS.position_min + LIMITS.position_max), velocity)
