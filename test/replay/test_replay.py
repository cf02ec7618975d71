"""``hodyn replay`` from the command line: what it writes, and what it says of wrong input."""
import json
import re

from broken_bags import break_bag, faults_of_command
import numpy as np
import pytest
from recordings import FORMS, TYPES, damage, joint_state, messages, record, write
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Writer

from hodyn_ros.cli import main
from hodyn_ros.replay import pictures


def replayed(bag, output, *options):
    assert main(['replay', str(bag), '--output', str(output), *options]) == 0
    return json.loads((output / 'summary.json').read_text())


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the drawing, which is most of the time of a short replay."""
    monkeypatch.setattr(pictures, '_png', lambda figure: b'')


def refused(capsys, *arguments):
    """Return the one line of an error with exit code 2."""
    assert main(['replay', *map(str, arguments)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith('hodyn replay: ')
    return lines[0]


@pytest.mark.slow
def test_known_motion_is_found_again(tmp_path):
    recording = record(duration=10.0)
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    summary = replayed(bag, tmp_path / 'out')
    assert summary['samples_total'] == summary['samples_used'] == 1000
    assert summary['complete']
    assert [joint['name'] for joint in summary['joints']] == recording.names
    for i, joint in enumerate(summary['joints']):
        assert joint['rms_error'] == pytest.approx(0.05, rel=0.2)  # the effort's noise
        assert joint['rms_effort'] == pytest.approx(
            np.sqrt(np.mean(recording.effort[:, i] ** 2)), rel=1e-9)
        assert joint['torque']['torque']['resolved']


def test_of_efforts_that_were_computed_it_is_said_that_they_show_nothing(tmp_path, undrawn):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=5.0))})
    measured = replayed(bag, tmp_path / 'out')
    computed = replayed(tmp_path / 'out' / 'computed', tmp_path / 'again',
                        '--topic', '/feedforward/torque')
    said = 'The efforts on /feedforward/torque are those of this model to all digits'
    assert [any(said in each for each in summary['statements'])
            for summary in (measured, computed)] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize('command', ['replay', 'identify'])
def test_a_position_that_no_arm_had_is_left_out_and_named(tmp_path, capsys, undrawn, command):
    """The times of all samples were moved to explain it, so that nothing fitted any more."""
    recording = record(duration=15.0)
    recording.position[777, 1] += 0.1
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    assert main([command, str(bag), '--output', str(tmp_path / 'out')]) == 0
    said = ' '.join(capsys.readouterr().out.split())
    assert '1499 of 1500 messages' in said
    assert ('Left out: 1 (a position off its neighbours, fer_joint2 by 0.1 rad at t = '
            '7.77 s)') in said
    assert 'The positions show that' not in said
    assert ('! 1 position of fer_joint2 (t = 7.77 s) is 0.1 rad off' in said) == (
        command == 'replay')


@pytest.mark.parametrize('command', ['replay', 'identify'])
@pytest.mark.parametrize(('position', 'said'), [
    ('0', 'joint7 is locked at 0, but moves from '), ('moves', ''), ('away', 'stands at 0.8 in'),
    ('there', '')])
def test_a_joint_that_is_locked_and_moves_is_named(
        tmp_path, capsys, undrawn, command, position, said):
    recording = record(duration=15.0)
    if position in ('away', 'there'):
        recording.position[:, 6], recording.velocity[:, 6] = 0.8, 0.0
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    lock = {'0': ['--lock', 'joint7=0'], 'moves': [], 'away': ['--lock', 'joint7=0.7'],
            'there': ['--lock', 'joint7=0.8']}[position]
    assert main([command, str(bag), '--output', str(tmp_path / 'out'), *lock]) == 0
    told = ' '.join(capsys.readouterr().out.split())
    assert ('is locked at' in told) == bool(said)
    assert said in told


def test_recording_without_effort_still_gives_torques(tmp_path):
    recording = record(duration=3.0)
    pairs = [
        (received, joint_state(recording.stamp[i], recording.names, recording.position[i]))
        for i, (received, _) in enumerate(messages(recording))]
    summary = replayed(
        write(tmp_path / 'bag', {'/joint_states': pairs}), tmp_path / 'out')
    assert summary['samples_used'] == 300
    assert summary['joints'][0]['rms_error'] is None


def test_wrong_input_is_one_line(tmp_path, capsys):
    out = ['--output', tmp_path / 'out']
    assert 'no bag' in refused(capsys, tmp_path / 'missing', *out)
    assert 'no bag there' in refused(capsys, tmp_path, *out)
    chatter = tmp_path / 'chatter'
    with Writer(chatter, version=8) as writer:
        connection = writer.add_connection('/chatter', 'std_msgs/msg/String', typestore=TYPES)
        text = TYPES.types['std_msgs/msg/String'](data='hello')
        writer.write(connection, 1, TYPES.serialize_cdr(text, 'std_msgs/msg/String'))
    assert 'no messages of type sensor_msgs/msg/JointState' in refused(capsys, chatter, *out)
    empty = write(tmp_path / 'empty', {'/joint_states': []})
    assert 'no messages of type' in refused(capsys, empty, *out)
    other = write(tmp_path / 'other', {
        '/joint_states': messages(record(duration=1.0, prefix='fr3_'))})
    assert "not joints of robot 'panda'" in refused(capsys, other, *out)
    gripper = write(tmp_path / 'gripper', {'/joint_states': [
        (i, joint_state(i, ['finger'], [0.0])) for i in range(5)]})
    assert "no joint of robot 'panda' among the names 'finger'" in refused(capsys, gripper, *out)
    short = write(tmp_path / 'short', {'/joint_states': messages(record(duration=0.05))})
    assert 'no 8 in a row can be differentiated' in refused(capsys, short, *out)
    good = write(tmp_path / 'good', {'/joint_states': messages(record(duration=1.0))})
    assert 'no robot' in refused(capsys, good, '--robot', 'nobody', *out)


@pytest.mark.slow
def test_a_damaged_chunk_costs_its_messages_and_exit_code_1_says_so(tmp_path, capsys):
    bag = write(
        tmp_path / 'bag', {'/joint_states': messages(record(duration=60.0))},
        **FORMS['mcap chunks'])
    damage(bag)
    assert main(['replay', str(bag), '--output', str(tmp_path / 'out')]) == 1
    captured = capsys.readouterr()
    line, = captured.err.strip().splitlines()
    summary = json.loads((tmp_path / 'out/summary.json').read_text())
    lost, = summary['samples_lost']
    assert line.startswith(
        f'hodyn replay: {lost["messages"]} of 6000 messages on /joint_states are lost: '
        f'{lost["messages"]} in bag.mcap, bytes ')
    assert summary['damage'] in line
    assert not summary['complete']
    assert summary['samples_total'] == 6000
    assert 1000 < summary['samples_used'] == 6000 - lost['messages']
    assert f'{lost["messages"]} of 6000 messages' in ' '.join(captured.out.split())
    assert 'are lost' in (tmp_path / 'out/report.html').read_text()
    with AnyReader([tmp_path / 'out/computed']) as reader:
        assert reader.message_count == 3 * summary['samples_used']


@pytest.mark.slow
def test_real_panda(real_bag, tmp_path):
    summary = replayed(real_bag, tmp_path / 'out')
    assert summary['samples_total'] == 727
    assert summary['samples_used'] >= 720
    errors = np.array([joint['rms_error'] for joint in summary['joints']])
    assert np.all(errors <= [0.75, 0.75, 0.52, 1.02, 0.21, 0.25, 0.088])
    # Sampled every 34 ms and republished at 30 Hz.
    assert summary['timing']['republished'] == 14
    assert summary['timing']['sampling_period'] == pytest.approx(0.034, rel=2e-3)
    # Thirty samples a second support no snap, and it is said.
    assert not any(joint['motion']['snap']['resolved'] for joint in summary['joints'])
    assert all(joint['motion']['acceleration']['resolved'] for joint in summary['joints'])


@pytest.mark.parametrize(('field', 'value', 'reason'), [
    ('position', np.nan, '100 (positions not finite)'),
    ('position', 1e300, '100 (positions beyond 1e+06)'),
    ('position', 0.3, 'contradict each other'),
])
def test_numbers_that_no_motion_has_are_refused_in_one_line(
    tmp_path, capsys, field, value, reason,
):
    recording = record(duration=1.0)
    getattr(recording, field)[:] = value
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    assert reason in refused(capsys, bag, '--output', tmp_path / 'out')


@pytest.mark.slow
@pytest.mark.parametrize(('field', 'index', 'value', 'reason'), [
    ('velocity', 50, np.inf, 'velocity not finite'),
    ('velocity', slice(None), 1e200, 'velocity beyond 1e+06'),
    ('effort', slice(20, 40), np.nan, 'effort not finite'),
    ('effort', slice(None), np.nan, 'effort not finite'),
])
@pytest.mark.usefixtures('undrawn')
def test_numbers_that_are_none_are_counted_and_the_motion_is_used(
    tmp_path, field, index, value, reason,
):
    recording = record(duration=1.0)
    getattr(recording, field)[index] = value
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    summary = replayed(bag, tmp_path / 'out')
    assert summary['samples_used'] == 100
    assert summary['samples_used_in_part'] == {reason: np.arange(100)[index].size}
    assert any(reason in said for said in summary['statements'])
    assert summary['complete']


@pytest.mark.slow
@pytest.mark.parametrize('command', ['replay', 'identify'])
@pytest.mark.usefixtures('undrawn')
def test_commands_count_each_message_of_damaged_bags(tmp_path, command):
    """Seeds of the generator; more by ``python tools/broken_bags.py --commands``."""
    for seed in range(100, 103):
        bag = break_bag(tmp_path / str(seed), seed)
        faults = faults_of_command(bag, command, tmp_path / f'{seed} {command}')
        assert not faults, f'seed {seed}: {bag.shape}, {bag.damage}'


@pytest.mark.parametrize('name', ['summary.json', 'computed/precious.txt', 'computed'])
def test_files_of_others_in_the_output_are_not_touched(tmp_path, capsys, name):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=1.0))})
    precious = tmp_path / 'out' / name
    precious.parent.mkdir(parents=True)
    precious.write_text('mine')
    assert f'{precious}: ' in refused(capsys, bag, '--output', tmp_path / 'out')
    assert precious.read_text() == 'mine'


@pytest.mark.slow
def test_report_is_one_self_contained_page(tmp_path):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=5.0))})
    replayed(bag, tmp_path / 'out')
    page = (tmp_path / 'out/report.html').read_text()
    assert page.count('data:image/png;base64,') == 4
    # The letters of pictures spell anything.
    assert 'http' not in re.sub('base64,[^"]*', '', page)
    # It reads on a telephone, and its limits have units.
    assert 'width=device-width' in page
    assert page.count('<label><input type="checkbox" hidden><img ') == 4
    assert ':checked + img { max-width: none' in page
    assert '<td>N m/s</td>' in page
    for name in ('torque', 'torque_rates', 'friction', 'spectrum'):
        assert (tmp_path / f'out/{name}.png').stat().st_size > 10_000
