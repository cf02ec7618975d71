"""The definitions of the ROS messages that rosbags reads and writes for this package.

They are the same in all distributions of ROS 2. Importing rosbags' definitions of all messages of
a distribution would take longer than replaying a short recording.
"""
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

_DEFINITIONS = {
    'std_msgs/msg/Header': """
        builtin_interfaces/Time stamp
        string frame_id
        """,
    'sensor_msgs/msg/JointState': """
        std_msgs/Header header
        string[] name
        float64[] position
        float64[] velocity
        float64[] effort
        """,
    'trajectory_msgs/msg/JointTrajectory': """
        std_msgs/Header header
        string[] joint_names
        trajectory_msgs/JointTrajectoryPoint[] points
        """,
    'trajectory_msgs/msg/JointTrajectoryPoint': """
        float64[] positions
        float64[] velocities
        float64[] accelerations
        float64[] effort
        builtin_interfaces/Duration time_from_start
        """,
}

TYPES = get_typestore(Stores.EMPTY)
for _name, _text in _DEFINITIONS.items():
    TYPES.register(get_types_from_msg(_text, _name))
