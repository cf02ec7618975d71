"""The table of parameters, the page and the files that tell of it."""
from dataclasses import replace
from pathlib import Path
import re

import numpy as np
import pytest
from rclpy.parameter import Parameter
import yaml

import hodyn_ros as hd
from hodyn_ros.ros import parameters
from hodyn_ros.ros.given_parameters import read_arguments
from hodyn_ros.ros.robot_and_settings import (
    check_bounds,
    check_commands,
    contents_of_torque,
    load_with,
    with_payload,
)

ROOT = Path(__file__).parents[2]


def check(changes, current=lambda name: None, **given):
    return parameters.check(changes, current, **given)


def as_yaml(default):
    return list(default) if isinstance(default, tuple) else default


def test_the_page_has_each_parameter_with_default_range_and_meaning():
    page = (ROOT / 'docs' / 'node.md').read_text('utf-8')
    rows = {
        name: (default, range_) for name, default, range_ in re.findall(
            r'^\| `([\w.]+)` \| `(.*?)` \| (.*?) \| .* \|$', page, re.MULTILINE)}
    assert set(parameters.TABLE) <= set(rows)
    for name, row in parameters.TABLE.items():
        assert yaml.safe_load(rows[name][0]) == as_yaml(row.default), name
        if bounds := row.metadata['bounds']:
            assert rows[name][1] == f'{bounds[0]:g} … {bounds[1]:g}', name
        if entries := row.metadata['entries']:
            assert rows[name][1] == entries, name
        assert row.metadata['description'] in page


@pytest.mark.parametrize('path', sorted((ROOT / 'config').glob('*.yaml')), ids=lambda p: p.stem)
def test_each_file_lists_each_parameter_with_a_comment_and_is_accepted(path):
    text = path.read_text('utf-8')
    values = yaml.safe_load(text)['/**']['ros__parameters']
    constraints = values.pop('constraints')
    given = values | {f'constraints.{name}': value for name, value in constraints.items()}
    assert list(given) == [name for name in parameters.TABLE if 'JOINT' not in name]
    changes = [Parameter(name, value=value) for name, value in given.items()]
    assert check(changes, active=False).successful
    lines = text.splitlines()
    for name in (*values, *constraints):
        i = next(k for k, line in enumerate(lines) if line.strip().startswith(f'{name}:'))
        assert lines[i - 1].strip().startswith('#') or name == 'friction_in_output'


@pytest.mark.parametrize(('name', 'value', 'expected'), [
    ('rate', 'fast', "rate is 'fast'; expected a number"),
    ('rate', 0.0, 'expected 1 to 10000'),
    ('rate', float('nan'), 'expected a finite number'),
    ('auto_activate', 1, 'expected a truth value'),
    ('realtime_priority', 1.5, 'expected a whole number'),
    ('realtime_priority', True, 'expected a whole number'),
    ('payload_com', [0.0, 0.0], 'expected 3'),
    ('payload_com', ['a', 'b', 'c'], 'expected an array of numbers'),
    ('payload_com', 'abc', 'expected an array of numbers'),
    ('trigger', 'clock', 'expected one of joint_state, timer'),
    ('robot', 3, 'expected a string'),
    ('constraints.goal_time', -1.0, 'expected 0 to 3600'),
    ('constraints.fer_joint1.goal', 'near', 'expected a number'),
    ('constraints.fer_joint1.goal', -0.05, 'expected 0 to 1000'),
    ('constraints.fer_joint1.trajectory', -0.05, 'expected 0 to 1000'),
    ('constraints.stopped_velocity_tolerance', -0.05, 'expected 0 to 1000'),
])
def test_a_wrong_value_says_what_was_expected(name, value, expected):
    result = check([Parameter(name, value=value)], active=False)
    assert not result.successful
    assert expected in result.reason


# Numbers below 0 mean something in these alone: places, and products of inertia.
OF_EITHER_SIGN = ('payload_com', 'payload_inertia')
NUMBERS = [name for name, row in parameters.TABLE.items() if type(
    row.default[0] if isinstance(row.default, tuple) else row.default) in (int, float)]


def with_number(name, word):
    """Return a value of a parameter with a number, given as a word of YAML, as its last entry."""
    default = parameters.TABLE[name].default
    if not isinstance(default, tuple):
        return word
    return f'[{", ".join([*map(str, default[:-1]), word])}]'


@pytest.mark.parametrize(('name', 'word'), [
    (name, word) for name in NUMBERS for word in ('.nan', '.inf', '-.inf', '-0.2', '9' * 400)
    if name not in OF_EITHER_SIGN or word != '-0.2'])
def test_a_number_that_means_nothing_is_refused_in_words(name, word):
    """tracking_tolerance [-0.2] switched the check off, and [.nan] was taken for the default."""
    name, text = name.replace('JOINT', 'fer_joint1'), with_number(name, word)
    with pytest.raises(hd.HodynError, match=rf'^-p {name}:=.*: {name} is .*; expected ') as error:
        read_arguments(['feedforward', '--ros-args', '-p', f'{name}:={text}'], 'feedforward')
    assert '\n' not in str(error.value)
    result = check([Parameter(name, value=yaml.safe_load(text))], active=False) if (
        word != '9' * 400) else None  # no message holds it
    assert result is None or (not result.successful and 'expected ' in result.reason)


@pytest.mark.parametrize('name', OF_EITHER_SIGN)
def test_places_and_inertias_may_be_below_0(name):
    text = with_number(name, '-0.2')
    assert read_arguments(['feedforward', '--ros-args', '-p', f'{name}:={text}'], 'feedforward')


@pytest.mark.parametrize(('name', 'value', 'expected'), [
    ('tracking_tolerance', [-0.2], 'expected finite numbers: -1, 0 or above 0'),
    ('tracking_tolerance', [0.1, -1.0, 0.0], ''),
    ('tracking_tolerance', [], 'tracking_tolerance is empty; expected at least one num'),
    ('base_tolerance', [0.1, 0.0, 0.2, 0.2], 'expected finite numbers: above 0'),
    ('motor_inertia', [0.0, 1e-9], ''),
    ('cpu_affinity', [-2], 'expected finite numbers: -1, 0 or above 0'),
    ('locked_joints', ['elbow:0.5'], "'elbow:0.5'; expected JOINT=VALUE, for example finger_jo"),
    ('locked_joints', ['elbow=nan'], 'expected JOINT=VALUE'),
    ('locked_joints', ['=0.5'], 'expected JOINT=VALUE'),
    ('locked_joints', ['', 'elbow=-0.5'], ''),
])
def test_entries_of_arrays_are_judged_one_by_one(name, value, expected):
    result = check([Parameter(name, value=value)], active=False)
    assert result.successful == (not expected)
    assert expected in result.reason


def test_a_whole_number_will_do_for_a_number():
    assert check([Parameter('rate', value=500)], active=False).successful


@pytest.mark.parametrize('active', [False, True])
@pytest.mark.parametrize('value', ['/etc/passwd', 'robot.yaml', '<robot name="x"/>', '', 'Panda'])
def test_no_file_is_named_by_the_service(active, value):
    """Whoever may set parameters could have had any file opened."""
    result = check(
        [Parameter('robot', value=value)], active=active, robot='/home/me/arm.yaml')
    assert not result.successful
    assert value == '' or value not in result.reason


@pytest.mark.parametrize('active', [False, True])
@pytest.mark.parametrize('start', ['', '/home/me/limits.yaml'])
def test_another_file_of_limits_is_refused_for_the_same_reason_in_all_states(start, active):
    """An active node had said to deactivate it first."""
    def changed(value):
        return check(
            [Parameter('limits_file', value=value)], lambda _: 'now', active=active,
            limits_file=start)

    assert 'a file can only be given at start' in changed('/etc/passwd').reason
    assert changed('/etc/passwd').reason.endswith(
        "; later it may be /home/me/limits.yaml or ''" if start else "; later it may be ''")
    for value in (start, ''):
        assert changed(value).successful == (not active)


@pytest.mark.parametrize('value', ['panda', 'iiwa14', 'robot_description', '/home/me/arm.yaml'])
def test_other_robots_and_the_file_of_the_start_are_taken(value):
    assert check(
        [Parameter('robot', value=value)], active=False, robot='/home/me/arm.yaml').successful


def test_an_equal_value_is_no_change_and_types_stay():
    """A dump of an active node could not be loaded again: 40 of 47 values may not change there."""
    values = {'rate': 500.0, 'robot': 'panda', 'payload_com': [0.0, 0.0, 0.1], 'trigger': 'timer'}
    changes = [Parameter(name, value=value) for name, value in values.items()]
    assert check(changes, values.get, active=True).successful
    assert not check([Parameter('rate', value=501.0)], values.get, active=True).successful
    whole = [
        Parameter('payload_mass', value=2), Parameter('payload_com', value=[0, 0, 1]),
        Parameter('realtime_priority', value=3), Parameter('of_another', value=4)]
    kept = parameters.as_declared(whole)
    assert [one.type_ for one in kept] == [
        Parameter.Type.DOUBLE, Parameter.Type.DOUBLE_ARRAY, Parameter.Type.INTEGER,
        Parameter.Type.INTEGER]
    assert [one.value for one in kept[:2]] == [2.0, [0.0, 0.0, 1.0]]


@pytest.mark.parametrize(('values', 'has_friction', 'line'), [
    ({}, True, 'with gravity (by default), with friction (by default): its controller must add '
     'neither'),
    ({}, False, 'with gravity (by default), without friction, which the robot file lacks: '
     'its controller must add friction, if it can'),
    ({'gravity_in_output': True, 'friction_in_output': False}, True,
     'with gravity, without friction: its controller must add friction'),
    ({'gravity_in_output': False, 'friction_in_output': False}, True,
     'without gravity, without friction: its controller must add gravity and friction'),
])
def test_the_controller_is_said_to_add_what_the_torque_leaves_out(values, has_friction, line):
    settings = parameters.Parameters(**values)
    assert contents_of_torque(settings, values, has_friction) == f"torque for robot 'panda' {line}"


def test_an_order_of_commands_that_are_not_published_is_said_to_be_unused():
    """It was ignored without a word."""
    robot, said = hd.load_robot('panda'), []
    order = [f'fer_joint{i}' for i in (7, 1, 2, 3, 4, 5, 6)]
    for values in ({}, {'publish_commands': True, 'command_joints': order}):
        check_commands(robot, parameters.Parameters(**values), said.append)
    assert not said
    check_commands(robot, parameters.Parameters(command_joints=order), said.append)
    assert said == ['command_joints is not used: ~/commands needs publish_commands:=true']
    with pytest.raises(hd.HodynError, match='command_joints: it names 2 joints'):
        check_commands(robot, parameters.Parameters(
            publish_commands=True, command_joints=order[:2]), said.append)


def test_unknown_limits_are_said_and_what_does_not_keep_them():
    """A URDF with effort="0" was only said to have unknown limits: nothing of what follows."""
    robot, said = hd.load_robot('panda'), []
    limits = replace(
        robot.limits, effort=np.full(7, np.inf),
        velocity=np.where(np.arange(7) == 2, np.inf, robot.limits.velocity))
    check_bounds(replace(robot, limits=limits), parameters.Parameters(), said.append)
    line, = said
    assert line.startswith('no limit is known for velocity of joint3 and effort: nothing keeps')


def test_a_tolerance_that_no_departure_exceeds_is_asked_about():
    robot, said = hd.load_robot('panda'), []
    for sound in ([0.0], [-1.0], [0.2], [1.0]):
        check_bounds(robot, parameters.Parameters(tracking_tolerance=sound), said.append)
    assert not said
    check_bounds(robot, parameters.Parameters(tracking_tolerance=[5.0]), said.append)
    line, = said
    assert line.startswith('tracking_tolerance is in rad and m: are these degrees or mm?')
    assert all(f'{name} (5)' in line for name in robot.joint_names)


def test_a_mass_that_no_link_carries_is_refused():
    robot = hd.load_robot('panda')
    assert with_payload(robot, parameters.Parameters(), print) is robot
    with pytest.raises(hd.HodynError, match=r'^payload_mass 2 kg needs payload_link, .* link7'):
        with_payload(robot, parameters.Parameters(payload_mass=2.0), print)


def test_a_mass_may_be_carried_by_each_of_the_links_that_are_named():
    """Links fixed to others were left out, the flange too."""
    robot = hd.load_robot('fr3')
    with pytest.raises(hd.HodynError) as error:
        with_payload(robot, parameters.Parameters(payload_mass=0.5), print)
    links = str(error.value).partition('one of ')[2].split(', ')
    assert set(links) > {body.name for body in robot.bodies}
    for link in links:
        with_payload(robot, parameters.Parameters(payload_mass=0.5, payload_link=link), print)


def test_a_payload_inertia_from_a_cad_program_is_asked_about():
    said = []
    with_payload(hd.load_robot('panda'), parameters.Parameters(
        payload_link='link7', payload_mass=1.0,
        payload_inertia=(1e3 * np.eye(3)).ravel().tolist()), said.append)
    line, = said
    assert 'kg mm² or g mm²?' in line


URDF = """<robot name="crane">
  <link name="hull"><inertial><mass value="500"/>
    <inertia ixx="90" iyy="90" izz="90" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="boom"><inertial><origin xyz="1 0 0"/><mass value="20"/>
    <inertia ixx="1" iyy="6" izz="6" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="luff" type="revolute"><parent link="hull"/><child link="boom"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="900" velocity="1"/></joint>
</robot>"""


@pytest.mark.parametrize('floating', [True, False])
def test_the_root_link_of_a_urdf_floats_if_that_is_asked_for(floating):
    said = []
    robot = load_with(parameters.Parameters(floating_base=floating), URDF, said.append)
    assert robot.floating == floating
    assert robot.joint_names == ('luff',)
    assert robot.bodies[0].name == ('hull' if floating else 'boom')
