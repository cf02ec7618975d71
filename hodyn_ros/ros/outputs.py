"""The topics that the node publishes while it is active."""
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.motor_feedback import MotorFeedback
from hodyn_ros.feedforward.moving_base import WRENCH_NAMES
from hodyn_ros.messages.commands import CommandWriter
from hodyn_ros.messages.joint_states import JointStateWriter
from hodyn_ros.messages.wrench_message import WrenchWriter
from hodyn_ros.ros.controller_state import ControllerStatePublisher
from hodyn_ros.ros.diagnostics import level
from hodyn_ros.ros.qos_overrides import qos_of_user

OUTPUT_QOS = QoSProfile(depth=1)
LATCHED_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Outputs:
    """Publishers, and the serialized messages that they reuse."""

    def __init__(self, node: LifecycleNode, base: str = '') -> None:
        """Take the link of a moving base, empty for a fixed one."""
        self._node = node
        self._wrenches = [WrenchWriter(base) for _ in WRENCH_NAMES] if base else []
        self._publishers: dict[str, Any] = {
            name: node.create_lifecycle_publisher(
                kind, f'~/{name}', qos, qos_overriding_options=qos_of_user(node))
            for name, kind, qos in (
                *((name, JointState, OUTPUT_QOS) for name in TORQUE_NAMES),
                ('motor_reference', JointState, OUTPUT_QOS),
                ('motor_feedback', JointState, OUTPUT_QOS),
                ('commands', Float64MultiArray, OUTPUT_QOS),
                ('motor_commands', Float64MultiArray, OUTPUT_QOS),
                ('annotated_trajectory', JointTrajectory, LATCHED_QOS),
                ('state', DiagnosticStatus, LATCHED_QOS),
                ('progress', Float64, OUTPUT_QOS),
                *((name, WrenchStamped, OUTPUT_QOS) for name in WRENCH_NAMES if base),
            )}
        self._controller_state = ControllerStatePublisher(node)
        self._progress = np.nan
        self._torques: list[JointStateWriter] = []
        self._motors = self._feedback = JointStateWriter([])
        self._commands: CommandWriter | None = None
        self._motor_commands: CommandWriter | None = None
        self.state, self.reason = '', ''

    def begin(
        self, names: list[str], motors: list[str], commands: CommandWriter | None,
        motor_commands: CommandWriter | None,
    ) -> None:
        """Set the names of joints and motors, and the command writers, for the messages."""
        self._torques = [JointStateWriter(names) for _ in TORQUE_NAMES]
        self._motors, self._feedback = JointStateWriter(motors), JointStateWriter(motors)
        self._commands, self._motor_commands = commands, motor_commands
        self._controller_state.begin(names)
        self._progress = np.nan

    def publish(
        self, controller: FeedforwardController, stamp: int, feedback: MotorFeedback | None = None,
    ) -> None:
        """Publish the result of a cycle with one stamp, ns, if it may be published."""
        if controller.may_be_published:
            self._publish(controller, stamp)
        if feedback is not None:  # even if the rest is not published: feedback then fades out
            self._feedback.effort[:] = feedback.correction
            self._publishers['motor_feedback'].publish(self._feedback.at(stamp))

    def _publish(self, controller: FeedforwardController, stamp: int) -> None:
        position, velocity = controller.q[:2]
        output = controller.output
        for name, writer, effort in zip(TORQUE_NAMES, self._torques, output, strict=True):
            writer.position[:] = position
            writer.velocity[:] = velocity
            writer.effort[:] = effort
            self._publishers[name].publish(writer.at(stamp))
        if self._wrenches:
            for name, wrench, value in zip(
                    WRENCH_NAMES, self._wrenches, controller.base_wrench, strict=True):
                self._publishers[name].publish(wrench.of(value, stamp))
        if self._commands is not None:
            self._publishers['commands'].publish(self._commands.of(output[0]))
        if controller.motors is not None:
            self._publish_motors(controller.motors.reference, stamp)

    def _publish_motors(self, reference: Array, stamp: int) -> None:
        for writer in (self._motors, self._feedback):
            writer.position[:] = reference[0]
            writer.velocity[:] = reference[1]
        self._motors.effort[:] = reference[3]
        self._publishers['motor_reference'].publish(self._motors.at(stamp))
        if self._motor_commands is not None:
            self._publishers['motor_commands'].publish(self._motor_commands.of(reference[3]))

    def follow_up(
        self, controller: FeedforwardController, measured: Array, stamp: int,
    ) -> None:
        """Publish reference, feedback, error and output, and the progress of the plan.

        `measured`, (2, n), are the position and velocity at the stamp, ns. Not called in every
        cycle.
        """
        progress = controller.reference.progress(controller.now)
        done = np.nan if progress is None else progress[0] / progress[1]
        if done != self._progress and not (np.isnan(done) and np.isnan(self._progress)):
            self._publishers['progress'].publish(Float64(data=done))
        self._progress = done
        self._controller_state.publish(controller, measured, stamp)

    @property
    def annotated_is_wanted(self) -> bool:
        """Whether annotated trajectories have subscribers."""
        return bool(self._publishers['annotated_trajectory'].get_subscription_count())

    def annotated(self, data: bytes) -> None:
        """Publish an annotated trajectory, serialized."""
        self._publishers['annotated_trajectory'].publish(data)

    def report(
        self, robot: str, state: str, reason: str = '', *, logged: str | None = None,
    ) -> None:
        """Publish the state of the node if it or its reason changed; log a new state.

        `logged` is the part of the reason that has not been logged yet; None for all of it.
        """
        if (state, reason) == (self.state, self.reason):
            return
        is_another = state != self.state
        self.state, self.reason = state, reason
        self._publishers['state'].publish(DiagnosticStatus(
            level=level(state, reason), name=self._node.get_fully_qualified_name(), message=state,
            hardware_id=robot, values=[KeyValue(key='reason', value=reason)] if reason else []))
        if is_another:
            why = reason if logged is None else logged
            self._node.get_logger().info(f'{state}: {why}' if why else state)

    def destroy(self) -> None:
        """Destroy the publishers."""
        self._controller_state.destroy()
        for publisher in self._publishers.values():
            self._node.destroy_lifecycle_publisher(publisher)
        self._publishers = {}
