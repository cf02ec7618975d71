"""Trajectories as bytes."""
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from serialized import CLASSES, header

from hodyn_ros.messages.joint_trajectory import MAX_POINTS, MESSAGE_TYPE, decode, encode, is_empty
from hodyn_ros.messages.message_types import TYPES


@pytest.mark.parametrize(('names', 'points', 'reason'), [
    (2000, 1, '2000 joints; at most 1000'), (7, MAX_POINTS + 1, 'points; at most 200000')])
def test_what_is_too_large_is_not_even_unpacked(names, points, reason):
    empty = b'\x00' * 20
    data = encode(
        [f'j{i}' for i in range(names)], np.zeros(0), np.zeros((0, 5, 7)), np.zeros((0, 7)))
    head = data[:-4] + np.uint32(points).tobytes()
    with pytest.raises(ValueError, match=reason):
        decode(head + points * empty)


def test_nanoseconds_of_more_than_a_second_are_refused_with_their_point():
    data = encode(('a',), np.array([0.0, 2.25]), np.zeros((2, 5, 1)), np.zeros((2, 1)))
    later = data.replace(np.uint32(250_000_000).tobytes(), np.uint32(10**9).tobytes())
    assert decode(data).times == [0.0, 2.25]
    with pytest.raises(ValueError, match='point 1, time_from_start, nanosec: 1000000000 is not'):
        decode(later)


ROWS = st.lists(st.floats(-1e6, 1e6), max_size=3).map(tuple)
POINTS = st.lists(
    st.tuples(ROWS, ROWS, ROWS, ROWS, st.tuples(st.integers(-9, 9), st.integers(0, 10**9 - 1))),
    max_size=4)


@given(st.lists(st.text('abc/é', max_size=9), max_size=3), POINTS, st.booleans())
def test_what_another_implementation_writes_is_read(names, points, little):
    """Empty and uneven rows too, whose padding differs; and with bytes behind, as rclpy has."""
    duration = CLASSES['builtin_interfaces/msg/Duration']
    message = CLASSES[MESSAGE_TYPE](header((1, 2), 'base'), names, [
        CLASSES['trajectory_msgs/msg/JointTrajectoryPoint'](
            *(np.array(row, float) for row in rows), duration(*time))
        for *rows, time in points])
    data = bytes(TYPES.serialize_cdr(message, MESSAGE_TYPE, little_endian=little))
    found = decode(data + b'\x00\x00\x00')
    assert found.names == tuple(names)
    assert is_empty(data) is (not points)
    for k, rows in enumerate(
            (found.positions, found.velocities, found.accelerations, found.efforts)):
        assert rows == [point[k] for point in points]
    assert found.times == [sec + 1e-9 * nanosec for *_, (sec, nanosec) in points]


def test_another_implementation_reads_what_is_written():
    rng = np.random.default_rng(3)
    times, motion = np.array([0.0, 2.01, 2.999999999]), rng.normal(size=(3, 5, 2))
    data = encode(('a', 'joint_b'), times, motion, motion[:, 4], 5_000_000_007)
    message = TYPES.deserialize_cdr(data, MESSAGE_TYPE)
    assert message.joint_names == ['a', 'joint_b']
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (5, 7)
    for point, derivatives, time in zip(message.points, motion, times, strict=True):
        np.testing.assert_array_equal(
            [point.positions, point.velocities, point.accelerations, point.effort],
            derivatives[[0, 1, 2, 4]])
        assert point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec == time
