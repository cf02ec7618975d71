"""Numbers that are likely not in SI units are asked about, of whatever source they are."""
import warnings

import numpy as np
import pytest
from rigid_bodies import link
from robot_texts import chain, mapping, said, tag
import yaml

import hodyn_ros as hd
from hodyn_ros.robot.files.writer import urdf_text


def with_dh(data):
    for body in data['bodies']:
        del body['placement'], body['axis']
        body['modified_dh'] = {'a': 0.4, 'alpha': 1.5708, 'd': 0.0, 'theta': -6.2832}
    return data


def as_mjcf(data):
    mujoco = pytest.importorskip('mujoco')
    text = '<mujoco><compiler angle="radian"/><worldbody>'
    for body, (lower, upper) in zip(data['bodies'], data['limits']['position'], strict=True):
        text += (
            f'<body name="{body["name"]}" pos="0 0 {body["placement"][2][3]}">' + tag(
                'inertial', pos=f'0 0 {body["com"][2]}', mass=body['mass'],
                diaginertia=' '.join(map(str, np.diag(body['inertia']))))
            + tag('joint', name=body['joint'], axis='0 1 0', limited='true',
                  range=f'{lower} {upper}'))
    return mujoco.MjModel.from_xml_string(text + 3 * '</body>' + '</worldbody></mujoco>')


def as_urdf(data):
    limits = data['limits'] | {'velocity': 3 * [2.0], 'effort': 3 * [0.1]}
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return urdf_text(hd.load_robot({**data, 'limits': limits}))


SOURCES = {'mapping': lambda data: data, 'dh': with_dh, 'mjcf': as_mjcf, 'urdf': as_urdf}
WRONG = {
    'masses': (1000.0, 'masses are in kg: are these grams? l0 (2000 kg)'),
    'com': (1000.0, 'centres of mass are in m: are these mm? l0 (200 m)'),
    'inertia': (1e6, 'inertias are in kg m²: are these from a CAD program'),
    'ranges': (57.3, 'ranges are in rad: are these degrees? j0 (-114.6 to 114.6)'),
}


@pytest.mark.parametrize('source', SOURCES)
@pytest.mark.parametrize('what', WRONG)
def test_units_are_asked_about_whatever_the_source(source, what):
    factor, sentence = WRONG[what]
    (line,) = said(hd.load_robot, SOURCES[source](mapping(**{what: factor})))
    assert sentence in line


@pytest.mark.parametrize('factor', [1e4, 1e6, 1e7, 1e9])
@pytest.mark.parametrize('wrong', [range(3), [1]])
@pytest.mark.parametrize(('size', 'mass'), [(0.3, 0.5), (1.0, 2.0), (3.0, 300.0)])
def test_inertias_in_units_of_cad_programs_are_asked_about(factor, wrong, size, mass):
    data, right = mapping(size, mass, inertia=factor), mapping(size, mass)
    data['bodies'] = [(data if i in wrong else right)['bodies'][i] for i in range(3)]
    (line,) = said(hd.load_robot, data)
    assert 'in kg cm², g cm², kg mm² or g mm²? ' in line
    assert [f'l{i} (' in line for i in range(3)] == [i in wrong for i in range(3)]


def test_placeholders_of_small_parts_are_not_asked_about():
    data = mapping()
    data['bodies'].append(link(
        'tip', 2, joint='j3', mass=1e-3, inertia=(1e-2 * np.eye(3)).tolist(), axis=[0, 0, 1]))
    del data['limits']
    assert said(hd.load_robot, data) == []


@pytest.mark.parametrize(('lower', 'upper', 'is_asked'), [
    (0.0, 300.0, True), (0.0, 1200.0, True), (-600.0, 600.0, True), (0.0, 40.0, False),
    (-1e3, 1e3, False), (0.0, 1e4, False)])
def test_the_range_of_a_slide_in_mm_is_asked_about(lower, upper, is_asked):
    limits = {'position': [[lower, upper], [-1.0, 1.0]]}
    assert said(hd.load_robot, chain('prismatic', 'revolute', limits=limits)) == is_asked * [
        f"robot 'arm': ranges are in m: are these mm? link0 ({lower:g} to {upper:g})"]


def test_units_in_a_yaml_file_are_asked_about(tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text(yaml.safe_dump(mapping(com=1000.0)))
    (line,) = said(hd.load_robot, path)
    assert line.startswith(f"robot '{path}': centres of mass are in m: are these mm?")


def test_a_whole_robot_of_a_cad_program_is_asked_about():
    lines = said(hd.load_robot, mapping(masses=1e3, com=1e3, inertia=1e9))
    assert [line.partition('are in')[0] for line in lines] == [
        "robot 'arm': centres of mass ", "robot 'arm': inertias "]


@pytest.mark.parametrize('source', SOURCES)
@pytest.mark.parametrize(('size', 'mass'), [(0.03, 0.01), (0.3, 0.5), (3.0, 1500.0), (25.0, 2e4)])
def test_hands_arms_and_cranes_are_not_asked_about(source, size, mass):
    data = SOURCES[source](mapping(size, mass))
    assert said(hd.load_robot, data) == []


@pytest.mark.parametrize(('com', 'radius'), [(20.0, 12.0), (1.0, 0.0), (0.0, 1.5)])
def test_a_single_boom_pendulum_or_wheel_is_not_asked_about(com, radius):
    mass = 5000.0 if com > 1.0 else 50.0
    assert said(hd.load_robot, {'name': 'arm', 'bodies': [link(
        'boom', mass=mass, com=[0, 0, com], inertia=mass * radius**2 * np.eye(3),
        axis=[1, 0, 0])]}) == []


@pytest.mark.parametrize('name', hd.robot_names())
def test_of_built_in_robots_nothing_is_asked(name):
    assert said(hd.load_robot, name) == []


def test_angles_of_dh_parameters_in_degrees_are_asked_about():
    data = with_dh(mapping())
    data['bodies'][1]['modified_dh'].update(alpha=-90, theta=180)
    assert said(hd.load_robot, data) == [
        "robot 'arm': alpha and theta are in rad: are these degrees? l1 modified_dh (-90 180)"]
    angles = 'angles are in rad: are these degrees?'
    assert said(hd.dh, 0.1, 90.0, 0.0) == [f'dh: {angles} alpha (90)']
    assert said(hd.modified_dh, 0.1, 1.57, 0.0, 180) == [f'modified_dh: {angles} theta (180)']


@pytest.mark.parametrize(('gravity', 'asked'), [
    ([0, 0, 9.81], 'gravity points up, [0.0, 0.0, 9.81]: is its sign wrong?'), ([0, 0, -9.81], ''),
    ([9.81, 0, 0], ''), ([0, 0, -9810], 'is this in mm/s²'),
    ([0, 0, -980.665], 'is this in mm/s²'), ([0, 0, -0.00981], 'is this in mm/s²'),
    ([0, 9806.65, 0], 'is this in mm/s²'), ([0, 0, 0], ''), ([0, 0, -1.62], ''),
    ([0, 0, -24.8], ''), ([0, 0, -0.0057], ''), ([5, 5, 6.7], '')])
def test_a_gravity_given_later_is_asked_about_as_that_of_a_file(gravity, asked):
    plain = hd.load_robot(mapping())
    lines = said(plain.with_gravity, gravity)
    assert lines == said(hd.load_robot, mapping(gravity=gravity))
    assert [asked in line for line in lines] == bool(asked) * [True]


@pytest.mark.parametrize(('kinds', 'mimic', 'line'), [
    (('revolute', 'prismatic'), {'multiplier': 20.0 / (2.0 * np.pi)},
     'multipliers of slides that follow turning joints are in m/rad: are these in mm/rad, or per '
     'turn? link1 (3.183 m/rad)'),
    (('revolute', 'prismatic'), {'multiplier': -0.02 / (2.0 * np.pi)}, None),
    (('prismatic', 'prismatic'), {'multiplier': -1.0}, None),
    (('prismatic', 'revolute'), {'multiplier': 1e3 * np.pi}, None),
    (('revolute', 'revolute'), {'offset': 90.0},
     'offsets of joints that follow others are in rad: are these degrees? link1 (90)'),
    (('revolute', 'revolute'), {'offset': np.pi}, None),
    (('revolute', 'prismatic'), {'multiplier': 0.01, 'offset': 90.0}, None)])
def test_multipliers_and_offsets_of_followers_are_asked_about(kinds, mimic, line):
    data = chain(*kinds)
    data['bodies'][1]['mimic'] = {'joint': 'link0', **mimic}
    assert said(hd.load_robot, data) == ([] if line is None else [f"robot 'arm': {line}"])


@pytest.mark.parametrize(('pitch', 'asked'), [(5.0, True), (-0.8, True), (0.01, False)])
def test_a_pitch_in_mm_is_asked_about(pitch, asked):
    data = mapping()
    data['bodies'][1].update(type='helical', pitch=pitch)
    assert said(hd.load_robot, data) == asked * [
        f"robot 'arm': pitch is in m/rad: is it in mm/rad, or per turn? j1 ({pitch:g} m/rad)"]


def test_an_inertia_without_a_mass_is_asked_about():
    data = mapping()
    data['bodies'][1]['mass'] = 0.0
    assert said(hd.load_robot, data) == [
        "robot 'arm': a mass of 0 with an inertia: is the mass missing? l1"]


LARGE = ("payload on 'link7': inertias are in kg m²: are these from a CAD program, in kg cm², "
         'g cm², kg mm² or g mm²? The arm is 1.21 m long, and radii of gyration are: the payload '
         '(31.6 m)')


@pytest.mark.parametrize(('load', 'asked'), [
    ((1500, [0, 0, 0.1]), "payload on 'link7': mass is in kg: are these grams? 1500 kg on a robot "
     'of 16.1 kg'),
    ((1.5, [0, 0, 100]), "payload on 'link7': com is in m: are these mm? 100 m on a robot of "
     '1.27 m'),
    ((1.0, [0, 0, 0.1], np.diag([1e3] * 3)), LARGE), ((1.0, [0, 0, 0.1], np.diag([0.1] * 3)), ''),
    ((14.0, [0, 0, 1.5]), '')])
def test_payloads_in_other_units_are_asked_about(load, asked):
    assert said(hd.load_robot('panda').with_payload, 'link7', *load) == [asked] * bool(asked)
    crane = hd.load_robot(mapping(25.0, 2e4))
    assert said(crane.with_payload, 'l2', 3e4, [0, 0, 40.0]) == []


@pytest.mark.parametrize(('amplitude', 'offset', 'asked'), [
    (500.0, 0.0, 'j0 (250 of 60), j1 (250 of 60), j2 (250 of 60)'), (100.0, 0.0, ''),
    (100.0, 1.0, 'j0 (100 of 60)')])
def test_friction_that_no_motor_overcomes_is_asked_about(amplitude, offset, asked):
    data = mapping(friction={
        'law': 'sigmoid', 'amplitude': 3 * [amplitude], 'slope': 3 * [20.0],
        'velocity_offset': [offset, 0.0, 0.0]})
    assert said(hd.load_robot, data) == []  # no limit is known
    data['limits'] = {'effort': 3 * [60.0]}
    assert said(hd.load_robot, data) == bool(asked) * [
        "robot 'arm': amplitude of friction is in N m (prismatic: N): is it in N mm? Friction "
        f'exceeds the effort limit of {asked}']


@pytest.mark.parametrize(('limits', 'asked'), [
    ({'velocity': [1e10, 2.0, 101.0]}, 'velocity of j0 (1e+10), velocity of j2 (101)'),
    ({'effort': [1e30, 9.0, 2e4]}, 'effort of j0 (1e+30), effort of j2 (2e+04)'),
    ({'velocity': [100.0] * 3, 'effort': [5000.0] * 3}, ''),
    ({'velocity': [None] * 3, 'effort': [None] * 3}, '')])
def test_limits_that_no_such_robot_reaches_are_asked_about(limits, asked):
    """Plans were timed to 7 ms by limits of 1e5, without a word about them."""
    data = mapping()
    data['limits'] |= limits
    lines = said(hd.load_robot, data)
    assert len(lines) == bool(asked)
    assert all("robot 'arm': limits that no such robot reaches" in line for line in lines)
    assert all(line.endswith(f'leave them out if they are unknown. {asked}') for line in lines)


def test_a_strong_gripper_is_not_asked_about():
    data = mapping(0.03, 0.005)
    data['limits'] |= {'effort': [60.0] * 3}
    assert said(hd.load_robot, data) == []


def test_wheels_may_turn_faster_than_joints_with_a_range():
    data = mapping()
    data['limits'] = {'velocity': [4900.0] * 3}
    assert said(hd.load_robot, data) == []


@pytest.mark.parametrize('multiplier', [0.02 / (2.0 * np.pi), 0.2])
def test_the_nut_of_a_screw_may_turn_often_and_fast(multiplier):
    """It was asked about in every command, though the pitch of its screw explains it."""
    data = chain('revolute', 'prismatic')
    data['bodies'][1]['mimic'] = {'joint': 'link0', 'multiplier': multiplier}
    data['limits'] = {'position': [[-60.0, 60.0]], 'velocity': [150.0]}
    lines = [line for line in said(hd.load_robot, data) if 'multiplier' not in line]
    assert len(lines) == (0 if multiplier < 0.1 else 2)
