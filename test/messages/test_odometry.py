"""Odometry and wrenches as bytes, written and read by another library."""
import numpy as np
import pytest
from recordings import TYPES
from serialized import CLASSES, header

import hodyn_ros as hd
from hodyn_ros.messages.odometry import read_odometry
from hodyn_ros.messages.wrench_message import WrenchWriter

ODOMETRY, WRENCH = 'nav_msgs/msg/Odometry', 'geometry_msgs/msg/WrenchStamped'


def odometry(
    *, position=(1.0, 2.0, 3.0), orientation=(0.0, 0.6, 0.0, 0.8), linear=(4.0, 5.0, 6.0),
    angular=(7.0, 8.0, 9.0), child='base_link', little_endian=True,
):
    def of(name, *values):
        return CLASSES[f'geometry_msgs/msg/{name}'](*values)

    message = CLASSES[ODOMETRY](
        header((12, 5), 'odom'), child,
        of('PoseWithCovariance',
           of('Pose', of('Point', *position), of('Quaternion', *orientation)),
           np.full(36, np.nan)),
        of('TwistWithCovariance',
           of('Twist', of('Vector3', *linear), of('Vector3', *angular)), np.full(36, np.nan)))
    return bytes(TYPES.serialize_cdr(message, ODOMETRY, little_endian=little_endian))


@pytest.mark.parametrize('little_endian', [True, False])
@pytest.mark.parametrize('child', ['base_link', 'b', 'base', ''])
def test_each_field_is_read_whatever_the_names_and_covariances(child, little_endian):
    frame, found, position, quaternion, linear, angular, stamp = read_odometry(
        odometry(child=child, little_endian=little_endian))
    assert (frame, found, stamp) == ('odom', child, 12_000_000_005)
    np.testing.assert_array_equal(position, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(quaternion, [0.8, 0.0, 0.6, 0.0], atol=1e-15)
    np.testing.assert_array_equal(linear, [4.0, 5.0, 6.0])
    np.testing.assert_array_equal(angular, [7.0, 8.0, 9.0])


@pytest.mark.parametrize(('wrong', 'said'), [
    ({'position': (0.0, np.nan, 0.0)}, r'pose\.pose\.position\.y is not finite'),
    ({'position': (1e30, 0.0, 0.0)}, r'position\.x is 1e\+30, beyond 1e\+12$'),
    ({'orientation': (0.0, 0.0, 0.0, np.inf)}, r'pose\.pose\.orientation\.w is not finite'),
    ({'orientation': (0.0, 0.0, 0.0, 0.0)}, 'is not a unit quaternion: its length is 0$'),
    ({'orientation': (0.0, 0.0, 0.0, 1.01)}, 'is not a unit quaternion: its length is 1.01'),
    ({'linear': (0.0, 0.0, 1e30)}, r'twist\.twist\.linear\.z is 1e\+30, beyond 1e\+06$'),
    ({'angular': (np.nan, 0.0, 0.0)}, r'twist\.twist\.angular\.x is not finite'),
])
def test_what_is_no_odometry_is_refused_with_what_is_wrong(wrong, said):
    with pytest.raises(hd.HodynError, match=said):
        read_odometry(odometry(**wrong))


def test_a_message_that_is_cut_anywhere_is_refused():
    data = odometry()
    for length in range(len(data)):
        with pytest.raises(hd.HodynError, match='bytes that are no'):
            read_odometry(data[:length])


def test_the_earth_is_not_too_large_for_a_position():
    read_odometry(odometry(position=(5e5, 5.4e6, 0.0)))


@pytest.mark.parametrize('frame', ['base_link', 'deck', ''])
def test_a_wrench_is_written_with_its_force_first(frame):
    writer = WrenchWriter(frame)
    for scale in (1.0, -2.0):
        message = TYPES.deserialize_cdr(
            writer.of(scale * np.arange(1.0, 7.0), 3_000_000_007), WRENCH)
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == (3, 7)
        assert message.header.frame_id == frame
        wrench = message.wrench
        assert [wrench.torque.x, wrench.torque.y, wrench.torque.z] == [
            scale, 2.0 * scale, 3.0 * scale]
        assert [wrench.force.x, wrench.force.y, wrench.force.z] == [
            4.0 * scale, 5.0 * scale, 6.0 * scale]
