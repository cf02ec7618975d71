"""The topics that the node subscribes to, except `robot_description`."""
from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from hodyn_ros.feedforward.base_reference import BASE_PLAN
from hodyn_ros.feedforward.trajectory_goals import PLAN
from hodyn_ros.robot import HodynError
from hodyn_ros.ros.qos_overrides import qos_of_user
from hodyn_ros.ros.session import Session

BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# With depth 1, a state would replace that of another driver published just before it.
STATES = QoSProfile(depth=2, reliability=ReliabilityPolicy.BEST_EFFORT)
PLAN_QOS = QoSProfile(depth=10)
REQUESTS: dict[Callable[..., None], str] = {
    Session.on_trajectory: PLAN, Session.on_reference: 'reference',
    Session.on_stiffness: 'stiffness', Session.on_base_trajectory: BASE_PLAN}
"""Topics of requests, by the method that handles them; other inputs are measurements."""
Input = tuple[Any, str, Callable[[Session, bytes], None], QoSProfile]


def subscribe(
    node: Node, call: Callable[..., None], *, has_base: bool,
) -> list[Callable[[], object]]:
    """Subscribe; `call` gets the method that handles a message, and the serialized message.

    Returns functions that end the subscriptions. `has_base` adds the odometry of a moving base;
    raises HodynError if its type is not installed, or if the node itself publishes an input.
    """
    own = {publisher.topic_name for publisher in node.publishers}
    for _, topic, *_ in _inputs(has_base=has_base):
        if (name := node.resolve_topic_name(topic)) in own:
            raise HodynError(
                f'{name} would be both published and read (as {topic}) by this node: correct the '
                'remapping')
    return [
        partial(node.destroy_subscription, node.create_subscription(
            kind, topic, partial(call, method), qos, raw=True,
            qos_overriding_options=qos_of_user(node)))
        for kind, topic, method, qos in _inputs(has_base=has_base)]


def _inputs(*, has_base: bool) -> list[Input]:
    rows: list[Input] = [
        (JointState, 'joint_states', Session.on_state, STATES),
        (JointTrajectory, '~/joint_trajectory', Session.on_trajectory, PLAN_QOS),
        (JointState, '~/reference', Session.on_reference, BEST_EFFORT),
        (WrenchStamped, '~/external_wrench', Session.on_wrench, BEST_EFFORT),
        (JointState, '~/stiffness', Session.on_stiffness, BEST_EFFORT),
        (MultiDOFJointTrajectory, '~/base_trajectory', Session.on_base_trajectory, PLAN_QOS),
        (JointState, '~/motor_states', Session.on_motor_state, BEST_EFFORT),
    ]
    if has_base:
        try:
            from nav_msgs.msg import Odometry  # not needed for an arm on a fixed base
        except ImportError as error:
            raise HodynError(
                'the robot has a floating base, whose odometry needs nav_msgs, which is not '
                f'installed ({error}): install ros-nav-msgs') from None
        rows.append((Odometry, 'odom', Session.on_odometry, BEST_EFFORT))
    return rows
