"""Messages serialized by rosbags: another implementation of CDR than the package's."""
import numpy as np
from recordings import TYPES

from hodyn_ros.messages.joint_states import MESSAGE_TYPE

CLASSES = TYPES.types


def header(stamp, frame):
    return CLASSES['std_msgs/msg/Header'](
        CLASSES['builtin_interfaces/msg/Time'](*stamp), frame)


def joint_state(stamp, frame, names, *fields, little_endian=True):
    message = CLASSES[MESSAGE_TYPE](
        header(stamp, frame), names, *(np.asarray(field, float) for field in fields))
    return bytes(TYPES.serialize_cdr(message, MESSAGE_TYPE, little_endian=little_endian))
