"""The command line: options that have no effect are refused, faults are one line."""
import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import yaml

import hodyn_ros as hd
from hodyn_ros.cli import main, robots
from hodyn_ros.cli.main import _parser
from hodyn_ros.cli.used_robot import used_robot
from hodyn_ros.robot.files import robot_keys
from hodyn_ros.simulation.examples import with_example_actuators


def refusal(capsys, *arguments):
    """Return the one line with which a command refuses."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    lines = captured.err.strip().splitlines()  # a progress bar leaves an empty one
    assert len(lines) == 1
    return lines[0]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize('option', [
    ('--bandwidth', '50'), ('--speed', '0.5'), ('--robustness',),
])
def test_options_of_the_comparison_are_refused_without_it(capsys, option):
    assert f'{option[0]} goes with --compare' in refusal(capsys, 'demo', *option)


@pytest.mark.parametrize(('options', 'message'), [
    (('--actuator', 'rigid', '--stiffness', '500'), 'rigid actuators have none'),
    (('--actuator', 'sea', '--stiffness', '0'), 'stiffness 0: must be above 0'),
    (('--actuator', 'vsa', '--stiffness', '0'), 'must be above 0'),
    (('--stiffness', '500'), '--stiffness goes with --actuator sea or vsa'),
])
@pytest.mark.parametrize('compare', [(), ('--compare',)])
def test_a_stiffness_without_springs_or_of_none_is_refused(capsys, options, message, compare):
    said = refusal(capsys, 'demo', *compare, *options)
    assert message in said or (compare and 'give --actuator' in said)


SPRING = {'law': 'spring', 'stiffness': 1000.0}


def write_motors(path, second):
    """Write a spring and a second joint whose motor has no inertia."""
    path.write_text(yaml.safe_dump({'actuators': {
        'joint1': {**SPRING, 'motor': {'inertia': 0.5}},
        'joint2': {**second, 'motor': {'inertia': 0.0}}}}))
    return '--robot', 'twolink', '--actuators', str(path)


def test_a_rigid_joint_whose_motor_has_no_inertia_is_compared(capsys, tmp_path):
    arguments = write_motors(tmp_path / 'motors.yaml', {'law': 'rigid'})
    assert main([
        'demo', '--compare', '--duration', '0.5', '--json', 'figures.json', *arguments]) == 0
    rms = json.loads((tmp_path / 'figures.json').read_text())['comparison']
    assert rms['full'] < 1e-3 * rms['rigid'] < 1.0
    assert "no feedback by flatness: joint 'joint2' has no spring" in capsys.readouterr().out


def test_example_springs_do_not_replace_those_of_the_file(capsys, tmp_path):
    hd.save_robot(with_example_actuators(hd.load_robot('twolink'), 'sea'), 'elastic.yaml')
    for compare in ((), ('--compare',)):
        said = refusal(capsys, 'demo', '--robot', 'elastic.yaml', '--actuator', 'sea', *compare)
        assert "the file of robot 'twolink' has its own: leave out --actuator" in said
    said = refusal(capsys, 'demo', '--compare', '--robot', 'twolink')
    assert 'give --actuators FILE for its own, or --actuator for an example' in said


@pytest.mark.parametrize('compare', [(), ('--compare',)])
def test_a_motor_without_inertia_behind_a_spring_is_refused(capsys, tmp_path, compare):
    arguments = write_motors(tmp_path / 'motors.yaml', SPRING)
    said = refusal(capsys, 'demo', *compare, *arguments)
    assert said.startswith("hodyn demo: motor 'joint2' has no inertia")
    assert not (tmp_path / 'hodyn_demo').exists()


def test_a_comparison_is_not_retimed(capsys):
    assert '--retime goes without --compare' in refusal(
        capsys, 'demo', '--compare', '--actuator', 'sea', '--retime')


def test_a_floating_base_is_refused_before_anything_starts(capsys, tmp_path):
    message = refusal(capsys, 'demo', '--robot', 'aerial_manipulator')
    assert 'floating base' in message
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize('missing', ['builtin_interfaces', 'rclpy', 'mujoco'])
def test_what_is_not_installed_is_named_with_the_command_that_brings_it(
    capsys, monkeypatch, missing,
):
    for name in list(sys.modules):
        if name.startswith(('hodyn_ros.ros', f'{missing}.')):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    message = refusal(capsys, 'demo')
    assert missing in message
    assert "pip install 'hodyn_ros[ros,sim]'" in message


@pytest.mark.parametrize(('arguments', 'message'), [
    (('demo', '--output', 'file'), 'file: is not a folder'),
    (('demo', '--json', 'none/figures.json'), 'there is no folder none'),
    (('demo', '--json', 'folder'), 'folder: is a folder'),
    (('replay', 'nowhere', '--output', 'file'), 'file: is not a folder'),
    (('identify', 'nowhere', '--output', 'file'), 'file: is not a folder'),
    (('check', 'nowhere.csv', '--output', 'none/curves.png'), 'there is no folder none'),
    (('annotate', 'nowhere.csv', '--output', 'none/plan.csv'), 'there is no folder none'),
])
def test_where_results_cannot_go_is_told_before_the_work(capsys, tmp_path, arguments, message):
    (tmp_path / 'file').touch()
    (tmp_path / 'folder').mkdir()
    assert message in refusal(capsys, *arguments)


@pytest.mark.parametrize('missing', ['rosbags', 'lz4', 'backports.zstd'])
def test_what_pip_alone_has_is_named_with_what_to_do(capsys, monkeypatch, missing):
    from hodyn_ros.cli import info

    def run(options):
        raise ModuleNotFoundError(f'No module named {missing!r}', name=missing)

    monkeypatch.setattr(info, '_figures', run)
    assert main(('info', 'panda')) == 2
    assert f"No module named '{missing}'; pip install {missing}, in the env" in (
        capsys.readouterr().err)


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit, match='0'):
        main(['--version'])
    assert capsys.readouterr().out == f'hodyn {hd.__version__}\n'


@pytest.mark.slow
def test_a_reader_that_has_had_enough_is_no_fault():
    process = subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros', 'robots'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == ''
    assert process.wait() == 141


def test_help_imports_nothing_that_takes_long():
    code = ('import sys, hodyn_ros.cli.main; '
            'print([m for m in ("numpy", "numba", "scipy", "rich") if m in sys.modules])')
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert result.stdout == '[]\n'


@pytest.mark.parametrize('name', sorted(hd.__all__))
def test_each_public_name_is_there_when_it_is_asked_for(name):
    assert getattr(hd, name) is not None
    assert name in dir(hd)


PLAN = json.dumps({
    'joint_names': ['joint1', 'joint2'], 'points': [
        {'positions': [0.0, 0.0], 'time_from_start': 0.0},
        {'positions': [0.5, 0.3], 'time_from_start': 1.0}]})


@pytest.fixture
def plan(tmp_path):
    (tmp_path / 'plan.json').write_text(PLAN)
    return ['check', 'plan.json', '--robot', 'twolink']


def test_figures_on_the_standard_output_are_alone_there(capsys, plan):
    assert main([*plan, '--json', '-']) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)['within_limits']
    assert 'within all limits' in captured.err


def test_a_brief_check_is_one_line(capsys, plan):
    assert main([*plan, '--brief']) == 0
    assert capsys.readouterr().out == (
        'plan.json, for robot twolink: within all limits (none is known)\n')


def test_a_plan_within_the_limits_that_are_known_is_not_within_all(capsys, tmp_path, plan):
    (tmp_path / 'limits.yaml').write_text('limits: {joint1: {velocity: 9}, joint2: {velocity: 9}}')
    assert main([*plan, '--brief', '--limits', 'limits.yaml']) == 0
    assert capsys.readouterr().out == (
        'plan.json, for robot twolink: within all known limits; no limit is known of '
        'acceleration, jerk, effort, effort_rate\n')
    (tmp_path / 'limits.yaml').write_text('limits: {joint1: {velocity: 9}}')
    assert main([*plan, '--brief', '--limits', 'limits.yaml']) == 0
    assert capsys.readouterr().out.endswith('effort_rate, velocity of joint2\n')


def test_positions_in_degrees_are_suspected(capsys, tmp_path):
    degrees = {'joint_names': [f'joint{i}' for i in range(1, 8)], 'points': [
        {'time_from_start': 0.0, 'positions': [0, -45, 0, -135, 0, 90, 45]},
        {'time_from_start': 2.0, 'positions': [10, -45, 0, -135, 0, 90, 45]}]}
    (tmp_path / 'degrees.json').write_text(json.dumps(degrees))
    assert main(['check', 'degrees.json', '--robot', 'panda']) == 1
    assert 'are these degrees?' in capsys.readouterr().out
    assert main(['retime', 'degrees.json', '--robot', 'panda', '--output', 'out.csv']) == 2
    assert 'it is out of range; positions are in rad: are these degrees?' in (
        capsys.readouterr().err)


def to_joint1(path, *points):
    """Write a plan of a panda, of points by time and position of joint1."""
    home = [-0.785, 0, -2.356, 0, 1.571, 0.785]
    path.write_text(json.dumps({
        'joint_names': [f'joint{i}' for i in range(1, 8)], 'points': [
            {'time_from_start': time, 'positions': [position, *home]}
            for time, position in points]}))
    return ['check', str(path), '--robot', 'panda']


def test_a_file_that_was_given_for_another_is_recognised(capsys, tmp_path):
    plan = to_joint1(tmp_path / 'plan.json', (0.0, 0.0), (1.0, 0.1))[1]
    for options in (('check', plan, '--robot', plan), ('check', plan, '--limits', plan)):
        assert refusal(capsys, *options).endswith('; it looks like a plan')
    with pytest.raises(SystemExit, match='2'):
        main(('retime', '--limits', '0.8', plan, '--output', 'out.csv'))
    assert capsys.readouterr().err.endswith(
        f'required: PLAN; {plan} went to --limits: put the plan before it\n')


def test_the_motion_to_the_first_point_is_not_said_to_be_checked(capsys, tmp_path):
    path = tmp_path / 'goal.json'
    for points in ([(2.0, 0.5)], [(2.0, 0.5), (3.0, 0.4)]):
        command = to_joint1(path, *points)
        assert main([*command, '--brief', '--json', 'figures.json', '--force']) == 0
        assert capsys.readouterr().out == (
            f'{path}, for robot panda: within all limits, but the motion to the first point is '
            'not in the plan and not checked\n')
        said = json.loads((tmp_path / 'figures.json').read_text())['unchecked']
        assert said.startswith('the motion to the first point, in 2 s from wherever the arm is')
        assert main(['annotate', str(path), '--output', 'out.csv', '--force']) == 0
        assert said in capsys.readouterr().out
    assert main([*to_joint1(path, (0.0, 0.5), (1.0, 0.4)), '--brief']) == 0
    assert capsys.readouterr().out == f'{path}, for robot panda: within all limits\n'


def test_times_that_are_not_seconds_from_the_start_are_asked_about(capsys, tmp_path):
    path = tmp_path / 'plan.json'
    for start in (1.7e9, 1.7e12):
        assert main(to_joint1(path, (start, 0.0), (start + 1.0, 0.1))) == 2
        assert 'the first point is at 1.7e+' in capsys.readouterr().err
    for points, is_asked in (
            ([(0, 0.0), (500, 0.2), (1000, 0.4)], True), ([(0, 0.0), (2000, 0.4)], True),
            ([(0, 0.0), (20, 0.2), (40, 0.4)], False), ([(0, 0.4), (500, 0.4)], False)):
        assert main(to_joint1(path, *points)) == 0
        assert ('are these milliseconds?' in capsys.readouterr().out) == is_asked


@pytest.mark.parametrize('limit', ['', '0.5'])
@pytest.mark.parametrize('count', [2, 40])
def test_a_fast_plan_in_milliseconds_is_asked_about(capsys, tmp_path, limit, count):
    """It would peak at 1.4 rad/s, beyond the limit, and the arm may have none in its file."""
    (tmp_path / 'limits.yaml').write_text(f'limits: {{joint1: {{velocity: {limit or 9}}}}}')
    share = [k / (count - 1) for k in range(count)]
    for unit, is_asked in ((1.0, False), (1e3, True)):
        (tmp_path / 'fast.csv').write_text('time,joint1,joint2\n' + '\n'.join(
            f'{1.9 * unit * x},{1.4 * x ** 3 * (10 - 15 * x + 6 * x * x)},0.2' for x in share))
        main(['check', 'fast.csv', '--robot', 'twolink', *(
            ['--limits', 'limits.yaml'] if limit else [])])
        assert ('are these milliseconds?' in capsys.readouterr().out) == is_asked


@pytest.mark.parametrize('width', ['30', '60', '80'])
def test_a_narrow_terminal_cuts_nothing(capsys, monkeypatch, plan, width):
    monkeypatch.setenv('COLUMNS', width)
    monkeypatch.setenv('FORCE_COLOR', '1')  # what a terminal is to rich
    monkeypatch.setenv('TTY_COMPATIBLE', '1')
    assert main(plan) == 0
    assert '…' not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize('encoding', ['ascii', 'latin-1', 'utf-8'])
def test_a_terminal_without_unicode_gets_every_line(plan, encoding):
    result = subprocess.run(
        [sys.executable, '-m', 'hodyn_ros', *plan], capture_output=True,
        env={**os.environ, 'PYTHONIOENCODING': encoding})
    assert result.returncode == 0, result.stderr
    assert b'within all limits' in result.stdout


@pytest.mark.slow
def test_a_closed_pipe_is_not_beyond_limits(plan):
    process = subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros', *plan], stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.wait() == 141


def test_a_check_tells_each_quantity_with_the_limit_that_is_known_of_it(
        capsys, monkeypatch, tmp_path, plan):
    (tmp_path / 'limits.yaml').write_text('limits: {joint1: {velocity: 0.5}}')
    assert main([*plan, '--limits', 'limits.yaml', '--json', 'figures.json']) == 1
    lines = capsys.readouterr().out.splitlines()
    worst = json.loads((tmp_path / 'figures.json').read_text())['worst']
    rows = [line.split() for line in lines if any(
        f' {entry["quantity"]} ' in line for entry in worst) and 'beyond' not in line]
    assert len(rows) == len(worst)
    for row, entry in zip(rows, worst, strict=True):
        is_first = row[0] == entry['joint']
        assert is_first == (entry['quantity'] == worst[0]['quantity'])
        quantity, value, limit = row[is_first:is_first + 3]
        assert (quantity, value) == (entry['quantity'], f'{entry["value"]:.4g}')
        known = (entry['joint'], quantity) == ('joint1', 'velocity')
        assert limit == ('0.5' if known else 'unknown')
        assert entry['exceeded'] == known


GRIPPER = """<robot name="arm"><link name="base"/>{}
<joint name="arm_j1" type="revolute"><parent link="base"/><child link="l1"/>
<limit lower="-1" upper="1" velocity="2" effort="30"/></joint>
<joint name="finger1" type="prismatic"><parent link="l1"/><child link="l2"/>
<limit lower="0" upper="0.04" velocity="0.2" effort="20"/></joint>
<joint name="finger2" type="prismatic"><parent link="l1"/><child link="l3"/>
<limit lower="0" upper="0.04" velocity="0.2" effort="20"/><mimic joint="finger1"/></joint>
</robot>""".format(''.join(
    f'<link name="l{i}"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    for i in (1, 2, 3)))


def info(capsys, *arguments):
    assert main(['info', *arguments, '--json', '-']) == 0
    return json.loads(capsys.readouterr().out)


def test_the_robot_is_as_the_options_want_it(capsys, tmp_path):
    (tmp_path / 'arm.urdf').write_text(GRIPPER)
    (tmp_path / 'moveit.yaml').write_text(
        'joint_limits:\n  arm_j1: {has_velocity_limits: true, max_velocity: 0.5, '
        'has_acceleration_limits: false, max_acceleration: 9.0}\n  finger1: {}\n')
    figures = info(
        capsys, 'arm.urdf', '--lock', 'finger1=0.02', '--limits', 'moveit.yaml',
        '--payload', 'l2', '0.5', '--payload', 'l1', '0.25', '1', '0', '0')
    assert list(figures['joints']) == ['arm_j1']
    assert figures['mass'] == 3.75
    joint = figures['joints']['arm_j1']
    assert (joint['velocity'], joint['acceleration'], joint['effort']) == (0.5, None, 30.0)


def test_a_load_is_where_the_link_is_unless_it_is_told_where(tmp_path):
    (tmp_path / 'arm.urdf').write_text(GRIPPER)

    def loaded(*words):
        options = _parser().parse_args(['info', 'arm.urdf', '--payload', 'l1', '0.25', *words])
        with used_robot(options):
            robot = hd.load_robot(options.robot)
            return robot.bodies[robot.body_index('l1')].com
    # Of 1 kg at 0.2 m and the load.
    np.testing.assert_allclose(loaded(), [0.16, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(loaded('0', '0', '0'), loaded(), atol=1e-12)
    np.testing.assert_allclose(loaded('0.1', '-1', '2'), [0.18, -0.2, 0.4], atol=1e-12)


def test_the_built_in_robots_are_listed_with_their_joints_and_masses(capsys):
    assert main(['robots']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(':')[0] for line in lines] == list(hd.robot_names())
    for line in lines:
        name = line.partition(':')[0]
        figures = info(capsys, name)
        joints = list(figures['joints'])
        assert line == (
            f'{name}: {len(joints)} joints {joints[0]} … {joints[-1]}, {figures["mass"]:.2f} kg '
            'in motion')


@pytest.fixture
def handlers(monkeypatch):
    """Return who handles the signals while a command runs, filled as it does."""
    found = {}

    def run(_):
        found.update({number: signal.getsignal(number) for number in ENDS})
        return 0
    monkeypatch.setattr(robots, 'run', run)
    before = {number: signal.getsignal(number) for number in ENDS}
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)


ENDS = (signal.SIGTERM, signal.SIGHUP)


def test_a_signal_ends_a_command_in_order(handlers):
    def mine(number, frame):
        pass
    signal.signal(signal.SIGTERM, mine)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    assert main(['robots']) == 0
    assert handlers[signal.SIGTERM] is mine
    with pytest.raises(SystemExit, match=str(128 + signal.SIGHUP)):
        handlers[signal.SIGHUP](signal.SIGHUP, None)
    assert signal.getsignal(signal.SIGTERM) is mine
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_a_command_runs_in_any_thread(handlers):
    """Where no handlers of signals can be set."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(['robots'])))
    thread.start()
    thread.join()
    assert codes == [0]
    assert handlers[signal.SIGTERM] is signal.SIG_DFL


def finger_plan(*joints):
    return json.dumps({'joint_names': joints, 'points': [
        {'positions': [position] * len(joints), 'time_from_start': time}
        for position, time in ((0.0, 0.0), (0.03, 2.0))]})


def test_a_finger_that_follows_another_is_told_and_may_be_in_plans(capsys, tmp_path):
    (tmp_path / 'arm.urdf').write_text(GRIPPER.replace(
        '<mimic joint="finger1"/>', '<mimic joint="finger1" multiplier="2" offset="-0.01"/>'))
    figures = info(capsys, 'arm.urdf')
    assert list(figures['joints']) == ['arm_j1', 'finger1']
    assert figures['joints']['finger1']['velocity'] == 0.1
    assert figures['coupled_joints']['finger2']['mimic'] == {
        'joint': 'finger1', 'multiplier': 2.0, 'offset': -0.01}
    assert main(['info', 'arm.urdf']) == 0
    assert '= 2 × finger1 − 0.01' in capsys.readouterr().out
    for joints in (('arm_j1', 'finger1'), ('finger2', 'finger1', 'arm_j1')):
        (tmp_path / 'plan.json').write_text(finger_plan(*joints))
        main(['check', 'plan.json', '--robot', 'arm.urdf', '--json', '-'])
        checked = json.loads(capsys.readouterr().out)
        assert {entry['joint'] for entry in checked['worst']} == {'arm_j1', 'finger1'}
    (tmp_path / 'plan.json').write_text(finger_plan('arm_j1'))
    assert '--lock JOINT=VALUE' in refusal(
        capsys, 'check', 'plan.json', '--robot', 'arm.urdf')


def test_files_may_follow_lists_of_values(capsys, tmp_path):
    (tmp_path / 'arm.urdf').write_text(GRIPPER)
    assert main([
        'info', '--lock', 'finger1=0.02', 'arm.urdf', '--payload', 'l2', '0.5', '--json',
        '-']) == 0
    assert json.loads(capsys.readouterr().out)['mass'] == 3.5


@pytest.mark.parametrize('words', [
    ('--payload', 'link7', '1.0'), ('--payload', 'link7', '1', '0', '0', '-.1'),
    ('--lock', 'joint7=0.5', 'joint6=0', '--json', '-', '--payload', 'link7', '1e0')])
def test_a_built_in_robot_may_follow_numbers(capsys, words):
    if '--json' not in words:
        words = ('--json', '-', *words)
    assert main(['info', *words, 'panda']) == 0
    plain = hd.load_robot('panda')
    assert json.loads(capsys.readouterr().out)['mass'] == pytest.approx(
        1.0 + sum(body.mass for body in plain.bodies))
    with pytest.raises(SystemExit):
        main(['info', '--payload', 'link7', 'panda'])
    assert 'required: robot' in capsys.readouterr().err


def test_a_word_unknown_is_told_with_the_usage_of_its_command(capsys):
    with pytest.raises(SystemExit):
        main(['info', 'panda', '--payloads', 'link7', '1'])
    error = capsys.readouterr().err
    assert error.startswith('usage: hodyn info')
    assert error.endswith('hodyn info: error: unrecognized arguments: --payloads link7 1\n')


@pytest.mark.parametrize(('options', 'message'), [
    (('--lock', 'finger1'), '--lock finger1: expected JOINT=VALUE'),
    (('--lock', 'finger1=nan'), 'expected JOINT=VALUE'),
    (('--lock', 'thumb=0'), "no joint 'thumb' to lock"),
    (('--lock', 'finger1=0', '--lock', 'finger1=1'), "joint 'finger1' is locked at 0 too"),
    (('--payload', 'l1', '1', '0', '0', '0', 'l2', '1', '0', '0', '0'), 'expected LINK KG'),
    (('--payload', 'l1'), 'expected LINK KG'),
    (('--payload', 'l1', '1', '2'), 'expected LINK KG'),
    (('--payload', 'l9', '1'), "no link 'l9'"),
    (('--payload', 'l1', '-1'), 'below 0'),
    (('--limits', 'none.yaml'), 'no file of limits'),
    (('--limits', 'wrong.yaml'), "joint 'arm_j1', key 'velocity': -1: must be above 0"),
])
def test_what_the_robot_cannot_be_is_one_line(capsys, tmp_path, options, message):
    (tmp_path / 'arm.urdf').write_text(GRIPPER.replace('<mimic joint="finger1"/>', ''))
    (tmp_path / 'wrong.yaml').write_text('limits: {arm_j1: {velocity: -1}}')
    assert message in refusal(capsys, 'info', 'arm.urdf', *options)


def test_a_robot_file_is_an_input_also_when_options_change_it(capsys, tmp_path, plan):
    hd.save_robot(hd.load_robot('twolink'), tmp_path / 'arm.yaml')
    before = (tmp_path / 'arm.yaml').read_bytes()
    message = refusal(
        capsys, *plan[:-1], 'arm.yaml', '--payload', 'link2', '0.1', '--json', 'arm.yaml',
        '--force')
    assert 'arm.yaml' in message
    assert (tmp_path / 'arm.yaml').read_bytes() == before


def test_info_tells_springs_and_motors(capsys, tmp_path):
    motor = '{side: rotor, gear_ratio: 100, inertia: 4.0e-5}'
    springs = (f'{{joint1: {{law: spring, stiffness: 321.0, motor: {motor}}}, '
               f'joint2: {{law: rigid, motor: {motor}}}}}')
    (tmp_path / 'elastic.yaml').write_text(yaml.safe_dump({
        **robot_keys('twolink'), 'actuators': yaml.safe_load(springs)}))
    assert main(['info', 'elastic.yaml', '--json', 'figures.json']) == 0
    said = ' '.join(capsys.readouterr().out.split())
    assert 'joint1: spring, stiffness 321' in said
    assert 'motor as the link sees it (inertia 0.4, gear_ratio 100)' in said
    figures = json.loads((tmp_path / 'figures.json').read_text())
    assert figures['actuators']['joint1']['stiffness'] == 321.0
    assert main(['info', 'twolink']) == 0
    assert 'no actuators' in capsys.readouterr().out
