"""A client of the node: sends joint states and a plan, receives torques.

Start the node, ``feedforward --ros-args -p robot:=panda``, and then
``python examples/node_client.py``. The arm here is always at the reference; put your robot in
its place.
"""
import sys
import time

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

RATE = 200.0  # Hz
PATIENCE = 30.0  # s
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
JOINTS = [f'panda_joint{k}' for k in range(1, 8)]
HOME = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
GOAL = [0.5, -0.4, 0.3, -2.0, 0.3, 1.8, 1.0]


class Client(Node):
    """A driver's loop, with a planner in it."""

    def __init__(self) -> None:
        super().__init__('client')
        self.position, self.torques = HOME, []
        self.state, self.sent = '', False
        self.states = self.create_publisher(JointState, 'joint_states', 1)
        self.plans = self.create_publisher(JointTrajectory, 'feedforward/joint_trajectory', 10)
        self.create_subscription(JointState, 'feedforward/torque', self.on_torque, 1)
        self.create_subscription(DiagnosticStatus, 'feedforward/state', self.on_state, LATCHED)
        self.create_timer(1.0 / RATE, self.send_state)

    def send_state(self) -> None:
        """Your driver: where the arm is, and when that was measured."""
        state = JointState(name=JOINTS, position=self.position)
        state.header.stamp = self.get_clock().now().to_msg()
        self.states.publish(state)

    def on_torque(self, message: JointState) -> None:
        """Your controller: this torque, and feedback towards this position and velocity."""
        self.position = list(message.position)
        if self.state == 'following':
            self.torques.append(list(message.effort))

    def on_state(self, message: DiagnosticStatus) -> None:
        """Log what the node does, and why; send the plan when it holds for the first time."""
        self.state = message.message
        self.get_logger().info(f"{self.state} {' '.join(v.value for v in message.values)}")
        if self.state == 'holding' and not self.sent:
            self.sent = True
            points = [JointTrajectoryPoint(positions=HOME), JointTrajectoryPoint(
                positions=GOAL, time_from_start=Duration(sec=2))]
            self.plans.publish(JointTrajectory(joint_names=JOINTS, points=points))


def main() -> None:
    """Run until the plan has ended, and print the largest torques."""
    rclpy.init()
    client = Client()
    end = time.monotonic() + PATIENCE
    while not (client.torques and client.state == 'holding') and time.monotonic() < end:
        rclpy.spin_once(client, timeout_sec=0.1)
    rclpy.shutdown()
    if not client.torques:
        sys.exit('no torque: is the node running, and did it accept the plan? See its log')
    largest = [max(map(abs, joint)) for joint in zip(*client.torques, strict=True)]
    print('largest torques, N m:', *(f'{torque:.2f}' for torque in largest))


if __name__ == '__main__':
    main()
