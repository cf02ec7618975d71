"""Inputs that are not files, such as pipes and links in a circle, and outputs called -."""
import os
import subprocess
import sys
import threading

import pytest

from hodyn_ros import load_robot
from hodyn_ros.fleet.engine import one_after_another
from hodyn_ros.fleet.inputs import find_bags, find_plans
from hodyn_ros.fleet.plan_task import PlanTask
from hodyn_ros.fleet.replay_task import ReplayTask
from hodyn_ros.plans.plan_request import PlanSettings
from hodyn_ros.robot import HodynError
from hodyn_ros.ros import parameter_file

ROBOT = load_robot('twolink')


@pytest.fixture
def lab(tmp_path):
    """Return a folder with a plan and pipes to which nobody writes."""
    (tmp_path / 'plan.csv').write_text('time,joint1,joint2\n0,0.1,0.2\n1,0.15,0.2\n')
    for name in ('pipe.csv', 'pipe.yaml', 'pipe.mcap'):
        os.mkfifo(tmp_path / name)
    return tmp_path


@pytest.mark.parametrize('arguments', [
    ('check', '{}.csv', '--robot', 'twolink'), ('check', '{}.yaml', '--robot', 'twolink'),
    ('check', '{}.mcap', '--robot', 'twolink'), ('info', '{}.yaml'),
    ('check', 'plan.csv', '--robot', '{}.yaml'),
    ('check', 'plan.csv', '--robot', 'twolink', '--limits', '{}.yaml'),
    ('check', 'plan.csv', '--robot', 'twolink', '--actuators', '{}.yaml'),
    ('replay', '{}.mcap', '--robot', 'twolink'),
    ('convert', '{}.csv', '--output', 'bag')])
@pytest.mark.parametrize(('name', 'reason'), [
    ('pipe', 'a pipe or a device, and a file is needed: write the content to a file'),
    ('circle', 'symbolic links that lead in a circle')])
def test_a_pipe_or_a_circle_of_links_as_input_is_named(lab, hodyn, arguments, name, reason):
    for ending in ('csv', 'yaml', 'mcap'):
        (lab / f'circle.{ending}').symlink_to(f'circle.{ending}')
    given = next(word for word in arguments if '{}' in word).format(name)
    assert f'{given}: {reason}' in hodyn.refuses(*(word.format(name) for word in arguments))


@pytest.mark.parametrize(('arguments', 'said'), [
    (('info', 'rm.yaml'), "; looked in {}; did you mean 'arm.yaml'?"),
    (('info', 'fr4'), "; looked in {}; did you mean 'fr3'?"),
    (('info', 'arms/arm.urdf'), '; {}/arms is no folder that can be read'),
    (('info', '.'), '; . is a folder: name a file in it'),
    (('check', 'plans.csv', '--robot', 'twolink'), "; looked in {}; did you mean 'plan.csv'?"),
    (('replay', 'my_bga', '--robot', 'twolink'), "; looked in {}; did you mean 'my_bag'?")])
def test_what_is_not_there_is_said_with_the_folder_and_what_may_be_meant(
        lab, hodyn, arguments, said):
    (lab / 'arm.yaml').write_text('')
    (lab / 'my_bag').mkdir()
    assert hodyn.refuses(*arguments).endswith(said.format(lab))


def test_a_parameter_file_that_is_a_pipe_is_named(lab):
    with pytest.raises(HodynError, match=r'pipe\.yaml: a pipe or a device'):
        parameter_file.read('pipe.yaml', '/feedforward', lambda name, value: '')


@pytest.mark.parametrize('find', [find_plans, find_bags])
def test_links_in_a_circle_are_rows_and_the_others_are_done(lab, find):
    folder = lab / 'gut'
    folder.mkdir()
    ending = '.csv' if find is find_plans else '.mcap'
    for name, target in (
            (f'a{ending}', f'b{ending}'), (f'b{ending}', f'a{ending}'), ('loop', 'loop'),
            ('itself', '.'), (f'gone{ending}', 'gone')):
        (folder / name).symlink_to(target)
    os.mkfifo(folder / f'pipe{ending}')
    (folder / f'plan{ending}').write_text((lab / 'plan.csv').read_text())
    task = PlanTask('check', ROBOT, PlanSettings(), lab / 'out') if find is find_plans else (
        ReplayTask(ROBOT, lab / 'out'))
    status = {
        outcome.name: outcome.status for outcome in one_after_another(
            task, find([folder]), lambda: False, lambda job: None)}
    assert set(status) == {f'{name}{ending}' for name in ('a', 'b', 'gone', 'pipe', 'plan')}
    for name in ('a', 'b'):
        assert status[f'{name}{ending}'] == 'symbolic links that lead in a circle, not to a file'
    assert 'a pipe or a device' in status[f'pipe{ending}']
    assert ending != '.csv' or status['plan.csv'] == 'ok'


@pytest.mark.parametrize('arguments', [
    ('annotate', 'plan.csv', '--output', '-'), ('retime', 'plan.csv', '--output', '-'),
    ('check', 'plan.csv', '--output', '-'), ('check', 'plan.csv', 'plan.csv', '--output', '-'),
    ('retime', 'plan.csv', '--output', 'out.csv', '--picture', '-'),
    ('replay', 'bag', '--output', '-'), ('identify', 'bag', '--output', '-'),
    ('excite', '--output', '-'), ('generate', '--output', '-'),
    ('generate', '--ros2-control', '-'), ('convert', 'twolink', '--output', '-'),
    ('convert', 'plan.csv', '--output', '-'), ('demo', '--output', '-'),
    ('info', 'twolink', '--repair', '-')])
def test_no_output_has_the_name_of_the_standard_output(lab, hodyn, arguments):
    before = sorted(lab.iterdir())
    assert '-: not the name of an output' in hodyn.refuses(*arguments)
    assert sorted(lab.iterdir()) == before


@pytest.mark.parametrize(('arguments', 'begin'), [
    (('annotate', 'plan.csv', '--output', 'out.csv'), 'time,'),
    (('check', 'plan.csv', '--json', 'out.csv'), '{')])
def test_one_file_may_go_to_a_pipe(lab, hodyn, arguments, begin):
    os.mkfifo('out.csv')
    heard = []
    reader = threading.Thread(target=lambda: heard.append((lab / 'out.csv').read_text()))
    reader.start()
    hodyn(*arguments, '--robot', 'twolink')
    reader.join(10.0)
    assert heard[0].startswith(begin)
    assert (lab / 'out.csv').is_fifo()


@pytest.mark.slow
@pytest.mark.parametrize('arguments', [
    ('annotate', 'plan.csv'), ('generate',), ('replay', 'pipe.mcap')])
def test_a_bag_or_a_folder_into_a_pipe_is_refused_with_the_reason(lab, arguments):
    done = subprocess.run(
        (sys.executable, '-m', 'hodyn_ros', *arguments, '--robot', 'twolink', '--output',
         '/dev/stdout'), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stdout == ''
    (said,) = done.stderr.splitlines()
    assert '/dev/stdout: a pipe or a device, and this output is a folder' in said
