"""What the tests of the feed-forward share."""
from controllers import with_tendons
import pytest

from hodyn_ros.actuators.laws import AntagonisticExponential


@pytest.fixture(scope='session')
def tendons(panda):
    """Return the feed-forward of a Panda whose second joint has a variable stiffness."""
    return with_tendons(panda, AntagonisticExponential(2.0, 20.0, 2000.0))
