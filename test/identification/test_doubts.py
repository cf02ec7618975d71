"""Joints whose efforts or positions do not fit are named, and keep what they had."""
from dataclasses import replace
from pathlib import Path
import re

from known_recordings import FRICTION, bag, lifted_arm, palletizer, scara
import numpy as np
import pytest
from recordings import PANDA, messages, motion, record, write
import yaml

from hodyn_ros.cli.identify_report import doubts, far_gains
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.doubts import DoubtfulJoints, doubtful_joints
from hodyn_ros.identification.estimate import Doubt, Estimate
from hodyn_ros.robot.files import robot_keys, save_robot


def upright(scale):
    """Write efforts in other units of an arm so slow that nothing loads its first axis."""
    return bag('bag', gain=1.0 / scale, duration=40.0, bandwidth=0.12)


def test_no_friction_is_found_by_a_gain_that_is_kept_beside_others(identified):
    """Gains of 0.5 to 2.6 are near the robot's 1, but that of the first joint is unknown."""
    found = identified(
        upright(np.array([0.4, 2.1, 2.6, 1.9, 0.9, 0.55, 1.5])), terms=['gains', 'friction'])
    robot = found.robot
    assert '! Efforts of joint1' in found.words
    assert 'joint1' in [doubt['joint'] for doubt in found['doubts']]
    assert robot.effort_gain[0] == 1.0
    assert robot.friction.amplitude[0] == PANDA.friction.amplitude[0]


def test_a_joint_whose_unit_cannot_be_told_keeps_its_friction(identified):
    """Guards a friction of 100 N m found in efforts that are in N cm, and praise for it."""
    found = identified(upright(100.0), terms=['gains', 'friction'])
    out, robot = found.words, found.robot
    assert '! Efforts of joint1' in out
    assert "×0.01 the robot's" in out
    assert '×0.01 as for the others' in out
    assert not re.search(r'better for [^;]*joint1', out)
    assert re.search('not judged for joint1[^.]*: resolve the doubts above', out)
    assert {'joint': 'joint1', 'factor': pytest.approx(0.01, rel=0.02), 'friction': None,
            'limit': None, 'recorded': None, 'resolution': None} in found['doubts']
    assert robot.effort_gain[0] == 1.0
    assert robot.effort_gain[1:6] == pytest.approx(np.full(5, 0.01), rel=0.15)
    for key in ('amplitude', 'slope', 'velocity_offset'):
        assert getattr(robot.friction, key)[0] == getattr(PANDA.friction, key)[0]
    assert np.all(robot.friction.amplitude < 2.0)


@pytest.mark.parametrize(('scale', 'unit'), [
    (100.0, 'N cm (cN if prismatic)'), (0.01, 'another unit than N m')])
def test_efforts_in_another_unit_are_refused_without_gains(
        tmp_path, hodyn, scale, unit):
    """Guards payloads of 400 kg."""
    assert f'in {unit}. Add gains to the --terms' in hodyn(
        'identify', upright(scale), '--output', 'out', code=2).line
    assert not (tmp_path / 'out').exists()


@pytest.mark.parametrize('bandwidth', [0.5, 1.0])
def test_efforts_as_large_as_their_resolution_are_in_no_other_unit(identified, bandwidth):
    """Guards friction of twice the size, and a warning of the sign or the unit."""
    robot = scara()
    save_robot(robot, 'scara.yaml')
    recording = record(rate=50.0, duration=20.0, robot=robot, prefix='', bandwidth=bandwidth)
    recording.effort[:, 3] = np.round(10.0 * recording.effort[:, 3]) / 10.0
    found = identified(
        write('bag', {'/joint_states': messages(recording)}),
        terms=['friction', 'payload', 'offsets'], options=['--robot', 'scara.yaml'])
    out = found.words
    assert 'Efforts of joint3 are hardly larger than their resolution of 0.1,' in out
    assert 'another unit' not in out
    assert 'sign' not in out.replace('significantly', '')
    assert found['joints'][3]['friction']['amplitude']['value'] == 0.2
    assert [(one['joint'], one['resolution']) for one in found['doubts']] == [
        ('joint3', pytest.approx(0.1))]


def test_friction_beyond_a_limit_of_effort_is_not_written(identified):
    keys = robot_keys('panda')
    keys['limits']['effort'] = [87.0, 87.0, 87.0, 87.0, 0.3, 12.0, 12.0]
    Path('arm.yaml').write_text(yaml.safe_dump(keys), 'utf-8')
    found = identified(bag('bag', duration=12.0), options=['--robot', 'arm.yaml'])
    doubt, = found['doubts']
    assert (doubt['joint'], doubt['limit']) == ('joint5', 0.3)
    robot = found.robot
    assert robot.friction.amplitude[4] == PANDA.friction.amplitude[4]
    assert robot.friction.amplitude[3] == pytest.approx(FRICTION.amplitude[3], rel=0.2)
    assert re.search(
        r'Friction of joint5 would be 0\.\d+ N m, beyond its limit of effort', found.words)
    assert 'not judged for joint5' in found.words


def doubted(data, found, *, held_out=0.0):
    """Return the joints in doubt, given the errors of held-out motion."""
    return doubtful_joints(PANDA, data, found, held_out * np.ones(7))


def test_efforts_that_are_beyond_a_limit_most_of_the_time_are_named():
    effort = np.zeros((10, 7))
    effort[:6, 1] = -88.0
    effort[:4, 2] = 88.0
    given = Data(np.zeros((10, 5, 7)), effort, np.arange(10))
    found = Estimate(joints={'effort_gain': np.ones(7)})
    assert doubted(given, found).overloaded == ('joint2',)
    found.joints['effort_gain'][1] = 0.9
    assert doubted(given, found).overloaded == ()
    said, = doubts(PANDA, found, DoubtfulJoints(overloaded=('joint2',)))
    assert said.startswith('Efforts of joint2 are beyond the limits of effort most of the time')


def test_positions_that_are_mostly_beyond_their_limits_are_named():
    """Guards degrees, and praise for a friction found in them."""
    q = motion(np.arange(0.0, 10.0, 0.1))
    given = Data(q, np.zeros((100, 7)), np.arange(100))
    assert doubted(given, Estimate()) == DoubtfulJoints()
    found = doubted(replace(given, q=np.degrees(q)), Estimate())
    assert {'joint2', 'joint4', 'joint6'} <= set(found.misplaced)
    said, = doubts(PANDA, Estimate(), found)
    assert said.startswith('Positions of ')
    assert 'degrees' in said
    arm = lifted_arm()
    said, = doubts(arm, Estimate(), DoubtfulJoints(misplaced=('lift',)))
    assert said.startswith('Positions of lift are beyond')
    assert 'in mm' in said
    assert 'degrees' not in said


def turned(q, angle):
    """Return a motion with an angle added to the positions of joint4."""
    q = q.copy()
    q[:, 0, 3] += angle
    return q


@pytest.mark.parametrize('turn', [0.5 * np.pi, -0.5 * np.pi])
def test_positions_are_judged_with_the_zeros_found(turn):
    q = motion(np.arange(0.0, 10.0, 0.1))
    given = Data(turned(q, turn), np.zeros((100, 7)), np.arange(100))
    zero = np.where(np.arange(7) == 3, turn, 0.0)
    assert doubted(given, Estimate(joints={'zero': -zero})) == DoubtfulJoints()
    wrong = Estimate(joints={'zero': zero})
    found = doubted(given, wrong)
    assert found.misplaced == ('joint4',)
    said, = doubts(PANDA, wrong, found)
    assert 'also with the zeros found' in said


def test_a_joint_whose_zero_is_found_is_judged(identified):
    """Guards the advice to find a zero that was found, and a joint that is not judged for it."""
    robot = palletizer()
    save_robot(robot, 'arm.yaml')
    recording = record(rate=25.0, duration=14.0, robot=robot, prefix='', effort_noise=1.0)
    recording.position[:, 2] += 0.5 * np.pi
    found = identified(
        write('bag', {'/joint_states': messages(recording)}), terms=['zeros', 'friction'],
        options=['--robot', 'arm.yaml'])
    assert found['joints'][2]['zero']['value'] == pytest.approx(-0.5 * np.pi, abs=0.01)
    assert not any(found['doubtful'].values())
    assert 'beyond their limits' not in found.words
    assert 'not judged' not in found.words
    assert re.search(r'better for [^;]*upper', found.words)


@pytest.mark.parametrize('given', [(), ('effort_gain',), ('zero',), ('effort_gain', 'zero')])
def test_no_term_is_advised_that_was_given(given):
    found = Estimate(
        joints={key: np.ones(7) for key in given},
        doubts=(Doubt('joint1', friction=100.0, limit=87.0),))
    names = ('joint2',)
    said = doubts(PANDA, found, DoubtfulJoints(names, names, names))
    assert len(said) == 4
    for sentence in said:
        advice = re.findall(r'add (gains|zeros)(?: and (zeros))? to the --terms', sentence)
        advised = {term for terms in advice for term in terms if term}
        assert not advised & {{'effort_gain': 'gains', 'zero': 'zeros'}[key] for key in given}
        assert given or advised


def test_gains_that_no_command_has_are_named():
    found = Estimate(joints={'effort_gain': np.array([1.0, -1.0, 0.01, 2.0, 0.5, 1.0, 1.0])})
    said, = far_gains(PANDA, found)
    assert 'joint2 ×-1, joint3 ×0.01. They' in said
    assert far_gains(PANDA, Estimate()) == []


def test_efforts_of_the_other_sign_are_said_to_be_unexplained():
    effort = np.sin(np.arange(100.0))[:, None] * np.ones(7)
    effort[:, 3] = np.nan  # a joint that is not heard
    given = Data(np.zeros((100, 5, 7)), effort, np.arange(100))
    errors = np.array([1.4, 0.7, 0.7, np.nan, *3 * [0.7]])
    assert doubted(given, Estimate(), held_out=errors).unexplained == ('joint1',)
    said, = doubts(PANDA, Estimate(), DoubtfulJoints(unexplained=('joint1',)))
    assert said.startswith('The file predicts the effort of joint1 worse than a constant would')
    assert doubted(given, Estimate(), held_out=0.7).unexplained == ()


def test_joints_whose_efforts_are_left_out_are_doubted_for_that_alone():
    given = Data(np.full((100, 5, 7), 100.0), 90.0 * np.sign(np.sin(np.arange(100.0)))[:, None]
                 * np.ones(7), np.arange(100))
    all_joints = PANDA.joint_names
    assert doubted(given, Estimate(), held_out=1000.0) == DoubtfulJoints(*3 * (all_joints,))
    found = Estimate(doubts=(Doubt('joint2', factor=10.0),))
    others = tuple(name for name in all_joints if name != 'joint2')
    assert doubted(given, found, held_out=1000.0) == DoubtfulJoints(all_joints, others, others)
