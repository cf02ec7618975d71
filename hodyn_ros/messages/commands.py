"""std_msgs/Float64MultiArray as bytes: the commands of ros2_controllers' forward controllers."""
import numpy as np

from hodyn_ros.common.arrays import Array, Indices
from hodyn_ros.messages import cdr


class CommandWriter:
    """A serialized command, built once: one value per joint, in the controller's order."""

    def __init__(self, order: Indices) -> None:
        """Take the index of each joint's value in the command, (n,)."""
        self._order = order
        message = cdr.Builder()
        message.count(0)  # layout.dim
        message.count(0)  # layout.data_offset
        at = message.doubles(len(order))
        self._message = message.data
        self._data: Array = np.frombuffer(self._message, count=len(order), offset=at)

    def of(self, values: Array) -> bytes:
        """Return the command with these values, (n,)."""
        self._data[self._order] = values
        return bytes(self._message)
