"""Efforts in another unit, of all joints or of some, and gains of drives."""
from dataclasses import replace

from known_recordings import data
import numpy as np
import payload_cases
import pytest
from recordings import PANDA, motion

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.identify import identify
from hodyn_ros.identification.payload import Payload
from hodyn_ros.replay.effort_unit import effort_unit
from hodyn_ros.robot.files import load_robot

CURRENT_GAINS = np.array([14.9, 13.3, 11.1, 10.6, 11.0, 11.5])  # N m/A


def recorded_factor(given):
    """Return how many times a Panda's torques the efforts of data are, where these show it."""
    whole, weightless = (
        FeedForward(PANDA).torque(given.q, gravity=gravity, friction=False)[:, 0]
        for gravity in (True, False))
    return effort_unit(
        whole - weightless, weightless, given.q[:, 1], given.effort, given.known, given.block,
        PANDA.limits.effort)[0]


@pytest.mark.parametrize('scale', [1e-3, 0.1, 10.0, 100.0])
def test_efforts_in_another_unit_are_told_by_the_joints_together(scale):
    given = data(rate=10.0)
    assert recorded_factor(replace(given, effort=scale * given.effort)) == pytest.approx(
        scale, rel=0.5)


@pytest.mark.parametrize('gravity', [True, False])
@pytest.mark.parametrize('payload', [None, Payload(5.0, np.full(3, 0.1), np.eye(3) * 0.01)])
def test_neither_loads_nor_lacking_gravity_are_another_unit(gravity, payload):
    assert np.isnan(recorded_factor(data(payload, gravity=gravity, rate=10.0)))


def test_one_joint_in_another_unit_is_no_unit_of_all():
    given = data(rate=10.0)
    given.effort[:, 1] *= 100.0
    assert np.isnan(recorded_factor(given))


def test_a_load_at_the_wrist_hides_no_other_unit():
    """Guards a factor of most joints: a payload makes that of the last ones another."""
    given = data(rate=10.0)
    whole, weightless = (
        FeedForward(PANDA).torque(given.q, gravity=gravity)[:, 0] for gravity in (True, False))
    given.effort[:, 5] += 6.0 * (whole - weightless)[:, 5]
    assert recorded_factor(replace(given, effort=0.1 * given.effort)) == pytest.approx(
        0.1, rel=0.5)


def currents_of_a_ur10e(payload, seed):
    """Return motor currents, A, of an arm whose base axis is mostly friction and rotor."""
    robot, time = load_robot('ur10e'), np.arange(500) / 10.0
    slower = 0.6
    q = motion(slower * time)[:, :, :6] * slower ** np.arange(5)[:, np.newaxis]
    arm = FeedForward(robot if payload is None else payload.fixed_to(robot))
    law = SigmoidFriction(
        np.array([28.0, 35.0, 13.5, 5.5, 6.3, 4.9]), np.full(6, 150.0), np.zeros(6),
        np.array([18.0, 19.0, 10.0, 3.3, 2.0, 2.7]))
    torque = arm.torque(q, friction=False)[:, 0] + law.torque(q)[:, 0]
    torque += np.array([10.0, 6.4, 1.4, 0.37, 0.45, 0.4]) * q[:, 2]
    torque += np.array([4.0, 5.0, 2.0, 0.5, 0.5, 0.4]) * np.random.default_rng(
        seed).standard_normal(torque.shape)
    return Data(
        q, torque / CURRENT_GAINS, time.astype(np.intp) + 128 * seed,
        bag=np.full(len(q), seed), loaded=np.full(len(q), payload is not None))


@pytest.mark.parametrize('links', [(), ('links',)])
def test_a_gain_that_is_not_determined_leaves_the_others_in_their_unit(links):
    """It was kept at 1, and drew links, payload and the gains of all joints to a tenth."""
    payload = Payload(2.8, np.array([0.03, 0.16, 0.04]), np.eye(3) * 0.004)
    both = currents_of_a_ur10e(payload, 1), currents_of_a_ur10e(None, 2)
    found = identify(
        load_robot('ur10e'), payload_cases.joined(*both),
        ('gains', 'payload', 'friction', 'viscous', 'rotor', 'offsets', *links))
    determined = np.isfinite(found.intervals['effort_gain'])
    assert determined[1:5].all()
    assert not determined[5]  # it carries next to nothing
    away = (found.joints['effort_gain'] - CURRENT_GAINS)[determined]
    assert np.all(np.abs(away) < 2.0 * found.intervals['effort_gain'][determined])
    assert np.all(np.abs(away) < 0.1 * CURRENT_GAINS[determined])
    assert abs(found.payload.mass - payload.mass) < 2.0 * found.payload_interval[0] < 0.6
    doubt = found.doubts[-1]
    assert doubt.joint == 'wrist_3_joint'
    assert found.joints['effort_gain'][5] == 1.0
    assert doubt.factor == pytest.approx(np.median(CURRENT_GAINS[determined]), rel=0.1)


@pytest.fixture(scope='module')
def bare_arm_of_half_the_effort():
    """Return data of a Panda without load whose wrist says little, and what its drives report."""
    seed = 20000
    rng = np.random.default_rng(seed)
    arm = payload_cases.wrong(PANDA, rng)
    gain = 0.5 * (1.0 + 0.05 * rng.standard_normal(7))
    return gain, payload_cases.recording(arm, rng, gain, 0, loaded=False)


def test_a_gain_that_motion_hardly_tells_is_that_of_the_others(bare_arm_of_half_the_effort):
    """It was kept at 1 beside 2, which the links made up for: payloads came out 38 % heavy."""
    gain, bare = bare_arm_of_half_the_effort
    found = identify(PANDA, bare, ('links', 'gains'))
    assert 'joint7' in found.gains_by_others
    away = (found.joints['effort_gain'] - 1.0 / gain) / found.intervals['effort_gain']
    assert np.abs(away).max() < 1.5
    assert found.intervals['effort_gain'].max() < 0.5
    assert not found.held
    # So is it where a part of the data is held out.
    again = identify(PANDA, bare, ('links', 'gains'), begin=found)
    assert again.gains_by_others == found.gains_by_others
    np.testing.assert_allclose(
        again.joints['effort_gain'], found.joints['effort_gain'],
        atol=0.2 * found.intervals['effort_gain'].min())


def test_a_gain_hardly_told_is_kept_beside_some_off_each_by_itself(bare_arm_of_half_the_effort):
    _, bare = bare_arm_of_half_the_effort
    factor = np.array([1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0])
    found = identify(PANDA, replace(bare, effort=bare.effort * factor), ('links', 'gains'))
    assert not found.gains_by_others
    (_, held), = found.held
    assert all(found.joints['effort_gain'][PANDA.joint_names.index(name)] == 1.0 for name in held)
