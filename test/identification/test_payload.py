"""Payloads are found wherever they are, within intervals that know of wrong links and gains."""
from dataclasses import replace
from pathlib import Path
import re

from known_recordings import (
    FRICTION,
    NO_FRICTION,
    NONE,
    PAYLOAD,
    PLAIN,
    SPREAD,
    bag,
    data,
    heavier,
    lifted_arm,
    scara,
)
import numpy as np
import payload_cases
import pytest
from recordings import PANDA, messages, motion, record, write
from scipy.signal import lfilter

from hodyn_ros import fit_plan
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.cli.identify_report import differing_loads
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.identify import identify
from hodyn_ros.identification.payload import Payload, log_cholesky, rigid_body
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.inertia import physical_fault

SLIDING = SigmoidFriction(
    np.array([12.0, 4.8, 2.4, 0.6]), np.full(4, 20.0), np.zeros(4),
    np.array([16.0, 1.6, 0.8, 0.16]))


def test_every_parameter_vector_is_a_physical_body():
    rng = np.random.default_rng(1)
    for _ in range(200):
        payload = rigid_body(rng.uniform(-3.0, 3.0, 10))
        assert payload.mass > 0.0
        assert physical_fault(payload.mass, payload.inertia) is None


def test_a_body_is_the_body_of_its_ten_numbers():
    for body in PANDA.bodies:
        if physical_fault(body.mass, body.inertia) is None:
            found = rigid_body(log_cholesky(body.mass, body.com, body.inertia))
            np.testing.assert_allclose(found.inertia, body.inertia, atol=2e-5)
            assert found.mass == pytest.approx(body.mass)


@pytest.mark.parametrize('tensor', [np.zeros((3, 3)), 1e-6 * np.eye(3)])
def test_what_weighs_nothing_has_ten_numbers_too(tensor):
    found = rigid_body(log_cholesky(0.0, np.zeros(3), tensor))
    assert 0.0 < found.mass < 1e-8
    np.testing.assert_allclose(found.inertia, tensor, atol=1e-12)


def test_no_payload_is_invented():
    found = identify(PANDA, data(None, rate=10.0), ('payload', 'friction', 'offsets'))
    assert found.payload is None or found.payload.mass < 3.0 * found.payload_interval[0]


def test_a_payload_too_light_to_be_found_is_no_heavier_than_is_said():
    light = replace(PAYLOAD, mass=0.04, inertia=0.03 * PAYLOAD.inertia)
    found = [identify(PANDA, data(light, rate=10.0, seed=seed), ('payload', 'friction', 'offsets'))
             for seed in range(6)]
    missed = [one.payload_at_most for one in found if one.payload is None]
    assert len(missed) > 1
    assert np.mean(np.array(missed) > light.mass) >= 0.8
    assert max(missed) < 0.5
    assert all(np.isnan(one.payload_at_most) for one in found if one.payload is not None)


def several(arm, payloads, seeds, loaded=None):
    """Return the data of recordings without friction, of an arm with each of some payloads.

    `loaded` are those that count as such; by default, those with a payload.
    """
    loaded = [payload is not None for payload in payloads] if loaded is None else loaded
    parts = [
        replace(part, block=part.block + 64 * i, bag=np.full(len(part.q), i),
                loaded=np.full(len(part.q), loaded[i]))
        for i, (payload, seed) in enumerate(zip(payloads, seeds, strict=True))
        for part in [data(payload, rate=10.0, robot=arm, friction=NO_FRICTION, offset=NONE,
                          seed=seed)]]
    return payload_cases.joined(*parts)


def loads_case(seed, second):
    """Return the estimate of two loaded recordings and a bare one, by links off by 5 %."""
    rng = np.random.default_rng(seed)
    arm = heavier(PLAIN, rng, 0.05)
    given = several(
        arm, (second(None), second(rng), None), (3 * seed, 3 * seed + 1, 3 * seed + 2))
    return identify(PLAIN, given, ('payload',))


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(3))
def test_recordings_with_different_payloads_are_told_and_only_those(seed):
    """A public log's load was turned by π on the flange: 2.9 kg at no place, without a word."""
    def load(rng, mass=2.8, turn=1.0):
        place = np.array([0.03, 0.16, 0.04]) * (1.0 if rng is None else [turn, turn, 1.0])
        return Payload(2.8 if rng is None else mass, place, np.eye(3) * 0.004)

    assert loads_case(seed, load).differing_loads == ()
    turned = loads_case(seed, lambda rng: load(rng, turn=-1.0)).differing_loads
    assert sorted(one.bag for one in turned) == [0, 1]
    second = next(one for one in turned if one.bag == 1)
    np.testing.assert_allclose(second.com, [-0.06, -0.32, 0.0], atol=0.03)
    assert abs(second.mass) < 0.1
    lighter = loads_case(seed, lambda rng: load(rng, mass=2.0)).differing_loads
    second = next(one for one in lighter if one.bag == 1)
    assert second.mass == pytest.approx(-0.8, abs=0.1)


@pytest.mark.parametrize(('carried', 'loaded', 'named'), [
    ('10', '11', {0: 1.0, 1: -1.0}), ('1101', '1100', {3: 1.0}), ('1100', '1100', {}),
    ('00', '11', {}), ('101', '100', {2: 1.0})])
def test_recordings_with_and_without_a_payload_that_are_mixed_are_told(carried, loaded, named):
    """The load that half of them carried was said to be 0, or half as heavy, without a doubt."""
    load = replace(PAYLOAD, mass=1.8, inertia=1.4 * PAYLOAD.inertia)
    given = several(
        heavier(PLAIN, np.random.default_rng(3), 0.05),
        [load if it == '1' else None for it in carried], range(len(carried)),
        [it == '1' for it in loaded])
    found = identify(PLAIN, given, ('payload', 'offsets'))
    assert {one.bag: one.mass for one in found.differing_loads} == {
        bag: pytest.approx(1.8 * sign, rel=0.1) for bag, sign in named.items()}
    assert found.missing == ()  # zeros passed for one of the loads
    assert np.isfinite(found.payload_at_most) == (found.payload is None and not named)
    said = differing_loads(found, [Path(f'bag{k}') for k in range(4)])
    assert len(said) == len({loaded[bag] for bag in named})
    if named and loaded[max(named)] == '0':
        assert re.match(rf'bag{max(named)} of --unloaded carries 1\.[789]\d* kg more', said[-1])


def test_no_other_cause_is_named_of_a_load_that_one_recording_lacks(hodyn):
    said = hodyn(
        'identify', bag('loaded', payload=PAYLOAD), bag('bare', seed=1), '--output', 'out').out
    said = ' '.join(said.split())
    assert 'The loaded recordings differ in their payload; compared with the others' in said
    assert 'the payload in bare is 1.3 kg lighter' in said
    assert 'resolve the doubts above' in said or 'keep the given file' in said
    assert 'Does another link carry a load' not in said
    assert 'at most' not in said


def test_beside_a_payload_a_joint_in_another_unit_is_left_out_and_named():
    """It made 2.4 kg ± 0.2 of 2.8, by gains that were said to be off by 54 %."""
    given = data(PAYLOAD)
    given.effort[:, [0, 5]] *= 0.1
    found = identify(PANDA, given, ('payload', 'friction', 'offsets'))
    assert [doubt.joint for doubt in found.doubts] == ['joint1', 'joint6']
    assert [doubt.recorded for doubt in found.doubts] == pytest.approx([0.1, 0.1], rel=0.3)
    assert found.gain_level < 0.05
    assert abs(found.payload.mass - PAYLOAD.mass) < max(found.payload_interval[0], 0.05)


def payload_case(seed, *, pair, gain=1.0):
    """Return a payload and its estimate, by a model whose links are off by 5 %."""
    rng = np.random.default_rng(seed)
    arm = heavier(PLAIN, rng, 0.05)
    payload = Payload(rng.uniform(0.5, 4.0), rng.normal([0.0, 0.0, 0.12], 0.04),
                      0.004 * np.eye(3))
    recordings = [(payload, 2 * seed + 1), (None, 2 * seed)][:1 + pair]
    given = several(arm, *zip(*recordings, strict=True))
    return payload, identify(PLAIN, replace(given, effort=gain * given.effort), ('payload',))


@pytest.mark.slow
@pytest.mark.parametrize('gain', [1.0, 0.9, 1.1])
def test_the_interval_of_a_payload_has_the_errors_of_links_and_gains(gain):
    """Guards intervals of a payload's mass that know nothing of wrong links, or of drives."""
    cases = [payload_case(seed, pair=False, gain=gain) for seed in range(4)]
    away = np.array([
        (found.payload.mass - truth.mass) / found.payload_interval[0] for truth, found in cases])
    assert np.sqrt(np.mean(away ** 2)) < 1.3
    widths = np.array([found.payload_interval[0] for _, found in cases])
    assert np.all((widths > 0.03) & (widths < 0.5))


@pytest.mark.slow
def test_loaded_and_unloaded_recordings_give_the_mass_to_three_percent():
    for seed in range(2):
        truth, found = payload_case(seed, pair=True)
        assert found.payload.mass == pytest.approx(truth.mass, rel=0.03)
        assert found.payload_interval[0] < 0.03 * truth.mass


@pytest.mark.parametrize(('mass', 'com'), [
    (1.3, [0.02, -0.03, 0.12]), (0.8, [-0.05, 0.06, -0.04]), (2.0, [-0.1, -0.08, 0.02])])
def test_a_payload_is_found_wherever_its_centre_is(mass, com):
    """With a friction that is known; its inertia is not, as the motion is slow."""
    robot = replace(PANDA, friction=FRICTION)
    load = Payload(mass, np.array(com), np.zeros((3, 3)))
    found = identify(robot, data(load, duration=20.0, rate=10.0), ('payload', 'offsets'))
    assert not found.inertia_excited
    np.testing.assert_array_equal(found.payload.inertia, np.zeros((3, 3)))
    width = found.payload_interval
    assert 0.02 < width[0] < 0.5
    assert abs(found.payload.mass - mass) < 2.0 * width[0]
    assert np.all(np.abs(found.payload.com - com) < 2.5 * width[1:4])
    assert found.is_of_the_robot


def test_a_coordinate_without_effect_is_said_to_be_undetermined():
    """For a SCARA, z was −900 mm ± 0: the start of the search, with no interval."""
    robot = replace(scara(), friction=None)
    load = Payload(1.3, np.array([0.03, 0.02, 0.04]), np.zeros((3, 3)))
    time = np.arange(300) / 15.0
    q = motion(time, robot)
    effort = FeedForward(load.fixed_to(robot)).torque(q)[:, 0]
    effort = effort + np.random.default_rng(0).normal(scale=0.05, size=effort.shape)
    found = identify(robot, Data(q, effort, time.astype(np.intp), True), ('payload',))
    np.testing.assert_array_equal(found.com_determined, [True, True, False])
    away, width = np.abs(found.payload.com - load.com), found.payload_interval[1:4]
    assert away[2] < width[2] < 0.6
    assert np.all(away[:2] < 2.0 * width[:2])


def test_with_exact_links_a_payload_leaves_only_noise(identified):
    """It gave 0.34 ± 0.01 kg of 0.4: the links moved along a flat valley of the loss."""
    load = Payload(0.4, np.array([0.0, 0.02, 0.1]), np.zeros((3, 3)))
    recording = record(
        robot=load.fixed_to(PANDA), rate=50.0, duration=20.0, effort_noise=0.02, seed=2)
    summary = identified(write('bag', {'/joint_states': messages(recording)}), terms=['payload'])
    np.testing.assert_allclose(summary.column('rms_after'), 0.02, rtol=0.1)
    found = summary['payload']
    assert found['mass'] == pytest.approx(0.4, abs=0.2 * found['mass_interval'])
    assert found['model_error']['links'] > 0.003  # the interval allows for more


GAINS = np.array([11.0, 12.0, 9.0, 10.0, 5.0, 5.0, 3.0])  # N m/A


def currents(mass, seed):
    """Return two stretches of motor currents of a Panda with a load."""
    load = replace(PAYLOAD, mass=mass, inertia=mass / PAYLOAD.mass * PAYLOAD.inertia)
    whole = data(load, duration=50.0, rate=10.0, seed=seed)
    whole = replace(whole, effort=whole.effort / GAINS)
    return whole[whole.block < 30], whole[whole.block >= 30]


def left(found, given):
    """Return the RMS errors of a written file's efforts, (n,), in deviations of the sensors."""
    arm = PANDA if found.payload is None else found.payload.fixed_to(PANDA)
    torque = FeedForward(arm).torque(given.q, friction=False)[:, 0]
    torque += found.friction.torque(given.q)[:, 0]
    error = torque / found.joints['effort_gain'] + found.offset - given.effort
    return np.sqrt(np.mean(error ** 2, axis=0)) * GAINS / SPREAD


@pytest.mark.parametrize(('mass', 'seed'), [(0.4, 0), (0.4, 1), (0.4, 2), (0.1, 0), (0.1, 1)])
def test_beside_free_gains_a_payload_is_within_what_is_said(mass, seed):
    """It said 0.28 kg at most of 0.4, with gains that had absorbed the rest."""
    given, other = currents(mass, seed)
    terms = ('gains', 'friction', 'offsets')
    found = identify(PANDA, given, (*terms, 'payload'))
    if mass > 0.3:
        assert abs(found.payload.mass - mass) < found.payload_interval[0] < 0.5 * mass
    elif found.payload is None:
        assert mass < found.payload_at_most < 4.0 * mass
    # The parts of the file belong together.
    assert np.all(left(found, other) <= 1.02 * left(identify(PANDA, given, terms), other))


@pytest.mark.parametrize(('mass', 'seconds'), [(0.0, 20), (0.8, 20), (1.2, 30), (1.6, 20)])
def test_the_link_that_carries_a_load_does_not_take_it_up_unsaid(mass, seconds):
    """It did in some recordings, with a bound below the load."""
    given = lifted_arm()
    hand = given.bodies[-1]
    given = replace(given, friction=SLIDING, bodies=(*given.bodies[:-1], replace(
        hand, mass=0.5 * hand.mass, inertia=0.5 * hand.inertia)))
    time = np.arange(25 * seconds) / 25.0
    q = motion(time, given, 0.5)
    found = []
    for seed in (0, 2, 8, 12, 14):
        rng = np.random.default_rng(seed)
        arm = replace(heavier(given, rng, 0.05), friction=replace(
            SLIDING, amplitude=0.8 * SLIDING.amplitude))
        if mass:
            arm = Payload(mass, np.array([0.02, 0.0, -0.1]), 0.003 * mass * np.eye(3)).fixed_to(
                arm)
        noise = np.array([0.6, 0.12, 0.06, 0.015]) * rng.standard_normal((len(q), 4))
        noise = lfilter([1.0], [1.0, -0.7], noise, axis=0)  # shared by neighbouring samples
        found.append(identify(
            given, Data(q, FeedForward(arm).torque(q)[:, 0] + noise, time.astype(np.intp), True),
            ('links', 'friction', 'viscous', 'rotor', 'offsets', 'payload')))
    for one in found:
        if one.payload is None:
            assert np.isfinite(one.payload_at_most) == (not mass)
        else:
            assert abs(one.payload.mass - mass) < 1.5 * one.payload_interval[0]
    assert sum(one.payload is not None for one in found) >= (mass > 1.0) * len(found)


@pytest.mark.parametrize('seed', range(3))
def test_a_light_payload_behind_a_heavy_lift_is_found(seed):
    """Links passed for its inertia, and their weight for its own: a bound was below the load."""
    arm, time = lifted_arm(), np.arange(750) / 25.0
    q = motion(time, arm, 0.6)
    effort = FeedForward(arm.with_payload('tilt_link', 0.3, [0.02, 0.01, -0.12])).torque(q)[:, 0]
    effort += 0.005 * effort.std(axis=0) * np.random.default_rng(seed).standard_normal(
        effort.shape)
    found = identify(arm, Data(q, effort, time.astype(np.intp), True), ('payload',))
    assert found.payload is not None, found.payload_at_most
    assert abs(found.payload.mass - 0.3) < found.payload_interval[0] < 0.1
    np.testing.assert_allclose(found.payload.com, [0.02, 0.01, -0.12], atol=0.003)


def test_swapped_recordings_with_and_without_a_payload_are_named(tmp_path, hodyn):
    loaded, bare = bag('loaded', payload=PAYLOAD), bag('bare', seed=1)
    said = re.fullmatch(
        r'hodyn identify: the recordings of --unloaded carry about ([0-9.]+) kg more than '
        r'the others: are they swapped\? .*',
        hodyn('identify', bare, '--unloaded', loaded, '--output', 'out', code=2).line)
    assert abs(float(said[1]) - PAYLOAD.mass) < 0.1 * PAYLOAD.mass
    assert not (tmp_path / 'out').exists()


def test_two_swapped_recordings_are_refused_though_the_load_is_most_of_the_error():
    """Its mass seemed uncertain, so that a robot without friction and payload was written."""
    parts, home = [], np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    for seed, arm in ((108, PANDA), (110, PANDA.with_payload('link7', 1.2, [0.0, 0.0, 0.15]))):
        rng = np.random.default_rng(seed)
        points = np.vstack([home, home + rng.uniform(-0.4, 0.4, (12, 7))[1:]])
        plan = fit_plan(np.linspace(0.0, 24.0, 12), points)
        q = plan.evaluate(np.arange(0.0, plan.duration, 0.04))
        parts.append((q, FeedForward(arm).torque(q)[:, 0] + 0.1 * rng.standard_normal(
            (len(q), 7))))
    q, effort = map(np.concatenate, zip(*parts, strict=True))
    second = np.arange(len(q)) >= len(q) // 2
    with pytest.raises(HodynError, match=r'carry about 1\.2 kg more than the others'):
        identify(PANDA, Data(
            q, effort, np.arange(len(q)) // 25 + 40 * second, True, bag=second.astype(np.intp),
            loaded=~second), ('friction', 'payload', 'offsets'))


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('factor', [0.9, 1.12])
def test_wrong_viscous_friction_of_the_file_decides_about_no_payload(seed, factor):
    """A common gain followed from it: the load and all friction were 10 % off, without a word."""
    rng = np.random.default_rng(seed)
    viscous = np.array([9.0, 9.0, 6.0, 6.0, 1.5, 1.5, 1.0])
    truth = replace(FRICTION, viscous=factor * viscous)
    robot = replace(heavier(PANDA, rng, 0.01), friction=replace(FRICTION, viscous=viscous))
    found = identify(robot, data(friction=truth, seed=seed), ('friction', 'payload', 'offsets'))
    away = found.payload.mass - PAYLOAD.mass
    assert abs(away) < max(1.5 * found.payload_interval[0], 0.03 * PAYLOAD.mass)
    ratio = found.joints['amplitude'] / FRICTION.amplitude
    np.testing.assert_allclose(np.median(ratio), 1.0, atol=0.05)
    assert 'viscous' not in found.joints
    assert 'viscous' in dict(found.missing)
