"""Messages read and written as bytes, against another implementation of CDR."""
import contextlib

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from recordings import TYPES
from serialized import CLASSES, header

from hodyn_ros.messages import cdr
from hodyn_ros.messages.joint_states import Layout
from hodyn_ros.messages.joint_trajectory import decode, encode
from hodyn_ros.messages.wrench_message import frame_and_wrench

STAMPS = st.tuples(st.integers(-2**31, 2**31 - 1), st.integers(0, 10**9 - 1))


def serialized_wrench(stamp, frame, force, moment, *, little_endian=True):
    vector = CLASSES['geometry_msgs/msg/Vector3']
    message = CLASSES['geometry_msgs/msg/WrenchStamped'](
        header(stamp, frame),
        CLASSES['geometry_msgs/msg/Wrench'](vector(*force), vector(*moment)))
    return bytes(TYPES.serialize_cdr(
        message, 'geometry_msgs/msg/WrenchStamped', little_endian=little_endian))


@given(STAMPS, st.text('abc/é', max_size=9), st.booleans())
def test_a_frame_and_its_wrench(stamp, frame, little):
    data = serialized_wrench(
        stamp, frame, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), little_endian=little)
    found, wrench = frame_and_wrench(data)
    assert (found, *wrench) == (frame, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0)
    with pytest.raises(ValueError, match='not a header and 6 numbers'):
        frame_and_wrench(data[:-1])


@given(st.binary(max_size=200))
def test_bytes_that_are_no_message_are_a_value_error_and_nothing_else(data):
    for read in (Layout.of, cdr.stamp, decode, frame_and_wrench):
        for start in (b'', b'\x00\x01\x00\x00', b'\x00\x00\x00\x00'):
            with contextlib.suppress(ValueError):
                read(start + data)


JUNK = b'\x00\x01\x00\x00' + b'\xff' * 40
CUT = encode(('a',), np.ones(1), np.zeros((1, 5, 1)), np.zeros((1, 1)))[:-9]


@pytest.mark.parametrize(('read', 'data', 'reason'), [
    (Layout.of, JUNK, 'bytes that are not a joint state'),
    (decode, JUNK, 'bytes that are not a trajectory'),
    (decode, CUT, 'not a serialized trajectory_msgs/msg/JointTrajectory'),
    (frame_and_wrench, JUNK, 'bytes that are not a header and 6 numbers')])
def test_bytes_that_are_no_message_say_so(read, data, reason):
    with pytest.raises(ValueError, match=reason):
        read(data)


def test_a_wrench_is_moment_and_force():
    data = serialized_wrench((1, 2), 'link7', (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    frame, wrench = frame_and_wrench(data)
    assert frame == 'link7'
    assert wrench.tolist() == [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]
    for value in (float('nan'), 1e7):
        with pytest.raises(ValueError, match="on 'link7' is not finite"):
            frame_and_wrench(serialized_wrench((1, 2), 'link7', (1.0, value, 3.0), (0.0,) * 3))
