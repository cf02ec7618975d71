"""What the commands print of many files; their workers here are this process."""
from pathlib import Path
import sys

import commands
import pytest
from recordings import messages, record, write

from hodyn_ros.cli import many_files
from hodyn_ros.cli.main import _parser
from hodyn_ros.fleet import engine

pytest.importorskip('pyarrow', reason='pyarrow is not installed')


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.setattr(engine, 'engine', lambda *_: engine.one_after_another)


def write_plan(name, distance, begin=0.0):
    commands.write_plan(
        Path(name), ['joint1', 'joint2'], (begin, (0.0, 0.0)), (begin + 1.0, (distance, 0.0)))


def rows(text):
    """Return the cells of the lines of a table, below its headings."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if set(line.strip()) == {'─'})
    table = []
    for line in lines[begin + 1:]:
        if not line.strip():
            break
        table.append([cell.strip() for cell in line.split('  ') if cell.strip()])
    return table


@pytest.fixture
def check(hodyn, tmp_path):
    """Return a function that checks plans against a limit of 2 rad/s and returns what is said."""
    (tmp_path / 'limits.yaml').write_text('limits: {joint1: {velocity: 2.0}}')

    def run(code, *plans, options=('--limits', 'limits.yaml')):
        return hodyn('check', *plans, '--robot', 'twolink', '--jobs', '1', *options, code=code).out
    return run


def test_plans_are_ranked_those_that_could_not_be_judged_first(check):
    for name, distance in (('b', 0.4), ('c', 0.8), ('fast', 1.6), ('d', 0.8)):
        write_plan(f'{name}.json', distance)
    for name in ('torn', 'broken'):
        Path(f'{name}.json').write_text('{')
    names = [f'{name}.json' for name in ('b', 'torn', 'fast', 'd', 'broken', 'c')]
    said = check(1, *names)
    found = rows(said)
    assert [row[0] for row in found] == [
        f'{name}.json' for name in ('broken', 'torn', 'fast', 'c', 'd', 'b')]
    assert 'not valid JSON' in found[0][1]
    # From rest to rest a joint is at its fastest 315/128 times as fast as on average.
    assert found[2][1:3] == ['velocity of joint1', f'{1.6 * 315 / 128 / 2:.3f}']
    assert found[-1][1:] == ['velocity of joint1', f'{0.4 * 315 / 128 / 2:.3f}', 'ok']
    assert '3 of 6 plans are within limits; details are in hodyn_check/summary.parquet' in said


def test_no_more_than_the_first_plans_are_printed(check):
    names = [f'{k:02d}.json' for k in range(17)]
    for k, name in enumerate(names):
        write_plan(name, 0.7 - 0.01 * k)
    said = check(0, *names)
    assert [row[0] for row in rows(said)] == names[:15]
    assert '17 of 17 plans are within limits' in said


def test_motion_that_is_not_checked_is_said_of_its_plan(check, hodyn):
    write_plan('a.json', 0.5)
    write_plan('late.json', 0.5, begin=2.0)
    write_plan('fast.json', 1.6, begin=2.0)
    said = ' '.join(cell for row in rows(check(1, 'a.json', 'late.json', 'fast.json'))
                    for cell in row)
    but = 'but the motion to the first point is not in the plan and not checked'
    assert said.count(f'ok, {but}') == 1 == said.count(but)
    assert said.index('a.json') < said.index('late.json') < said.index(but)
    assert but in hodyn('check', 'late.json', '--robot', 'twolink', '--brief').out


def test_where_no_limit_is_known_that_is_said_of_each_plan(check):
    write_plan('a.json', 0.5)
    assert rows(check(0, 'a.json', options=())) == [['a.json', 'none known', '0.000', 'ok']]


def test_where_none_could_be_judged_the_exit_code_says_so(check):
    names = 'torn.json', 'broken.json'
    for name in names:
        Path(name).write_text('{')
    assert '0 of 2 plans are within limits' in check(2, *names)


@pytest.mark.parametrize(('option', 'command'), [
    ('--json', 'check'), ('--picture', 'retime'), ('--brief', 'check')])
def test_what_is_of_one_plan_is_refused_with_the_file_that_has_it(hodyn, option, command):
    write_plan('a.json', 0.5)
    value = () if option == '--brief' else ('x.png',)
    assert f'{option} only works with one plan; for many plans see summary.parquet' in hodyn(
        command, 'a.json', '--robot', 'twolink', '--jobs', '1', '--output', 'out', option, *value,
        code=2).err


def test_recordings_are_told_with_the_worst_joint_and_what_is_wrong(hodyn, tmp_path):
    for seed in (1, 2):
        write(tmp_path / f'good{seed}', {'/joint_states': messages(record(
            rate=50.0, duration=2.0, seed=seed))})
    worse = record(rate=50.0, duration=2.0, seed=3)
    worse.effort[:, 2] += 40.0
    write(tmp_path / 'worse', {'/joint_states': messages(worse)})
    (tmp_path / 'torn.mcap').touch()
    said = hodyn(
        'replay', 'good1', 'torn.mcap', 'worse', 'good2', '--output', 'out', '--jobs', '1',
        '--no-report', code=1).out
    found = {row[0]: row[1:] for row in rows(said)}
    assert list(found)[:2] == ['torn.mcap', 'worse']
    assert 'not a readable rosbag2' in found['torn.mcap'][0]
    joint, error, factor, *_ = found['worse']
    assert joint == 'joint3'
    assert float(error) == pytest.approx(40.0, rel=0.05)
    assert float(factor.removesuffix(' × median')) > 10.0
    assert ('3 of 4 recordings are read without loss, 3 of them with findings; details are in '
            'out/overview.html') in said.replace('\n', ' ')


@pytest.mark.parametrize(('words', 'expected'), [
    ([], False), (['--jobs', '1'], True), (['--resume'], True),
    (['--scheduler', 'tcp://here:1'], True)])
def test_many_are_meant_by_the_options_of_many(tmp_path, words, expected):
    (tmp_path / 'a.json').touch()
    options = _parser().parse_args(['check', 'a.json', *words])
    assert many_files.wants_many(options, options.plans) is expected


@pytest.mark.parametrize('count', ['0', '-1', 'two', '1.5'])
def test_a_number_of_processes_is_one_or_more(hodyn, count):
    assert f'{count}: give a number of processes, 1 or more' in hodyn.rejects(
        'check', 'a.json', f'--jobs={count}')


def test_without_pyarrow_nothing_is_begun(hodyn, monkeypatch, tmp_path):
    write_plan('a.json', 0.5)
    monkeypatch.setitem(sys.modules, 'pyarrow.parquet', None)
    missing = 'means many files, whose summary.parquet needs pyarrow ('
    for words, begin in (
            (['a.json', '--jobs', '1'], f'--jobs {missing}'),
            (['.'], f'a folder, a pattern or a second path {missing}'),
            (['a.json', '--resume', '--output', 'no'], '--resume: no has no fleet.json of an ')):
        said = hodyn('check', *words, '--robot', 'twolink', code=2).err
        assert said.startswith(f'hodyn check: {begin}')
        assert ("pip install 'hodyn_ros[cluster]', or pip install '.[cluster]' in a clone" in said
                ) == (missing in said)
    assert [path.name for path in tmp_path.iterdir()] == ['a.json']
