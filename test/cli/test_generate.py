"""``hodyn generate``: what it writes, over what, and what it says."""
import json
from pathlib import Path

import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.robot.files import robot_keys

FILES = ['CMakeLists.txt', 'package.xml', 'twolink.c', 'twolink.h']
CODE = Path('code')


def names(folder=CODE):
    return sorted(path.name for path in folder.iterdir())


def text_of(name, folder=CODE):
    return (Path(folder) / name).read_text()


@pytest.fixture
def generate(hodyn):
    """Return a function that generates the code of a robot in a folder."""
    def run(*options, robot='twolink', folder=CODE, code=0):
        return hodyn('generate', '--robot', robot, '--output', folder, *options, code=code)
    return run


def test_it_writes_four_files_and_says_what_a_call_takes(generate):
    folder = Path('deep/code')
    assert 'twolink_inverse_dynamics: 248 operations' in generate(folder=folder).out
    assert names(folder) == FILES


def test_the_options_reach_the_code(generate):
    generate('--order', '1', '--friction', '--float', '--prefix', 'Arm', '--gravity-argument',
             '--payload-argument', 'link8', robot='panda')
    for text in (
            '#define ARM_ORDER 1', 'const float q[4][ARM_JOINTS]', 'const float gravity[3]',
            'const Arm_payload *payload', 'void Arm_friction', 'void Arm_feed_forward'):
        assert text in text_of('Arm.h')
    assert '<name>arm</name>' in text_of('package.xml')


@pytest.mark.parametrize(('options', 'warns'), [
    (('--friction', '--float'), True), (('--friction',), False), (('--float',), False),
    (('--friction', '--float', '--order', '1'), False)])
def test_friction_too_steep_for_single_precision_is_warned_of(generate, options, warns):
    mapping = robot_keys('panda')
    mapping['friction']['slope'] = [10.0, 100.0, 300.0, 10.0, 101.0, 300.0, 10.0]
    mapping['friction']['amplitude'][5] = 0.0
    Path('steep.yaml').write_text(json.dumps(mapping))
    said = 'friction of joint3, joint5: with slopes above 100 s/rad, Q̈ in single precision'
    assert (said in generate(*options, robot='steep.yaml').err) == warns


def test_the_robot_is_the_one_that_is_used(generate):
    """A payload that is always there, and a joint that is locked, are folded into the code."""
    generate('--payload', 'link2', '1.0', '0.1', '0', '0')
    hd.generate_c(
        hd.load_robot('twolink').with_payload('link2', 1.0, np.array([0.1, 0, 0])), 'expected')
    assert text_of('twolink.c') == text_of('twolink.c', 'expected')
    generate('--lock', 'joint2=0.5', folder='locked')
    assert '#define TWOLINK_JOINTS 1' in text_of('twolink.h', 'locked')


def test_generated_files_are_replaced_and_no_others(generate):
    generate()
    generate('--order', '0')  # its own
    assert '#define TWOLINK_ORDER 0' in text_of('twolink.h')
    (CODE / 'CMakeLists.txt').write_text('# mine\n')
    assert 'CMakeLists.txt: exists; --force' in generate(code=2).err
    assert text_of('CMakeLists.txt') == '# mine\n'
    (CODE / 'main.c').write_text('')
    generate('--force')
    assert names() == sorted([*FILES, 'main.c'])
    assert '# mine' not in text_of('CMakeLists.txt')


def test_a_robot_file_in_the_folder_is_not_at_risk(generate):
    CODE.mkdir()
    hd.save_robot(hd.load_robot('twolink'), CODE / 'robot.yaml')
    generate(robot=CODE / 'robot.yaml', code=2)
    assert names() == ['robot.yaml']


def test_a_floating_base_is_for_c_alone_and_not_for_ros2_control(generate, hodyn):
    robot = 'aerial_manipulator'
    assert f'{robot}_inverse_dynamics: 1100 operations' in generate(
        '--order', '0', robot=robot).out
    error = hodyn.refuses('generate', '--robot', robot, '--ros2-control', 'package')
    assert f"robot '{robot}' has a floating base" in error
    assert '`hodyn generate --output` writes C' in error
    assert not Path('package').exists()


@pytest.mark.parametrize(('options', 'text'), [
    (('--actuators',), "robot 'twolink' has no actuators"),
    (('--order', '7'), 'order 7: expected 0 to 4'),
    (('--payload-argument', 'hand'), "no link 'hand'"),
    (('--prefix', '2r'), "prefix '2r'"),
])
def test_what_cannot_be_had_is_one_line(generate, options, text):
    error = generate(*options, code=2).line
    assert error.startswith('hodyn generate: ')
    assert text in error
    assert not CODE.exists()


def test_a_package_of_ros2_control_is_replaced_whole_and_never_mixed(hodyn):
    package = Path('package')
    command = ['generate', '--robot', 'twolink', '--ros2-control', package]
    assert 'a package of ros2_control' in hodyn(*command).out
    for path in package.rglob('*.*'):
        if path.is_file() and path.suffix != '.c':
            assert b'@' not in path.read_bytes().replace(b'nobody@', b''), path
    assert 'replaced the earlier result' in hodyn(*command).out
    (package / 'src' / 'mine.cpp').touch()
    assert 'mine.cpp' in hodyn.refuses(*command)
    assert '--order, --float: the controller of --ros2-control' in hodyn.refuses(
        *command, '--float', '--order', '1')


@pytest.mark.parametrize('option', ['--output', '--ros2-control'])
def test_the_code_of_another_robot_is_replaced_as_a_whole(hodyn, option, tmp_path, monkeypatch):
    def made(name, prefix, *options, code=0):
        folder = tmp_path / name
        hodyn('generate', '--robot', 'twolink', '--prefix', prefix, option, folder, *options,
              code=code)
        return sorted(str(path.relative_to(folder)) for path in folder.rglob('*'))

    arm = made('plain', 'arm')
    other = made('code', 'other')
    assert made('code', 'arm') == arm
    monkeypatch.chdir(tmp_path / 'code')  # which stays, and is emptied
    assert made('code', 'other', '--force') == other
    monkeypatch.chdir(tmp_path)
    mine = next((tmp_path / 'code').rglob('other.h')).parent / 'mine.h'
    mine.touch()
    made('code', 'arm', code=2)
    assert mine.exists()


def test_what_is_refused_replaces_nothing_and_does_not_say_so(generate):
    Path('damped.yaml').write_text(json.dumps({**robot_keys('twolink'), 'actuators': {
        joint: {'law': 'spring', 'stiffness': 1000.0, 'damping': 2.0, 'motor': {'inertia': 0.1}}
        for joint in ('joint1', 'joint2')}}))
    assert 'replaced' not in generate('--actuators', robot='damped.yaml').out
    code = text_of('twolink.c')
    said = generate('--actuators', '--float', robot='damped.yaml', code=2)
    assert said.out == ''
    assert said.err.endswith('for which float has too few digits; leave out --float\n')
    assert text_of('twolink.c') == code
    assert 'code: replaced the earlier result' in generate(
        '--order', '0', robot='damped.yaml').out.splitlines()


@pytest.mark.parametrize(('options', 'line'), [
    ((), 'not in this code: friction\n'), (('--friction',), '')])
def test_what_the_robot_has_and_the_code_has_not_is_printed(generate, options, line):
    out = generate(*options, robot='panda').out
    assert ('not in this code' in out) == bool(line)
    assert line in out
