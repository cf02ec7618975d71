"""Friction found from late efforts is doubted; neither a payload nor a rotor is called a lag."""
from dataclasses import replace
import json
from pathlib import Path
import re

import known_recordings
import numpy as np
import pytest
from recording_mistakes import stalled
from recordings import messages, motion, record, write
from scipy.signal import lfilter

from hodyn_ros import load_robot, save_robot
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.payload import Payload

ROBOT = load_robot('twolink')
FRICTION = SigmoidFriction(np.array([2.0, 1.0]), np.full(2, 20.0), np.zeros(2))
LOAD = Payload(1.5, np.array([0.1, 0.05, 0.0]), np.zeros((3, 3)))


def bag(path, *, late=0.0, load=None, seed=1, arm=None, stalls=()):
    """Write a recording of an arm with friction, whose efforts are of earlier motion."""
    recording = record(rate=100.0, duration=20.0, robot=ROBOT, prefix='', seed=seed)
    if arm is None:
        arm = replace(ROBOT if load is None else load.fixed_to(ROBOT), friction=FRICTION)
    recording.effort += FeedForward(arm).torque(
        motion(recording.stamp * 1e-9 - 100.0 - late, ROBOT))[:, 0] - recording.torque[:, 0]
    stalled(*stalls, pause=0.04)(recording)
    return write(path, {'/joint_states': messages(recording)})


@pytest.fixture
def replayed(hodyn):
    """Return a function that replays a late recording, and returns what was found."""
    def run(path, robot, late):
        hodyn('replay', path, '--robot', robot, '--no-report', '--output', 'replay')
        found = json.loads(Path('replay/summary.json').read_text())
        assert abs(found['lag']['seconds'] - late) < 3.0 * found['lag']['deviation'] + 2e-4
        return found
    return run


@pytest.mark.parametrize('late', [0.0, 0.02, -0.05, 0.1, 0.2])
def test_the_interval_of_a_lag_of_any_size_has_the_truth(replayed, late):
    found = replayed(bag('bag', late=late), 'twolink', late)
    said = [one for one in found['warnings'] if 'efforts run' in one]
    assert len(said) == (late != 0.0)
    assert not any('efforts run' in one for one in found['statements'] if one not in said)
    for one in said:
        way, size, width = re.search(
            r'run (\w+).* by ([\d.]+) ± ([\d.]+) ms .*: shift the efforts', one).groups()
        assert way == ('behind' if late > 0.0 else 'ahead')
        assert float(size) == pytest.approx(1e3 * abs(late), abs=2.0 * float(width))


@pytest.mark.parametrize('stalls', [[700], [450, 1500]])
@pytest.mark.parametrize('late', [0.0, 0.02])
def test_a_driver_that_stalls_causes_no_lag_and_hides_none(identified, replayed, stalls, late):
    """One stall of 22 ms in 15 s was called a lag of 20.313 ± 0.009 ms."""
    path = bag('bag', late=late, stalls=stalls)
    said = ' '.join(replayed(path, 'twolink', late)['warnings'])
    found = identified(path, terms=['friction'], options=['--robot', 'twolink'])
    assert said.count('efforts run') == found.words.count('Recorded efforts run') == bool(late)
    assert f'The stamps jumped {"once" if len(stalls) == 1 else "2 times"} by' in said
    assert 'Beyond' not in said
    assert 'leap' not in said


@pytest.mark.parametrize('late', [0.0, 0.05])
def test_friction_found_from_late_efforts_is_not_recommended(identified, late):
    found = identified(
        bag('bag', late=late), terms=['friction', 'offsets'], options=['--robot', 'twolink'])
    is_late = late > 0.0
    assert bool(re.search(
        r'! \S+: Recorded efforts run behind .*not to be trusted.*shift the efforts by the '
        'lag', found.words)) == is_late
    assert ('resolve the doubts above before using it' in found.words) == is_late
    assert 'The arm stands still' not in found.words
    assert len(found['recordings'][0]['findings']) == is_late


def test_late_efforts_of_an_arm_with_a_payload_are_doubted(identified):
    loaded, unloaded = bag('loaded', load=LOAD, late=0.05), bag('unloaded', seed=2)
    out = identified(loaded, terms=['payload', 'friction'], options=[
        '--unloaded', unloaded, '--robot', 'twolink']).words
    assert out.count('Recorded efforts run') == 1
    assert f'! {loaded}: Recorded efforts run behind' in out


def test_a_payload_that_is_found_passes_for_no_lag(identified):
    """Guards a lag of 14 ± 10 ms of efforts that have none."""
    path = known_recordings.bag(
        'bag', payload=replace(known_recordings.PAYLOAD, mass=0.4), duration=20.0, bandwidth=0.3)
    out = identified(path, terms=['payload']).words
    assert 'Payload 0.' in out
    assert 'Recorded efforts run' not in out


@pytest.mark.parametrize(('late', 'mass'), [(0.0, 0.6), (0.0, 1.5), (0.02, 0.6), (0.02, 1.5)])
def test_links_that_are_found_pass_for_no_lag_and_hide_none(identified, late, mass):
    """Guards lags of up to 30 ms more or less, with the links of the given file."""
    given = replace(ROBOT, bodies=(
        replace(ROBOT.bodies[0], mass=mass * ROBOT.bodies[0].mass), *ROBOT.bodies[1:-1],
        replace(ROBOT.bodies[-1], mass=ROBOT.bodies[-1].mass / mass)))
    save_robot(given, 'given.yaml')
    found = identified(
        bag('bag', late=late), terms=['links', 'friction'], options=['--robot', 'given.yaml'])
    said = re.findall(r'run behind the prediction by ([\d.]+) ± ([\d.]+) ms', found.words)
    assert len(said) == (late > 0.0)
    for size, width in said:
        assert abs(float(size) - 1e3 * late) < float(width) + 1.5


@pytest.mark.parametrize('late', [0.0, 0.03])
@pytest.mark.parametrize('share', [0.0, 2.0])
def test_a_wrong_rotor_is_not_called_a_lag_and_hides_none(identified, replayed, share, late):
    """Viscous friction lets it look like one: 36 ± 7 ms for 0 with rotors twice the file's."""
    rotors = np.array([1.5, 0.5])
    arm = replace(
        ROBOT, friction=replace(FRICTION, viscous=np.array([6.0, 3.0])), rotor_inertia=rotors)
    save_robot(arm, 'arm.yaml')
    path = bag('bag', late=late, arm=replace(arm, rotor_inertia=share * rotors))
    is_said = bool(late)
    said = [one for one in replayed(path, 'arm.yaml', late)['warnings'] if 'efforts run' in one]
    found = identified(path, terms=['rotor'], options=['--robot', 'arm.yaml'])
    assert len(said) == found.words.count('Recorded efforts run') == is_said
    rotor = [joint['value'] for joint in found.column('rotor_inertia')]
    assert late or rotor == pytest.approx(share * rotors, abs=0.02)


def poses(path, seed):
    """Write a recording of five poses, with friction that holds the arm; moves are left out."""
    whole, rng = record(rate=100.0, duration=25.0, robot=ROBOT, prefix=''), np.random.default_rng(
        seed)
    pose = np.arange(len(whole.q)) // 500
    drift = 2e-6 * np.sin(0.3 * whole.stamp * 1e-9)[:, None]
    q = whole.q[500 * pose, 0] + drift
    torque = FeedForward(ROBOT).torque(np.stack([q, *[0.0 * q] * 4], axis=1))[:, 0]
    noise = lfilter([1.0], [1.0, -0.7], 0.05 * rng.standard_normal(q.shape), axis=0)
    whole = replace(
        whole, position=q + 1e-6 * rng.standard_normal(q.shape),
        velocity=1e-5 * rng.standard_normal(q.shape),
        effort=torque + rng.normal(0.0, 0.5, (5, 2))[pose] + noise)
    return write(path, {'/joint_states': messages(whole[np.arange(len(q)) % 500 > 200])})


@pytest.mark.parametrize('seed', range(3))
def test_of_an_arm_that_stands_no_lag_is_said_but_that_it_stands(hodyn, identified, seed):
    """Efforts in six poses ran 'behind the prediction by at least 240 ms'."""
    path = poses('bag', seed)
    said = ' '.join(hodyn(
        'replay', path, '--robot', 'twolink', '--no-report', '--output', 'replay').out.split())
    found = identified(path, terms=['links'], options=['--robot', 'twolink'])
    for words in (said, found.words):
        assert 'efforts run' not in words
        assert words.count('The arm stands still: this recording shows nothing of') == 1
