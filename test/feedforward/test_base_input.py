"""Which readings of a base that moves are believed, and what is made of them."""
import contextlib
from dataclasses import replace

import numpy as np
import pytest
from supervised import SHIP

import hodyn_ros as hd
from hodyn_ros.feedforward.base_input import LARGEST_ACCELERATION, BaseInput, BaseReading
from hodyn_ros.robot import lie

STILL, REST = np.eye(3), np.zeros(3)
TILTED = lie.rotation_exp([0.5, 0.0, 0.0])


class Base(BaseInput):
    """A base whose readings come at the times of their stamps."""

    def __init__(self, bandwidth=0.0, robot=SHIP, timeout=0.0):
        super().__init__(robot, timeout, bandwidth)

    def read(
        self, t, rotation=STILL, angular=REST, linear=REST, position=REST, *, frame='odom',
        child='deck', at=None, now=None, prefix='left_',
    ):
        """Return whether the base believes a reading."""
        return self.take(BaseReading(
            frame, child, np.array(position), lie.quaternion(rotation), np.array(linear),
            np.array(angular), round(t * 1e9)), now, prefix, t if at is None else at)

    def rest(self, begin, count, rotation=STILL, *, is_held=False):
        """Return which of so many readings of a base at rest, 10 ms apart, it believes."""
        return [self.read(t, rotation, now=round(t * 1e9) if is_held else None)
                for t in begin + 0.01 * np.arange(count)]


def test_three_readings_must_agree_before_the_first_is_believed():
    base = Base()
    assert not base.is_known(1.0)
    assert base.rest(1.0, 4) == [False, False, True, True]
    assert base.is_known(1.04)
    assert not base.is_known(5.0)


def test_one_wrong_reading_is_left_out_and_a_new_tilt_taken_as_a_jump():
    base = Base()
    base.rest(1.0, 5)
    assert [base.read(1.05, TILTED), base.read(1.06)] == [False, True]
    assert not base.jumped
    np.testing.assert_array_equal(base.rotation, STILL)
    assert base.rest(1.07, 3, TILTED) == [False, False, True]
    assert base.jumped
    np.testing.assert_allclose(base.rotation, TILTED, atol=1e-15)
    assert base.left_out == 5
    base.read(1.1, TILTED)
    assert not base.jumped


@pytest.mark.parametrize('period', [0.01, 0.1, 0.2])
@pytest.mark.parametrize('angle', [1.2, 3.0, np.pi])
def test_a_wrong_tilt_is_not_believed_however_long_it_lasts(angle, period):
    """In the time since the last believed reading, the base could have turned so far."""
    base = Base(timeout=2.0)
    wrong = lie.rotation_exp([0.0, angle, 0.0])
    for k in range(round(4.0 / period)):
        stamp = 1.0 + period * k
        with contextlib.suppress(hd.HodynError):
            base.read(stamp, wrong if k > 4 else STILL, now=round(stamp * 1e9))
    np.testing.assert_array_equal(base.rotation, STILL)


@pytest.mark.parametrize('is_lost', [False, True])
def test_a_base_that_turns_over_at_once_is_not_believed(is_lost):
    """A quaternion in the order w, x, y, z reversed the weight, silently after an outage."""
    base = Base(timeout=0.5)
    base.rest(1.0, 5, TILTED)
    begin = 9.0 if is_lost else 1.05
    assert base.fell_silent(9.0) or not is_lost
    wrong = TILTED @ lie.rotation_exp([0.0, 3.0, 0.0])
    for k in range(6):
        stamp = begin + 0.01 * k
        with pytest.raises(hd.HodynError, match='tilted by 2') if k > 1 else (
                contextlib.nullcontext()):
            assert not base.read(stamp, wrong, now=round(stamp * 1e9))
    np.testing.assert_allclose(base.rotation, TILTED, atol=1e-15)
    # Readings as before are believed again, and so is a turn about the vertical.
    for later, rotation in ((0.1, TILTED), (0.2, lie.rotation_z(3.0) @ TILTED)):
        assert base.rest(begin + later, 3, rotation, is_held=True) == [False, False, True]


def test_without_joint_states_a_base_may_lie_as_it_likes():
    base = Base()
    base.rest(1.0, 3)
    assert base.rest(1.03, 3, lie.rotation_exp([3.0, 0.0, 0.0])) == [False, False, True]


@pytest.mark.parametrize(('wrong', 'said'), [
    ({'frame': 'map'}, "its frame_id is 'map', and was 'odom'"),
    ({'child': 'wheel'}, "'wheel' is not a link of the base of robot 'panda': expected deck"),
    ({'angular': (0.0, 30.0, 0.0)}, r'twist.twist.angular is 30 rad/s; at most 20 are believed'),
    ({'linear': (300.0, 0.0, 0.0)},
     r'twist.twist.linear is 300 m/s; at most 100 are believed: is it in mm/s\?'),
    ({'t': 1.02}, 'a stamp is not newer than the last'),
    ({'t': 0.0}, 'it has no stamp'),
    ({'now': 1_630_000_000}, '0.600 s behind that of the joint states'),
    ({'now': 430_000_000}, '0.600 s ahead of that of the joint states'),
])
def test_odometry_that_cannot_be_of_the_base_now_is_refused(wrong, said):
    base = Base()
    base.rest(1.0, 3)
    with pytest.raises(hd.HodynError, match=said):
        base.read(**{'t': 1.03, 'at': 1.03, 'prefix': '', **wrong})
    assert base.read(1.04)


def test_after_a_clock_was_set_back_readings_are_believed_again():
    base = Base()
    assert base.rest(100.0, 3)[-1]
    assert base.rest(5.0, 3) == [False, False, True]


def test_any_link_of_the_base_may_be_what_is_measured():
    """A frame that is turned and elsewhere on the base, with the driver's prefix."""
    place = lie.pose(lie.rotation_exp([0.0, 0.4, 0.0]), [0.5, 0.0, 0.2])
    robot = replace(SHIP, frames={**SHIP.frames, 'imu': (0, place)})
    own, other = Base(5.0, robot), Base(5.0, robot)
    angular, linear = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.0, -0.5])
    turned = place[:3, :3].T
    for k in range(6):
        t = 1.0 + 0.01 * k
        rotation = lie.rotation_exp(angular * t)  # turns evenly about axes of its own
        speed, at = rotation.T @ (linear * t), 0.5 * t**2 * linear
        own.read(t, rotation, angular, speed, at)
        other.read(
            t, rotation @ place[:3, :3], turned @ angular,
            turned @ (speed + np.cross(angular, place[:3, 3])), at + rotation @ place[:3, 3],
            child='left_imu')
    assert (np.abs(own.hybrid[1, 3:]) > 0.05).any()
    np.testing.assert_allclose(other.rotation, own.rotation, atol=1e-12)
    np.testing.assert_allclose(other.hybrid, own.hybrid, atol=1e-9)


@pytest.mark.parametrize('bandwidth', [0.0, 20.0])
def test_accelerations_are_filtered_differences_of_velocities_or_none(bandwidth):
    base = Base(bandwidth)
    for k in range(150):
        t = 0.01 * k
        rotation = lie.rotation_exp([0.5 * t**2, 0.0, 0.0])
        base.read(
            1.0 + t, rotation, (t, 0.0, 0.0), rotation.T @ [0.0, 0.0, 2.0 * t], (0.0, 0.0, t**2))
        assert k > 2 or base.hybrid[1, 5] < 2.0  # it has only begun
    expected = [1.0, 0.0, 0.0, 0.0, 0.0, 2.0] if bandwidth else np.zeros(6)
    np.testing.assert_allclose(base.hybrid[1], expected, atol=1e-9)
    assert not base.hybrid[2:].any()


def test_no_jump_of_the_velocity_makes_a_larger_acceleration_than_is_taken():
    base = Base(100.0)
    for k in range(40):
        speed, way = (0.0, 0.0, 1.4 * (k % 2)), (0.0, 0.0, 0.007 * k)
        base.read(1.0 + 0.01 * k, lie.rotation_exp(way), speed, speed, way)
        found = np.linalg.norm(base.hybrid[1].reshape(2, 3), axis=1)
        assert (found <= LARGEST_ACCELERATION * (1.0 + 1e-9)).all()
    assert (found > 1.0).all()


@pytest.mark.parametrize('period', [0.01, 0.3])
@pytest.mark.parametrize(('speed', 'turns', 'said'), [
    (0.2, 1.0, np.degrees((0.2, 0.0, 0.0))), (1.0, 1.0, (0.0, 1.0, 0.0)),
    (1.0, 0.0, (1.0, 0.0, 0.0)),
], ids=['degrees per second', 'another axis', 'a standing pose'])
def test_a_twist_that_contradicts_the_orientation_is_refused(speed, turns, said, period):
    """Of 0.2 rad/s in degrees centrifugal torques would reach their limits."""
    base = Base()
    for k in range(200):
        t = 1.0 + 0.01 * k
        rotation = lie.rotation_x(turns * speed * t)
        with contextlib.suppress(hd.HodynError) if k < 25 else pytest.raises(
                hd.HodynError, match='is that in rad/s'):
            base.read(t, rotation, said)
    # A twist that is put right is believed again, even if readings have become rare.
    believed = [False]
    for _ in range(60):
        t += period
        with contextlib.suppress(hd.HodynError):
            believed.append(base.read(t, rotation))
    assert believed[-1]


@pytest.mark.parametrize('bandwidth', [0.0, 10.0])
@pytest.mark.parametrize('begins', ['at once', 'slowly'])
@pytest.mark.parametrize('speed', [0.09, 0.3])
def test_degrees_per_second_are_used_at_no_time(speed, begins, bandwidth):
    """Before they were refused, 0.3 s later, a torque of 18 N m was published."""
    base = Base(bandwidth)
    angle, largest = 0.0, 0.0
    for k in range(100):
        turn = speed * (min(1.0, max(0.0, 0.02 * (k - 20))) if begins == 'slowly' else k > 20)
        angle += 0.02 * turn
        try:
            base.read(1.0 + 0.02 * k, lie.rotation_z(angle), [0.0, 0.0, np.degrees(turn)])
        except hd.HodynError as error:
            said = str(error)
        largest = max(largest, np.abs(base.hybrid[0, :3]).max())
        assert not base.jumped or k < 5
    assert largest < 0.5 + 1.6 * speed
    assert 'is that in rad/s' in said


@pytest.mark.parametrize('period', [0.002, 0.02, 0.1])
def test_a_base_that_tumbles_is_believed(period):
    base = Base()
    rotation, angular = STILL, REST
    for k in range(round(4.0 / period)):
        t = 1.0 + period * k
        assert base.read(t, rotation, angular) or k < 2
        later = 3.0 * np.sin([2.0 * t, 1.3 * t, 0.7 * t]) * min(1.0, t - 1.0)
        rotation = rotation @ lie.rotation_exp(0.5 * period * (angular + later))
        angular = later


def test_a_step_of_the_angular_velocity_is_not_called_a_new_tilt():
    base, found = Base(), []
    for k in range(10):
        base.read(
            1.0 + 0.001 * k, lie.rotation_z(0.95 * 0.001 * max(k - 4, 0)),
            (0.0, 0.0, 0.95 * (k > 4)))
        found.append(base.jumped)
    assert found[7] == 'the angular velocity of the base has jumped: the torque fades to it'
    assert not any(found[3:7] + found[8:])


def test_readings_that_end_after_their_clock_was_set_back_fall_silent_once():
    base = Base()
    base.rest(100.0, 5)
    base.read(5.0, at=100.05)
    assert [base.fell_silent(at) for at in (100.06, 105.0, 106.0)] == [False, True, False]


@pytest.mark.parametrize('rate', [20, 50, 200])
def test_a_turn_that_stays_wrong_is_never_believed_again(rate):
    """After each silence some readings were believed, for ever."""
    base, believed = Base(10.0, timeout=0.5), []
    for k in range(8 * rate):
        with contextlib.suppress(hd.HodynError):
            if base.read(1.0 + k / rate, angular=(0.0, 0.9, 0.0), at=k / rate):
                believed.append(k)
        base.fell_silent(k / rate)
    assert max(believed, default=0) < rate


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('rate', [5, 20, 50, 200])
@pytest.mark.parametrize(('late', 'noise', 'poses'), [
    (0.0, 0.0, 200), (0.03, 0.0, 200), (-0.03, 0.0, 200), (0.0, 0.005, 200), (0.0, 0.005, 2)])
@pytest.mark.parametrize('is_drone', [False, True])
def test_sound_ships_and_drones_are_believed(seed, rate, late, noise, poses, is_drone):
    """Ships with 2 m/s in waves, and drones that turn by 5 rad/s² and are accelerated by 1 g.

    The pose is late, noisy, or has a new position more rarely than the twist.
    """
    rng, count, fine = np.random.default_rng(seed), 4, 0.005
    phases = 2.0 * np.pi * rng.uniform(0.1, 1.0 if is_drone else 0.3, count)
    shift, waves = rng.uniform(0.0, 2.0 * np.pi, count), rng.normal(size=(count, 3))
    turns = rng.normal(size=(count, 3))
    turns *= (5.0 if is_drone else 0.3) / (np.linalg.norm(turns, axis=1) * phases).sum()
    size = np.linalg.norm(waves, axis=1)
    waves *= min(9.8 / (size * phases).sum(), 5.0 / size.sum()) if is_drone else 2.0 / size.sum()
    steady = np.zeros(3) if is_drone else rng.normal(size=3) * [5.0, 2.0, 0.0]
    times = fine * np.arange(2000)
    sines, cosines = (of(np.outer(times, phases) + shift) for of in (np.sin, np.cos))
    velocities = steady + sines @ waves
    places = steady * times[:, None] - cosines @ (waves / phases[:, None])
    middles = np.sin(np.outer(times + 0.5 * fine, phases) + shift) @ turns
    rotations = [np.eye(3)]
    for each in middles:
        rotations.append(lie.rotation_exp(fine * each) @ rotations[-1])
    base, seen, place = Base(10.0), -np.inf, np.zeros(3)
    errors = []
    for k in range(100, 1900, round(1.0 / rate / fine)):
        posed = k - round(late / fine)
        if times[k] - seen >= 1.0 / poses - 1e-9:
            seen, place = times[k], places[posed] + noise * rng.normal(size=3)
        turned = rotations[posed] @ lie.rotation_exp(noise * rng.normal(size=3))
        speed = velocities[k] + noise * rng.normal(size=3)
        spin = sines[k] @ turns + noise * rng.normal(size=3)
        is_believed = base.read(
            1.0 + times[k], turned, turned.T @ spin, turned.T @ speed, place, at=times[k])
        assert is_believed or k < 100 + 3.0 / rate / fine
        assert not base.doubt
        if times[k] > 2.5:
            assert base.hybrid[1, 3:].all()
            errors.append(np.linalg.norm(base.hybrid[0, :3] - spin))
    assert rate == 5 or max(errors) < 1e-9
