"""The definitions of ROS messages that rosbags needs to read and write them."""
from rosbags.typesys import Stores, get_typestore

TYPES = get_typestore(Stores.ROS2_JAZZY)
