"""``hodyn generate``: what it writes, over what, and what it says."""
import json

import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.cli.main import main
from hodyn_ros.robot.files import robot_keys

FILES = ['CMakeLists.txt', 'package.xml', 'twolink.c', 'twolink.h']


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def generate(folder, *options, robot='twolink'):
    return main(['generate', '--robot', str(robot), '--output', str(folder), *options])


def test_it_writes_four_files_and_says_what_a_call_takes(tmp_path, capsys):
    folder = tmp_path / 'deep' / 'code'
    assert generate(folder) == 0
    assert names(folder) == FILES
    assert 'twolink_inverse_dynamics: 248 operations' in capsys.readouterr().out


def test_the_options_reach_the_code(tmp_path):
    assert generate(
        tmp_path / 'a', '--order', '1', '--friction', '--float', '--prefix', 'Arm',
        '--gravity-argument', '--payload-argument', 'link8', robot='panda') == 0
    header = (tmp_path / 'a' / 'Arm.h').read_text()
    for text in (
            '#define ARM_ORDER 1', 'const float q[4][ARM_JOINTS]', 'const float gravity[3]',
            'const Arm_payload *payload', 'void Arm_friction', 'void Arm_feed_forward'):
        assert text in header
    assert '<name>arm</name>' in (tmp_path / 'a' / 'package.xml').read_text()


@pytest.mark.parametrize(('options', 'warns'), [
    (('--friction', '--float'), True), (('--friction',), False), (('--float',), False),
    (('--friction', '--float', '--order', '1'), False)])
def test_friction_too_steep_for_single_precision_is_warned_of(tmp_path, capsys, options, warns):
    mapping = robot_keys('panda')
    mapping['friction']['slope'] = [10.0, 100.0, 300.0, 10.0, 101.0, 300.0, 10.0]
    mapping['friction']['amplitude'][5] = 0.0
    robot = tmp_path / 'steep.yaml'
    robot.write_text(json.dumps(mapping))
    assert generate(tmp_path / 'code', *options, robot=robot) == 0
    said = 'friction of joint3, joint5: with slopes above 100 s/rad, Q̈ in single precision'
    assert (said in capsys.readouterr().err) == warns


def test_the_robot_is_the_one_that_is_used(tmp_path):
    """A payload that is always there, and a joint that is locked, are folded into the code."""
    assert generate(tmp_path / 'a', '--payload', 'link2', '1.0', '0.1', '0', '0') == 0
    hd.generate_c(
        hd.load_robot('twolink').with_payload('link2', 1.0, np.array([0.1, 0, 0])), tmp_path / 'b')
    assert (tmp_path / 'a' / 'twolink.c').read_text() == (tmp_path / 'b' / 'twolink.c').read_text()
    assert generate(tmp_path / 'c', '--lock', 'joint2=0.5') == 0
    assert '#define TWOLINK_JOINTS 1' in (tmp_path / 'c' / 'twolink.h').read_text()


def test_generated_files_are_replaced_and_no_others(tmp_path, capsys):
    folder = tmp_path / 'code'
    assert generate(folder) == 0
    assert generate(folder, '--order', '0') == 0  # its own
    assert '#define TWOLINK_ORDER 0' in (folder / 'twolink.h').read_text()
    (folder / 'CMakeLists.txt').write_text('# mine\n')
    assert generate(folder) == 2
    assert (folder / 'CMakeLists.txt').read_text() == '# mine\n'
    assert 'CMakeLists.txt: exists; --force' in capsys.readouterr().err
    (folder / 'main.c').write_text('')
    assert generate(folder, '--force') == 0
    assert names(folder) == sorted([*FILES, 'main.c'])
    assert '# mine' not in (folder / 'CMakeLists.txt').read_text()


def test_a_robot_file_in_the_folder_is_not_at_risk(tmp_path):
    (tmp_path / 'code').mkdir()
    hd.save_robot(hd.load_robot('twolink'), tmp_path / 'code' / 'robot.yaml')
    assert generate(tmp_path / 'code', robot=tmp_path / 'code' / 'robot.yaml') == 2
    assert names(tmp_path / 'code') == ['robot.yaml']


def test_a_floating_base_is_for_c_alone_and_not_for_ros2_control(tmp_path, capsys):
    assert generate(tmp_path / 'code', '--order', '0', robot='aerial_manipulator') == 0
    assert 'aerial_manipulator_inverse_dynamics: 1100 operations' in capsys.readouterr().out
    command = ['generate', '--robot', 'aerial_manipulator', '--ros2-control', str(tmp_path / 'p')]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "robot 'aerial_manipulator' has a floating base" in error
    assert '`hodyn generate --output` writes C' in error
    assert error.count('\n') == 1
    assert not (tmp_path / 'p').exists()


@pytest.mark.parametrize(('options', 'text'), [
    (('--actuators',), "robot 'twolink' has no actuators"),
    (('--order', '7'), 'order 7: expected 0 to 4'),
    (('--payload-argument', 'hand'), "no link 'hand'"),
    (('--prefix', '2r'), "prefix '2r'"),
])
def test_what_cannot_be_had_is_one_line(options, text, tmp_path, capsys):
    assert generate(tmp_path / 'code', *options) == 2
    error = capsys.readouterr().err
    assert error.startswith('hodyn generate: ')
    assert text in error
    assert error.count('\n') == 1
    assert not (tmp_path / 'code').exists()


def test_a_package_of_ros2_control_is_written_whole_and_replaced_but_never_mixed(
        tmp_path, capsys):
    package = tmp_path / 'package'
    command = ['generate', '--robot', 'twolink', '--ros2-control', str(package)]
    assert main(command) == 0
    assert 'a package of ros2_control' in capsys.readouterr().out
    written = {path.relative_to(package): path.read_bytes() for path in package.rglob('*.*')
               if path.is_file()}
    assert not [path for path, text in written.items() if b'@' in text.replace(b'nobody@', b'')
                and path.suffix != '.c']
    assert main(command) == 0
    assert 'replaced the earlier result' in capsys.readouterr().out
    (package / 'src' / 'mine.cpp').touch()
    assert main(command) == 2
    assert 'mine.cpp' in capsys.readouterr().err
    assert main([*command, '--float', '--order', '1']) == 2
    assert '--order, --float: the controller of --ros2-control' in capsys.readouterr().err


@pytest.mark.parametrize('option', ['--output', '--ros2-control'])
def test_the_code_of_another_robot_is_replaced_as_a_whole(option, tmp_path, monkeypatch):
    def made(name, prefix, *options):
        code = main([
            'generate', '--robot', 'twolink', '--prefix', prefix, option, str(tmp_path / name),
            *options])
        return code, sorted(
            str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob('*'))

    code, arm = made('plain', 'arm')
    assert code == 0
    _, other = made('code', 'other')
    assert made('code', 'arm') == (0, arm)
    monkeypatch.chdir(tmp_path / 'code')  # which stays, and is emptied
    assert made('code', 'other', '--force') == (0, other)
    monkeypatch.chdir(tmp_path)
    mine = next((tmp_path / 'code').rglob('other.h')).parent / 'mine.h'
    mine.touch()
    code, _ = made('code', 'arm')
    assert code == 2
    assert mine.exists()


def test_what_is_refused_replaces_nothing_and_does_not_say_so(tmp_path, capsys):
    robot = {**robot_keys('twolink'), 'actuators': {
        joint: {'law': 'spring', 'stiffness': 1000.0, 'damping': 2.0, 'motor': {'inertia': 0.1}}
        for joint in ('joint1', 'joint2')}}
    file, folder = tmp_path / 'damped.yaml', tmp_path / 'code'
    file.write_text(json.dumps(robot))
    assert generate(folder, '--actuators', robot=file) == 0
    assert 'replaced' not in capsys.readouterr().out
    code = (folder / 'twolink.c').read_text()
    assert generate(folder, '--actuators', '--float', robot=file) == 2
    printed = capsys.readouterr()
    assert printed.out == ''
    assert printed.err.endswith('for which float has too few digits; leave out --float\n')
    assert (folder / 'twolink.c').read_text() == code
    assert generate(folder, '--order', '0', robot=file) == 0
    assert f'{folder}: replaced the earlier result' in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(('options', 'line'), [
    ((), 'not in this code: friction\n'), (('--friction',), '')])
def test_what_the_robot_has_and_the_code_has_not_is_printed(tmp_path, capsys, options, line):
    generate(tmp_path / 'a', *options, robot='panda')
    out = capsys.readouterr().out
    assert ('not in this code' in out) == bool(line)
    assert line in out
