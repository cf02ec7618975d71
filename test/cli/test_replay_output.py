"""What ``hodyn replay`` prints and leaves of one recording."""
import json

import pytest
from recordings import messages, record, write

from hodyn_ros.replay import statements
from hodyn_ros.replay.report import _marked_up, figures_of


@pytest.fixture(autouse=True)
def _with_a_bag(tmp_path):
    write(tmp_path / 'bag', {'/joint_states': messages(record(rate=50.0, duration=1.5))})


@pytest.fixture
def replay(hodyn):
    """Return a function that replays a bag without a report, and returns what it prints."""
    def run(*options, bag='bag'):
        return hodyn('replay', bag, '--no-report', *options)
    return run


def test_faults_come_before_facts_and_both_before_the_figures(replay, monkeypatch):
    found = []
    monkeypatch.setattr(statements, 'facts', lambda _: ['it is red', 'it is big'])
    monkeypatch.setattr(
        statements, 'warnings', lambda result: found.append(result) or ['it leaks'])
    lines = [line.strip() for line in replay().out.splitlines() if line.strip()]
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


def test_states_of_motors_in_the_bag_are_said_to_be_unused(replay, tmp_path):
    states = messages(record(rate=50.0, duration=1.5))
    write(tmp_path / 'elastic', {'/joint_states': states, '/driver/motor_states': states})
    said = ' '.join(replay(bag='elastic').out.split())
    assert (
        '/driver/motor_states is not read: states of motors are not used. Actuators (in the robot '
        'file, or by --actuators) only help to recognise positions of motors in /joint_states.'
        ) in said
    assert 'motors' not in replay().out


def test_tables_are_written_where_they_are_asked_for(replay, tmp_path):
    def written(*options):
        replay(*options)  # an earlier result is replaced
        return {path.name for path in (tmp_path / 'hodyn_replay').iterdir()}

    plain = {'summary.json', 'computed'}
    assert written() == plain
    assert written('--csv') - plain == {'computed.csv'}
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    assert written('--parquet') - plain == {'computed.parquet'}


@pytest.mark.parametrize('bandwidth', ['0', '-1', 'inf', 'nan'])
def test_no_bandwidth_is_refused(hodyn, bandwidth):
    assert f'{bandwidth} Hz is not a bandwidth: give a positive number' in hodyn.rejects(
        'replay', 'bag', f'--bandwidth={bandwidth}')


@pytest.mark.parametrize(('options', 'said'), [
    (('--bandwidth', '2'), 'with a bandwidth of 2 Hz'),
    (('--bandwidth', '6'), 'with a bandwidth of 6 Hz'),
    (('--bandwidth', '1000'),
     '! --bandwidth 1000 Hz is too high: 8 Hz is used, since samples at 50 Hz'),
    (('--payload', 'link7', '100'), '! The given load, --payload link7 100, is the first')])
def test_the_bandwidth_and_a_load_that_fits_in_no_way_are_said(replay, options, said):
    assert said in replay(*options).words


def test_a_load_that_may_be_there_is_not_suspected(replay):
    assert 'The given load' not in replay('--payload', 'link7', '0.01').words


@pytest.mark.slow
def test_one_bag_its_page_and_many_bags_say_the_same(hodyn, tmp_path):
    parquet = pytest.importorskip('pyarrow.parquet')
    pytest.importorskip('distributed')
    given = (
        '--lock', 'joint7=0.3', '--payload', 'link6', '100', '--bandwidth', '1000')
    printed = hodyn('replay', 'bag', *given).words
    hodyn('replay', 'bag', *given, '--jobs', '1', '--output', 'many')
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


def test_efforts_on_the_motors_side_are_named_with_their_ratios(hodyn, replay, tmp_path):
    recording = record(rate=50.0, duration=12.0, bandwidth=0.6)
    recording.effort /= [1.0, 100.0, 1.0, 50.0, 1.0, 1.0, 1.0]
    write(tmp_path / 'motors', {'/joint_states': messages(recording)})
    said = (
        '! {}Efforts are too small for the model (fer_joint2 100 times, fer_joint4 50 times): are '
        "they on the motor's side of gears with these ratios?")
    assert said.format('') in replay(bag='motors').words
    assert said.format('motors: ') in hodyn('identify', 'motors', code=None).words
    assert 'too small for the model' not in replay('--output', 'sound').words


def test_the_topic_is_that_asked_for(replay, tmp_path):
    recording = record(rate=50.0, duration=1.5)
    write(tmp_path / 'two', {
        '/joint_states': messages(recording), '/other': messages(recording[:60])})
    for topic, count in (('/joint_states', 75), ('/other', 60)):
        replay('--output', topic[1:], '--topic', topic, bag='two')
        summary = json.loads((tmp_path / topic[1:] / 'summary.json').read_text())
        assert (summary['topic'], summary['samples_total']) == (topic, count)
