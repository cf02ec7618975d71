"""``hodyn identify``: what is written, read back, is what was judged; every option counts."""
from dataclasses import replace
from functools import partial
from io import StringIO
import json
from pathlib import Path
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from random_robots import random_mapping
from recordings import PANDA, joint_state, messages, motion, record, write
from rich.console import Console
import yaml

from hodyn_ros import HodynError, inverse_dynamics, load_robot
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.cli import main
from hodyn_ros.cli.identify_report import _print_rests, doubts, far_gains, verdict
from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification import recordings, validation
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.doubtful_joints import (
    DoubtfulJoints,
    doubtful_joints,
    misplaced_joints,
    overloaded_joints,
    unexplained_joints,
)
from hodyn_ros.identification.estimate import Doubt, Estimate
from hodyn_ros.identification.identify import identify
from hodyn_ros.identification.payload import Payload
from hodyn_ros.identification.recordings import Recording, Source, read_data
from hodyn_ros.identification.robot_writer import write_robot
from hodyn_ros.identification.validation import validate
from hodyn_ros.replay.replay_bag import replay
from hodyn_ros.replay.statements import facts
from hodyn_ros.robot.files import robot_keys
from hodyn_ros.robot.files.plain_values import plain

PAYLOAD = Payload(1.3, np.array([0.02, -0.03, 0.12]), np.diag([0.004, 0.005, 0.003]))
AMPLITUDE = np.array([0.9, 1.1, 0.5, 0.8, 0.4, 0.35, 0.3])
OFFSET = np.array([0.1, -0.2, 0.05, 0.3, 0.0, -0.1, 0.02])
SPREAD = np.array([0.3, 0.3, 0.3, 0.3, 0.1, 0.1, 0.05])
RATE = 25.0


def bag(
    path, *, payload=None, amplitude=AMPLITUDE, gain=1.0, seed=0, duration=20.0, prefix='fer_',
    bandwidth=1.0, others=(), topic='/joint_states',
):
    """Write a recording of an arm with friction, noise and offsets of its sensors."""
    recording = record(rate=RATE, duration=duration, position_noise=1e-5, prefix=prefix,
                       bandwidth=bandwidth)
    robot = PANDA if payload is None else payload.fixed_to(PANDA)
    friction = SigmoidFriction(amplitude, np.full(7, 20.0), np.zeros(7))
    effort = FeedForward(robot).torque(recording.q, friction=False)[:, 0]
    effort = effort + friction.torque(recording.q)[:, 0] + OFFSET
    effort += SPREAD * np.random.default_rng(seed).standard_normal(effort.shape)
    recording.effort = effort / gain
    return write(path, {topic: messages(recording), **dict(others)})


def identified(path, *bags, terms=('friction',), options=()):
    """Run the command; return its summary."""
    assert main(['identify', *map(str, bags), '--terms', *terms, '--output', str(path),
                 *map(str, options)]) == 0
    return json.loads((path / 'identification.json').read_text())


def replayed(path, recording, file):
    """Return the RMS errors of a robot file on a bag, (n,)."""
    robot = load_robot(file)
    with open_recording(recording, robot) as source:
        found = replay(source, FeedForward(robot), path)
    return np.array([joint.rms_error for joint in found.joints])


def column(summary, key):
    """Return a figure of all joints, (n,)."""
    return np.array([joint[key] for joint in summary['joints']])


@pytest.mark.slow
def test_the_written_file_replayed_gives_the_figures_of_the_table(tmp_path, capsys):
    """Guards figures of what is not in the file: offsets of the sensors, say."""
    path = bag(tmp_path / 'bag', payload=PAYLOAD, gain=0.5, duration=12.0)
    summary = identified(
        tmp_path / 'out', path, terms=['friction', 'viscous', 'rotor', 'gains', 'offsets'])
    table = capsys.readouterr().out
    assert main(['replay', str(path), '--robot', str(tmp_path / 'out/panda_identified.yaml'),
                 '--output', str(tmp_path / 'replay')]) == 0
    rms = column(json.loads((tmp_path / 'replay/summary.json').read_text()), 'rms_error')
    np.testing.assert_allclose(column(summary, 'rms_after'), rms, rtol=1e-6)
    np.testing.assert_allclose(summary['recordings'][0]['rms_after'], rms, rtol=1e-6)
    for name, value in zip(PANDA.joint_names, rms, strict=True):
            assert re.search(rf'{name} +[0-9.]+ +{value:.3f} ', table)
    before = column(summary, 'rms_before')
    np.testing.assert_allclose(replayed(tmp_path / 'former', path, 'panda'), before, rtol=1e-6)


@pytest.mark.slow
def test_links_and_payload_are_written_as_they_are_judged(tmp_path):
    loaded = bag(tmp_path / 'loaded', payload=PAYLOAD, duration=12.0)
    unloaded = bag(tmp_path / 'unloaded', seed=1, duration=12.0)
    summary = identified(
        tmp_path / 'out', loaded, terms=['links', 'friction', 'payload'],
        options=['--unloaded', unloaded])
    payload = summary['payload']
    assert payload['mass'] == pytest.approx(1.3, abs=2.0 * payload['mass_interval'])
    assert payload['mass_interval'] < 0.08
    file = tmp_path / 'out/panda_identified.yaml'
    first, second = summary['recordings']
    assert (first['loaded'], second['loaded']) == (True, False)
    np.testing.assert_allclose(
        replayed(tmp_path / 'replay', loaded, file), first['rms_after'], rtol=1e-6)
    assert load_robot(file).frame('payload')[0] == 6
    data = yaml.safe_load(file.read_text())
    assert data['bodies'][6]['mass'] == pytest.approx(summary['links'][6]['mass'])
    # Without its payload the arm is judged without it.
    data['bodies'] = [body for body in data['bodies'] if body['name'] != 'payload']
    (tmp_path / 'bare.yaml').write_text(yaml.safe_dump(data), 'utf-8')
    np.testing.assert_allclose(
        replayed(tmp_path / 'bare', unloaded, tmp_path / 'bare.yaml'), second['rms_after'],
        rtol=1e-6)


@pytest.mark.slow
def test_recordings_are_held_out_whole_from_what_judges_them(tmp_path):
    """Guards cross-validation on the motion that was fitted."""
    one = bag(tmp_path / 'one', duration=13.0)
    other = bag(tmp_path / 'other', amplitude=6.0 * AMPLITUDE, duration=13.0)
    summary = identified(tmp_path / 'out', one, other)
    assert summary['held_out'] == 'recordings'
    assert np.all(
        column(summary, 'held_out_rms_after')[:4] > 1.4 * column(summary, 'rms_after')[:4])
    # It is the error of the file that the other recording gives.
    identified(tmp_path / 'apart', other)
    alone = replayed(tmp_path / 'replay', one, tmp_path / 'apart/panda_identified.yaml')
    identified(tmp_path / 'apart2', one)
    second = replayed(tmp_path / 'replay2', other, tmp_path / 'apart2/panda_identified.yaml')
    np.testing.assert_allclose(
        column(summary, 'held_out_rms_after'), np.sqrt(0.5 * (alone ** 2 + second ** 2)),
        rtol=0.01)


def test_each_recording_may_have_its_own_offsets(tmp_path, capsys):
    summary = identified(
        tmp_path / 'out', bag(tmp_path / 'one', duration=9.0), bag(
            tmp_path / 'two', seed=1, duration=9.0), terms=['offsets'],
        options=['--offsets-per-bag'])
    assert [len(joint['offsets']) for joint in summary['joints']] == 7 * [2]
    out = capsys.readouterr().out
    assert re.search(r'joint +offset in one +offset in two *\n', out)
    value = summary['joints'][1]['offsets'][1]['value']
    assert re.search(rf'joint2 .*{value:.3g} ± ', out)


def test_terms_are_those_that_were_asked_for(tmp_path, capsys):
    """Guards --terms: offsets alone write no friction, friction alone finds no offset."""
    path = bag(tmp_path / 'bag', duration=12.0)
    offsets = identified(tmp_path / 'offsets', path, terms=['offsets'])
    friction = identified(tmp_path / 'friction', path, terms=['friction'])
    assert {joint['friction'] is None for joint in offsets['joints']} == {True}
    assert column(offsets, 'offset')[1]['value'] < -0.1
    assert {joint['offset']['value'] for joint in friction['joints']} == {0.0}
    for name, changed in (('offsets', False), ('friction', True)):
        found = load_robot(tmp_path / name / 'panda_identified.yaml').friction
        assert np.any(found.amplitude != PANDA.friction.amplitude) == changed
    assert main(['identify', str(path), '--terms', 'friction', '--unloaded', str(path), '--output',
                 str(tmp_path / 'none')]) == 2
    assert 'add it to --terms' in capsys.readouterr().err


def test_topic_and_prefix_choose_the_arm(tmp_path, capsys):
    """Guards --topic and --joint-prefix: the other arm has ten times the friction."""
    other = record(rate=RATE, duration=12.0, prefix='right_')
    other.effort = other.torque[:, 0] + 20.0 * np.sign(other.q[:, 1])
    path = bag(tmp_path / 'bag', duration=12.0, prefix='left_', others=[('/b', messages(other))],
               topic='/a')
    both = write(tmp_path / 'both', {'/joint_states': [
        (received, joint_state(
            message.header.stamp.sec * 10 ** 9 + message.header.stamp.nanosec,
            [*message.name, *second.name], *(
                np.concatenate([getattr(message, key), getattr(second, key)])
                for key in ('position', 'velocity', 'effort'))))
        for (received, message), (_, second) in zip(
            messages(record(rate=RATE, duration=12.0, prefix='left_')), messages(other),
            strict=True)]})
    found = [
        identified(tmp_path / name, source, options=options)
        for name, source, options in (
            ('a', path, ['--topic', '/a', '--joint-prefix', 'left_']),
            ('b', path, ['--topic', '/b', '--joint-prefix', 'right_']),
            ('left', both, ['--joint-prefix', 'left_']),
            ('right', both, ['--joint-prefix', 'right_']))]
    amplitudes = [summary['joints'][1]['friction']['amplitude']['value'] for summary in found]
    assert max(amplitudes[0], amplitudes[2]) < 3.0 < 20.0 < min(amplitudes[1], amplitudes[3])
    assert main(['identify', str(path), '--output', str(tmp_path / 'none')]) == 2
    assert '--topic' in capsys.readouterr().err


def test_friction_is_written_for_the_bodies_as_they_are_listed(tmp_path):
    data = robot_keys('panda')
    del data['limits'], data['friction']
    names = [body['name'] for body in data['bodies']]
    for body in data['bodies']:
        if isinstance(body['parent'], int) and body['parent'] >= 0:
            body['parent'] = names[body['parent']]
    data['bodies'].reverse()
    source = tmp_path / 'reversed.yaml'
    source.write_text(yaml.safe_dump(data), 'utf-8')
    values = np.arange(1.0, 8.0)
    joints = {key: values + i for i, key in enumerate((
        'amplitude', 'slope', 'velocity_offset', 'viscous', 'rotor_inertia', 'effort_gain'))}
    write_robot(str(source), load_robot(source), Estimate(joints=joints), tmp_path / 'found.yaml')
    robot = load_robot(tmp_path / 'found.yaml')
    for key in ('amplitude', 'slope', 'velocity_offset', 'viscous'):
        np.testing.assert_array_equal(getattr(robot.friction, key), joints[key])
    np.testing.assert_array_equal(robot.rotor_inertia, joints['rotor_inertia'])
    np.testing.assert_array_equal(robot.effort_gain, joints['effort_gain'])


URDF = (
    '<robot name="arm"><link name="base"/><link name="l1"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>'
    '<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/>'
    '<limit lower="-1" upper="2" velocity="3" effort="40"/></joint>'
    '<link name="hand"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
    '<joint name="fixed" type="fixed"><parent link="l1"/><child link="hand"/>'
    '<origin xyz="0 0.1 0"/></joint></robot>')


def test_a_robot_from_urdf_becomes_one_in_yaml(tmp_path):
    source = tmp_path / 'arm.urdf'
    source.write_text(URDF)
    friction = SigmoidFriction(*(np.array([value]) for value in (0.9, 8.0, 0.02)))
    joints = {key: getattr(friction, key) for key in ('amplitude', 'slope', 'velocity_offset')}
    robot = load_robot(source)
    write_robot(
        str(source), robot, Estimate(joints=joints, payload=PAYLOAD), tmp_path / 'found.yaml')
    written = load_robot(tmp_path / 'found.yaml')
    q = np.random.default_rng(5).normal(size=(5, 1))
    expected = FeedForward(PAYLOAD.fixed_to(robot)).torque(q) + friction.torque(q)
    np.testing.assert_allclose(FeedForward(written).torque(q), expected, rtol=1e-12)
    np.testing.assert_array_equal(written.limits.effort, robot.limits.effort)


def test_a_link_is_written_with_all_that_is_fixed_to_it(tmp_path):
    source = tmp_path / 'arm.urdf'
    source.write_text(URDF)
    robot = load_robot(source)
    write_robot(str(source), robot, Estimate(links=(PAYLOAD,)), tmp_path / 'found.yaml')
    body = load_robot(tmp_path / 'found.yaml').bodies[0]
    assert (body.mass, *body.com) == (PAYLOAD.mass, *PAYLOAD.com)
    np.testing.assert_allclose(body.inertia, PAYLOAD.inertia, atol=1e-15)


def test_zeros_move_placements_and_limits(tmp_path):
    source = tmp_path / 'arm.urdf'
    source.write_text(URDF)
    robot = load_robot(source)
    write_robot(str(source), robot, Estimate(joints={'zero': np.array([0.3])}),
                tmp_path / 'found.yaml')
    written = load_robot(tmp_path / 'found.yaml')
    q = np.random.default_rng(5).normal(size=(5, 1))
    shifted = q.copy()
    shifted[0] += 0.3
    np.testing.assert_allclose(
        FeedForward(written).torque(q), FeedForward(robot).torque(shifted), rtol=1e-12)
    assert written.limits.position_min[0] == pytest.approx(-1.3)
    assert written.limits.position_max[0] == pytest.approx(1.7)


def test_what_follows_a_joint_follows_it_from_its_new_zero(tmp_path):
    keys = random_mapping(np.random.default_rng(4), 4, kinds=('revolute',))
    keys['bodies'][0]['mimic'] = {'joint': 'joint1', 'multiplier': -1.5}
    keys['bodies'][2]['mimic'] = {'joint': 'joint0', 'offset': 0.2}
    (tmp_path / 'arm.yaml').write_text(yaml.safe_dump(plain(keys)))
    robot = load_robot(tmp_path / 'arm.yaml')
    zeros, rotors = np.array([0.3, -0.2]), np.array([0.5, 0.6])
    write_robot(
        str(tmp_path / 'arm.yaml'), robot,
        Estimate(joints={'zero': zeros, 'rotor_inertia': rotors}), tmp_path / 'found.yaml')
    written = load_robot(tmp_path / 'found.yaml')
    np.testing.assert_array_equal(written.rotor_inertia, rotors)
    q = np.random.default_rng(5).normal(size=(5, 2))
    shifted = q.copy()
    shifted[0] += zeros
    np.testing.assert_allclose(
        inverse_dynamics(written, q), inverse_dynamics(robot, shifted), rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_command_writes_a_robot_that_explains_the_recording(tmp_path, capsys):
    path = bag(tmp_path / 'bag', payload=PAYLOAD)
    summary = identified(tmp_path / 'out', path, terms=['friction', 'payload', 'offsets'])
    payload = summary['payload']
    assert payload['mass'] == pytest.approx(1.3, abs=2.0 * payload['mass_interval'])
    file = tmp_path / 'out/panda_identified.yaml'
    robot = load_robot(file)
    assert robot.joint_names == PANDA.joint_names
    np.testing.assert_allclose(
        robot.bodies[-1].mass - PANDA.bodies[-1].mass, payload['mass'], atol=1e-6)
    np.testing.assert_array_equal(robot.limits.effort, PANDA.limits.effort)
    lines = capsys.readouterr().out.splitlines()
    # No cell of the tables is torn apart: a plus-minus without its number, say.
    assert sum(bool(re.search(r'joint\d.*\d (±|\(kept\))', line)) for line in lines) == 14
    assert not any(re.search(r'±(?! [\d.])', line) for line in lines)


def test_wrong_input_is_one_line(tmp_path, capsys):
    recording = record(duration=10.0)
    silent = write(tmp_path / 'silent', {'/joint_states': [
        (received, joint_state(recording.stamp[i], recording.names, recording.position[i]))
        for i, (received, _) in enumerate(messages(recording))]})
    assert main(['identify', str(silent), '--output', str(tmp_path / 'out')]) == 2
    assert 'no efforts recorded' in capsys.readouterr().err
    assert main(['identify', str(tmp_path / 'none'), '--output', str(tmp_path / 'out')]) == 2
    assert 'no bag' in capsys.readouterr().err


@pytest.mark.slow
def test_messages_that_are_lost_are_told_and_counted_bag_by_bag(tmp_path, capsys):
    whole, cut = bag(tmp_path / 'whole', duration=20.0), bag(
        tmp_path / 'cut', duration=10.0, seed=1)
    file = cut / 'cut.db3'
    file.write_bytes(file.read_bytes()[:file.stat().st_size * 3 // 4])
    assert main(['identify', str(whole), str(cut), '--terms', 'offsets', '--output',
                 str(tmp_path / 'out')]) == 1
    line, = capsys.readouterr().err.strip().splitlines()
    first, second = json.loads((tmp_path / 'out/identification.json').read_text())['recordings']
    assert (first['samples_used'], first['damage']) == (500, None)
    lost = sum(place['messages'] for place in second['samples_lost'])
    assert second['samples_used'] + lost == second['samples_total'] == 250
    assert line.startswith(
        f'hodyn identify: {cut}: {lost} of 250 messages on /joint_states are lost: ')
    assert main(['identify', str(cut), '--output', str(tmp_path / 'none')]) == 2
    assert f'at least 8 s are needed to tell parameters from noise; {cut}: {lost} of 250' in (
        capsys.readouterr().err)


@pytest.mark.slow
def test_real_panda_held_out_residual_is_lowered(real_bag, tmp_path):
    summary = identified(tmp_path, real_bag, terms=['links', 'friction', 'offsets'])
    after, before = column(summary, 'held_out_rms_after'), column(summary, 'rms_before')
    assert np.all(after < 1.01 * before)
    assert np.sum(after / before) < 0.9 * 7


def judged(path, found, terms, monkeypatch):
    """Judge an estimate by a bag, as if each part of it had given the same one."""
    robot_source = 'panda'
    monkeypatch.setattr(validation, 'identify', lambda *_, **__: found)
    source = Source(load_robot(robot_source), gravity=True if 'gains' in terms else None)
    recordings = [Recording(path)]
    given, _ = read_data(recordings, source)
    return validate(robot_source, source, recordings, given, terms, found)


def test_a_temporary_folder_without_room_is_named_and_each_bag_is_read_once(
    tmp_path, monkeypatch,
):
    path = bag(tmp_path / 'bag', duration=12.0)
    opened = []
    opening = recordings.open_recording
    monkeypatch.setattr(
        recordings, 'open_recording',
        lambda *given, **options: opened.append(given) or opening(*given, **options))
    source = Source(PANDA)
    for _ in range(2):
        read_data([Recording(path)], source)
    assert len(opened) == 1
    monkeypatch.setattr(recordings, 'TemporaryFile', partial(Path('/dev/full').open, 'w+b'))
    with pytest.raises(HodynError, match='its motion cannot be kept in the temporary folder'):
        read_data([Recording(path)], Source(PANDA))


def test_the_figures_before_are_those_of_a_replay_of_the_file_that_was_given(
    tmp_path, monkeypatch,
):
    """Guards figures of the robot as it was that have the gains that were found."""
    path = bag(tmp_path / 'bag', gain=0.5, duration=10.0)
    found = Estimate(joints={'effort_gain': np.full(7, 0.5)})
    judgement = judged(path, found, ('gains',), monkeypatch)
    np.testing.assert_allclose(
        judgement.before, replayed(tmp_path / 'out', path, 'panda'), rtol=1e-9)
    np.testing.assert_allclose(judgement.before_by_gains_found, 0.5 * judgement.before)


def test_a_file_with_gains_is_judged_in_one_unit_of_effort(tmp_path, monkeypatch):
    """Errors in amperes before were compared with such in N m after."""
    path = bag(tmp_path / 'bag', gain=30.0, duration=10.0)
    found = Estimate(joints={'effort_gain': np.full(7, 30.0)})
    judgement = judged(path, found, ('gains',), monkeypatch)
    assert np.all(judgement.before_by_gains_found > 2.0 * judgement.held_out)
    assert not judgement.worse.any()


def test_a_fit_is_called_worse_when_it_is_worse_beyond_chance(tmp_path, monkeypatch):
    """Guards alarms of rounding, and the lack of real ones."""
    path = bag(tmp_path / 'bag', duration=5.0)
    for added, is_worse in ((1e-3, False), (3.0, True)):
        found = Estimate(joints={'amplitude': PANDA.friction.amplitude + added})
        assert judged(path, found, ('friction',), monkeypatch).worse.all() == is_worse


def test_what_the_file_is_worth_is_said_of_each_joint():
    def said(held_out, worse, doubtful=()):
        return verdict(PANDA, SimpleNamespace(
            before_by_gains_found=np.ones(7), held_out=np.array(held_out),
            worse=np.array(worse)), doubtful)

    none = [False] * 7
    assert said([0.5] + 6 * [1.0], none).startswith(
        'On held-out motion the file is better for joint1; hardly different for joint2, ')
    assert 'better for no joint: keep' in said(7 * [0.99], none)
    both = said([0.5, 1.4] + 5 * [1.0], [False, True] + 5 * [False])
    assert 'better for joint1; hardly different for joint3, ' in both
    assert '; worse for joint2: record longer' in both
    doubted = said([0.5, 0.5] + 5 * [1.0], none, {'joint1'})
    assert 'better for joint2; hardly different for joint3, ' in doubted
    assert doubted.endswith('; not judged for joint1: see to the doubts above before using it')
    assert 'better for no joint: keep' in said(7 * [0.5], none, set(PANDA.joint_names))


def test_nothing_is_said_to_be_in_the_file_when_offsets_alone_were_found(tmp_path, capsys):
    identified(tmp_path / 'out', bag(tmp_path / 'bag', duration=12.0), terms=['offsets'])
    out = capsys.readouterr().out
    assert 'the robot as it was: offsets are no part of a robot file' in ' '.join(out.split())
    assert 'worse' not in out
    assert 'better' not in out


def test_gains_are_printed_and_written_as_the_file_has_them(tmp_path, capsys):
    """Guards gains relative to those given, and one kept that is not the one the file has."""
    path = bag(tmp_path / 'bag', gain=0.5, duration=12.0)
    given = [0.25, 0.25, 0.5, 0.5, 1.0, 0.5, 0.0123456789123]  # off each by another factor
    (tmp_path / 'arm.yaml').write_text(
        yaml.safe_dump({**robot_keys('panda'), 'effort_gain': given}), 'utf-8')
    summary = identified(
        tmp_path / 'out', path, terms=['gains'], options=['--robot', tmp_path / 'arm.yaml'])
    gains = [joint['effort_gain'] for joint in summary['joints']]
    written = load_robot(tmp_path / 'out/panda_identified.yaml').effort_gain
    np.testing.assert_array_equal(written, [gain['value'] for gain in gains])
    assert written[1] == pytest.approx(0.5, rel=0.1)
    assert gains[6] == {'value': given[6], 'interval': None}  # it carries nothing
    assert re.search(r'joint7 +0\.0123 \(kept\)', capsys.readouterr().out)


def test_a_recording_given_twice_is_refused(tmp_path, capsys):
    """Guards intervals of the same motion counted twice, and loaded that passes for unloaded."""
    one = bag(tmp_path / 'one', duration=2.0)
    shutil.copytree(one, tmp_path / 'copy')
    (tmp_path / 'link').symlink_to(one)
    for option in ((), ('--unloaded',)):
        for other in ('one', 'link', 'copy'):
            assert main(['identify', str(one), *option, str(tmp_path / other), '--output',
                         str(tmp_path / 'out')]) == 2
            line, = capsys.readouterr().err.strip().splitlines()
            assert f'{tmp_path / other} holds the same recording as {one}' in line


def test_efforts_that_are_not_measured_are_refused(tmp_path, capsys):
    """Guards frictions of 0 found from efforts that a driver fills with zeros."""
    recording = record(rate=RATE, duration=3.0)
    recording.effort = recording.effort * np.array([1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    assert main(['identify', str(path), '--output', str(tmp_path / 'out')]) == 2
    line, = capsys.readouterr().err.strip().splitlines()
    assert 'joint2, joint6 are the same all the time though they move' in line


def test_with_zeros_unknown_efforts_are_taken_to_contain_gravity(tmp_path, monkeypatch):
    """Guards efforts that fit the model better without gravity while its joints are turned."""
    asked = []
    monkeypatch.setattr(recordings, 'read_data', lambda _, source: asked.append(source))
    for terms in ('friction', 'zeros'):
        with pytest.raises(TypeError):  # what was not read
            main(['identify', str(tmp_path), '--terms', terms])
    assert [source.gravity for source in asked] == [None, True]


def stuck(path, rate=50.0):
    """Write a recording of an arm that rests for 5 s after every 5 s, held by static friction."""
    time = np.arange(round(30.0 * rate)) / rate
    phase = time % 10.0
    edges = [0.0, 0.5, 4.5, 5.0]
    pace = np.interp(phase, edges, [0.0, 1.0, 1.0, 0.0])
    q = motion(np.cumsum(pace) / rate)
    q[:, 2] *= pace[:, None] ** 2
    q[:, 2] += q[:, 1] * np.array([2.0, 0.0, -2.0, 0.0])[
        np.digitize(phase, edges) - 1][:, None]
    q[:, 1] *= pace[:, None]
    rng = np.random.default_rng(0)
    holds = 0.6 * PANDA.friction.amplitude * rng.uniform(-1.0, 1.0, (3, 7))
    effort = FeedForward(PANDA).torque(q, friction=False)[:, 0] + np.where(
        pace[:, None] > 0.0, PANDA.friction.torque(q)[:, 0], holds[(time // 10.0).astype(int)])
    effort += 0.1 * SPREAD * rng.standard_normal(effort.shape)
    stamp = 10 ** 11 + np.round(1e9 * time).astype(np.int64)
    position = q[:, 0] + 1e-5 * rng.standard_normal(effort.shape)
    return write(path, {'/joint_states': [
        (int(s), joint_state(s, PANDA.joint_names, *values))
        for s, *values in zip(stamp, position, q[:, 1], effort, strict=True)]})


def upright(path, scale=1.0, amplitude=AMPLITUDE):
    """Write efforts in another unit of an arm so slow that nothing loads its first axis."""
    return bag(path, gain=1.0 / scale, amplitude=amplitude, duration=40.0, bandwidth=0.12)


def test_a_joint_whose_unit_cannot_be_told_keeps_its_friction(tmp_path, capsys):
    """Guards a friction of 100 N m found in efforts that are in N cm, and praise for it."""
    summary = identified(tmp_path / 'out', upright(tmp_path / 'bag', 100.0), terms=[
        'gains', 'friction'])
    out = ' '.join(capsys.readouterr().out.split())
    assert '! Efforts of joint1' in out
    assert '×0.01 of what the robot has' in out
    assert '×0.01 as of the others' in out
    assert not re.search(r'better for [^;]*joint1', out)
    assert re.search('not judged for joint1[^.]*: see to the doubts above', out)
    assert {'joint': 'joint1', 'factor': pytest.approx(0.01, rel=0.02), 'friction': None,
            'limit': None, 'recorded': None} in summary['doubts']
    robot = load_robot(tmp_path / 'out/panda_identified.yaml')
    assert robot.effort_gain[0] == 1.0
    assert robot.effort_gain[1:6] == pytest.approx(np.full(5, 0.01), rel=0.15)
    for key in ('amplitude', 'slope', 'velocity_offset'):
        assert getattr(robot.friction, key)[0] == getattr(PANDA.friction, key)[0]
    assert np.all(robot.friction.amplitude < 2.0)


@pytest.mark.parametrize('scale', [100.0, 0.01])
def test_efforts_in_another_unit_are_refused_without_gains(tmp_path, capsys, scale):
    """Guards payloads of 400 kg."""
    path = upright(tmp_path / 'bag', scale)
    assert main(['identify', str(path), '--output', str(tmp_path / 'out')]) == 2
    line, = capsys.readouterr().err.strip().splitlines()
    assert 'in another unit than N m. Add gains to the --terms' in line
    assert not (tmp_path / 'out').exists()


def test_friction_beyond_a_limit_of_effort_is_not_written(tmp_path, capsys):
    path = bag(tmp_path / 'bag', duration=12.0)
    limit = [87.0, 87.0, 87.0, 87.0, 0.3, 12.0, 12.0]
    keys = robot_keys('panda')
    keys['limits']['effort'] = limit
    (tmp_path / 'arm.yaml').write_text(yaml.safe_dump(keys), 'utf-8')
    summary = identified(tmp_path / 'out', path, options=['--robot', tmp_path / 'arm.yaml'])
    doubt, = summary['doubts']
    assert (doubt['joint'], doubt['limit']) == ('joint5', 0.3)
    robot = load_robot(tmp_path / 'out/panda_identified.yaml')
    assert robot.friction.amplitude[4] == PANDA.friction.amplitude[4]
    assert robot.friction.amplitude[3] == pytest.approx(AMPLITUDE[3], rel=0.2)
    out = ' '.join(capsys.readouterr().out.split())
    assert re.search(r'Friction of joint5 would be 0\.\d+ N m, beyond its limit of effort', out)
    assert 'not judged for joint5' in out


def test_efforts_that_are_beyond_a_limit_most_of_the_time_are_named():
    effort = np.zeros((10, 7))
    effort[:6, 1] = -88.0
    effort[:4, 2] = 88.0
    given = Data(np.zeros((10, 5, 7)), effort, np.arange(10))
    found = Estimate(joints={'effort_gain': np.ones(7)})
    assert overloaded_joints(PANDA, given, found) == ['joint2']
    found.joints['effort_gain'][1] = 0.9
    assert overloaded_joints(PANDA, given, found) == []
    said, = doubts(PANDA, found, DoubtfulJoints(overloaded=('joint2',)))
    assert said.startswith('Efforts of joint2 are beyond the limits of effort most of the time')


def test_positions_that_are_mostly_beyond_their_limits_are_named():
    """Guards degrees, and praise for a friction found in them."""
    q = motion(np.arange(0.0, 10.0, 0.1))
    given = Data(q, np.zeros((100, 7)), np.arange(100))
    assert misplaced_joints(PANDA, given) == []
    found = misplaced_joints(PANDA, replace(given, q=np.degrees(q)))
    assert {'joint2', 'joint4', 'joint6'} <= set(found)
    said, = doubts(PANDA, Estimate(), DoubtfulJoints(misplaced=tuple(found)))
    assert said.startswith('Positions of ')
    assert 'degrees' in said


def test_gains_that_no_command_has_are_named():
    found = Estimate(joints={'effort_gain': np.array([1.0, -1.0, 0.01, 2.0, 0.5, 1.0, 1.0])})
    said, = far_gains(PANDA, found)
    assert 'joint2 ×-1, joint3 ×0.01. They' in said
    assert far_gains(PANDA, Estimate()) == []


def test_efforts_of_the_other_sign_are_said_to_be_unexplained():
    given = Data(np.zeros((100, 5, 7)), np.sin(np.arange(100.0))[:, None] * np.ones(7),
                 np.arange(100))
    worth = SimpleNamespace(held_out_less_mean=np.array([1.4, *6 * [0.7]]))
    assert unexplained_joints(PANDA, given, Estimate(), worth) == ['joint1']
    said, = doubts(PANDA, Estimate(), DoubtfulJoints(unexplained=('joint1',)))
    assert said.startswith('The file predicts the effort of joint1 worse than a constant would')
    worth.held_out_less_mean[0] = 0.7
    assert unexplained_joints(PANDA, given, Estimate(), worth) == []


def test_joints_whose_efforts_are_left_out_are_doubted_for_that_alone():
    given = Data(np.full((100, 5, 7), 100.0), 90.0 * np.sign(np.sin(np.arange(100.0)))[:, None]
                 * np.ones(7), np.arange(100))
    worth = SimpleNamespace(held_out_less_mean=np.full(7, 1000.0))
    none = DoubtfulJoints(PANDA.joint_names, PANDA.joint_names, PANDA.joint_names)
    assert doubtful_joints(PANDA, given, Estimate(), worth) == none
    found = Estimate(doubts=(Doubt('joint2', factor=10.0),))
    assert doubtful_joints(PANDA, given, found, worth) == DoubtfulJoints(
        PANDA.joint_names, *2 * (tuple(
            name for name in PANDA.joint_names if name != 'joint2'),))


def test_friction_that_holds_a_joint_is_no_offset_of_its_sensor(tmp_path):
    """Guards offsets of sensors that are static friction of rests, with intervals without 0."""
    given, _ = read_data([Recording(stuck(tmp_path / 'bag'))], Source(PANDA))
    found = identify(PANDA, given, ('friction', 'offsets'))
    assert found.rests_left_out
    assert np.all(np.abs(found.standing - 0.5) < 0.06)
    assert np.all(np.abs(found.offset) < 2.0 * found.offset_interval)


@pytest.mark.parametrize(('left_out', 'said'), [(True, 'are left out'), (False, 'are taken to')])
def test_efforts_of_joints_that_stand_are_counted(left_out, said):
    """Guards efforts that are left out without a word."""
    console = Console(file=StringIO(), width=400)
    found = Estimate(standing=np.array([0.25, *6 * [0.0]]), rests_left_out=left_out)
    _print_rests(console, PANDA, found)
    assert f'joints that stand (joint1 25%) {said}' in console.file.getvalue()


def swapped(recording):
    recording.names[1], recording.names[3] = recording.names[3], recording.names[1]


def in_degrees(recording):
    recording.position, recording.velocity = (
        np.degrees(values) for values in (recording.position, recording.velocity))


def flipped(recording):
    recording.effort[:, 1] *= -1.0


def slow_velocities(recording):
    recording.velocity[:, 2] *= -1.0


def of_no_arm(recording):
    recording.effort = np.cumsum(
        np.random.default_rng(3).standard_normal(recording.effort.shape), axis=0)


@pytest.mark.parametrize(('change', 'said'), [
    (swapped, 'the joints of fer_joint2 and fer_joint4 are swapped'),
    (in_degrees, 'positions and velocities are in degrees'),
    (flipped, 'fer_joint2 has efforts of the opposite sign'),
    (slow_velocities, 'those of fer_joint3 have the opposite sign'),
    (of_no_arm, 'None of these explains it'),
])
def test_of_a_misread_recording_what_replay_says_is_said_first(tmp_path, capsys, change, said):
    recording = record(rate=RATE, duration=12.0, bandwidth=0.6)
    change(recording)
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    with open_recording(path, PANDA) as source:
        sentences = replay(source, FeedForward(PANDA), tmp_path / 'replay').diagnosis.sentences
    assert said in sentences[0]
    output = tmp_path / 'out'
    is_used = change is slow_velocities  # the motion is that of the positions
    assert main(['identify', str(path), '--output', str(output)]) == (0 if is_used else 2)
    written = capsys.readouterr()
    out = ' '.join(written.out.split())
    assert out.startswith('! ' + ' '.join(f'{path}: {sentences[0]}'.split()))
    if is_used:
        summary = json.loads((output / 'identification.json').read_text())
        assert summary['recordings'][0]['findings'] == sentences
    else:
        assert 'RMS' not in out
        assert not output.exists()
        (line,) = written.err.strip().splitlines()
        assert line.startswith(
            'hodyn identify: the recordings are not what they are taken for, see above: nothing '
            'is identified from them, and nothing written. Correct what is named, or add to the '
            '--terms ')


@pytest.mark.parametrize('late', [-5, 0, 5])
def test_a_delay_of_efforts_is_said_as_by_replay(tmp_path, capsys, late):
    recording = record(rate=500.0, duration=12.0, bandwidth=0.6)
    recording.effort = np.roll(recording.effort, late, axis=0)
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    with open_recording(path, PANDA) as source:
        result = replay(source, FeedForward(PANDA), tmp_path / 'replay')
    sentences = [said for said in facts(result) if said.startswith('Recorded efforts run')]
    assert main(['identify', str(path), '--output', str(tmp_path / 'out')]) == 0
    out = ' '.join(capsys.readouterr().out.split())
    assert out.count('Recorded efforts run') == len(sentences) == abs(np.sign(late))
    for said in sentences:
        assert f'• {path}: {said}' in out
        where, lag = re.match(r'Recorded efforts run (\w+).* by ([0-9.]+)', said).groups()
        assert where == ('behind' if late > 0 else 'ahead')
        assert float(lag) == pytest.approx(2.0 * abs(late), rel=0.1)


def test_a_misread_recording_replaces_no_earlier_file(tmp_path, capsys):
    recording = record(rate=RATE, duration=12.0, bandwidth=0.6)
    good = write(tmp_path / 'good', {'/joint_states': messages(recording)})
    swapped(recording)
    misread = write(tmp_path / 'misread', {'/joint_states': messages(recording)})
    output = tmp_path / 'out'
    assert main(['identify', str(good), '--output', str(output)]) == 0
    before = (output / 'panda_identified.yaml').read_bytes()
    assert main(['identify', str(misread), '--output', str(output), '--force']) == 2
    assert 'nothing written' in capsys.readouterr().err
    assert (output / 'panda_identified.yaml').read_bytes() == before


@pytest.mark.parametrize('terms', ['links friction offsets', 'friction offsets'])
def test_what_fits_in_no_way_is_fitted_where_links_are(tmp_path, capsys, terms):
    recording = record(rate=RATE, duration=12.0, bandwidth=0.6)
    of_no_arm(recording)
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    code = main(['identify', str(path), '--output', str(tmp_path / 'out'), '--terms',
                 *terms.split()])
    assert code == (0 if 'links' in terms else 2)
    assert 'None of these explains it' in ' '.join(capsys.readouterr().out.split())


def test_where_a_recording_is_misread_no_other_cause_is_given(tmp_path, capsys):
    """It asked for gains: what is wrong is the unit of the positions."""
    recording = record(rate=RATE, duration=40.0)
    in_degrees(recording)
    recording.velocity = np.radians(recording.velocity)
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    assert main(['identify', str(path), '--output', str(tmp_path / 'out')]) == 2
    said = capsys.readouterr()
    assert 'would be left if positions are in degrees' in ' '.join(said.out.split())
    assert 'unit efforts are recorded' not in said.err


@pytest.mark.parametrize(('change', 'terms', 'is_said'), [
    (flipped, ('gains', 'friction'), False), (in_degrees, ('gains', 'zeros'), True)])
def test_what_the_terms_find_is_no_misreading(tmp_path, capsys, change, terms, is_said):
    recording = record(rate=RATE, duration=12.0, bandwidth=0.6)
    change(recording)
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    code = main([
        'identify', str(path), '--terms', *terms, '--output', str(tmp_path / 'out')])
    assert code == (2 if is_said else 0)
    assert ('does not fit the model' in ' '.join(capsys.readouterr().out.split())) == is_said
