import pytest
from rosbags.typesys import Stores, get_typestore

from hodyn_ros.messages.message_types import TYPES


@pytest.mark.parametrize('distribution', [Stores.ROS2_HUMBLE, Stores.ROS2_JAZZY, Stores.LATEST])
def test_definitions_are_those_of_ros(distribution):
    """A field of another name or type would make bags that ROS does not read."""
    ros = get_typestore(distribution)
    assert len(TYPES.types) >= 6
    for name in TYPES.types:
        assert TYPES.hash_rihs01(name) == ros.hash_rihs01(name), name
        assert TYPES.generate_msgdef(name, ros_version=2) == ros.generate_msgdef(
            name, ros_version=2), name
