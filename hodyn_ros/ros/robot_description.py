"""The robot as a URDF on a topic, as `robot_state_publisher` publishes it."""
from collections.abc import Callable

from rclpy.node import Node
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from hodyn_ros.robot import HodynError
from hodyn_ros.ros.outputs import LATCHED_QOS
from hodyn_ros.ros.parameters import DESCRIPTION

MAX_BYTES = 4 * 1024 * 1024


class RobotDescription:
    """Keeps the last URDF that came on `robot_description`."""

    def __init__(self, node: Node, on_arrival: Callable[[bool], object]) -> None:
        """Take the node that subscribes, and the function to call when a URDF has come.

        The function's argument says whether the URDF differs from the last one.
        """
        self.text = ''  #: The URDF; empty until one has come
        self._node = node
        self._on_arrival = on_arrival
        self._listens = False

    def listen(self) -> None:
        """Subscribe, unless that is done already."""
        if not self._listens:
            self._listens = True
            self._node.create_subscription(
                String, DESCRIPTION, self._take, LATCHED_QOS, raw=True)
            self._node.get_logger().info(f'waiting for a robot on {DESCRIPTION}')

    def required(self) -> str:
        """Subscribe and return the URDF; raise HodynError if none has come."""
        self.listen()
        if not self.text:
            raise HodynError(f'no robot yet on the topic {DESCRIPTION}')
        return self.text

    def _take(self, message: bytes) -> None:
        if len(message) > MAX_BYTES:
            self._node.get_logger().error(
                f'{DESCRIPTION} rejected: {len(message)} bytes; at most {MAX_BYTES} are read')
            return
        try:
            text: str = deserialize_message(message, String).data
        except Exception:  # the client library raises bare `Exception`s
            text = ''
        if not text.lstrip().startswith('<'):
            # A message must not be able to name a file.
            self._node.get_logger().error(
                f'{DESCRIPTION} rejected: {len(message)} bytes that are not a URDF')
            return
        is_another, self.text = text != self.text, text
        self._on_arrival(is_another)
