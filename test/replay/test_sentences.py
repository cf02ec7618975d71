"""When each sentence of a report is said, and with which figures; of made-up results: fast."""
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hodyn_ros.estimation.timing import StampStatus
from hodyn_ros.estimation.velocity_lag import VelocityLag
from hodyn_ros.limits.margins import LimitMargin
from hodyn_ros.replay.comparison import JointComparison
from hodyn_ros.replay.cut_efforts import uncut
from hodyn_ros.replay.diagnosis import Diagnosis
from hodyn_ros.replay.misreading import Fit
from hodyn_ros.replay.point_loads import PointLoad
from hodyn_ros.replay.reading import Reading
from hodyn_ros.replay.recorded_torques import EffortContents
from hodyn_ros.replay.report import _marked_up, figures_of, resolved
from hodyn_ros.replay.stalled_efforts import none_stalled
from hodyn_ros.replay.statements import facts, warnings

NAMES = ('a', 'b')


def joint(name, **changes):
    """Return the figures of a joint that is predicted well."""
    values = {
        'rms_error': 0.05, 'rms_effort': 5.0, 'share': 0.01, 'bias': 0.0, 'max_error': 0.2,
        'max_error_stamp': 0, 'variance_accounted_for': 0.999, 'rms_fast_error': 0.05,
        'lag': 0.0, 'lag_deviation': 1e-3, 'rms_slow_error': 0.01, 'slow_share': 0.01,
        'friction_share': 0.1, 'coulomb_left': 0.0, 'viscous_left': 0.0, **changes}
    return JointComparison(name, **values)


def extreme(beyond=0, limit=2.0):
    return LimitMargin('a', 'velocity', 'rad/s', 0, 2.51234, -limit, limit, beyond=beyond)


def timing(**changes):
    return SimpleNamespace(**{
        'counts': Counter(), 'misfit': 0.0, 'period': 0.01, 'sampling_period': np.nan,
        'clock_steps': [], 'clock': 'own', 'jitter': 1.2e-4, 'gaps': [], 'resets': [],
        'missing': 0, 'republished': 0, 'restored': 0, 'determined': 0, 'evenly_spaced': 0,
        'largest_move': 0.0, 'astray': [], 'decimal': 0.0, 'resampled': '', **changes})


def diagnosis(fit, *velocities):
    return Diagnosis(NAMES, None, fit, list(velocities))


def result(timing_statistics=None, *, gravity_share=1.0, effort_factor=np.nan, **changes):
    """Return a replay that finds nothing amiss."""
    efforts = EffortContents(
        gravity_share, effort_factor, True, np.full(2, np.nan), np.zeros(2), uncut(2),
        none_stalled(2), np.zeros(2, dtype=bool))
    found = SimpleNamespace(**{
        'counts': SimpleNamespace(lost=0, damage='', sentences=['7 messages.']),
        'timing_statistics': timing_statistics or timing(), 'diagnosis': diagnosis(Fit(0.01)),
        'moving_locked': (), 'payload': (), 'wanted_bandwidth': None, 'names': NAMES,
        'joints': [joint('a'), joint('b')], 'friction_modelled': True, 'reflexes': [],
        'torque_rms': np.ones((3, 2)), 'velocity_lag': VelocityLag(0.0, 1e-3),
        'extremes': [extreme()],
        'noise': SimpleNamespace(
            velocity=np.ones(2), bandwidth=np.array([1.0, 4.04]), position=np.full(2, 2e-5),
            step=0.01),
        'still': np.zeros(2, bool), 'motion_supported': np.ones((5, 2), bool), **changes})
    found.diagnosis = replace(found.diagnosis, efforts=efforts)
    return found


def test_where_all_is_well_there_is_no_warning_and_the_facts_are_few():
    assert warnings(result()) == []
    assert facts(result()) == [
        '7 messages.', 'Messages come at 100 Hz by their own stamps, with a jitter of 0.12 ms.',
        'The motion is estimated from positions and velocities with a bandwidth of 1 to 4 Hz; '
        'samples at 100 Hz do not show motion faster than 50 Hz. Position noise is 0.02 mrad.',
        'The driver reports efforts with gravity: they contain 1.000 of the gravity torque of '
        'the model.',
        'The estimated motion keeps all known limits of the robot.']


def reflex(share):
    return LimitMargin(
        'b', 'jerk', 'rad/s³', 0, -100.0 * share, -100.0, 100.0, 'stop', 'effort')


DAMAGED = SimpleNamespace(
    lost=3, damage='3 are lost', sentences=['The bag is damaged: 3 are lost.', '7 messages.'])
POOR = joint('b', slow_share=0.31)
RUBS = joint('b', slow_share=0.31, friction_share=0.51)
CONSTANT = joint('a', variance_accounted_for=np.nan, slow_share=0.9, friction_share=0.9)
TURNED = replace(Reading.plain(2), quarters=(-1, 2))
STALE = timing(counts=Counter({StampStatus.STALE: 4}))


@pytest.mark.parametrize(('changes', 'said'), [
    ({'counts': DAMAGED},
     'The bag is damaged: 3 are lost. The report covers what could be read.'),
    ({'diagnosis': diagnosis(Fit(0.9))},
     'leaves 90 % of the efforts unexplained, whatever bias, friction'),
    ({'diagnosis': diagnosis(Fit(0.9, TURNED, 0.03))},
     '90 % of the efforts unexplained, whatever bias, friction and gain each joint has; 3 % would '
     'be left if positions of a are 0.5 π rad too large; positions of b are off by π rad. Turn '
     'the placements'),
    ({'diagnosis': diagnosis(Fit(0.004, TURNED, 1e-7))},
     'leaves 0.4 % of the efforts unexplained, whatever bias, friction and gain each '
     'joint has; below 0.01 % would be left if'),
    ({'diagnosis': diagnosis(Fit(0.01), 'those of a are swapped')},
     'those of a are swapped. Correct'),
    ({'timing_statistics': STALE}, '4 messages repeat states of earlier messages: two'),
    ({'timing_statistics': timing(counts=Counter({StampStatus.TORN: 15}))},
     '15 messages have positions of one sample and velocities of another: the state was read'),
    ({'timing_statistics': timing(counts=Counter({StampStatus.TORN: 1}))},
     '1 message has positions of one sample and velocities of another'),
    ({'timing_statistics': timing(
        counts=Counter({StampStatus.ASTRAY: 1}), astray=[(3_885_000_000, 1, -0.1)])},
     '1 position of b (t = 3.885 s) is 0.1 rad off its neighbours: left out with its message'),
    ({'timing_statistics': timing(
        counts=Counter({StampStatus.ASTRAY: 2}), astray=[(10**9, 1, -0.1), (2 * 10**9, 0, 0.3)])},
     '2 positions of a, b are far off their neighbours: the farthest, of a (t = 2 s), is 0.3 rad'),
    ({'timing_statistics': timing(misfit=1.01e-3)},
     'The stamps contradict the positions by 1 ms (RMS)'),
    ({'timing_statistics': timing(misfit=1.01e-3, decimal=1e-3)},
     'The stamps contradict the positions by 1 ms (RMS)'),
    ({'timing_statistics': timing(misfit=1.01e-3, decimal=0.01)},
     'The positions are rounded to 0.01 rad or m: they do not show when they were sampled'),
    ({'timing_statistics': timing(clock_steps=[1])}, 'The stamps jumped once by'),
    ({'timing_statistics': timing(clock_steps=[1, 2], jitter=4e-3)},
     'The stamps scatter by 4 ms from message to message, as if they had jumped 2 times'),
    ({'gravity_share': 0.89}, 'The efforts contain 0.89 of'),
    ({'gravity_share': 1.11}, 'The efforts contain 1.11 of the model'),
    ({'gravity_share': 1.11}, 'of the model that contain gravity. The arm may carry'),
    ({'gravity_share': 5.1}, 'far more than all: they seem to be in another unit than N m'),
    ({'gravity_share': 0.5}, 'they are compared with torques of the model that contain gravity'),
    ({'gravity_share': 0.49},
     'they are compared with torques of the model that do not contain gravity'),
    ({'gravity_share': 0.11}, 'The efforts contain 0.11 of'),
    ({'gravity_share': -0.11}, 'The efforts contain -0.11 of'),
    ({'gravity_share': -0.74}, 'neither all nor nothing: they are compared with torques of the '
     'model that do not contain gravity'),
    ({'gravity_share': -1.04}, 'has the opposite sign; they are compared with torques of '
     'the model that contain gravity. If the arm hangs, give its base_pose (or gravity) in the '
     'robot file'),
    # Of such an arm the large errors have this cause.
    ({'gravity_share': -1.2, 'joints': [joint('a'), POOR]}, 'gravity has the opposite sign'),
    ({'gravity_share': -1.26}, 'neither all nor nothing'),
    ({'joints': [joint('a'), POOR]},
     'Errors within the bandwidth of the motion are 31 % of the effort of b, RMS. `hodyn'),
    ({'joints': [joint('a'), RUBS], 'friction_modelled': False},
     'The model has no friction, and friction would explain most of the error of b:'),
    ({'joints': [joint('a'), RUBS]},
     'Friction other than that of the model would explain most of the error of b:'),
    ({'joints': [joint('a'), joint('c'), joint('b', slow_share=0.11, rms_slow_error=0.04)]},
     'Errors within the bandwidth of the motion are 11 % of the effort of b, RMS. `hodyn'),
    ({'joints': [joint('a'), joint('b', slow_share=0.7, bias=-0.0099, friction_share=0.51)]},
     'Errors within the bandwidth of the motion are 70 % of the effort of b (nearly constant)'),
    ({'joints': [CONSTANT, joint('b')]}, 'The recorded effort of a never changes'),
    ({'joints': [joint('a'), joint('b', rms_effort=0.1, max_error=-0.41, slow_share=0.31)]},
     'Single efforts of b leap: the largest error of b is 8 times its RMS. Were there impacts'),
    ({'joints': [joint('b', rms_effort=0.1, max_error=-0.41, rms_fast_effort=0.01)]},
     'Single predictions of b leap: the largest error of b is 8 times its RMS. The efforts do'),
    ({'velocity_lag': VelocityLag(5e-3, 1e-3)}, 'velocities run behind the positions by 5 ± 2 ms'),
    ({'velocity_lag': VelocityLag(0.0, 1e-3, {1: (0.08, 2e-3)})},
     'velocities of b run behind the positions by 80 ± 4 ms (two standard deviations), unlike '
     'those of other joints, as if the velocities were filtered'),
    ({'velocity_lag': VelocityLag(-1.0, 1e-2)},
     'velocities contradict the positions: no lag below 200 ms'),
    ({'velocity_lag': VelocityLag(-5e-3, 1e-3)},
     'velocities run ahead of the positions by 5 ± 2 ms'),
    ({'extremes': [extreme(1)]}, 'velocity of a, 2.512 where 2 is allowed, once.'),
    ({'extremes': [extreme(), extreme(3)]}, 'velocity of a, 2.512 where 2 is allowed, 3 times.'),
    ({'reflexes': [reflex(1.01)]}, 'stop, jerk 101 of b, where 100 is allowed.'),
])
def test_what_calls_a_result_in_question_is_a_warning_and_no_fact(changes, said):
    found = warnings(result(**changes))
    assert len(found) == 1
    assert said in found[0]
    assert not any(found[0] == fact for fact in facts(result(**changes)))
    assert not any('The bag is damaged' in fact for fact in facts(result(**changes)))


@pytest.mark.parametrize('other', [
    joint('b', slow_share=0.9, friction_share=0.2),
    joint('b', slow_share=0.6, friction_share=0.9, bias=0.0099),
    joint('b', slow_share=0.9, friction_share=0.6)])
def test_a_joint_with_friction_silences_no_other_error(other):
    """An offset of 60 N m went unsaid beside friction of 5 N m."""
    rubs, more = warnings(result(
        joints=[joint('a', slow_share=0.4, friction_share=0.9), other], friction_modelled=False))
    assert 'friction would explain most of the error of a' in rubs
    assert f'Errors within the bandwidth of the motion are {100 * other.slow_share:.0f} % of' in (
        more)
    assert 'effort of a' not in more


@pytest.mark.parametrize('changes', [
    {'gravity_share': 0.91}, {'gravity_share': 1.09}, {'gravity_share': 0.09},
    {'gravity_share': -0.09},
    {'joints': [joint('a'), joint('b', slow_share=0.29)]},
    {'joints': [joint('a'), joint('c'), joint('b', slow_share=0.29, rms_slow_error=0.03)]},
    {'joints': [joint('a'), joint('c'), joint('b', slow_share=0.09, rms_slow_error=0.04)]},
    {'joints': [joint(name, slow_share=0.06, rms_slow_error=0.04) for name in 'acd'] + [
        joint('b', slow_share=0.29, rms_slow_error=0.04)]},
    # A share of friction asks for something where the rest is poor.
    {'joints': [joint('a'), joint('b', friction_share=0.9)], 'friction_modelled': False},
    {'joints': [joint('a'), POOR], 'friction_modelled': True,
     'gravity_share': 1.0, 'velocity_lag': VelocityLag(0.9e-3, 1e-4)},
    {'joints': [joint('a'), joint('b', rms_effort=0.1, max_error=0.39)]},
    {'joints': [joint('a'), joint('b', rms_effort=2.6, max_error=0.9)]},
    {'joints': [joint('a'), joint('b', rms_effort=0.1, max_error=0.9, rms_fast_error=0.04)]},
    {'velocity_lag': VelocityLag(-26.0, 21.0)},
    {'velocity_lag': VelocityLag(2.9e-3, 1e-3)}, {'velocity_lag': VelocityLag(0.9e-3, 1e-5)},
    {'timing_statistics': timing(misfit=0.9e-3)},
    {'timing_statistics': timing(misfit=9e-3, sampling_period=0.01)},
    {'timing_statistics': timing(misfit=9e-3, evenly_spaced=300)},
    {'reflexes': [reflex(1.0)]},
    {'joints': [joint('a', rms_error=np.nan, variance_accounted_for=np.nan), joint('b')]},
])
def test_what_is_below_its_bound_is_none(changes):
    found = warnings(result(**changes))
    assert [one for one in found if '31 % of the effort of b' not in one] == []


def test_a_load_is_the_cause_of_more_gravity_than_there_is_alone():
    for share, load in ((1.2, True), (1.94, True), (0.7, False), (-0.7, False), (99.0, False)):
        (said,) = warnings(result(gravity_share=share))
        assert ('`--payload LINK KG`' in said and '`hodyn identify --terms payload`' in said) == (
            load)
        assert ('zeros of joints' in said) == (share < 5.0)
    # What is not known is not said.
    assert warnings(result(gravity_share=np.nan)) == []
    assert not any('gravity' in said for said in facts(result(gravity_share=np.nan)))


@pytest.mark.parametrize('share', [0.05, 0.5, 1.0])
def test_of_efforts_in_another_unit_that_alone_is_said(share):
    found = result(
        gravity_share=share, effort_factor=0.101, joints=[joint('a'), RUBS],
        friction_modelled=False)
    (said,) = warnings(found)
    assert said.startswith("The efforts are about 0.1 times the model's torques, similarly")
    assert '`hodyn identify --terms gains` finds the factor' in said
    assert not any('gravity' in one for one in facts(found))


@pytest.mark.parametrize('fit', [Fit(0.9), Fit(0.2, TURNED, 0.01)])
def test_where_nothing_fits_that_alone_is_said(fit):
    found = result(
        joints=[joint('a'), RUBS], diagnosis=diagnosis(fit), gravity_share=0.4,
        friction_modelled=False)
    assert [one[:30] for one in warnings(found)] == ['The recording does not fit the']
    assert ['do not contain' in one for one in facts(found) if 'gravity' in one] == [True]


def test_an_error_that_is_none_beside_the_weight_is_no_warning():
    rests = joint('b', rms_effort=2e-3, rms_slow_error=0.9e-3, slow_share=0.46)
    assert warnings(result(joints=[joint('a'), rests])) == []


@pytest.mark.parametrize('changes', [
    {'joints': [joint('a'), POOR]},
    {'joints': [joint(name, lag=0.02, lag_deviation=1e-3) for name in NAMES]}])
def test_of_an_arm_with_springs_positions_of_motors_are_a_possible_cause(changes):
    words = 'if they are those of the motors, subtract Q/K of each joint'
    (rigid,) = warnings(result(**changes))
    assert words not in rigid
    (elastic,) = warnings(result(
        diagnosis=replace(diagnosis(Fit(0.01)), has_springs=True), **changes))
    assert words in elastic
    assert 'Mistakes such as swapped joints are sought only' not in elastic


def test_of_a_short_recording_with_springs_it_is_said_that_no_mistakes_were_sought():
    (said,) = warnings(result(
        joints=[joint('a'), POOR], diagnosis=replace(diagnosis(Fit(np.nan)), has_springs=True)))
    assert said.endswith(
        ' Mistakes such as swapped joints are sought only if 3 s or more have no gap.')


def timed(**changes):
    return {'timing_statistics': timing(**changes)}


def lagging(lag, deviation):
    return {'joints': [joint(name, lag=lag, lag_deviation=deviation) for name in NAMES]}


def unresolved(*entries):
    supported = np.ones((5, 2), dtype=bool)
    for entry in entries:
        supported[entry] = False
    return {'motion_supported': supported}


RESTORED = {
    'period': 0.004, 'sampling_period': 0.008, 'restored': 1000, 'determined': 1000,
    'largest_move': 3e-3, 'republished': 50}


@pytest.mark.parametrize(('changes', 'said', 'unsaid'), [
    (timed(gaps=[(5, 0.25)], resets=[(6, 1.5), (7, 0.5)]), (
        '\n1 gap, of 0.25 s: ', '\n2 jumps back of the clock, the longest of 1.5 s: '), ()),
    # The rate is that of the samples, not of the clock that they are multiples of.
    (timed(**RESTORED), (
        'sampled by a clock of 8 ms: 1000 samples are put at whole multiples of it, at most 3 ms '
        'from their stamps.\n', '\n50 messages repeat the state',
        'samples at 100 Hz do not show motion faster than 50 Hz'), ()),
    (timed(**{**RESTORED, 'determined': 900}),
     ('100 of them, while the arm hardly moves,',), ()),
    (timed(**{**RESTORED, 'determined': 990}), ('a clock of',), ('hardly moves',)),
    (timed(evenly_spaced=300, largest_move=12e-3), (
        '\nThe messages come in bursts: 300 samples, which determine no sampling clock, are '
        'spaced evenly, at most 12 ms from their stamps.',), ('stamps are used',)),
    (timed(republished=50), ('determine no sampling clock',), ()),
    (unresolved(3, (4, 1)), (
        '\nThe recording does not resolve the jerk of any joint, nor Q̇.\n',
        '\nThe recording does not resolve the snap of b, nor Q̈.\n'),
     ('acceleration of', 'position of')),
    (unresolved((2, 0), (0, 1)),
     ('\nThe recording does not resolve the acceleration of a.\n',), ()),
    ({'gravity_share': 0.95}, ('with gravity: they contain 0.950',), ('compared with',)),
    ({'gravity_share': 0.05}, (
        'without gravity: they contain 0.050',
        'compared with torques of the model that do not'), ()),
    ({'gravity_share': 0.4}, ('compared with torques of the model that do not',), ()),
    ({'gravity_share': 0.5}, (), ('compared with', 'The driver reports')),
    (lagging(3e-3, 2e-3), ('Recorded efforts run behind the prediction by 3 ± 2.8 ms',), ()),
    (lagging(-3e-3, 2e-3), ('Recorded efforts run ahead of the prediction by 3 ± 2.8 ms',), ()),
    (lagging(2.7e-3, 2e-3), (), ('efforts run',)),
    # Small errors of the model pass for no lag.
    (lagging(0.4e-3, 1e-5), (), ('efforts run',)), (lagging(-0.9e-3, 1e-5), (), ('efforts run',)),
    ({'extremes': [extreme(limit=np.inf)]}, ('No limit of the robot is known',), ()),
    ({'extremes': [extreme(), extreme(1)]}, (), ('limit',)),
    ({'reflexes': [reflex(1.0), reflex(0.5)]}, (
        '\nOf the reflexes', 'stop is nearest, at 100 % of its limit: jerk 100 of b, where 100 '
        'is allowed.\n'), ()),
    ({'reflexes': [reflex(1.01)]}, (), ('reflex',)),
    ({'still': np.array([False, True])}, ('\nStanding still: b.\n',), ('arm stands',)),
    ({'still': np.array([True, True])}, ('\nThe arm stands still: ',), ('Standing still',)),
    ({'noise': SimpleNamespace(
        velocity=np.array([1.0, np.nan]), bandwidth=np.full(2, 3.0), position=np.full(2, 1e-5),
        step=0.01)}, ('estimated from positions with a bandwidth of 3 Hz',), ()),
])
def test_facts_are_told_once_with_their_numbers_and_plurals(changes, said, unsaid):
    text = '\n'.join(['', *facts(result(**changes)), ''])
    for words in said:
        assert text.count(words) == 1, text
    for words in unsaid:
        assert words not in text, text


@pytest.mark.parametrize(('change', 'is_listed'), [
    ({'scale': 180.0 / np.pi}, False), ({'reversed_position': frozenset({1})}, False),
    ({'order': (1, 0), 'effort_order': (1, 0)}, False),
    ({'effort_order': (1, 0)}, True), ({'reversed_effort': frozenset({1})}, True),
    ({'load': PointLoad('b', 2.0, (0.0, 0.0, 0.1), is_on_last=True)}, True)])
def test_limits_that_only_a_misread_motion_exceeds_are_only_counted(change, is_listed):
    found = warnings(result(
        diagnosis=diagnosis(Fit(0.5, replace(Reading.plain(2), **change), 0.01)),
        extremes=[extreme(1), extreme(3), extreme()], reflexes=[reflex(1.01)]))
    counted = [said for said in found if 'exceeds as it is recorded: 3. Judge' in said]
    listed = [said for said in found if said.startswith('Beyond')]
    assert (len(counted), len(listed)) == ((0, 3) if is_listed else (1, 0))


def test_the_figures_of_a_joint_are_empty_where_there_are_none():
    assert figures_of(joint('a', bias=-0.004)) == [
        '0.050', '1.0 %', '0.010', '1.0 %', '0.050', '-0.004', '+0.20', '99.90 %']
    assert figures_of(joint('a', rms_error=np.nan)) == ['no effort', *[''] * 7]
    assert figures_of(joint('a', variance_accounted_for=np.nan)) == ['constant', *[''] * 7]
    assert figures_of(joint('a', share=np.nan))[1] == '–'
    for share, said in ((-9475.792664, 'below -1000 %'), (-9.5, '-950.00 %')):
        assert figures_of(joint('a', variance_accounted_for=share))[-1] == said


@pytest.mark.parametrize(('supported', 'told'), [
    ((True, True, True), 'Q Q̇ Q̈'), ((True, False, False), 'Q'), ((False, False, False), '–')])
def test_what_is_resolved_of_the_torque_is_named(supported, told):
    assert resolved(SimpleNamespace(torque_supported=np.array([[0] * 3, supported]).T), 1) == told


def test_on_the_page_commands_are_code_and_no_backtick_is_left():
    friction = result(joints=[joint('a'), RUBS], friction_modelled=False)
    said, = warnings(friction)
    assert '`hodyn identify`' in said
    assert '<code>hodyn identify</code>' in _marked_up(said)
    assert _marked_up('`--payload <b>` & x') == '<code>--payload &lt;b&gt;</code> &amp; x'


@pytest.mark.parametrize(('deviation', 'is_said'), [(2e-3, True), (6e-3, False)])
def test_a_lag_that_efforts_that_leap_may_feign_must_be_sure(deviation, is_said):
    """Four wrong readings of each joint were called a lag of 12 ± 4 ms."""
    leaps = {'rms_effort': 0.1, 'max_error': -0.41, 'slow_share': 0.31}
    lag = {'lag': 0.02, 'lag_deviation': deviation}
    said = warnings(result(joints=[joint(name, **leaps, **lag) for name in NAMES]))
    assert 'Single efforts of a, b leap' in said[0]
    assert any('run behind' in each for each in said) == is_said
    said = warnings(result(joints=[joint(name, **lag) for name in NAMES]))
    assert any('run behind' in each for each in said)
