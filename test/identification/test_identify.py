"""Known parameters are found again, within the stated intervals."""
from dataclasses import replace
import warnings

from known_recordings import FRICTION, NO_FRICTION, NONE, PAYLOAD, PLAIN, SPREAD, data, heavier
import numpy as np
import pytest
from recordings import PANDA

from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.identify import identify
from hodyn_ros.robot.inertia import physical_fault


@pytest.mark.slow
@pytest.mark.parametrize('gravity', [True, False])
def test_known_parameters_lie_within_their_intervals(gravity):
    """Guards intervals: twice or half as wide, or blocks counted as independent samples."""
    found = identify(PANDA, data(gravity=gravity), ('friction', 'payload'))
    value = np.concatenate([
        found.joints['amplitude'], [found.payload.mass], found.payload.com])
    width = np.concatenate([found.intervals['amplitude'], found.payload_interval[:4]])
    truth = np.concatenate([FRICTION.amplitude, [PAYLOAD.mass], PAYLOAD.com])
    assert np.all(np.abs(value - truth) < 2.5 * width)


@pytest.mark.parametrize('correlated', [False, True])
def test_intervals_are_as_wide_as_the_spread_of_estimates(correlated):
    """Guards intervals that are too wide, or that count the errors of a block as independent."""
    widths, values = [], []
    quiet = data(None, rate=10.0)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal(quiet.effort.shape)
        if correlated:  # errors last for a second: ten samples tell no more than one
            noise = np.repeat(noise[::10], 10, axis=0)
        found = identify(PANDA, replace(quiet, effort=quiet.effort + noise), ('offsets',))
        values.append(found.offset)
        widths.append(found.offset_interval)
    spread = 1.6449 * np.sqrt(np.mean(np.var(values, axis=0, ddof=1)))
    assert 0.7 * spread < np.mean(widths) < 1.4 * spread


def shift(friction):
    """Return by what friction differs from one that is the same in both directions, N m."""
    amplitude, slope, offset = (
        friction[key] for key in ('amplitude', 'slope', 'velocity_offset'))
    return 0.5 * amplitude * np.tanh(0.5 * slope * offset)


@pytest.mark.parametrize('seed', range(3))
def test_the_sensors_offsets_leave_no_counterpart_in_the_friction(seed):
    """Guards velocity offsets that offsets hold up in the recording, but not in the file."""
    given = PANDA.friction
    truth = replace(given, slope=5.0 * given.slope, velocity_offset=given.velocity_offset / 5.0)
    recording = data(None, friction=truth, seed=seed)
    slow = np.random.default_rng(seed).standard_normal((30, 7)).repeat(25, axis=0)
    recording = replace(recording, effort=recording.effort + SPREAD * slow)
    found = identify(PANDA, recording, ('friction', 'offsets'))
    wrong = shift(found.joints) - shift(vars(truth))
    assert np.all(np.abs(wrong) < 0.05 * truth.amplitude)
    # What the asymmetry could be counts in what the offsets could be.
    assert np.all(found.offset_interval > 0.05 * truth.amplitude)


@pytest.mark.parametrize('share', [0.1, 0.3])
def test_offsets_beside_an_asymmetric_friction_know_of_it(share):
    """Guards 1.26 ± 0.06 N for 0: the shape of friction near reversals decided."""
    coulomb, inside, known = 2.0 * FRICTION.amplitude, [], []
    for seed in range(4):
        quiet = data(None, friction=NO_FRICTION, offset=NONE, seed=seed)
        velocity = quiet.q[:, 1]
        law = coulomb * np.tanh(40.0 * velocity) * np.where(velocity > 0.0, 1.0 + share, 1.0)
        found = identify(PLAIN, replace(quiet, effort=quiet.effort + law), (
            'friction', 'viscous', 'offsets'))
        inside += (np.abs(found.offset) <= found.offset_interval).tolist()
        amplitude = found.joints['amplitude'] - (2.0 + share) * coulomb
        known += (np.abs(amplitude) <= found.intervals['amplitude']).tolist()
        assert np.all(found.offset_interval < 0.25 * coulomb)
        assert not found.joints['velocity_offset'].any()
        assert np.all(found.intervals['velocity_offset'] > 0.2 / found.joints['slope'])
    assert np.mean(inside) >= 0.8
    assert np.mean(known) >= 0.8


def test_without_offsets_an_asymmetry_of_friction_is_found():
    truth = replace(FRICTION, velocity_offset=0.8 / FRICTION.slope)
    found = identify(PANDA, data(None, friction=truth, offset=0.0), ('friction',))
    np.testing.assert_allclose(shift(found.joints), shift(vars(truth)), rtol=0.15)
    wrong = np.abs(found.joints['velocity_offset'] - truth.velocity_offset)
    assert np.all(wrong < 2.5 * found.intervals['velocity_offset'])


@pytest.mark.parametrize(('term', 'name'), [
    ('friction', 'amplitude'), ('rotor', 'rotor_inertia'), ('viscous', 'viscous'),
    ('gains', 'effort_gain')])
def test_what_does_not_differ_significantly_is_kept_and_named(term, name):
    """Guards rotors of 0.3 ± 0.7 kg m² that are written into the robot file."""
    kept = []
    for seed in range(2):
        given = data(None, rate=10.0, friction=NO_FRICTION, offset=NONE, robot=PLAIN, seed=seed)
        found = identify(PLAIN, given, (term,))
        is_kept = np.isnan(found.intervals[name])
        away = np.abs(found.joints[name] - float(term == 'gains'))
        assert not away[is_kept].any()
        assert np.all(away[~is_kept] > found.intervals[name][~is_kept])
        kept += [joint for value, joints in found.alike for joint in joints if value == name]
    assert len(kept) >= 7


def test_an_interval_includes_what_an_insignificant_value_may_hide():
    """Guards amplitudes that contain the viscous friction they were fitted without."""
    inside = []
    for seed in range(10):
        friction = replace(FRICTION, slope=np.full(7, 20.0), viscous=0.4 * SPREAD)
        found = identify(PLAIN, data(None, rate=10.0, friction=friction, seed=seed), (
            'friction', 'viscous', 'offsets'))
        kept = np.isnan(found.intervals['viscous'])
        wrong = np.abs(found.joints['amplitude'] - FRICTION.amplitude)
        inside += (wrong <= found.intervals['amplitude'])[kept].tolist()
    assert len(inside) >= 10
    assert np.mean(inside) >= 0.8


@pytest.mark.parametrize('terms', [
    ('friction', 'viscous', 'offsets'), ('friction', 'viscous', 'rotor', 'gains', 'offsets')],
    ids=['friction', 'all'])
@pytest.mark.parametrize('seed', [2, 5])
def test_no_stated_interval_contains_the_robots_value(terms, seed):
    """Guards a rotor of 0.235 ± 0.27 kg m²: the interval was widened after the test."""
    weak = np.random.default_rng(seed).uniform(0.0, 0.4, 7)
    friction = replace(
        FRICTION, amplitude=weak * FRICTION.amplitude, slope=np.full(7, 20.0),
        viscous=0.15 * SPREAD)
    found = identify(
        PLAIN, data(None, rate=10.0, friction=friction, robot=PLAIN, seed=seed), terms)
    named = {(value, joint) for value, joints in (*found.held, *found.alike) for joint in joints}
    stated = 0
    for name in {'amplitude', 'viscous', 'rotor_inertia', 'effort_gain'} & set(found.joints):
        before = float(name == 'effort_gain')
        for joint, value, width in zip(
                PLAIN.joint_names, found.joints[name], found.intervals[name], strict=True):
            if np.isfinite(width):
                assert abs(value - before) > width
                stated += 1
            else:
                assert (name, joint) in named
    assert stated


def test_joints_that_do_not_move_are_named():
    """Guards values that are kept without a word."""
    given = data(None, duration=10.0, rate=10.0)
    given.q[:, 1, 1] = 0.0
    found = identify(PLAIN, given, ('friction', 'viscous', 'rotor', 'gains'))
    held = dict(found.held)
    for name in ('amplitude', 'viscous', 'rotor_inertia', 'effort_gain'):
        assert 'joint2' in held[name]
        assert np.isnan(found.intervals[name][1])
    # Of what was not asked for nothing is said.
    assert set(dict(identify(PLAIN, given, ('rotor',)).held)) == {'rotor_inertia'}


def test_each_kept_value_is_named_once():
    """Friction of a joint that hardly moves was not determined and not significant at once."""
    given = data(None, duration=10.0, rate=10.0)
    given.q[:, :, 2] *= 0.03
    found = identify(PLAIN, given, ('friction', 'viscous', 'rotor', 'gains'))
    held, alike = (
        {(value, joint) for value, joints in kept for joint in joints}
        for kept in (found.held, found.alike))
    assert ('amplitude', 'joint3') in held
    assert not held & alike
    assert all(joints for _, joints in (*found.held, *found.alike))


def drive(gain=1.0, rotor=NONE, viscous=NONE, zero=NONE):
    """Return efforts of drives with these properties."""
    given = data(None, friction=replace(FRICTION, viscous=viscous), offset=NONE)
    shifted = given.q.copy()
    shifted[:, 0] += zero
    change = FeedForward(PLAIN).torque(shifted)[:, 0] - FeedForward(PLAIN).torque(given.q)[:, 0]
    return replace(
        given, effort=(given.effort + rotor * given.q[:, 2] + change) / gain)


@pytest.mark.parametrize(('term', 'name', 'truth'), [
    ('viscous', 'viscous', np.array([1.0, 2.0, 0.5, 0.0, 0.7, 0.3, 0.2])),
    ('rotor', 'rotor_inertia', np.array([0.6, 0.5, 0.4, 0.3, 0.1, 0.1, 0.05])),
    ('gains', 'effort_gain', np.array([11.0, 10.0, 9.0, 9.0, -5.0, 5.0, 4.0])),
])
def test_each_term_of_a_drive_is_found(term, name, truth):
    found = identify(PLAIN, drive(**{
        {'gains': 'gain'}.get(term, term): truth}), ('friction', term))
    told = np.isfinite(found.intervals[name])
    assert told.sum() >= 5
    error = np.abs(found.joints[name] - truth)[told]
    assert np.all(error < 3.0 * found.intervals[name][told])
    assert np.median(error / np.maximum(np.abs(truth[told]), 0.1)) < 0.1


def test_zeros_that_are_quarters_of_a_turn_off_are_found():
    truth = np.array([0.0, -0.5 * np.pi, 0.0, 0.02, 0.0, 0.5 * np.pi, 0.0])
    found = identify(PLAIN, drive(zero=truth), ('friction', 'zeros'))
    width = np.nan_to_num(found.intervals['zero'])
    assert np.all(np.abs(found.joints['zero'] - truth)[1:6] < 0.003 + 3.0 * width[1:6])
    assert 'joint1' in dict(found.held)['zero']  # gravity is along its axis


@pytest.mark.slow
def test_links_are_found_as_far_as_motion_tells_and_stay_bodies():
    arm = heavier(PLAIN, np.random.default_rng(4), 0.2)
    given = data(None, robot=arm, offset=NONE, rate=20.0)
    found = identify(PLAIN, given, ('links', 'friction'))
    assert found.base_parameters == 43
    assert 15 <= found.told_parameters <= 43
    assert all(physical_fault(link.mass, link.inertia) is None for link in found.links)
    bodies = tuple(
        replace(body, mass=link.mass, com=link.com, inertia=link.inertia)
        for body, link in zip(PLAIN.bodies, found.links, strict=True))
    truth = FeedForward(arm).torque(given.q)[:, 0]
    before = FeedForward(PLAIN).torque(given.q)[:, 0] - truth
    after = FeedForward(replace(PLAIN, bodies=bodies)).torque(given.q)[:, 0] - truth
    assert np.all(np.std(after, axis=0)[1:4] < 0.2 * np.std(before, axis=0)[1:4])


def test_numbers_that_no_fit_can_hold_are_refused():
    given = data(duration=12.0)
    given.q[::3, :3] *= 1e90
    with np.errstate(all='ignore'), pytest.raises(ValueError, match='too large for a fit'):
        identify(PANDA, given, ('friction', 'offsets'))


def test_motors_of_their_own_are_not_doubled():
    elastic = replace(PANDA, actuators=None)
    object.__setattr__(elastic, 'actuators', object())
    for term, key in (('rotor', 'rotor_inertia'), ('zeros', 'placements of the joints')):
        with pytest.raises(ValueError, match=f'a copy .* without actuators, .*{key}'):
            identify(elastic, data(None), (term,))


def test_the_share_of_rests_is_that_of_the_efforts_that_are_recorded():
    some = data(None, rate=10.0)
    stands = np.zeros(some.effort.shape, bool)
    stands[::4, 1] = True
    stands[:, 2] = np.arange(len(stands)) < len(stands) // 2
    effort = some.effort.copy()
    effort[::2, 2] = np.nan
    effort[:, 6] = np.nan  # a joint that is not heard
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        found = identify(PANDA, replace(some, effort=effort, stands=stands), ('offsets',))
    np.testing.assert_allclose(found.standing, [0.0, 0.25, 0.5, 0.0, 0.0, 0.0, 0.0], atol=0.01)


@pytest.mark.parametrize(('term', 'terms'), [
    ('viscous', ('friction', 'offsets')), ('rotor', ('links', 'friction', 'offsets'))])
def test_a_term_that_was_not_fitted_is_named_if_it_is_there(term, terms):
    """Amplitudes and links took it up, with intervals that excluded the true values."""
    quiet = data(None, offset=NONE)
    size = np.array([4.0, 4.0, 3.0, 3.0, 0.5, 0.5, 0.3])
    more = size * quiet.q[:, 1 if term == 'viscous' else 2]
    assert identify(PANDA, quiet, terms).missing == ()
    missing = identify(PANDA, replace(quiet, effort=quiet.effort + more), terms).missing
    (named, joints), = missing
    assert named == term
    assert len(joints) >= 5


def test_a_recording_that_is_too_short_is_told_how_long_to_be():
    recording = data(None, rate=10.0)
    with pytest.raises(HodynError, match=r'^only 6 s of motion: at least 8 s .* at least 12'):
        identify(PANDA, recording[recording.block < 6], ('friction',))
