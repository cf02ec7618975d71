"""Opens a recording of a robot."""
from pathlib import Path

from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.joint_names import JointNames

# Topics of the node that have the message type of joint states, but contain no joint states.
RESULTS = {
    'torque_rate': 'rates of torques', 'torque_accel': 'second derivatives of torques',
    'motor_reference': 'references of the motors'}


def open_recording(
    path: Path, robot: Robot, *, prefix: str = '', topic: str | None = None,
) -> JointStateBag:
    """Return an open bag with joint states in the robot's order of joints and efforts in N m.

    Positions that the driver wraps, for example to ±π, are unwrapped. `path` is the folder of a
    rosbag2, or its only ``.db3`` or ``.mcap`` file; `prefix` is the prefix of the joint names of
    one arm among several; `topic` is needed if several topics have joint states. HodynError or
    OSError: there is no such bag or topic, it cannot be read, or it has results of the node.
    """
    bag = JointStateBag(
        path, JointNames(robot, prefix=prefix), topic, effort_gain=robot.effort_gain,
        turns=robot.turns)
    if what := RESULTS.get(bag.topic.rpartition('/')[2]):
        with bag:
            raise HodynError(
                f'{path}: {bag.topic} has results of the feed-forward node ({what}), no joint '
                'states: choose the topic of the driver by --topic')
    return bag
