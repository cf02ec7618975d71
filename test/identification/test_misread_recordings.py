"""Of a recording that is not what it is taken for nothing is identified, and the cause is said."""
import json

from known_recordings import RATE, scara
import numpy as np
import pytest
from recordings import PANDA, messages, record, write

from hodyn_ros.cli import main
from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.replay_bag import replay
from hodyn_ros.robot.files import save_robot


def swapped(recording):
    recording.names[1], recording.names[3] = recording.names[3], recording.names[1]


def in_degrees(recording):
    recording.position, recording.velocity = (
        np.degrees(values) for values in (recording.position, recording.velocity))


def flipped(recording):
    recording.effort[:, 1] *= -1.0


def on_a_wall(recording):
    turn = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]])
    mounted = FeedForward(PANDA.with_base_pose(turn))
    recording.effort += mounted.torque(recording.q)[:, 0] - FeedForward(PANDA).torque(
        recording.q)[:, 0]


def slow_velocities(recording):
    recording.velocity[:, 2] *= -1.0


def of_no_arm(recording):
    recording.effort = np.cumsum(
        np.random.default_rng(3).standard_normal(recording.effort.shape), axis=0)


def misread(path, change=lambda recording: None):
    """Write a recording in which something is not what it is taken for."""
    recording = record(rate=RATE, duration=12.0, bandwidth=0.6)
    change(recording)
    return write(path, {'/joint_states': messages(recording)})


@pytest.mark.parametrize(('change', 'said'), [
    (swapped, 'the joints fer_joint2 and fer_joint4 are swapped'),
    (in_degrees, 'positions and velocities are in degrees'),
    (flipped, 'fer_joint2 has efforts of the opposite sign'),
    (on_a_wall,
     'left if the base is mounted so that gravity points along +x of its axes. Give the base_pose '
     'in the robot file, or write gravity: [9.807, 0, 0] there.'),
    (slow_velocities, 'those of fer_joint3 have the opposite sign'),
    (of_no_arm, 'None of these explains it'),
])
def test_of_a_misread_recording_what_replay_says_is_said_first(tmp_path, capsys, change, said):
    path = misread(tmp_path / 'bag', change)
    with open_recording(path, PANDA) as source:
        sentences = replay(source, FeedForward(PANDA), tmp_path / 'replay').diagnosis.sentences
    assert said in sentences[0]
    output = tmp_path / 'out'
    is_used = change is slow_velocities  # the motion is that of the positions
    assert main(['identify', str(path), '--output', str(output)]) == (0 if is_used else 2)
    written = capsys.readouterr()
    begin, _, out = ' '.join(written.out.split()).partition(' ! ')
    assert begin == f'{path}, for robot panda (the default; --robot for another)'
    assert out.startswith(' '.join(f'{path}: {sentences[0]}'.split()))
    if is_used:
        summary = json.loads((output / 'identification.json').read_text())
        assert summary['recordings'][0]['findings'] == sentences
    else:
        assert 'RMS' not in out
        assert not output.exists()
        (line,) = written.err.strip().splitlines()
        assert line.startswith(
            'hodyn identify: the recordings do not fit the model, see above: nothing is '
            'identified, and nothing written. Correct the cause, or add the term that finds it to '
            'the --terms: ')


def test_a_misread_recording_replaces_no_earlier_file(tmp_path, capsys):
    bad, earlier = misread(tmp_path / 'bad', swapped), tmp_path / 'out/panda_identified.yaml'
    earlier.parent.mkdir()
    save_robot(PANDA, earlier)
    before = earlier.read_bytes()
    assert main(['identify', str(bad), '--output', str(tmp_path / 'out'), '--force']) == 2
    assert 'nothing written' in capsys.readouterr().err
    assert earlier.read_bytes() == before
    assert list(earlier.parent.iterdir()) == [earlier]


def test_a_zero_off_by_a_small_angle_is_pointed_to_and_found(tmp_path, capsys):
    def off(recording):
        recording.position[:, 1] += 0.3

    path = misread(tmp_path / 'bag', off)
    for number, command in enumerate((
            ['replay', '--no-report'], ['identify'],
            ['identify', '--terms', 'zeros', 'friction'])):
        output = tmp_path / str(number)
        assert main([command[0], str(path), *command[1:], '--output', str(output)]) == 0
        said = 'The zero of fer_joint2 seems to be off: with -0.3 rad added to its positions'
        is_said = said in ' '.join(capsys.readouterr().out.split())
        assert is_said == ('zeros' not in command)
    zero = json.loads((output / 'identification.json').read_text())['joints'][1]['zero']
    assert zero['value'] == pytest.approx(-0.3, abs=0.01)


@pytest.mark.parametrize('terms', ['links friction offsets', 'friction offsets'])
def test_what_fits_in_no_way_is_fitted_where_links_are(tmp_path, capsys, terms):
    path = misread(tmp_path / 'bag', of_no_arm)
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
    assert 'the unit of the recorded efforts' not in said.err


@pytest.mark.parametrize(('change', 'terms', 'is_said'), [
    (flipped, ('gains', 'friction'), False), (in_degrees, ('gains', 'zeros'), True)])
def test_what_the_terms_find_is_no_misreading(tmp_path, capsys, change, terms, is_said):
    path = misread(tmp_path / 'bag', change)
    code = main([
        'identify', str(path), '--terms', *terms, '--output', str(tmp_path / 'out')])
    assert code == (2 if is_said else 0)
    assert ('does not fit the model' in ' '.join(capsys.readouterr().out.split())) == is_said


@pytest.mark.parametrize(('turned', 'terms', 'code'), [
    (True, ['friction', 'offsets'], 2), (True, ['links', 'payload'], 2),
    (True, ['gains', 'zeros'], 2), (False, ['friction', 'offsets'], 0)])
def test_an_arm_that_hangs_passes_for_none_without_gravity(
    tmp_path, capsys, turned, terms, code,
):
    """Though a constant weight resembles an offset of the sensor."""
    robot = scara()
    save_robot(robot, tmp_path / 'scara.yaml')
    hung = robot.with_base_pose(np.diag([1.0, -1.0, -1.0, 1.0])) if turned else robot
    path = write(tmp_path / 'bag', {'/joint_states': messages(
        record(rate=RATE, duration=20.0, robot=hung, prefix=''))})
    given = [str(path), '--robot', str(tmp_path / 'scara.yaml')]
    said = ('gravity has the opposite sign; they are compared with torques of the model that '
            'contain gravity')
    assert main(['replay', *given, '--no-report', '--output', str(tmp_path / 'replayed')]) == 0
    assert (said in ' '.join(capsys.readouterr().out.split())) == turned
    assert main([
        'identify', *given, '--terms', *terms, '--output', str(tmp_path / 'out')]) == code
    out = ' '.join(capsys.readouterr().out.split())
    assert (said in out) == (code == 2)
    assert 'without gravity' not in out


@pytest.mark.parametrize(('terms', 'is_said'), [
    (['friction'], True), (['friction', 'payload'], False), (['links', 'friction'], False),
    (['gains'], False)])
def test_a_load_that_the_model_lacks_is_named_unless_a_term_finds_it(
    tmp_path, capsys, terms, is_said,
):
    loaded = PANDA.with_payload('link7', 1.3, [0.02, -0.01, 0.1])
    recording = record(rate=RATE, duration=12.0, bandwidth=0.3, robot=loaded)
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    output = tmp_path / 'out'
    assert main(['identify', str(path), '--terms', *terms, '--output', str(output)]) == 0
    out = ' '.join(capsys.readouterr().out.split())
    said = 'The arm may carry a load that the model lacks'
    assert (said in out) == is_said
    assert ('resolve the doubts above' in out) == is_said
    summary = json.loads((output / 'identification.json').read_text())
    assert [said in one for one in summary['recordings'][0]['findings']] == [True] * is_said


@pytest.mark.parametrize(('most', 'said'), [
    ([np.inf, 20.0, *5 * [np.inf]], 'Efforts of fer_joint2 are cut at -20 N m ('),
    ([*3 * [np.inf], 12.0, *3 * [np.inf]], 'Efforts of fer_joint4 are cut at 12 N m ('),
    (7 * [np.inf], '')])
def test_efforts_that_are_cut_are_named_and_left_out(tmp_path, capsys, most, said):
    """Guards a wrong unit, a wrong sign and friction that are found in them."""
    recording = record(rate=RATE, duration=20.0, bandwidth=0.5)
    recording.effort = np.clip(recording.effort, -np.array(most), most)
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    with open_recording(path, PANDA) as source:
        found = replay(source, FeedForward(PANDA), tmp_path / 'replay')
    assert np.nanmax([joint.rms_error for joint in found.joints]) < 0.08
    for command in (['replay', '--no-report'], ['identify', '--terms', 'friction', 'offsets']):
        output = tmp_path / command[0]
        assert main([
            command[0], str(path), *command[1:], '--output', str(output), '--force']) == 0
        out = ' '.join(capsys.readouterr().out.split())
        assert said in out
        assert ('are cut at' in out) == bool(said)
        assert out.count('! ') == bool(said), out
    summary = json.loads((output / 'identification.json').read_text())
    assert [said in one for one in summary['recordings'][0]['findings']] == [True] * bool(said)
    assert [one['offset']['value'] for one in summary['joints']] == pytest.approx(
        np.zeros(7), abs=0.1)
