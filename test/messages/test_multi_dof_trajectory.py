"""trajectory_msgs/MultiDOFJointTrajectory as bytes, against another implementation of CDR."""
import numpy as np
import pytest
from serialized import base_trajectory

import hodyn_ros as hd
from hodyn_ros.messages import cdr
from hodyn_ros.messages.multi_dof_trajectory import MAX_POSES, frame_and_names, read_poses

POSES = [(1.0, 2.0, 3.0, 0.0, 0.6, 0.0, 0.8), (-1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0)]
TIMES = [0.5, 2.25]


@pytest.mark.parametrize('little_endian', [True, False])
@pytest.mark.parametrize(('names', 'twists'), [
    (('base_link',), 0), (('a',), 1), (('', 'of_any_length'), 3), ((), 2)])
def test_the_poses_are_read_and_twists_are_not(names, twists, little_endian):
    data = base_trajectory(
        TIMES, POSES, names=names, stamp=12_000_000_005, twists=twists,
        little_endian=little_endian)
    assert frame_and_names(data) == ('odom', names, 2)
    assert cdr.stamp(data) == 12_000_000_005
    times, positions, turns = read_poses(data)
    np.testing.assert_array_equal(times, TIMES)
    np.testing.assert_array_equal(positions, [pose[:3] for pose in POSES])
    np.testing.assert_allclose(
        turns, [[0.8, 0.0, 0.6, 0.0], [1.0, 0.0, 0.0, 0.0]], rtol=0.0, atol=1e-15)


@pytest.mark.parametrize(('wrong', 'said'), [
    ((np.nan, 0, 0, 0, 0, 0, 1), r'point 1, transforms\[0\].translation.x is not finite'),
    ((0, 0, -np.inf, 0, 0, 0, 1), r'point 1, transforms\[0\].translation.z is not finite'),
    ((0, 2e9, 0, 0, 0, 0, 1), r'point 1, transforms\[0\].translation.y is 2e\+09'),
    ((0, 0, 0, 0, np.nan, 0, 1), r'point 1, transforms\[0\].rotation.y is not finite'),
    ((0, 0, 0, 0, 0, 0, 0), r'point 1, transforms\[0\].rotation is not a unit quaternion: its'),
    ((0, 0, 0, 0, 0, 0, 1.01), 'its length is 1.01'),
])
def test_a_wrong_pose_is_named(wrong, said):
    with pytest.raises(hd.HodynError, match=said):
        read_poses(base_trajectory(TIMES, [POSES[0], wrong]))


def test_a_point_with_other_than_one_transform_is_refused():
    data = bytearray(base_trajectory(TIMES, POSES))
    at = data.index((1).to_bytes(4, 'little') + bytes(4) + np.float64(1.0).tobytes())
    data[at] = 2
    with pytest.raises(hd.HodynError, match='point 0 has 2 transforms; expected one'):
        read_poses(bytes(data))


def test_more_poses_than_can_be_fitted_are_refused():
    with pytest.raises(hd.HodynError, match=f'{MAX_POSES + 1} poses; at most {MAX_POSES} are'):
        read_poses(base_trajectory(np.arange(MAX_POSES + 1), POSES[:1] * (MAX_POSES + 1)))


def test_a_message_that_is_cut_or_damaged_anywhere_is_refused_or_read():
    data = base_trajectory(TIMES, POSES, twists=1)
    for length in range(len(data)):
        with pytest.raises(hd.HodynError, match='bytes that are not'):
            read_poses(data[:length])
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(500):
        damaged = bytearray(data)
        damaged[rng.integers(4, len(data))] = rng.integers(256)
        try:
            times, positions, turns = read_poses(bytes(damaged))
        except hd.HodynError:
            refused += 1
        else:
            assert len(times) == len(positions) == len(turns)
    assert 50 < refused < 450
