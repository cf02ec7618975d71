"""`~/controller_state`: reference, measured state, error and commanded torque."""
from typing import Any

from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.messages.joint_states import JointStateWriter
from hodyn_ros.ros.qos_overrides import qos_of_user

try:
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:
    JointTrajectoryControllerState = None


TOPIC = '~/controller_state'
PARTS = ('reference', 'feedback', 'error', 'output')


class ControllerStatePublisher:
    """Publishes the state message of joint_trajectory_controller, if control_msgs is installed.

    Without control_msgs each part is a JointState on a topic of its own,
    ``~/controller_state/reference`` and so on.
    """

    def __init__(self, node: LifecycleNode) -> None:
        qos, of_user = QoSProfile(depth=1), qos_of_user(node)
        self._node = node
        self._names: list[str] = []
        self._whole: Any = None
        self._parts: dict[str, Any] = {}
        self._writers: dict[str, JointStateWriter] = {}
        if JointTrajectoryControllerState is not None:
            self._whole = node.create_lifecycle_publisher(
                JointTrajectoryControllerState, TOPIC, qos, qos_overriding_options=of_user)
        else:
            self._parts = {
                part: node.create_lifecycle_publisher(
                    JointState, f'{TOPIC}/{part}', qos, qos_overriding_options=of_user)
                for part in PARTS}

    def begin(self, names: list[str]) -> None:
        """Set the joint names of the messages."""
        self._names = names
        self._writers = {part: JointStateWriter(names) for part in self._parts}

    def publish(self, controller: FeedforwardController, measured: Array, stamp: int) -> None:
        """Publish the last cycle at its stamp, ns; `measured` is position and velocity, (2, n)."""
        q = controller.q[:2]
        values = {
            'reference': (q[0], q[1], controller.torque[0]),
            'feedback': (measured[0], measured[1], None),
            'error': (q[0] - measured[0], q[1] - measured[1], None),
            'output': (None, None, controller.output[0])}
        if self._whole is not None:
            if self._whole.get_subscription_count():
                self._whole.publish(self._message(controller, values, stamp))
            return
        for part, publisher in self._parts.items():
            if not publisher.get_subscription_count():
                continue
            writer = self._writers[part]
            for field, row in zip(
                    (writer.position, writer.velocity, writer.effort), values[part], strict=True):
                field[:] = 0.0 if row is None else row
            publisher.publish(writer.at(stamp))

    def destroy(self) -> None:
        """Destroy the publishers."""
        for publisher in (self._whole, *self._parts.values()):
            if publisher is not None:
                self._node.destroy_lifecycle_publisher(publisher)
        self._whole, self._parts = None, {}

    def _message(self, controller: FeedforwardController, values: Any, stamp: int) -> Any:
        message = JointTrajectoryControllerState(joint_names=self._names)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        for part, rows in values.items():
            point = getattr(message, part)
            for field, row in zip(('positions', 'velocities', 'effort'), rows, strict=True):
                if row is not None:
                    setattr(point, field, row.tolist())
        message.reference.accelerations = controller.q[2].tolist()
        elapsed = controller.reference.progress(controller.now)
        if elapsed is not None:
            whole = message.reference.time_from_start
            whole.sec, whole.nanosec = divmod(round(elapsed[0] * 1e9), 10**9)
        return message
