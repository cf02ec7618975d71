"""What ``hodyn replay`` prints and leaves of one recording."""
import json

import pytest
from recordings import messages, record, write

from hodyn_ros.cli import main
from hodyn_ros.replay import statements
from hodyn_ros.replay.report import _marked_up, figures_of


@pytest.fixture(autouse=True)
def _with_a_bag(tmp_path):
    write(tmp_path / 'bag', {'/joint_states': messages(record(rate=50.0, duration=1.5))})


def test_faults_come_before_facts_and_both_before_the_figures(capsys, monkeypatch):
    found = []
    monkeypatch.setattr(statements, 'facts', lambda _: ['it is red', 'it is big'])
    monkeypatch.setattr(
        statements, 'warnings', lambda result: found.append(result) or ['it leaks'])
    assert main(('replay', 'bag', '--no-report')) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[:5] == [
        'bag, for robot panda (the default; --robot for another)',
        '! it leaks', '• it is red', '• it is big',
        'Prediction minus recorded effort, panda, N m']
    assert lines[-1] == 'details are in hodyn_replay/summary.json'
    (result, *_) = found
    rows = {line.split()[0]: line for line in lines[6:-1]}
    for joint in result.joints:
        for figure in figures_of(joint):
            assert figure in rows[joint.name]


def test_tables_are_written_where_they_are_asked_for(tmp_path):
    assert main(('replay', 'bag', '--no-report')) == 0
    plain = {path.name for path in (tmp_path / 'hodyn_replay').iterdir()}
    assert plain == {'summary.json', 'computed'}
    # An earlier result is replaced.
    assert main(('replay', 'bag', '--no-report', '--csv')) == 0
    assert {path.name for path in (tmp_path / 'hodyn_replay').iterdir()} - plain == {
        'computed.csv'}
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    assert main(('replay', 'bag', '--no-report', '--parquet')) == 0
    assert {path.name for path in (tmp_path / 'hodyn_replay').iterdir()} - plain == {
        'computed.parquet'}


@pytest.mark.parametrize('bandwidth', ['0', '-1', 'inf', 'nan'])
def test_no_bandwidth_is_refused(capsys, bandwidth):
    with pytest.raises(SystemExit, match='2'):
        main(('replay', 'bag', f'--bandwidth={bandwidth}'))
    assert f'{bandwidth} Hz is not a bandwidth: give a positive number' in capsys.readouterr().err


def test_the_bandwidth_is_that_asked_for(capsys, tmp_path):
    for bandwidth in ('2', '6'):
        assert main((
            'replay', 'bag', '--no-report', '--output', bandwidth, '--bandwidth', bandwidth)) == 0
        assert f'with a bandwidth of {bandwidth} Hz' in capsys.readouterr().out


def test_a_bandwidth_that_the_samples_do_not_have_is_said(capsys):
    assert main(('replay', 'bag', '--no-report', '--bandwidth', '1000')) == 0
    assert '! --bandwidth 1000 Hz is too high: 8 Hz is used, since samples at 50 Hz' in (
        ' '.join(capsys.readouterr().out.split()))


def test_a_load_that_was_given_is_suspected_where_nothing_fits(capsys):
    for load, is_suspected in (('100', True), ('0.01', False)):
        assert main((
            'replay', 'bag', '--no-report', '--output', load, '--payload', 'link7', load)) == 0
        said = ' '.join(capsys.readouterr().out.split())
        assert (f'! The given load, --payload link7 {load}, is the first' in said) == is_suspected


@pytest.mark.slow
def test_one_bag_its_page_and_many_bags_say_the_same(capsys, tmp_path):
    parquet = pytest.importorskip('pyarrow.parquet')
    pytest.importorskip('distributed')
    given = (
        '--lock', 'joint7=0.3', '--payload', 'link6', '100', '--bandwidth', '1000')
    assert main(('replay', 'bag', *given)) == 0
    printed = ' '.join(capsys.readouterr().out.split())
    assert main(('replay', 'bag', *given, '--jobs', '1', '--output', 'many')) == 0
    rows = parquet.read_table('many/summary.parquet').to_pylist()
    findings = rows[0]['findings']
    for begin in ('joint7 is locked at 0.3, but moves', 'The given load, --payload link6',
                  '--bandwidth 1000 Hz is too high'):
        assert sum(said.startswith(begin) for said in findings) == 1, begin
    pages = [
        tmp_path / 'hodyn_replay', tmp_path / 'many' / 'reports' / rows[0]['bag']]
    for said in findings:
        assert f'! {said}' in printed
        for page in pages:
            assert said in json.loads((page / 'summary.json').read_text())['warnings']
            assert f'<li>{_marked_up(said)}</li>' in (page / 'report.html').read_text()


def test_efforts_on_the_motors_side_are_named_with_their_ratios(capsys, tmp_path):
    recording = record(rate=50.0, duration=12.0, bandwidth=0.6)
    recording.effort /= [1.0, 100.0, 1.0, 50.0, 1.0, 1.0, 1.0]
    write(tmp_path / 'motors', {'/joint_states': messages(recording)})
    assert main(('replay', 'motors', '--no-report')) == 0
    said = (
        '! {}Efforts are too small for the model (fer_joint2 100 times, fer_joint4 50 times): are '
        "they on the motor's side of gears with these ratios?")
    assert said.format('') in ' '.join(capsys.readouterr().out.split())
    main(('identify', 'motors'))
    assert said.format('motors: ') in ' '.join(capsys.readouterr().out.split())
    assert main(('replay', 'bag', '--no-report', '--output', 'sound')) == 0
    assert 'too small for the model' not in ' '.join(capsys.readouterr().out.split())


def test_the_topic_is_that_asked_for(capsys, tmp_path):
    recording = record(rate=50.0, duration=1.5)
    write(tmp_path / 'two', {
        '/joint_states': messages(recording), '/other': messages(recording[:60])})
    for topic, count in (('/joint_states', 75), ('/other', 60)):
        assert main(('replay', 'two', '--no-report', '--output', topic[1:], '--topic', topic)) == 0
        summary = json.loads((tmp_path / topic[1:] / 'summary.json').read_text())
        assert (summary['topic'], summary['samples_total']) == (topic, count)
