"""``hodyn replay`` from the command line: what it writes, and what it says of wrong input."""
from importlib import resources
import json

from broken_bags import break_bag, faults_of_command
import numpy as np
import pytest
from recordings import FORMS, TYPES, damage, joint_state, messages, record, write
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Writer
import yaml

from hodyn_ros.cli import main
from hodyn_ros.replay import pictures


def replayed(bag, output, *options):
    assert main(['replay', str(bag), '--output', str(output), *options]) == 0
    return json.loads((output / 'summary.json').read_text())


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the drawing, which is most of the time of a short replay."""
    monkeypatch.setattr(pictures, '_drawn', lambda _, count: [b''] * count)


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


@pytest.mark.slow
def test_computed_bag_holds_the_three_topics_as_the_node_publishes_them(tmp_path):
    recording = record(duration=5.0)
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    replayed(bag, tmp_path / 'out')
    found = {}
    with AnyReader([tmp_path / 'out/computed']) as reader:
        for connection, received, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            found.setdefault(connection.topic, []).append((received, message))
    assert list(found) == [
        '/feedforward/torque', '/feedforward/torque_rate', '/feedforward/torque_accel']
    for order, pairs in enumerate(found.values()):
        np.testing.assert_array_equal([received for received, _ in pairs], recording.received)
        stamps = [m.header.stamp.sec * 10 ** 9 + m.header.stamp.nanosec for _, m in pairs]
        np.testing.assert_array_equal(stamps, recording.stamp)
        assert all(list(m.name) == recording.names for _, m in pairs)
        effort = np.array([m.effort for _, m in pairs])
        error = np.sqrt(np.mean((effort - recording.torque[:, order]) ** 2, axis=0))
        assert np.all(error < 0.06 * np.sqrt(np.mean(recording.torque[:, order] ** 2, axis=0)))
        position = np.array([m.position for _, m in pairs])
        np.testing.assert_allclose(position, recording.q[:, 0], atol=1e-4)


@pytest.mark.slow
def test_troubled_stamps_are_reported_and_not_bridged(tmp_path):
    recording = record(duration=20.0, jitter=0.3)
    order = np.r_[0:300, 299, 300:700, 650, 800:1200, 1300:1302, 1400:2000, 1200:1400]
    bag = write(tmp_path / 'bag', {'/joint_states': [
        (int(recording.stamp[0] + 10_000_000 * i), message) for i, (_, message) in enumerate(
            messages(recording[order]))]})
    summary = replayed(bag, tmp_path / 'out')
    assert summary['samples_total'] == len(order)
    assert summary['samples_left_out'] == {
        'stamp of the message before': 1, 'stamp out of order': 1,
        'in a run too short to differentiate': 2}
    assert summary['samples_used'] == len(order) - 4
    assert len(summary['timing']['gaps']) == 2
    assert len(summary['timing']['resets']) == 1
    for joint in summary['joints']:
        assert joint['rms_error'] < 0.07


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


@pytest.mark.slow
def test_limits_are_not_said_to_be_kept_where_none_is_known(tmp_path):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=2.0))})
    built_in = resources.files('hodyn_ros.robot.builtin')
    robot = yaml.safe_load(built_in.joinpath('panda.yaml').read_text())
    del robot['limits']
    file = tmp_path / 'unlimited.yaml'
    file.write_text(yaml.safe_dump(robot))
    said = ' '.join(replayed(bag, tmp_path / 'out', '--robot', str(file))['statements'])
    assert 'No limit of the robot is known' in said
    assert 'keeps all known limits' not in said


@pytest.mark.slow
@pytest.mark.parametrize('options', [(), ('--no-report',)])
@pytest.mark.usefixtures('undrawn')
def test_a_second_replay_replaces_the_first(tmp_path, options):
    """Without its page too: it was taken for files of others."""
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=2.0))})
    first = replayed(bag, tmp_path / 'out', *options)
    assert replayed(bag, tmp_path / 'out', *options) == first


@pytest.mark.parametrize(('file', 'said'), [
    ('summary.json', 'exists'), ('computed', ''),
    ('computed/precious.txt', 'is not an output of this command')])
def test_files_of_others_in_the_output_are_not_touched(tmp_path, capsys, file, said):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=2.0))})
    precious = tmp_path / 'out' / file
    precious.parent.mkdir(parents=True)
    precious.write_text('mine')
    assert f'{file}: {said}' in refused(capsys, bag, '--output', tmp_path / 'out')
    assert precious.read_text() == 'mine'


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
    assert 'no 8 joint states in a row' in refused(capsys, short, *out)
    good = write(tmp_path / 'good', {'/joint_states': messages(record(duration=1.0))})
    assert 'no robot' in refused(capsys, good, '--robot', 'nobody', *out)


def test_output_that_cannot_be_written(tmp_path, capsys):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=1.0))})
    (tmp_path / 'file').write_text('')
    assert 'file' in refused(capsys, bag, '--output', tmp_path / 'file/out')


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
@pytest.mark.usefixtures('undrawn')
def test_a_bag_that_was_cut_short_says_that_more_is_lost_than_is_known(tmp_path, capsys):
    bag = write(
        tmp_path / 'bag', {'/joint_states': messages(record(duration=3.0))}, **FORMS['mcap'])
    file = bag / 'bag.mcap'
    file.write_bytes(file.read_bytes()[:file.stat().st_size // 2])
    (bag / 'metadata.yaml').unlink()
    assert main(['replay', str(bag), '--output', str(tmp_path / 'out')]) == 1
    assert 'an unknown number of at least' in capsys.readouterr().err
    summary = json.loads((tmp_path / 'out/summary.json').read_text())
    assert [entry['messages'] for entry in summary['samples_lost']] == [None]
    assert 100 < summary['samples_used'] == summary['samples_total'] < 200


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
@pytest.mark.usefixtures('undrawn')
def test_positions_that_are_none_are_counted(tmp_path):
    recording = record(duration=2.0)
    recording.position[[30, 40, 41], [0, 1, 2]] = [np.nan, -np.inf, 1e300]
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    summary = replayed(bag, tmp_path / 'out')
    assert summary['samples_used'] == 197
    assert summary['samples_left_out'] == {
        'positions not finite': 2, 'positions beyond 1e+06': 1}


@pytest.mark.slow
@pytest.mark.parametrize('command', ['replay', 'identify'])
@pytest.mark.usefixtures('undrawn')
def test_commands_count_each_message_of_damaged_bags(tmp_path, command):
    """Seeds of the generator; more by ``python tools/broken_bags.py --commands``."""
    for seed in range(100, 106):
        bag = break_bag(tmp_path / str(seed), seed)
        faults = faults_of_command(bag, command, tmp_path / f'{seed} {command}')
        assert not faults, f'seed {seed}: {bag.shape}, {bag.damage}'
