"""What the tests of the feed-forward share."""
import pytest

from hodyn_ros.feedforward import FeedForward


@pytest.fixture(scope='session')
def feedforward(panda):
    """Return the feed-forward of a Panda."""
    return FeedForward(panda)
