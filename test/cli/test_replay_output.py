"""What ``hodyn replay`` prints and leaves of one recording."""
import json
import sys

import numpy as np
import pytest
from recordings import messages, record, write

import hodyn_ros
from hodyn_ros import load_robot
from hodyn_ros.cli import main
from hodyn_ros.cli.replay import run_replay
from hodyn_ros.replay import statements
from hodyn_ros.replay.report import figures_of


@pytest.fixture(autouse=True)
def _with_a_bag(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / 'bag', {'/joint_states': messages(record(rate=50.0, duration=1.5))})


def test_faults_come_before_facts_and_both_before_the_figures(capsys, monkeypatch):
    found = []
    monkeypatch.setattr(statements, 'facts', lambda _: ['it is red', 'it is big'])
    monkeypatch.setattr(
        statements, 'warnings', lambda result: found.append(result) or ['it leaks'])
    assert main(('replay', 'bag', '--no-report')) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[:4] == [
        '! it leaks', '• it is red', '• it is big',
        'Prediction less recorded effort, panda, N m']
    assert lines[-1] == 'hodyn_replay/summary.json tells more'
    (result, *_) = found
    rows = {line.split()[0]: line for line in lines[5:-1]}
    for joint in result.joints:
        for figure in figures_of(joint):
            assert figure in rows[joint.name]


def test_tables_are_written_where_they_are_asked_for(tmp_path):
    assert main(('replay', 'bag', '--no-report')) == 0
    plain = {path.name for path in (tmp_path / 'hodyn_replay').iterdir()}
    assert plain == {'summary.json', 'computed'}
    assert main(('replay', 'bag', '--no-report', '--csv', '--force')) == 0
    assert {path.name for path in (tmp_path / 'hodyn_replay').iterdir()} - plain == {
        'computed.csv'}
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    assert main(('replay', 'bag', '--no-report', '--parquet', '--force')) == 0
    assert {path.name for path in (tmp_path / 'hodyn_replay').iterdir()} - plain == {
        'computed.parquet'}


@pytest.mark.parametrize('bandwidth', ['0', '-1', 'inf', 'nan'])
def test_no_bandwidth_is_refused(capsys, bandwidth):
    with pytest.raises(SystemExit, match='2'):
        main(('replay', 'bag', f'--bandwidth={bandwidth}'))
    assert f'{bandwidth} Hz is no bandwidth: give a positive number' in capsys.readouterr().err


def test_the_bandwidth_is_that_asked_for(capsys, tmp_path):
    for bandwidth in ('2', '6'):
        assert main((
            'replay', 'bag', '--no-report', '--output', bandwidth, '--bandwidth', bandwidth)) == 0
        assert f'with a bandwidth of {bandwidth} Hz' in capsys.readouterr().out


def test_the_topic_is_that_asked_for(capsys, tmp_path):
    recording = record(rate=50.0, duration=1.5)
    write(tmp_path / 'two', {
        '/joint_states': messages(recording), '/other': messages(recording[:60])})
    for topic, count in (('/joint_states', 75), ('/other', 60)):
        assert main(('replay', 'two', '--no-report', '--output', topic[1:], '--topic', topic)) == 0
        summary = json.loads((tmp_path / topic[1:] / 'summary.json').read_text())
        assert (summary['topic'], summary['samples_total']) == (topic, count)


def test_a_live_replay_without_ros_is_refused_with_what_brings_it(capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith('hodyn_ros.ros')]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(hodyn_ros, 'ros', raising=False)
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    assert main(('replay', 'bag', '--live')) == 2
    said = capsys.readouterr().err
    assert '--live needs ROS 2' in said
    assert "pip install 'hodyn_ros[ros]'" in said


def test_the_answers_of_a_node_are_written_beside_the_report(tmp_path):
    def answer(playback, robot_file, prefix):
        # The recorded motion is to be played whatever the limits of the robot are.
        assert not np.isfinite(load_robot(robot_file).limits.velocity).any()
        motion = np.stack([playback.position, playback.velocity], axis=1)[playback.sample]
        return motion, playback.offline
    assert run_replay(
        tmp_path / 'bag', 'panda', tmp_path / 'out', play=answer, report=False) == 0
    assert (tmp_path / 'out/live/metadata.yaml').is_file()
    assert json.loads((tmp_path / 'out/summary.json').read_text())['live']['agrees']
