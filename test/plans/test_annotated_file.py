"""A file of an annotated plan passes the check in its turn, whoever reads it."""
from dataclasses import replace
import json

import numpy as np
import pytest

from hodyn_ros import load_robot, retime
from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans import JointWaypoints, PlanRequest, PlanSettings, prepare_plan
from hodyn_ros.plans.annotate import annotate
from hodyn_ros.plans.annotated_file import write_annotated_plan
from hodyn_ros.plans.files import read_trajectory

PANDA = load_robot('panda')
NAMES = tuple(f'fer_{name}' for name in PANDA.joint_names)
START = np.array([0.0, 0.6, 0.0, -1.5, 0.0, 1.57, 0.78])
# Plans whose samples are not within limits at the stretch of the plan itself, and some that are.
TIGHT = [(1, 'auto'), (39, 'auto'), (39, 'bounded'), (10, 'local'), (44, 'local')]
EASY = [(5, 'auto'), (14, 'bounded'), (18, 'global'), (36, 'auto')]


def random_request(seed, interpolation):
    """Return a plan that is mostly beyond limits, with a period, and the ending of a file."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    times = np.concatenate(([0.0], np.cumsum(rng.uniform(0.05, 0.6, count - 1))))
    points = START + rng.uniform(-0.15, 0.15, (count, 7))
    period = float(np.exp(rng.uniform(np.log(1e-3), np.log(0.3))))
    rng.integers(4)
    request = PlanRequest(
        JointWaypoints(NAMES, times.tolist(), points.tolist()), PANDA,
        PlanSettings(stretch='auto', interpolation=interpolation), annotate_period=period)
    return request, str(rng.choice(['.csv', '.json', '.yaml', '']))


@pytest.mark.parametrize(('seed', 'interpolation'), TIGHT + EASY)
def test_what_is_written_passes_the_check(tmp_path, seed, interpolation):
    request, ending = random_request(seed, interpolation)
    output = tmp_path / f'out{ending}'
    written = write_annotated_plan(request, output)
    assert written.refusal == ''
    assert main(['check', str(output)]) == 0
    assert main(['check', str(output), '--interpolation', interpolation]) == 0
    times = np.array(read_trajectory(output).times)
    assert np.diff(times).max() <= request.annotate_period + 1e-9
    assert times[-1] == pytest.approx(written.plan.duration, abs=1e-9)
    first = prepare_plan(request)
    assert written.plan.duration == pytest.approx(
        first.plan.duration * written.stretch / first.stretch)
    # No more than what the samples ask for, mostly nothing.
    tight = (seed, interpolation) in TIGHT
    assert (1.0 < written.stretch / first.stretch < 1.2) if tight else (
        written.stretch == first.stretch)



def just_within_limits(seed):
    """Return a request for a plan that is just slow enough, and must not be slowed down."""
    request, _ = random_request(seed, 'auto')
    factor = prepare_plan(request).stretch
    request = replace(
        request, settings=replace(request.settings, stretch='offer'),
        trajectory=replace(
            request.trajectory, times=[t * factor for t in request.trajectory.times]))
    assert prepare_plan(request).refusal == ''
    return request


@pytest.mark.parametrize('period', [1e-3, 5e-3, 0.1])
def test_a_sample_is_at_each_stop_and_the_others_are_even(period):
    """Without it, a sampled motion to a stop and on had to be slower."""
    panda = load_robot('panda')
    home = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    points = home + np.array([[0.0], [0.3], [-0.2], [0.2]])
    plan = retime(panda, points, stop_at=[1, 2]).plan
    samples = annotate(plan, FeedForward(panda), period)
    rests = np.abs(samples.motion[:, 1:3]).max(axis=(1, 2)) < 1e-9
    np.testing.assert_allclose(samples.motion[rests, 0], points, atol=1e-9)
    gaps = np.diff(samples.times)
    assert 0.5 * period < gaps.min() <= gaps.max() <= period + 1e-9
    assert np.count_nonzero(np.abs(np.diff(gaps)) > 1e-8) <= 2  # at the stops


def test_a_plan_whose_samples_are_another_is_not_written(tmp_path):
    request = just_within_limits(39)  # its samples are too far apart to say so
    output = tmp_path / 'out.json'
    output.write_text('old')
    refused = write_annotated_plan(request, output, force=True)
    assert f'its samples every {request.annotate_period:g} s do not pass the check' in (
        refused.refusal)
    assert refused.refusal.endswith("; take stretch 'auto', which slows it down until it "
                                    'passes, or take a shorter period, which changes the plan '
                                    'less')
    assert refused.annotated is None
    assert [path.name for path in tmp_path.iterdir()] == ['out.json']
    assert output.read_text() == 'old'
    finer = replace(request, annotate_period=2e-3)
    assert write_annotated_plan(finer, output, force=True).refusal == ''
    assert main(['check', str(output)]) == 0


def test_a_refusal_says_that_quintics_break_the_limit(tmp_path):
    request = just_within_limits(1)
    refused = write_annotated_plan(request, tmp_path / 'out.json')
    assert ('s do not pass the check: between the samples, by the quintics of '
            'joint_trajectory_controller: joint6: acceleration -20.00') in refused.refusal
    assert not list(tmp_path.iterdir())


def test_a_sample_tolerance_is_bounded_and_what_it_misses_is_said(tmp_path, capsys):
    rng = np.random.default_rng(2)
    times = np.arange(501) * 2e-3
    motion = START + 0.1 * np.sin(np.pi * times / times[-1])[:, None] ** 6
    # A jitter of 1e-4 rad, and a plan that no arm can follow as it stands.
    motion[1:-1] += rng.uniform(-1e-4, 1e-4, (499, 7))
    plan = tmp_path / 'plan.csv'
    np.savetxt(
        plan, np.column_stack([times, motion]), delimiter=',', comments='',
        header=','.join(('time', *NAMES)))
    assert main(['check', str(plan), '--sample-tolerance', '1']) == 2
    assert 'sample_tolerance 1: must be at most 0.01 rad or m' in capsys.readouterr().err
    assert main(['check', str(plan)]) == 1
    assert 'through all its points' in capsys.readouterr().out
    options = ['--sample-tolerance', '2e-4']
    figures = tmp_path / 'figures.json'
    assert main(['check', str(plan), *options, '--json', str(figures)]) == 0
    printed = capsys.readouterr().out
    assert printed.count('misses its points by up to 0.0002 rad (joint') == 2
    assert 'within all limits, but misses' in printed
    assert 1e-4 < json.loads(figures.read_text())['deviation'] <= 2e-4
    assert main(['annotate', str(plan), *options, '--output', str(tmp_path / 'out.csv')]) == 0
    assert 'misses its points by up to 0.0002 rad (joint' in capsys.readouterr().out
