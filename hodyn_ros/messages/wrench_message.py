"""geometry_msgs/WrenchStamped as bytes."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages import cdr


def frame_and_wrench(data: bytes) -> tuple[str, Array]:
    """Return a WrenchStamped's frame, and its (moment, force), (6,), in the frame's axes.

    Raises HodynError if the bytes are another message, or a value is not finite or too large.
    """
    cursor = cdr.Cursor.after_stamp(data)
    with cdr.reading(data, 'a header and 6 numbers'):
        frame, numbers = cursor.text(), cursor.doubles(6)
    wrench = np.array([*numbers[3:], *numbers[:3]])
    if not (np.abs(wrench) <= cdr.MAX_VALUE).all():
        raise HodynError(
            f'a component of the wrench on {frame!r} is not finite, or beyond {cdr.MAX_VALUE:g}')
    return frame, wrench


class WrenchWriter:
    """A serialized WrenchStamped, built once and then refilled."""

    def __init__(self, frame: str) -> None:
        message = cdr.Builder()
        message.time(0)
        message.text(frame)
        at = message.numbers(6)
        self._message = message.data
        self._data: Array = np.frombuffer(self._message, count=6, offset=at)

    def of(self, wrench: Array, stamp: int) -> bytes:
        """Return the message with (moment, force), (6,), and a stamp, ns."""
        self._data[:3], self._data[3:] = wrench[3:], wrench[:3]
        cdr.set_stamp(self._message, stamp)
        return bytes(self._message)
