"""Many bags by one command: the numbers are those of one by one, whatever else goes wrong."""
import json
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time

from fleet_tasks import contents, done_in
import numpy as np
import pytest
from recordings import messages, record, write

from hodyn_ros.cli import main
from hodyn_ros.fleet.replay_task import ReplayTask

pq = pytest.importorskip('pyarrow.parquet')
ds = pytest.importorskip('pyarrow.dataset')

pytestmark = pytest.mark.slow

GOOD = ['day 1/a', 'day 1/b', 'day 2/a.db3']
BAD = {
    'day 2/empty.mcap': 'not a readable rosbag2', 'day 2/other_arm': 'no usable joint states',
    'day 2/truncated': 'are lost'}


@pytest.fixture(scope='module')
def lab(tmp_path_factory):
    """Recordings of two days, three of them as they should be."""
    folder = tmp_path_factory.mktemp('lab')
    for i, name in enumerate(('day 1/a', 'day 1/b', 'day 2/c', 'day 2/other_arm')):
        (folder / name).parent.mkdir(exist_ok=True)
        recording = record(duration=2.0 + i, seed=i)
        if 'other' in name:
            recording.names = [f'elbow{j}' for j in range(7)]
        write(folder / name, {'/joint_states': messages(recording)})
    (folder / 'day 2/c/c.db3').rename(folder / 'day 2/a.db3')
    shutil.rmtree(folder / 'day 2/c')
    (folder / 'day 2/empty.mcap').touch()
    shutil.copytree(folder / 'day 1/b', folder / 'day 2/truncated')
    file = folder / 'day 2/truncated/b.db3'
    file.write_bytes(file.read_bytes()[:int(0.6 * file.stat().st_size)])
    return folder


def command(lab, out, *options, jobs=1):
    return [sys.executable, '-m', 'hodyn_ros', 'replay', str(lab), '--output', str(out),
            '--jobs', str(jobs), '--no-report', *options]


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


@pytest.fixture(scope='module')
def fleet(lab, tmp_path_factory):
    """The folder of an undisturbed run, and what it printed."""
    out = tmp_path_factory.mktemp('fleet') / 'out'
    return out, run(*command(lab, out, jobs=2))


def test_a_row_for_each_bag_and_joint_and_one_for_each_bag_that_failed(fleet):
    out, ended = fleet
    assert ended.returncode == 1, ended.stderr
    rows = pq.read_table(out / 'summary.parquet').to_pylist()
    assert [row['bag'] for row in rows] == sorted([
        name for name in (*GOOD, 'day 2/truncated') for _ in range(7)]
        + ['day 2/empty.mcap', 'day 2/other_arm'])
    for row in rows:
        if row['bag'] in GOOD:
            assert row['status'] == 'ok'
            assert 0.0 < row['rms_error'] < 0.1
            assert row['duration'] > 1.9
            assert 0.0 < row['velocity_share'] < 2.0
        else:
            assert BAD[row['bag']] in row['status']
    for name, said in BAD.items():
        assert any(
            f'hodyn replay: {name}: ' in line and said in line
            for line in ended.stderr.splitlines())
    page = (out / 'overview.html').read_text('utf-8')
    assert page.index('day 2/empty.mcap') < page.index('day 1/a</a>')  # the worst first
    assert 'href="reports/day%201/a/summary.json"' in page


def test_the_numbers_are_those_of_one_by_one_bit_for_bit(lab, fleet, tmp_path, capsys):
    out, _ = fleet
    for name in GOOD[1:]:
        alone = tmp_path / 'alone'
        assert main(['replay', str(lab / name), '--output', str(alone), '--no-report',
                     '--parquet', '--force']) == 0
        for file in ('summary.json', 'computed/computed.mcap'):
            assert (alone / file).read_bytes() == (out / 'reports' / name / file).read_bytes()
        columns = pq.read_table(alone / 'computed.parquet')
        motion = ds.dataset(out / 'motion', partitioning='hive').to_table(
            filter=(ds.field('bag') == name) & (ds.field('robot') == 'panda'),
            columns=columns.column_names)
        assert motion.equals(columns)
        assert columns.num_rows == 7 * json.loads(
            (alone / 'summary.json').read_text())['samples_used']
        error = columns['error'].to_numpy()[::7]
        summary = json.loads((alone / 'summary.json').read_text())['joints'][0]
        assert np.sqrt(np.mean(error ** 2)) == pytest.approx(summary['rms_error'], rel=1e-12)


def test_killed_and_resumed_the_result_is_that_of_an_undisturbed_run(
    lab, fleet, tmp_path, capsys,
):
    """By SIGKILL when some are done and one is begun; `tools/fleet_siege.py` kills more."""
    undisturbed, out = contents(fleet[0]), tmp_path / 'out'
    with subprocess.Popen(
            command(lab, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and done_in(out)[0] < 2:
            time.sleep(0.01)
        process.kill()
    assert contents(out) != undisturbed
    assert main(command(lab, out, '--resume')[3:]) == 1
    assert 'of 6 files are done already' in capsys.readouterr().err
    assert contents(out) == undisturbed
    # And once more: what could not be replayed is tried again, and nothing changes.
    assert main(command(lab, out)[3:]) == 1
    assert '4 of 6 files are done already' in capsys.readouterr().err
    assert contents(out) == undisturbed


def test_ctrl_c_says_how_to_go_on(lab, tmp_path):
    out = tmp_path / 'out'
    with subprocess.Popen(
            command(lab, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, start_new_session=True) as process:
        while not sum(done_in(out)):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it: to all
        said = process.communicate()[1]
    assert process.returncode == 130
    assert 'finishing the files that are begun' in said
    assert 'of 6 files: the same command continues' in said
    done, begun = done_in(out)
    assert done > 0
    assert begun == 0
    assert not list(out.rglob('.hodyn-unfinished-*'))


def test_a_bag_that_became_unreadable_leaves_nothing_of_its_earlier_result(lab, tmp_path, capsys):
    bag = shutil.copytree(lab / 'day 1/a', tmp_path / 'lab/x/y')
    out = tmp_path / 'out'
    assert main(command(tmp_path / 'lab', out, '--jobs', '1')[3:]) == 0
    assert (out / 'reports/x/y/summary.json').is_file()
    assert list((out / 'motion').rglob('*.parquet'))
    for file in bag.iterdir():
        file.write_text('torn')
    assert main(command(tmp_path / 'lab', out, '--jobs', '1')[3:]) == 2
    assert not [path for name in ('reports', 'motion') for path in (out / name).rglob('*')
                if path.is_file()]


def test_a_task_alone_tells_what_is_wrong_and_removes_nothing(tmp_path):
    """It cannot know whose the files are."""
    mine = tmp_path / 'out/reports/run1/summary.json'
    mine.parent.mkdir(parents=True)
    mine.write_text('mine')
    torn = tmp_path / 'run1'
    torn.mkdir()
    for robot, said in (('panda', ''), ('nope', 'nope')):
        outcome = ReplayTask(robot, tmp_path / 'out')(torn)
        assert not outcome.has_result
        assert said in outcome.status
    assert mine.read_text() == 'mine'
    # A name that is no UTF-8 is as good as others.
    assert 'metadata.yaml' in ReplayTask('panda', tmp_path / 'out')(
        tmp_path, os.fsdecode(b'run\xe9')).status
    assert not list((tmp_path / 'out/motion').rglob('bag=*'))


def test_only_an_earlier_run_is_resumed(lab, tmp_path, capsys):
    assert main(['replay', str(lab), '--output', str(tmp_path / 'out'), '--resume']) == 2
    assert 'has no fleet.json of an earlier run' in capsys.readouterr().err


def test_results_never_go_where_bags_are_and_not_over_other_files(lab, tmp_path, capsys):
    assert main(['replay', str(lab), '--output', str(lab)]) == 2
    assert 'holds it or is a file in it' in capsys.readouterr().err
    (tmp_path / 'summary.parquet').write_text('mine')
    assert main(['replay', str(lab), '--output', str(tmp_path)]) == 2
    assert '--force' in capsys.readouterr().err
    assert Path(tmp_path / 'summary.parquet').read_text() == 'mine'
