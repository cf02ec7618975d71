"""Trajectories as bytes."""
import numpy as np
import pytest

from hodyn_ros.messages.joint_trajectory import MAX_POINTS, decode, encode


def test_what_is_written_is_read():
    rng = np.random.default_rng(2)
    times, motion = np.cumsum(rng.uniform(0.1, 1.0, 4)), rng.normal(size=(4, 5, 2))
    found = decode(encode(('a', 'b'), times, motion, motion[:, 4], 7))
    assert found.names == ('a', 'b')
    np.testing.assert_allclose(found.times, times, atol=1e-9)
    for k, rows in enumerate((found.positions, found.velocities, found.accelerations)):
        np.testing.assert_array_equal(rows, motion[:, k])


@pytest.mark.parametrize(('names', 'points', 'reason'), [
    (2000, 1, '2000 joints; at most 1000'), (7, MAX_POINTS + 1, 'points; at most 200000')])
def test_what_is_too_large_is_not_even_unpacked(names, points, reason):
    empty = b'\x00' * 20
    data = encode(
        [f'j{i}' for i in range(names)], np.zeros(0), np.zeros((0, 5, 7)), np.zeros((0, 7)))
    head = data[:-4] + np.uint32(points).tobytes()
    with pytest.raises(ValueError, match=reason):
        decode(head + points * empty)
