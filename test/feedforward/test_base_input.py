"""Which readings of a base that moves are believed, and what is made of them."""
import contextlib
from dataclasses import replace

import numpy as np
import pytest
from supervised import SHIP

import hodyn_ros as hd
from hodyn_ros.feedforward.base_input import LARGEST_ACCELERATION, BaseInput, BaseReading
from hodyn_ros.robot import lie


def reading(t, rotation=None, linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0), **others):
    rotation = np.eye(3) if rotation is None else rotation
    return BaseReading(
        others.get('frame', 'odom'), others.get('child', 'deck'),
        np.array(others.get('position', np.zeros(3))),
        lie.quaternion(rotation), np.array(linear), np.array(angular), round(t * 1e9))


def feed(base, readings):
    """Return which of the readings, at their times, are believed."""
    return [base.take(one, None, 'left_', one.stamp * 1e-9) for one in readings]


def test_three_readings_must_agree_before_the_first_is_believed():
    base = BaseInput(SHIP, 0.0, 0.0)
    assert not base.is_known(1.0)
    assert feed(base, [reading(1.0 + 0.01 * k) for k in range(4)]) == [False, False, True, True]
    assert base.is_known(1.04)
    assert not base.is_known(5.0)


def test_one_wrong_reading_of_the_base_is_left_out_and_a_new_tilt_taken():
    base = BaseInput(SHIP, 0.0, 0.0)
    feed(base, [reading(1.0 + 0.01 * k) for k in range(3)])
    tilted = lie.rotation_exp([0.5, 0.0, 0.0])
    assert feed(base, [reading(1.03, tilted), reading(1.04)]) == [False, True]
    np.testing.assert_array_equal(base.rotation, np.eye(3))
    assert feed(base, [reading(1.05 + 0.01 * k, tilted) for k in range(3)]) == [False, False, True]
    np.testing.assert_allclose(base.rotation, tilted, atol=1e-15)
    assert base.left_out == 5


@pytest.mark.parametrize(('wrong', 'said'), [
    ({'frame': 'map'}, "its frame_id is 'map', and was 'odom'"),
    ({'child': 'wheel'}, "'wheel' is not a link of the base of robot 'panda': expected deck"),
    ({'angular': (0.0, 30.0, 0.0)}, r'twist.twist.angular is 30 rad/s; at most 20 are believed'),
    ({'linear': (300.0, 0.0, 0.0)},
     r'twist.twist.linear is 300 m/s; at most 100 are believed: is it in mm/s\?'),
    ({'t': 1.02}, 'a stamp is not newer than the last'),
    ({'t': 0.0}, 'it has no stamp'),
])
def test_odometry_that_cannot_be_of_the_base_is_refused(wrong, said):
    base = BaseInput(SHIP, 0.0, 0.0)
    feed(base, [reading(1.0 + 0.01 * k) for k in range(3)])
    with pytest.raises(hd.HodynError, match=said):
        base.take(reading(**{'t': 1.03, **wrong}), None, '', 1.03)
    assert feed(base, [reading(1.04)]) == [True]


@pytest.mark.parametrize(('late', 'said'), [(0.6, 'behind'), (-0.6, 'ahead of')])
def test_odometry_of_another_time_than_the_joint_states_is_refused(late, said):
    base = BaseInput(SHIP, 0.0, 0.0)
    with pytest.raises(hd.HodynError, match=f'0.600 s {said} that of the joint states'):
        base.take(reading(9.0), round((9.0 + late) * 1e9), '', 1.0)


def test_after_a_clock_was_set_back_readings_are_believed_again():
    base = BaseInput(SHIP, 0.0, 0.0)
    assert feed(base, [reading(100.0 + 0.01 * k) for k in range(3)])[-1]
    assert feed(base, [reading(5.0 + 0.01 * k) for k in range(3)]) == [False, False, True]


def test_any_link_of_the_base_may_be_what_is_measured():
    """A frame that is turned and elsewhere on the base, with the driver's prefix."""
    place = lie.pose(lie.rotation_exp([0.0, 0.4, 0.0]), [0.5, 0.0, 0.2])
    robot = replace(SHIP, frames={**SHIP.frames, 'imu': (0, place)})
    own, other = BaseInput(robot, 0.0, 5.0), BaseInput(robot, 0.0, 5.0)
    angular, linear = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.0, -0.5])
    for k in range(6):
        t = 1.0 + 0.01 * k
        rotation = lie.rotation_exp(angular * t)  # turns evenly about axes of its own
        speed = linear * t
        at = 0.5 * t**2 * linear
        own.take(reading(t, rotation, rotation.T @ speed, angular, position=at), None, '', t)
        turned = place[:3, :3].T
        other.take(reading(
            t, rotation @ place[:3, :3],
            turned @ (rotation.T @ speed + np.cross(angular, place[:3, 3])), turned @ angular,
            child='left_imu', position=at + rotation @ place[:3, 3]), None, 'left_', t)
    assert (np.abs(own.hybrid[1, 3:]) > 0.05).any()
    np.testing.assert_allclose(other.rotation, own.rotation, atol=1e-12)
    np.testing.assert_allclose(other.hybrid, own.hybrid, atol=1e-9)


@pytest.mark.parametrize('bandwidth', [0.0, 20.0])
def test_accelerations_are_filtered_differences_of_velocities_or_none(bandwidth):
    base = BaseInput(SHIP, 0.0, bandwidth)

    def measured(k):
        t = 0.01 * k
        rotation = lie.rotation_exp([0.5 * t**2, 0.0, 0.0])
        return reading(
            1.0 + t, rotation, rotation.T @ [0.0, 0.0, 2.0 * t], angular=(t, 0.0, 0.0),
            position=(0.0, 0.0, t**2))

    feed(base, map(measured, range(3)))
    assert base.hybrid[1, 5] < 2.0  # it has only begun
    feed(base, map(measured, range(3, 150)))
    expected = [1.0, 0.0, 0.0, 0.0, 0.0, 2.0] if bandwidth else np.zeros(6)
    np.testing.assert_allclose(base.hybrid[1], expected, atol=1e-9)
    assert not base.hybrid[2:].any()


def test_no_jump_of_the_velocity_makes_a_larger_acceleration_than_is_taken():
    base = BaseInput(SHIP, 0.0, 100.0)
    for k in range(40):
        speed = (0.0, 0.0, 1.4 * (k % 2))
        rotation = lie.rotation_exp([0.0, 0.0, 0.007 * k])
        feed(base, [reading(
            1.0 + 0.01 * k, rotation, linear=speed, angular=speed,
            position=(0.0, 0.0, 0.007 * k))])
        found = np.linalg.norm(base.hybrid[1].reshape(2, 3), axis=1)
        assert (found <= LARGEST_ACCELERATION * (1.0 + 1e-9)).all()
    assert (found > 1.0).all()


@pytest.mark.parametrize('period', [0.01, 0.3])
@pytest.mark.parametrize('wrong', ['degrees per second', 'another axis', 'a standing pose'])
def test_a_twist_that_contradicts_the_orientation_is_refused(wrong, period):
    """Of 0.2 rad/s in degrees centrifugal torques would reach their limits."""
    base = BaseInput(SHIP, 0.0, 0.0)
    for k in range(200):
        t = 1.0 + 0.01 * k
        angular = np.array([0.2 if wrong == 'degrees per second' else 1.0, 0.0, 0.0])
        rotation = lie.rotation_exp(angular * t)
        said = {'degrees per second': np.degrees(angular), 'another axis': angular[[1, 0, 2]]}.get(
            wrong, angular)
        if wrong == 'a standing pose':
            rotation = np.eye(3)
        if k < 25:
            with contextlib.suppress(hd.HodynError):
                base.take(reading(t, rotation, angular=said), None, '', t)
        else:
            with pytest.raises(hd.HodynError, match='is that in rad/s'):
                base.take(reading(t, rotation, angular=said), None, '', t)
    # A twist that is put right is believed again, even if readings have become rare.
    believed = [False]
    for _ in range(60):
        t += period
        with contextlib.suppress(hd.HodynError):
            believed.append(base.take(reading(t, rotation), None, '', t))
    assert believed[-1]


@pytest.mark.parametrize('bandwidth', [0.0, 10.0])
@pytest.mark.parametrize('begins', ['at once', 'slowly'])
@pytest.mark.parametrize('speed', [0.09, 0.3])
def test_degrees_per_second_are_used_at_no_time(speed, begins, bandwidth):
    """Before they were refused, 0.3 s later, a torque of 18 N m was published."""
    base = BaseInput(SHIP, 0.0, bandwidth)
    angle, largest = 0.0, 0.0
    for k in range(100):
        t = 1.0 + 0.02 * k
        turn = speed * (min(1.0, max(0.0, 0.02 * (k - 20))) if begins == 'slowly' else k > 20)
        angle += 0.02 * turn
        try:
            base.take(reading(
                t, lie.rotation_exp([0.0, 0.0, angle]), angular=[0.0, 0.0, np.degrees(turn)]),
                None, '', t)
        except hd.HodynError as error:
            said = str(error)
        largest = max(largest, np.abs(base.hybrid[0, :3]).max())
        assert not base.jumped or k < 5
    assert largest < 0.5 + 1.6 * speed
    assert 'is that in rad/s' in said


@pytest.mark.parametrize('period', [0.002, 0.02, 0.1])
def test_a_base_that_tumbles_is_believed(period):
    base = BaseInput(SHIP, 0.0, 0.0)
    rotation, angular = np.eye(3), np.zeros(3)
    for k in range(round(4.0 / period)):
        t = 1.0 + period * k
        assert base.take(reading(t, rotation, angular=angular), None, '', t) or k < 2
        later = 3.0 * np.sin([2.0 * t, 1.3 * t, 0.7 * t]) * min(1.0, t - 1.0)
        rotation = rotation @ lie.rotation_exp(0.5 * period * (angular + later))
        angular = later


def test_a_jump_is_told_from_readings_that_go_on():
    base = BaseInput(SHIP, 0.0, 0.0)
    feed(base, [reading(1.0 + 0.01 * k) for k in range(5)])
    assert not base.jumped
    tilted = lie.rotation_exp([0.5, 0.0, 0.0])
    feed(base, [reading(1.05 + 0.01 * k, tilted) for k in range(3)])
    assert base.jumped
    feed(base, [reading(1.08, tilted)])
    assert not base.jumped


def test_a_step_of_the_angular_velocity_is_not_called_a_new_tilt():
    base = BaseInput(SHIP, 0.0, 0.0)
    found = []
    for k in range(10):
        t, turns = 1.0 + 0.001 * k, k > 4
        base.take(reading(
            t, lie.rotation_z(0.95 * 0.001 * max(k - 4, 0)), angular=(0.0, 0.0, 0.95 * turns)),
            None, '', t)
        found.append(base.jumped)
    assert found[7] == 'the angular velocity of the base has jumped: the torque fades to it'
    assert not any(found[3:7] + found[8:])


def test_readings_that_end_after_their_clock_was_set_back_fall_silent_once():
    base = BaseInput(SHIP, 0.0, 0.0)
    feed(base, [reading(100.0 + 0.01 * k) for k in range(5)])
    base.take(reading(5.0), None, '', 100.05)
    assert [base.fell_silent(at) for at in (100.06, 105.0, 106.0)] == [False, True, False]
