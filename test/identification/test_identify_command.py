"""``hodyn identify``: what is written, read back, is what was judged; every option counts."""
from functools import partial
import json
from pathlib import Path
import re
import shutil

from known_recordings import PAYLOAD, RATE, SPREAD, bag, replayed
import numpy as np
import pytest
from recordings import PANDA, joint_state, messages, motion, record, write
import yaml

from hodyn_ros import HodynError
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification import recordings
from hodyn_ros.identification.identify import identify
from hodyn_ros.identification.recordings import Recording, Source, read_data
from hodyn_ros.robot.files import robot_keys


@pytest.mark.slow
def test_the_written_file_replayed_gives_the_figures_of_the_table(identified):
    """Guards figures of what is not in the file: offsets of the sensors, say."""
    path = bag('bag', payload=PAYLOAD, gain=0.5, duration=12.0)
    found = identified(path, terms=['friction', 'viscous', 'rotor', 'gains', 'offsets'])
    rms = replayed('replay', path, found.file)
    np.testing.assert_allclose(found.column('rms_after'), rms, rtol=1e-6)
    np.testing.assert_allclose(found['recordings'][0]['rms_after'], rms, rtol=1e-6)
    for name, value in zip(PANDA.joint_names, rms, strict=True):
        assert re.search(rf'{name} +[0-9.]+ +{value:.3f} ', found.out)
    np.testing.assert_allclose(
        replayed('former', path, 'panda'), found.column('rms_before'), rtol=1e-6)


@pytest.mark.slow
def test_links_and_payload_are_written_as_they_are_judged(identified):
    loaded = bag('loaded', payload=PAYLOAD, duration=12.0)
    unloaded = bag('unloaded', seed=1, duration=12.0)
    found = identified(
        loaded, terms=['links', 'friction', 'payload'], options=['--unloaded', unloaded])
    payload = found['payload']
    assert payload['mass'] == pytest.approx(1.3, abs=2.0 * payload['mass_interval'])
    assert payload['mass_interval'] < 0.08
    first, second = found['recordings']
    assert (first['loaded'], second['loaded']) == (True, False)
    np.testing.assert_allclose(
        replayed('replay', loaded, found.file), first['rms_after'], rtol=1e-6)
    assert found.robot.frame('payload')[0] == 6
    data = yaml.safe_load(found.file.read_text())
    assert data['bodies'][6]['mass'] == pytest.approx(found['links'][6]['mass'])
    # Without its payload the arm is judged without it.
    data['bodies'] = [body for body in data['bodies'] if body['name'] != 'payload']
    Path('bare.yaml').write_text(yaml.safe_dump(data), 'utf-8')
    np.testing.assert_allclose(
        replayed('bare', unloaded, 'bare.yaml'), second['rms_after'], rtol=1e-6)


def test_each_recording_may_have_its_own_offsets(identified):
    found = identified(
        bag('one', duration=9.0), bag('two', seed=1, duration=9.0), terms=['offsets'],
        options=['--offsets-per-bag'])
    assert [len(joint['offsets']) for joint in found['joints']] == 7 * [2]
    assert re.search(r'joint +offset in one, N m +offset in two, N m *\n', found.out)
    value = found['joints'][1]['offsets'][1]['value']
    assert re.search(rf'joint2 .*{value:.3g} ± ', found.out)


def test_terms_are_those_that_were_asked_for(hodyn, identified):
    """Guards --terms: offsets alone write no friction, friction alone finds no offset."""
    path = bag('bag', duration=12.0)
    offsets = identified(path, terms=['offsets'], output='offsets')
    assert 'the robot as it was (offsets are not part of a robot file)' in offsets.words
    assert 'better' not in offsets.words
    friction = identified(path, terms=['friction'], output='friction')
    assert {joint['friction'] is None for joint in offsets['joints']} == {True}
    assert offsets.column('offset')[1]['value'] < -0.1
    assert {joint['offset']['value'] for joint in friction['joints']} == {0.0}
    for found, changed in ((offsets, False), (friction, True)):
        assert np.any(found.robot.friction.amplitude != PANDA.friction.amplitude) == changed
    assert 'add payload to --terms' in hodyn(
        'identify', path, '--terms', 'friction', '--unloaded', path, code=2).err


def test_topic_and_prefix_choose_the_arm(hodyn, identified):
    """Guards --topic and --joint-prefix: the other arm has ten times the friction."""
    other = record(rate=RATE, duration=12.0, prefix='right_')
    other.effort = other.torque[:, 0] + 20.0 * np.sign(other.q[:, 1])
    path = bag(
        'bag', duration=12.0, prefix='left_', others=[('/b', messages(other))], topic='/a')
    both = write('both', {'/joint_states': [
        (received, joint_state(
            message.header.stamp.sec * 10 ** 9 + message.header.stamp.nanosec,
            [*message.name, *second.name], *(
                np.concatenate([getattr(message, key), getattr(second, key)])
                for key in ('position', 'velocity', 'effort'))))
        for (received, message), (_, second) in zip(
            messages(record(rate=RATE, duration=12.0, prefix='left_')), messages(other),
            strict=True)]})
    slow, fast = (
        [identified(source, options=options, output=f'{source}{options[-1]}')['joints'][1][
            'friction']['amplitude']['value'] for source, options in (
                (path, ['--topic', topic, '--joint-prefix', prefix]),
                (both, ['--joint-prefix', prefix]))]
        for topic, prefix in (('/a', 'left_'), ('/b', 'right_')))
    assert max(slow) < 3.0 < 20.0 < min(fast)
    assert '--topic' in hodyn('identify', path, code=2).err


def test_wrong_input_is_one_line(hodyn):
    recording = record(duration=10.0)
    silent = write('silent', {'/joint_states': [
        (received, joint_state(recording.stamp[i], recording.names, recording.position[i]))
        for i, (received, _) in enumerate(messages(recording))]})
    assert 'no efforts recorded' in hodyn('identify', silent, code=2).line
    assert 'no bag' in hodyn('identify', 'none', code=2).line


@pytest.mark.slow
def test_messages_that_are_lost_are_told_and_counted_bag_by_bag(hodyn):
    whole, cut = bag('whole', duration=20.0), bag('cut', duration=10.0, seed=1)
    file = Path('cut/cut.db3')
    file.write_bytes(file.read_bytes()[:file.stat().st_size * 3 // 4])
    line = hodyn(
        'identify', whole, cut, '--terms', 'offsets', '--output', 'out', code=1).line
    first, second = json.loads(Path('out/identification.json').read_text())['recordings']
    assert (first['samples_used'], first['damage']) == (500, None)
    lost = sum(place['messages'] for place in second['samples_lost'])
    assert second['samples_used'] + lost == second['samples_total'] == 250
    assert line.startswith(
        f'hodyn identify: {cut}: {lost} of 250 messages on /joint_states are lost: ')
    said = hodyn('identify', cut, code=2).err
    assert 'at least 8 s are needed to distinguish parameters from noise. Record at least' in said
    assert f'; {cut}: {lost} of 250' in said


@pytest.mark.slow
def test_real_panda_held_out_residual_is_lowered(real_bag, identified):
    found = identified(real_bag, terms=['links', 'friction', 'offsets'])
    after, before = found.column('held_out_rms_after'), found.column('rms_before')
    assert np.all(after < 1.01 * before)
    assert np.sum(after / before) < 0.9 * 7


def test_a_temporary_folder_without_room_is_named_and_each_bag_is_read_once(monkeypatch):
    path = Path(bag('bag', duration=12.0))
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


def test_gains_are_printed_and_written_as_the_file_has_them(identified):
    """Guards gains relative to those given, and one kept that is not the one the file has."""
    path = bag('bag', gain=0.5, duration=12.0)
    given = [0.25, 0.25, 0.5, 0.5, 1.0, 0.5, 0.0123456789123]  # off each by another factor
    Path('arm.yaml').write_text(
        yaml.safe_dump({**robot_keys('panda'), 'effort_gain': given}), 'utf-8')
    found = identified(path, terms=['gains'], options=['--robot', 'arm.yaml'])
    gains = found.column('effort_gain')
    written = found.robot.effort_gain
    np.testing.assert_array_equal(written, [gain['value'] for gain in gains])
    assert written[1] == pytest.approx(0.5, rel=0.1)
    assert gains[6] == {'value': given[6], 'interval': None}  # it carries nothing
    assert re.search(r'joint7 +0\.0123 \(kept\)', found.out)


def test_a_folder_stands_for_the_recordings_in_it(hodyn):
    Path('day').mkdir()
    paths = [str(Path(bag(f'day/{name}', duration=9.0, seed=seed)).resolve())
             for seed, name in enumerate('ab')]
    hodyn('identify', 'day', '--terms', 'offsets', '--output', 'out', code=0)
    found = json.loads(Path('out/identification.json').read_text())['recordings']
    assert [one['bag'] for one in found] == paths


def test_a_recording_given_twice_is_refused(hodyn):
    """Guards intervals of the same motion counted twice, and loaded that passes for unloaded."""
    one = bag('one', duration=2.0)
    shutil.copytree(one, 'copy')
    Path('link').symlink_to(one)
    for option in ((), ('--unloaded',)):
        for other in ('one', 'link', 'copy'):
            assert f'{other} holds the same recording as {one}' in hodyn(
                'identify', one, *option, other, code=2).line


@pytest.mark.parametrize('stands', [True, False])
def test_efforts_that_never_change_are_not_measured(identified, stands):
    """Guards frictions of 0 found from constant efforts, and advice about their sign and unit."""
    recording = record(rate=RATE, duration=13.0)
    if stands:
        recording.q[:, 0, [1, 5]], recording.q[:, 1:, [1, 5]] = [0.3, 1.2], 0.0
        recording.position[:], recording.velocity[:] = recording.q[:, 0], recording.q[:, 1]
    noise = np.random.default_rng(0).standard_normal(recording.effort.shape)
    recording.effort = FeedForward(PANDA).torque(recording.q)[:, 0] + 2.0 * np.tanh(
        recording.q[:, 1] / 0.05) + 0.1 * noise
    recording.effort[:, [1, 5]] = [0.0, -2.5]
    found = identified(
        write('bag', {'/joint_states': messages(recording)}),
        terms=['friction', 'viscous', 'offsets'])
    out = found.words
    for name, value in (('joint2', '0'), ('joint6', '-2.5')):
        said = (
            f'The effort of fer_{name} never changes ({value} N m): it is not measured, and left '
            'out.')
        assert said in out
        assert any(said in sentence for sentence in found['recordings'][0]['findings'])
    assert 'No effort of joint2, joint6 is measured: all values of these joints are kept' in out
    for wrong in ('worse than a constant', 'the sign or unit', 'does not determine it'):
        assert wrong not in out
    joints = [found['joints'][k] for k in (1, 5)]
    for joint, given in zip(joints, PANDA.friction.amplitude[[1, 5]], strict=True):
        assert joint['friction']['amplitude'] == {'value': given, 'interval': None}
        assert (joint['rms_after'], joint['offset']['interval']) == (None, None)
    verdict = out[out.index('On held-out motion'):]
    assert 'joint1' in verdict
    assert not any(name in verdict for name in ('joint2', 'joint6', 'doubts above'))


def test_a_recording_in_which_no_effort_changes_is_refused(hodyn):
    recording = record(rate=RATE, duration=3.0)
    recording.effort[:] = np.arange(7.0)
    path = write('bag', {'/joint_states': messages(recording)})
    assert 'the recorded efforts never change: the driver does not measure them' in hodyn(
        'identify', path, code=2).line


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


def test_friction_that_holds_a_joint_is_no_offset_of_its_sensor(tmp_path):
    """Guards offsets of sensors that are static friction of rests, with intervals without 0."""
    given, _ = read_data([Recording(stuck(tmp_path / 'bag'))], Source(PANDA))
    found = identify(PANDA, given, ('friction', 'offsets'))
    assert found.rests_left_out
    assert np.all(np.abs(found.standing - 0.5) < 0.06)
    assert np.all(np.abs(found.offset) < 2.0 * found.offset_interval)
