"""The topics that the node subscribes to."""
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from hodyn_ros.feedforward.base_reference import BASE_PLAN
from hodyn_ros.feedforward.trajectory_goals import PLAN
from hodyn_ros.robot import HodynError
from hodyn_ros.ros.session import Session

BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# So that of two drivers that publish in phase both are seen, and the former one is believed.
STATES = QoSProfile(depth=2, reliability=ReliabilityPolicy.BEST_EFFORT)
PLAN_QOS = QoSProfile(depth=10)
REQUESTS: dict[Callable[..., None], str] = {
    Session.on_trajectory: PLAN, Session.on_reference: 'reference',
    Session.on_stiffness: 'stiffness', Session.on_base_trajectory: BASE_PLAN}
"""Topics of requests, by the method that handles them; other inputs are measurements."""
Input = tuple[Any, str, Callable[[Session, bytes], None], QoSProfile]


def inputs(*, has_base: bool) -> list[Input]:
    """Return type, topic, method and quality of service of each input.

    `has_base` adds the odometry of a moving base; raises HodynError if its type is not installed.
    """
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
