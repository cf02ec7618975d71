"""Commands as they are written are what the message says, read by another library."""
import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from hodyn_ros.messages.commands import CommandWriter


@pytest.mark.parametrize('order', [[0], [2, 0, 1], [4, 3, 2, 1, 0]])
def test_a_command_has_its_values_in_the_order_of_its_controller(order):
    types = get_typestore(Stores.ROS2_JAZZY)
    writer = CommandWriter(np.array(order))
    for values in (np.arange(1.0, 1.0 + len(order)), -np.ones(len(order))):
        message = types.deserialize_cdr(writer.of(values), 'std_msgs/msg/Float64MultiArray')
        assert message.layout.dim == []
        assert message.layout.data_offset == 0
        np.testing.assert_array_equal(message.data[order], values)
