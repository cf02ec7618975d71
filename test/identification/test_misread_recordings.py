"""Of a recording that is not what it is taken for nothing is identified, and the cause is said."""
from dataclasses import replace
import json

from known_recordings import RATE
import numpy as np
import pytest
from recording_mistakes import offset, scaled, shifted
from recordings import PANDA, messages, record, write
from spoiled_recordings import MISREAD, Spoiled, of

from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.replay_bag import replay
from hodyn_ros.replay.statements import facts, warnings
from hodyn_ros.robot.files import save_robot

ROWS = {row.name: row for row in MISREAD}


def replayed(path, folder):
    """Return what `replay` finds in a bag."""
    with open_recording(path, PANDA) as source:
        return replay(source, FeedForward(PANDA), folder)


@pytest.mark.parametrize('name', ROWS)
def test_of_a_misread_recording_what_replay_says_is_said_first(tmp_path, hodyn, name):
    row = ROWS[name]
    path, _ = row.written(tmp_path)
    found = replayed(path, tmp_path / 'replay')
    sentences = found.diagnosis.sentences
    assert row.said[0] in sentences[0]
    assert row.said[0] in warnings(found)[0]
    output = tmp_path / 'out'
    written = hodyn('identify', path, '--output', output, code=row.code)
    begin, _, out = written.words.partition(' ! ')
    assert begin == f'{path}, for robot panda (the default; --robot for another)'
    assert out.startswith(' '.join(f'{path}: {sentences[0]}'.split()))
    if row.code == 0:
        summary = json.loads((output / 'identification.json').read_text())
        assert summary['recordings'][0]['findings'] == sentences
    else:
        assert not any('driver reports efforts' in fact for fact in facts(found))
        assert 'RMS' not in out
        assert not output.exists()
        assert written.line == (
            'hodyn identify: the recordings do not fit the model, see above: nothing is '
            'identified, and nothing written. Correct the cause, or add to --terms the term that '
            'finds it: gains (signs and units of efforts), zeros, links (a model that does not '
            'fit)')


def test_a_load_on_another_link_is_suspected_where_no_payload_is_found(tmp_path, capsys):
    """The doubt went unsaid, since a payload was among the terms."""
    carrying = PANDA.with_payload('link3', 6.0, [0.05, 0.0, 0.1])
    _, said = Spoiled(
        'on link 3', made=of(12.0, robot=carrying, bandwidth=0.6),
        options=('--terms', 'payload', 'friction', 'offsets')).printed(
            'identify', tmp_path, capsys)
    assert 'No payload found on link7 (the last body)' in said
    assert 'and no payload on link7 explains it. Does another link carry a load?' in said
    assert 'seem to be off' not in said  # zeros that are right
    assert 'resolve the doubts above' in said
    summary = json.loads((tmp_path / 'out/identification.json').read_text())
    assert any('Does another link' in one for one in summary['recordings'][0]['findings'])


def test_a_load_in_the_other_hand_is_named_and_the_fit_goes_on(tmp_path, capsys):
    """It went unsaid or passed for a zero; then the recording was refused."""
    def rubbing(recording):
        recording.effort += 0.5 * np.tanh(recording.velocity / 0.02)
    tree = replace(PANDA, bodies=tuple(
        replace(body, parent=0) if i == 4 else body for i, body in enumerate(PANDA.bodies)))
    carrying = tree.with_payload('link4', 3.0, [0.05, 0.0, 0.1])
    code, said = Spoiled(
        'in the other hand', rubbing, made=of(12.0, robot=carrying, bandwidth=0.6), robot=tree,
        options=('--terms', 'payload', 'friction', 'offsets')).printed(
            'identify', tmp_path, capsys)
    assert code == 0
    assert 'would be left if link4 carries 3 kg that the model lacks. Give this load by ' in said
    assert 'by `--payload link4 3 ' in said
    assert 'in a copy of the robot file that lists the bodies of this arm last' in said
    assert 'to the --terms.' not in said  # a term that the load passes for
    assert 'resolve the doubts above' in said


@pytest.mark.slow
def test_the_one_recording_with_a_load_on_another_link_is_named(hodyn):
    """Its errors were hidden by those of the recordings without a load."""
    carrying = PANDA.with_payload('link3', 6.0, [0.05, 0.0, 0.1])
    paths = []
    for number in range(6):
        recording = record(
            RATE, 12.0, robot=carrying if number == 4 else PANDA, prefix='fer_', bandwidth=0.6,
            seed=number)
        paths.append(write(f'bag{number}', {'/joint_states': messages(recording)}))
    said = hodyn(
        'identify', *paths, '--terms', 'payload', 'friction', 'offsets', '--output', 'out').words
    assert '! bag4: The efforts contain' in said
    assert said.count('Does another link carry a load?') == 1


def picked_up(recording):
    """Pick a load up after half of the recording."""
    load = FeedForward(PANDA.with_payload('link3', 6.0, [0.05, 0.0, 0.1])).torque(
        recording.q)[:, 0] - FeedForward(PANDA).torque(recording.q)[:, 0]
    load[:len(load) // 2] = 0.0
    recording.effort += load


@pytest.mark.parametrize(('change', 'cause'), [
    (picked_up, 'Was a load picked up or put down?'),
    (scaled(1, effort=1.35), "times the model's torques, unlike those of other joints")])
def test_where_another_cause_is_named_no_load_on_another_link_is_suspected(
        tmp_path, capsys, change, cause):
    _, said = Spoiled('named', change, made=of(20.0, bandwidth=0.6), options=(
        '--terms', 'payload', 'friction', 'offsets')).printed('identify', tmp_path, capsys)
    assert cause in said
    assert 'another link' not in said


def test_of_offsets_that_are_found_no_load_is_suspected(tmp_path, capsys):
    """Offsets may look like gravity, as long as they are not found."""
    _, said = Spoiled('offsets', offset(0.0, -3.1, 0.0, 2.54, 0.0, 0.0, 0.0), options=(
        '--terms', 'payload', 'friction', 'offsets')).printed('identify', tmp_path, capsys)
    assert 'No payload found on link7 (the last body)' in said
    assert 'another link' not in said
    assert 'resolve the doubts' not in said


def test_a_misread_recording_replaces_no_earlier_file(tmp_path, capsys):
    earlier = tmp_path / 'out/panda_identified.yaml'
    earlier.parent.mkdir()
    save_robot(PANDA, earlier)
    before = earlier.read_bytes()
    code, said = ROWS['swapped names'].printed('identify', tmp_path, capsys, '--force')
    assert code == 2
    assert 'nothing written' in said
    assert earlier.read_bytes() == before
    assert list(earlier.parent.iterdir()) == [earlier]


def test_a_zero_off_by_a_small_angle_is_pointed_to_and_found(tmp_path, capsys):
    row = Spoiled('zero', shifted(joint2=0.3))
    for number, (command, *terms) in enumerate((
            ('replay', '--no-report'), ('identify',),
            ('identify', '--terms', 'zeros', 'friction'))):
        code, said = row.printed(command, tmp_path / str(number), capsys, *terms)
        assert code == 0
        is_said = 'The zero of fer_joint2 seems to be off: with -0.3 rad added to its pos' in said
        assert is_said == ('zeros' not in terms)
        assert 'Zeros of fer_joint2 seem' not in said  # once is enough
    summary = json.loads((tmp_path / '2/out/identification.json').read_text())
    assert summary['joints'][1]['zero']['value'] == pytest.approx(-0.3, abs=0.01)


@pytest.mark.parametrize('terms', ['links friction offsets', 'friction offsets'])
def test_what_fits_in_no_way_is_fitted_where_links_are(tmp_path, capsys, terms):
    code, said = ROWS['of no arm'].printed(
        'identify', tmp_path, capsys, '--terms', *terms.split())
    assert code == (0 if 'links' in terms else 2)
    assert 'None of these, up to four at once, explains it' in said


@pytest.mark.parametrize(('most', 'said'), [
    ([np.inf, 20.0, *5 * [np.inf]], 'Efforts of fer_joint2 are cut at -20 N m ('),
    ([*3 * [np.inf], 12.0, *3 * [np.inf]], 'Efforts of fer_joint4 are cut at 12 N m ('),
    (7 * [np.inf], '')])
def test_efforts_that_are_cut_are_named_and_left_out(tmp_path, capsys, most, said):
    """Guards a wrong unit, a wrong sign and friction that are found in them."""
    def cut(recording):
        recording.effort = np.clip(recording.effort, -np.array(most), most)
    row = Spoiled('cut', cut, made=of(20.0, bandwidth=0.5))
    path, _ = row.written(tmp_path / 'bag')
    found = replayed(path, tmp_path / 'replay')
    assert np.nanmax([joint.rms_error for joint in found.joints]) < 0.08
    for command, *options in (
            ('replay', '--no-report'), ('identify', '--terms', 'friction', 'offsets')):
        code, out = row.printed(command, tmp_path / command, capsys, *options)
        assert code == 0
        assert said in out
        assert ('are cut at' in out) == bool(said)
        assert out.count('! ') == bool(said), out
    summary = json.loads((tmp_path / 'identify/out/identification.json').read_text())
    assert [said in one for one in summary['recordings'][0]['findings']] == [True] * bool(said)
    assert [one['offset']['value'] for one in summary['joints']] == pytest.approx(
        np.zeros(7), abs=0.1)


@pytest.mark.parametrize('command', ['identify', 'replay'])
def test_a_given_load_is_suspected_if_the_efforts_lack_gravity(tmp_path, capsys, command):
    """`identify` blamed masses, zeros and the direction of gravity instead."""
    _, said = Spoiled(
        'no load', made=of(12.0, bandwidth=0.6),
        options=('--payload', 'link7', '6', '0', '0', '0.1'),
    ).printed(command, tmp_path, capsys)
    assert 'The given load, --payload link7 6 0 0 0.1, is the first suspect: leave' in said
