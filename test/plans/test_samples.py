"""Plans of samples that jitter, or are rounded: what check, annotate and retime say of them."""
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans import PlanRequest, PlanSettings, prepare_plan
from hodyn_ros.plans.retiming.scaled_limits import with_scaled_limits

SLOW = with_scaled_limits(hd.load_robot('panda'), {'jerk': 0.003, 'acceleration': 0.3})
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


def samples(seed, decimals=None, rests=0):
    """Return times and samples, 10 ms apart, of a smooth motion of 3 s, with a rest within it."""
    rng = np.random.default_rng(seed)
    share = np.linspace(0.0, 1.0, 301)[:, None]
    share = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    sizes = rng.uniform(-0.5, 0.5, (2, 7))
    waves = np.sin(share * [1.0, 1.2, 1.0, 1.0, 2.0, 1.0, 2.0])
    q = READY + waves * sizes[0] + share**2 * sizes[1]
    q = np.vstack((q, np.tile(q[-1], (rests, 1)), q[:-1][::-1] if rests else q[:0]))
    return np.arange(len(q)) * 0.01, q if decimals is None else q.round(decimals)


def prepared(times, positions, velocities=(), robot=SLOW, **settings):
    return prepare_plan(PlanRequest(JointWaypoints(
        robot.joint_names, times, positions, velocities), robot, PlanSettings(**settings)))


@pytest.mark.parametrize('rests', [0, 50])
@pytest.mark.parametrize('seed', [1, 3])
def test_retime_compares_with_the_stretch_that_check_names(seed, rests):
    """Rounded samples repeat where they rest: retime left the repeats out, and check did not."""
    times, q = samples(seed, 3, rests)
    checked = prepared(times, q)
    assert checked.stretch > 1.5
    even = prepared(times, q, stretch='retime').retimed.uniform_stretch_duration
    assert even == pytest.approx(checked.stretch * times[-1], rel=1e-4)


def test_retime_names_the_rounding_that_makes_it_slow():
    """Check names the rounding, and retime wrote a slow motion without a word."""
    times, q = samples(2, 3)
    found = prepared(times, q, stretch='retime')
    assert found.note.startswith(
        'the positions are rounded to 0.001: a path within 0.001 of them jitters too')
    assert '--path-tolerance 0.002 lets it be smooth' in found.note
    smooth = prepared(times, q, stretch='retime', path_tolerance=2e-3)
    assert smooth.plan.duration < 0.95 * found.plan.duration
    assert not smooth.note


@pytest.mark.parametrize(('seed', 'decimals'), [(2, None), (1, 3)])
def test_a_path_that_is_smooth_is_not_said_to_jitter(seed, decimals):
    assert not prepared(*samples(seed, decimals), stretch='retime').note


@pytest.mark.parametrize('tolerance', [1e-3, 2e-3, 1e-2])
def test_a_larger_sample_tolerance_smooths_no_less(tolerance):
    """A motion that ends in motion left the range of its samples, and was then not smoothed."""
    times, q = samples(1)
    q += 2e-4 * np.random.default_rng(0).standard_normal(q.shape)
    velocities = [(), *[()] * (len(q) - 2), 0.05 * np.ones(7)]
    found = prepared(
        times, q, velocities, sample_tolerance=tolerance, overshoot_tolerance=1e-5,
        allow_nonzero_velocity_at_end=True)
    assert found.plan.interpolation == 'band'
    assert 'sample tolerance' not in found.note
    assert np.abs(found.plan.evaluate(times)[:, 0] - q).max() <= tolerance


@pytest.mark.parametrize(('step', 'interpolation', 'why'), [
    (0.01, 'local', 'the local interpolation goes through all points'),
    (0.05, 'auto', 'points are up to 0.05 s apart, and only samples at most 0.02 s apart are '
     'smoothed')])
def test_a_sample_tolerance_without_effect_is_said_to_be_so(step, interpolation, why):
    times, q = samples(1)
    settings = {'interpolation': interpolation, 'sample_tolerance': 1e-3}
    found = prepared(times * step / 0.01, q, **settings)
    assert f'the sample tolerance is not used: {why}' in found.note
