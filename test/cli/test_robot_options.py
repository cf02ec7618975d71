"""The robot is as the options of a command want it: locked, loaded, with other limits."""
import re

from commands import write_plan
from grippers import gripper_urdf
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.cli.main import _parser
from hodyn_ros.cli.used_robot import used_robot

GRIPPER = gripper_urdf()


def info(hodyn, *arguments):
    return hodyn('info', *arguments, '--json', '-').figures


def test_the_robot_is_as_options_before_and_after_its_file_want_it(hodyn, tmp_path):
    (tmp_path / 'arm.urdf').write_text(GRIPPER)
    (tmp_path / 'moveit.yaml').write_text(
        'joint_limits:\n  arm_j1: {has_velocity_limits: true, max_velocity: 0.5, '
        'has_acceleration_limits: false, max_acceleration: 9.0}\n  finger1: {}\n')
    figures = info(
        hodyn, '--lock', 'finger1=0.02', 'arm.urdf', '--limits', 'moveit.yaml',
        '--payload', 'l2', '0.5', '--payload', 'l1', '0.25', '1', '0', '0')
    assert list(figures['joints']) == ['arm_j1']
    assert figures['mass'] == 3.75
    joint = figures['joints']['arm_j1']
    assert (joint['velocity'], joint['acceleration'], joint['effort']) == (0.5, None, 30.0)


@pytest.mark.parametrize('number', ['5.0e2', '5e2', '2e-1', '.5E3', '+.5', '+.5e-3', '7,', '2,5'])
def test_the_number_that_is_proposed_is_read(hodyn, tmp_path, number):
    write_plan(tmp_path / 'plan.json', ('joint1', 'joint2'), (0, (0, 0)), (1, (0.1, 0.1)))
    limits = tmp_path / 'limits.yaml'
    limits.write_text(f'limits:\n  joint1:\n    jerk: {number}\n')
    said = hodyn.refuses('info', 'twolink', '--limits', 'limits.yaml')
    read, written = re.search(r'YAML reads (\S+) as text: write (\S+)\)$', said).groups()
    assert read == number
    limits.write_text(f'limits: {{joint1: {{jerk: {written}}}}}')
    figures = info(hodyn, 'twolink', '--limits', 'limits.yaml')
    assert figures['joints']['joint1']['jerk'] == float(number.replace(',', '.'))


def test_a_lock_that_breaks_a_coupling_is_said(hodyn, tmp_path):
    (tmp_path / 'arm.urdf').write_text(GRIPPER)
    for locks, is_said in (
            (['finger2=0.02'], True), (['finger1=0.02'], False),
            (['finger1=0.02', 'finger2=0.02'], False)):
        said = hodyn('info', 'arm.urdf', *(f'--lock={lock}' for lock in locks)).err
        assert said.count(
            'warning: arm.urdf: finger2 follows finger1, which is not locked: their coupling is '
            'gone, and finger1 stays free; lock finger1 instead') == is_said, said


def test_a_load_is_where_the_link_is_unless_it_is_told_where(tmp_path):
    (tmp_path / 'arm.urdf').write_text(GRIPPER)

    def loaded(*words):
        options = _parser().parse_args(['info', 'arm.urdf', '--payload', 'l1', '0.25', *words])
        with used_robot(options):
            robot = hd.load_robot(options.robot)
            return robot.bodies[robot.body_index('l1')].com
    # The common centre of mass of the link, 1 kg at 0.2 m, and of the load.
    np.testing.assert_allclose(loaded(), [0.16, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(loaded('0', '0', '0'), loaded(), atol=1e-12)
    np.testing.assert_allclose(loaded('0.1', '-1', '2'), [0.18, -0.2, 0.4], atol=1e-12)


def test_the_built_in_robots_are_listed_with_their_joints_and_masses(hodyn):
    lines = hodyn('robots').out.splitlines()
    assert [line.partition(':')[0] for line in lines] == list(hd.robot_names())
    for line in lines:
        name = line.partition(':')[0]
        figures = info(hodyn, name)
        joints = list(figures['joints'])
        assert line == (
            f'{name}: {len(joints)} joints {joints[0]} … {joints[-1]}, {figures["mass"]:.2f} kg '
            'in motion')


def test_a_finger_that_follows_another_is_told_and_may_be_in_plans(hodyn, tmp_path):
    (tmp_path / 'arm.urdf').write_text(GRIPPER.replace(
        '<mimic joint="finger1"/>', '<mimic joint="finger1" multiplier="2" offset="-0.01"/>'))

    def write_finger_plan(*joints):
        n = len(joints)
        write_plan(tmp_path / 'plan.json', joints, (0.0, n * [0.0]), (2.0, n * [0.03]))

    given = 'plan.json', '--robot', 'arm.urdf'
    figures = info(hodyn, 'arm.urdf')
    assert list(figures['joints']) == ['arm_j1', 'finger1']
    assert figures['joints']['finger1']['velocity'] == 0.1
    assert figures['coupled_joints']['finger2']['mimic'] == {
        'joint': 'finger1', 'multiplier': 2.0, 'offset': -0.01}
    assert '= 2 × finger1 − 0.01' in hodyn('info', 'arm.urdf').out
    for joints in (('arm_j1', 'finger1'), ('finger2', 'finger1', 'arm_j1')):
        write_finger_plan(*joints)
        checked = hodyn('check', *given, '--json', '-', code=None).figures
        assert {entry['joint'] for entry in checked['worst']} == {'arm_j1', 'finger1'}
    write_finger_plan('arm_j1')
    assert '--lock JOINT=VALUE' in hodyn.refuses('check', *given)


@pytest.mark.parametrize('words', [
    ('--payload', 'link7', '1.0'), ('--payload', 'link7', '1', '0', '0', '-.1'),
    ('--lock', 'joint7=0.5', 'joint6=0', '--json', '-', '--payload', 'link7', '1e0')])
def test_a_built_in_robot_may_follow_numbers(hodyn, panda, words):
    if '--json' not in words:
        words = ('--json', '-', *words)
    assert hodyn('info', *words, 'panda').figures['mass'] == pytest.approx(
        1.0 + sum(body.mass for body in panda.bodies))
    assert 'required: robot' in hodyn.rejects('info', '--payload', 'link7', 'panda')


@pytest.mark.parametrize(('options', 'message'), [
    (('--lock', 'finger1'), '--lock finger1: expected JOINT=VALUE'),
    (('--lock', 'finger1=nan'), 'expected JOINT=VALUE'),
    (('--lock', 'thumb=0'), "no joint 'thumb' to lock"),
    (('--lock', 'finger1=0', '--lock', 'finger1=1'), "joint 'finger1' is already locked at 0"),
    (('--payload', 'l1', '1', '0', '0', '0', 'l2', '1', '0', '0', '0'), 'expected LINK KG'),
    (('--payload', 'l1'), 'expected LINK KG'),
    (('--payload', 'l1', '1', '2'), 'expected LINK KG'),
    (('--payload', 'l1', '1', '0,0,0.1'), '--payload l1 1 0,0,0.1: expected LINK KG, or'),
    (('--payload', 'l1', '1', '[0,0,.1]'), 'with spaces between the numbers'),
    (('--payload', 'l9', '1'), "no link 'l9'"),
    (('--payload', 'l1', '-1'), 'below 0'),
    (('--limits', 'none.yaml'), 'no file of limits'),
    (('--limits', 'wrong.yaml'), "joint 'arm_j1', key 'velocity': -1: must be above 0"),
])
def test_what_the_robot_cannot_be_is_one_line(hodyn, tmp_path, options, message):
    (tmp_path / 'arm.urdf').write_text(GRIPPER.replace('<mimic joint="finger1"/>', ''))
    (tmp_path / 'wrong.yaml').write_text('limits: {arm_j1: {velocity: -1}}')
    assert message in hodyn.refuses('info', 'arm.urdf', *options)
