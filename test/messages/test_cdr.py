"""Messages read and written as bytes, against another implementation of CDR."""
import contextlib
import struct

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from hodyn_ros.messages import cdr
from hodyn_ros.plans.wire import decode

TYPES = get_typestore(Stores.ROS2_JAZZY)
CLASSES = TYPES.types
NAMES = st.lists(st.text(
    st.characters(exclude_categories=['Cs'], exclude_characters='\x00'), max_size=9), max_size=9)
STAMPS = st.tuples(st.integers(-2**31, 2**31 - 1), st.integers(0, 10**9 - 1))


def header(stamp, frame):
    return CLASSES['std_msgs/msg/Header'](
        CLASSES['builtin_interfaces/msg/Time'](*stamp), frame)


def joint_state(stamp, frame, names, *fields, little_endian=True):
    message = CLASSES[cdr.MESSAGE_TYPE](
        header(stamp, frame), names, *(np.asarray(field, float) for field in fields))
    return bytes(TYPES.serialize_cdr(message, cdr.MESSAGE_TYPE, little_endian=little_endian))


@given(STAMPS, st.text('abc/é', max_size=6), NAMES, st.booleans(), st.integers(0, 7))
def test_a_joint_state_is_read_where_its_numbers_stand(stamp, frame, names, little, present):
    fields = [
        np.arange(len(names)) + 0.25 * k if present & 1 << k else [] for k in range(3)]
    data = joint_state(stamp, frame, names, *fields, little_endian=little)
    layout = cdr.Layout.of(data)
    assert layout.names == tuple(names)
    assert layout.fits(data)
    assert cdr.stamp(data) == stamp[0] * 10**9 + stamp[1]
    for field, values in zip(('position', 'velocity', 'effort'), fields, strict=True):
        if len(values):
            np.testing.assert_array_equal(layout.field(data, field), values)
        else:
            assert field not in layout.offsets
    # The like of it fits, another does not.
    others = [np.asarray(values) + 1.0 for values in fields]
    assert layout.fits(joint_state((1, 2), frame, names, *others, little_endian=little))
    assert not layout.fits(joint_state(stamp, frame + 'x' * 8, names, *fields))
    assert not layout.fits(joint_state(stamp, frame, [*names, 'x'], [], [], []))


@given(STAMPS, NAMES)
def test_a_template_is_written_in_place(stamp, names):
    message = bytearray(cdr.template(tuple(names)))
    layout = cdr.Layout.of(bytes(message))
    fields = [np.arange(len(names)) + 0.5 * k for k in range(3)]
    cdr.set_stamp(message, stamp[0] * 10**9 + stamp[1])
    for field, values in zip(layout.offsets, fields, strict=False):
        layout.field(message, field)[:] = values
    assert bytes(message) == joint_state(stamp, '', names, *fields)


@pytest.mark.parametrize('length', [0, 1, 7])
def test_an_array_template(length):
    data, at = cdr.array_template(length)
    message = TYPES.deserialize_cdr(data, 'std_msgs/msg/Float64MultiArray')
    assert message.data.tolist() == [0.0] * length
    assert at + 8 * length == len(data)


@given(STAMPS, st.text('abc/é', max_size=9), st.booleans())
def test_a_frame_and_its_numbers(stamp, frame, little):
    vector = CLASSES['geometry_msgs/msg/Vector3']
    message = CLASSES['geometry_msgs/msg/WrenchStamped'](
        header(stamp, frame),
        CLASSES['geometry_msgs/msg/Wrench'](vector(1.0, 2.0, 3.0), vector(4.0, 5.0, 6.0)))
    data = bytes(TYPES.serialize_cdr(
        message, 'geometry_msgs/msg/WrenchStamped', little_endian=little))
    assert cdr.frame_and_numbers(data, 6) == (frame, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    with pytest.raises(ValueError, match='no header and 6 numbers'):
        cdr.frame_and_numbers(data[:-1], 6)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_message_are_a_value_error_and_nothing_else(data):
    for read in (
            cdr.Layout.of, cdr.stamp, decode, lambda data: cdr.frame_and_numbers(data, 6)):
        for start in (b'', b'\x00\x01\x00\x00', b'\x00\x00\x00\x00'):
            with contextlib.suppress(ValueError):
                read(start + data)


def test_what_is_wrong_is_said():
    good = joint_state((1, 2), '', ['a', 'b'], [1, 2], [], [])
    for data, reason in (
            (b'', 'not a message in plain CDR'),
            (b'\x00\x07' + good[2:], 'not a message in plain CDR'),
            (joint_state((1, 2), '', ['a', 'b'], [1, 2], [], [1, 2])[:-4], 'cut short'),
            (good[:20], 'no joint state'),
            (good[:20] + struct.pack('<I', 2**31) + good[24:], 'joints; at most 1000'),
            (joint_state((1, 2), '', ['a', 'b'], [1], [], []), '2 names but 1 entries')):
        with pytest.raises(ValueError, match=reason):
            cdr.Layout.of(data)
