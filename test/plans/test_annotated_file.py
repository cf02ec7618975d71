"""A file of an annotated plan passes the check in its turn, whoever reads it."""
from dataclasses import replace
import json

import numpy as np
import pytest

from hodyn_ros import load_robot
from hodyn_ros.cli import main
from hodyn_ros.plans import JointWaypoints, PlanRequest, PlanSettings, prepare_plan
from hodyn_ros.plans.annotated_file import write_annotated_plan
from hodyn_ros.plans.files import read_trajectory

PANDA = load_robot('panda')
NAMES = tuple(f'fer_{name}' for name in PANDA.joint_names)
START = np.array([0.0, 0.6, 0.0, -1.5, 0.0, 1.57, 0.78])
SEEDS = range(16)


def random_request(seed):
    """Return a plan that is mostly beyond limits, a period, and the ending of a file."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    times = np.concatenate(([0.0], np.cumsum(rng.uniform(0.05, 0.6, count - 1))))
    points = START + rng.uniform(-0.15, 0.15, (count, 7))
    period = float(np.exp(rng.uniform(np.log(1e-3), np.log(0.3))))
    interpolation = str(rng.choice(['auto', 'global', 'bounded', 'local']))
    request = PlanRequest(
        JointWaypoints(NAMES, times.tolist(), points.tolist()), PANDA,
        PlanSettings(stretch='auto', interpolation=interpolation), annotate_period=period)
    return request, str(rng.choice(['.csv', '.json', '.yaml', '']))


@pytest.mark.parametrize('seed', SEEDS)
def test_what_is_written_passes_the_check(tmp_path, seed):
    request, ending = random_request(seed)
    output = tmp_path / f'out{ending}'
    written = write_annotated_plan(request, output)
    assert written.refusal == ''
    interpolation = request.settings.interpolation
    assert main(['check', str(output)]) == 0
    assert main(['check', str(output), '--interpolation', interpolation]) == 0
    times = np.array(read_trajectory(output).times)
    assert np.diff(times).max() <= request.annotate_period + 1e-9
    assert times[-1] == pytest.approx(written.plan.duration, abs=1e-9)
    first = prepare_plan(request)
    assert written.plan.duration == pytest.approx(
        first.plan.duration * written.stretch / first.stretch)
    # No more than what the samples ask for: mostly next to nothing.
    assert 1.0 <= written.stretch / first.stretch < 1.5


def test_some_of_these_plans_would_not_pass_as_they_are_sampled(tmp_path):
    more = [
        write_annotated_plan(request, tmp_path / f'{seed}{ending}').stretch
        / prepare_plan(request).stretch
        for seed, (request, ending) in enumerate(map(random_request, range(6)))]
    assert max(more) > 1.0


@pytest.fixture
def request_():
    """Return a request whose plan is within limits, though it is not when sampled so coarsely."""
    times = np.linspace(0.0, 2.0, 41)
    points = np.tile(START, (41, 1))
    points[:, 6] += 0.12 * np.sin(2 * np.pi * 2 * times)
    return PlanRequest(
        JointWaypoints(NAMES, times.tolist(), points.tolist()), PANDA, annotate_period=0.3)


def test_a_plan_whose_samples_are_another_is_not_written(tmp_path, request_):
    factor = prepare_plan(request_).stretch
    request_ = replace(request_, trajectory=replace(
        request_.trajectory, times=[t * factor for t in request_.trajectory.times]))
    assert prepare_plan(request_).refusal == ''
    output = tmp_path / 'out.json'
    output.write_text('old')
    refused = write_annotated_plan(request_, output, force=True)
    assert 'resampled every 0.3 s it is not what it was' in refused.refusal
    assert 'take a shorter period, or the stretch auto' in refused.refusal
    assert refused.annotated is None
    assert [path.name for path in tmp_path.iterdir()] == ['out.json']
    assert output.read_text() == 'old'
    fine = replace(request_, annotate_period=0.005)
    assert write_annotated_plan(fine, output, force=True).refusal == ''
    slower = write_annotated_plan(
        replace(request_, settings=PlanSettings(stretch='auto')), output, force=True)
    assert slower.refusal == ''
    assert slower.stretch > 1.0
    assert main(['check', str(output)]) == 0


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
