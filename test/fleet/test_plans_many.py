"""Many plans by one command: each is judged and written as by the command alone."""
import json

import pytest

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.fleet.plan_task import PlanTask
from hodyn_ros.fleet.task import Job
from hodyn_ros.plans.plan_request import PlanSettings

pq = pytest.importorskip('pyarrow.parquet')

pytestmark = pytest.mark.slow

HOME = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
NEXT = [0.5, -0.485, -0.4, -1.856, 0.2, 1.871, 1.185]


def write_plan(path, seconds):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        'joint_names': [f'panda_joint{i}' for i in range(1, 8)],
        'points': [
            {'positions': point, 'time_from_start': seconds * i}
            for i, point in enumerate((HOME, NEXT))]}), 'utf-8')


@pytest.fixture(scope='module')
def plans(tmp_path_factory):
    """Plans of a planner: two that may run, one too fast, one that is none."""
    folder = tmp_path_factory.mktemp('plans')
    write_plan(folder / 'slow.json', 4.0)
    write_plan(folder / 'more/slower.json', 5.0)
    write_plan(folder / 'too_fast.json', 0.2)
    (folder / 'torn.json').write_text('{"joint_names": [')
    return folder


def rows_of(out):
    rows = {}
    for row in pq.read_table(out / 'summary.parquet').to_pylist():
        rows.setdefault(row['plan'], []).append(row)
    return rows


def test_annotated_plans_are_those_of_the_command_alone(plans, tmp_path, capsys):
    out, alone = tmp_path / 'out', tmp_path / 'alone.json'
    assert main(['annotate', str(plans), '--output', str(out), '--jobs', '1']) == 1
    said = capsys.readouterr()
    assert '2 of 4 plans are within limits' in said.out
    assert 'hodyn annotate: torn.json: not valid JSON' in said.err
    rows = rows_of(out)
    assert sorted(rows) == ['more/slower.json', 'slow.json', 'too_fast.json', 'torn.json']
    assert [len(rows[name]) for name in sorted(rows)] == [7, 7, 7, 1]
    assert rows['slow.json'][0]['status'] == 'ok'
    assert 0.0 < rows['slow.json'][3]['velocity_share'] < 1.0
    assert rows['too_fast.json'][0]['stretch'] > 1.0
    assert max(row['nearest_share'] for row in rows['too_fast.json']) > 1.0
    written = sorted(
        str(path.relative_to(out / 'plans')) for path in (out / 'plans').rglob('*.*'))
    assert written == ['more/slower.json', 'slow.json']
    assert main(['annotate', str(plans / 'slow.json'), '--output', str(alone)]) == 0
    assert alone.read_bytes() == (out / 'plans/slow.json').read_bytes()

    # A plan that has become too fast leaves nothing that a controller could run.
    write_plan(plans / 'more/slower.json', 0.2)
    assert main(['annotate', str(plans), '--output', str(out), '--jobs', '1']) == 1
    assert '2 of 4 files are done already' in capsys.readouterr().err
    assert not (out / 'plans/more/slower.json').exists()
    write_plan(plans / 'more/slower.json', 5.0)


@pytest.mark.parametrize(('command', 'seconds', 'status'), [
    ('check', 5.0, 'the node refuses plans of more than 4.5 s'), ('check', 4.0, 'ok'),
    ('annotate', 5.0, 'ok')])
def test_a_plan_that_is_too_long_for_the_node_does_not_pass_the_check(
        tmp_path, monkeypatch, command, seconds, status):
    monkeypatch.setattr('hodyn_ros.plans.prepare.MAX_DURATION', 4.5)  # an hour takes long to check
    write_plan(tmp_path / 'plan.json', seconds)
    task = PlanTask(command, hd.load_robot('panda'), PlanSettings(), tmp_path / 'out')
    outcome = task.perform(Job('plan.json', tmp_path / 'plan.json'))
    assert outcome.rows[0]['status'] == status


@pytest.mark.parametrize(('command', 'options'), [
    ('check', ()), ('retime', ('--limits', '0.5', '--period', '0.01'))])
def test_plans_are_checked_and_retimed(plans, tmp_path, capsys, command, options):
    out = tmp_path / 'out'
    arguments = [command, str(plans / 'slow.json'), str(plans / 'torn.json'), '--output']
    assert main([*arguments, str(out), '--jobs', '1', *options]) == 1
    rows = rows_of(out)
    assert rows['slow.json'][0]['status'] == 'ok'
    if command == 'retime':
        alone = tmp_path / 'alone.json'
        assert main([command, str(plans / 'slow.json'), '--output', str(alone), *options]) == 0
        assert alone.read_bytes() == (out / 'plans/slow.json').read_bytes()
        assert rows['slow.json'][0]['duration'] < 4.0
    # Other settings are another fleet.
    assert main([*arguments, str(out), '--interpolation', 'local', *options]) == 2
    said = 'results of other settings: interpolation was auto, now it is local'
    assert said in capsys.readouterr().err


def test_two_plans_that_would_be_written_to_one_place_are_refused(plans, tmp_path, capsys):
    write_plan(plans / 'deep/slow.json', 4.0)
    (plans / 'deep/slow.mcap').touch()
    (plans / 'deep/slow.mcap.yaml').touch()
    assert main(['annotate', str(plans / 'deep'), '--output', str(tmp_path)]) == 2
    assert 'both would be written to' in capsys.readouterr().err


@pytest.mark.parametrize('command', ['check', 'annotate'])
def test_what_no_earlier_run_wrote_is_not_touched(plans, tmp_path, capsys, command):
    mine, arguments = tmp_path / 'out/plans/torn.json', [
        command, str(plans / 'torn.json'), '--output', str(tmp_path / 'out'), '--jobs', '1']
    mine.parent.mkdir(parents=True)
    mine.write_text('mine')
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert ('was not written by an earlier run' in said) == (command == 'annotate')
    if command == 'annotate':
        # In the folder of a fleet, neither; and a check has written no plans that go with it.
        mine.rename(tmp_path / 'kept')
        assert main([command, str(plans / 'slow.json'), *arguments[2:]]) == 0
        (tmp_path / 'kept').rename(mine)
        assert main(arguments) == 2
        assert 'was not written by an earlier run' in capsys.readouterr().err
    else:
        assert main(['annotate', *arguments[1:], '--force']) == 2
        assert f'command was {command}, now it is annotate' in capsys.readouterr().err
    assert mine.read_text() == 'mine'


def test_no_plan_takes_the_place_of_one_of_an_earlier_run(plans, tmp_path, capsys):
    """The plan of bag `slow` would go to plans/slow.yaml, where that of slow.yaml is."""
    options = ['--output', str(tmp_path / 'out'), '--jobs', '1']
    (tmp_path / 'slow.yaml').write_text((plans / 'slow.json').read_text())  # it is YAML as well
    assert main(['annotate', str(tmp_path / 'slow.yaml'), *options]) == 0
    (tmp_path / 'slow').mkdir()
    (tmp_path / 'slow/metadata.yaml').touch()
    assert main(['annotate', str(tmp_path / 'slow'), *options]) == 2
    assert 'slow.yaml and slow: both would be written to' in capsys.readouterr().err
    assert (tmp_path / 'out/plans/slow.yaml').is_file()
