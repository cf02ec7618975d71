"""The actuators section of robot files: what is read, and what is refused by name."""
from dataclasses import replace
from pathlib import Path
import pickle

import numpy as np
import pytest
from rigid_bodies import chain
from robot_texts import said, saved
import yaml

import hodyn_ros as hd
from hodyn_ros.actuators.laws import (
    AntagonisticExponential,
    AntagonisticQuadratic,
    CubicSpring,
    LinearSpring,
    Rigid,
    TabulatedSpring,
    VariableStiffness,
)
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.robot.files.actuators import with_actuators

SPRING = {'law': 'spring', 'stiffness': 800, 'motor': {'inertia': 0.3}}


def bare(n=2):
    return hd.load_robot(chain(n))


def load(*entries, **named):
    given = {f'j{i}': entry for i, entry in enumerate(entries)} | named
    return hd.load_robot(chain(max(len(given), 1), actuators=given))


def test_every_law_is_read_with_its_numbers():
    motor = {'inertia': 0.3, 'viscous': 1, 'coulomb': 2, 'coulomb_velocity': 0.1,
             'max_velocity': 3, 'max_effort': 90}
    x, torque = [-0.1, -0.05, 0, 0.05, 0.1], [-100, -40, 0, 40, 100]
    robot = load(
        {'law': 'rigid', 'motor': motor},
        {'law': 'spring', 'stiffness': 800, 'damping': 2, 'max_deflection': 0.2, 'motor': motor},
        {'law': 'cubic', 'stiffness': 100, 'cubic': -50, 'motor': motor},
        {'law': 'table', 'deflection': x, 'torque': torque, 'motor': motor},
        {'law': 'variable', 'stiffness': 700, 'motor': motor},
        {'law': 'exponential', 'scale': 2, 'rate': 8, 'stiffness': 900, 'pushes': True,
         'motor': motor},
        {'law': 'quadratic', 'coefficient': 4000, 'stiffness': 900, 'motor': motor})
    laws = [joint.law for joint in robot.actuators.joints]
    assert laws[:3] == [Rigid(), LinearSpring(800, 2), CubicSpring(100, -50)]
    assert isinstance(laws[3], TabulatedSpring)
    assert laws[3].torque.tolist() == torque
    assert laws[4:] == [
        VariableStiffness(700), AntagonisticExponential(2, 8, 900, pushes=True),
        AntagonisticQuadratic(4000, 900)]
    assert all(joint.motor == Motor(0.3, 1, 2, 0.1, 1, 3, 90) for joint in robot.actuators.joints)
    assert [joint.max_deflection for joint in robot.actuators.joints[:3]] == [np.inf, 0.2, np.inf]
    assert robot.actuators.motor_names[4:] == (
        'j4', 'j5_motor1', 'j5_motor2', 'j6_motor1', 'j6_motor2')


def test_rotor_numbers_are_converted():
    robot = load({**SPRING, 'motor': {'side': 'rotor', 'inertia': 1e-4, 'gear_ratio': 100}})
    assert robot.actuators.joints[0].motor == Motor.from_rotor(gear_ratio=100, inertia=1e-4)


def test_built_in_robots_have_no_stiffness_by_default(panda):
    assert panda.actuators is None
    assert FeedForward(panda).motor_side is None


def test_the_feed_forward_goes_on_to_the_motors_of_a_copy_as_well():
    robot = pickle.loads(pickle.dumps(load(SPRING).with_gravity([0, 0, -9.81])))
    feedforward = FeedForward(robot)
    q = np.zeros((5, 1))
    torque = feedforward.torque(q)
    assert torque[0, 0] == pytest.approx(-9.81 * 0.3)
    theta = feedforward.motor_side.evaluate(q, torque)[0]
    assert theta[0] == torque[0, 0] / 800


def spring(**changes):
    """Return the entry of a spring with other values, or without those that are None."""
    return {'j0': {key: x for key, x in (SPRING | changes).items() if x is not None}}


def motor(**changes):
    return spring(motor=changes)


@pytest.mark.parametrize(('entries', 'words'), [
    (spring(law=None), "joint 'j0': key 'law' is missing"),
    (spring(stiffness=None), "joint 'j0': key 'stiffness' is missing"),
    (spring(motor=None), "joint 'j0': key 'motor' is missing"),
    (spring(law='elastic'), "key 'law': expected one of rigid, spring, .*'elastic'"),
    (spring(stiffness=0), "joint 'j0', stiffness 0: must be above 0"),
    (spring(stiffness='1e3'), "key 'stiffness': expected numbers"),
    (spring(stiffness='150,5'), r"'150,5' .YAML reads 150,5 as text: write 150\.5"),
    (spring(rate=3), "joint 'j0': unknown key 'rate'; known keys are damping, law"),
    (spring(max_deflection=-1), "joint 'j0', max_deflection -1: must be above 0"),
    (motor(), "motor: key 'inertia' is missing"),
    (motor(inertia=-1), "joint 'j0', motor, inertia -1: must not be below 0"),
    *((motor(**{'side': 'rotor', 'gear_ratio': 160, 'inertia': 1e-4, key: -1}),
       rf"joint 'j0', motor, {key} -1: must ")
      for key in ('inertia', 'viscous', 'coulomb', 'coulomb_velocity', 'max_velocity')),
    (motor(inertia=1, side='rotor'), "motor: key 'gear_ratio' is missing"),
    (motor(inertia=1, side='fast'), "key 'side': expected 'link' or"),
    (motor(inertia=1, mass=1), "motor: unknown key 'mass'"),
    (spring(law='table', stiffness=None, deflection=3, torque=[0, 1]), "key 'deflection'"),
    (spring(law='exponential', scale=1, rate=1, pushes=1),
     "key 'pushes': expected true or false, got 1"),
    ({'j0': 3}, "joint 'j0': expected a mapping"),
    ({'j0': SPRING, 'j1': None}, "joint 'j1' is missing; give every joint"),
    ({'j0': SPRING, 'elbow': SPRING}, "unknown key 'elbow'; known keys are j0"),
])
def test_a_mistake_is_named(entries, words):
    with pytest.raises(hd.HodynError, match=words):
        load(**entries)


def test_a_robot_from_elsewhere_gets_its_actuators_from_a_separate_file(tmp_path):
    file = tmp_path / 'actuators.yaml'
    file.write_text(
        'actuators:\n  j0: {law: spring, stiffness: 700, motor: {inertia: 0.2}}\n'
        '  j1: {law: spring, stiffness: 700, motor: {inertia: 0.2}}\n')
    assert with_actuators(bare(), file).actuators.stiffness.tolist() == [700.0, 700.0]
    assert with_actuators(bare(1), {'actuators': {'j0': SPRING}}).actuators is not None
    with pytest.raises(ValueError, match=r"actuators.yaml, actuators: unknown key 'j1'"):
        with_actuators(bare(1), file)
    with pytest.raises(FileNotFoundError, match='no actuator file'):
        with_actuators(bare(), tmp_path / 'nothing.yaml')


def test_locked_joints_need_no_actuator_and_may_have_one():
    for given in ({'j0': SPRING}, {'j0': SPRING, 'j1': SPRING}):
        robot = hd.load_robot(chain(2, actuators=given), locked_joints={'j1': 0.2})
        assert robot.actuators.names == ('j0',)


def test_the_example_of_the_docs_is_a_file():
    page = (Path(__file__).parents[3] / 'docs' / 'actuators.md').read_text('utf-8')
    example = yaml.safe_load(page.split('```yaml')[1].split('```')[0])['actuators']
    joints = {f'j{i}': entry for i, entry in enumerate(example.values())}
    assert load(**joints).actuators.stiffness.tolist() == [1000.0, 1000.0, 2000.0, np.inf]


def test_the_place_that_the_docs_of_0_1_named_still_works():
    from hodyn_ros.actuator_files import with_actuators as old

    assert old is with_actuators


ROTOR = {'inertia': 4.0e-5, 'gear_ratio': 100}


def test_a_gear_ratio_without_a_side_is_doubted_once_a_file():
    """The inertia of a rotor, taken at the link, is 10 000 times too small."""
    (line,) = said(load, SPRING | {'motor': ROTOR}, SPRING | {'motor': ROTOR}, SPRING)
    assert 'gear_ratio of j0, j1 is given and side is not' in line


@pytest.mark.parametrize('motor', [ROTOR | {'side': 'rotor'}, {
    'side': 'link', 'gear_ratio': 100, 'inertia': 0.4}])
def test_a_side_that_is_given_is_not_doubted_nor_in_the_file_that_is_saved(tmp_path, motor):
    robot = load(SPRING | {'motor': motor})
    lines = said(load, SPRING | {'motor': motor}) + said(saved, robot, tmp_path / 'arm.yaml')
    assert not [line for line in lines if 'side' in line]


@pytest.mark.parametrize(('source', 'words'), [
    ('<?xml version="1.0"?>\n<robot name="arm"/>',
     'springs.yaml.*got a URDF. For example: actuators: {joint1: {law'),
    ('', 'got nothing. For example'), ('actuators:\n', 'got keys actuators. For example'),
    ('joint1: {law: rigid}', 'got keys joint1. For example'),
    ('name: arm\nbodies: []\nactuators: {}', 'a whole robot: give it as the robot, not as '),
    ({}, 'expected the key actuators'),
    *((source, 'expected the path of a YAML file, or a mapping') for source in (
        None, 3, [SPRING]))])
def test_what_is_no_file_of_actuators_is_told_what_one_is(tmp_path, source, words):
    if isinstance(source, str):
        (tmp_path / 'springs.yaml').write_text(source)
        source = tmp_path / 'springs.yaml'
    with pytest.raises(hd.HodynError, match=words):
        with_actuators(bare(), source)


def test_a_file_beside_a_robot_is_told_to_be_no_robot():
    with pytest.raises(hd.HodynError, match=(
            r"^robot: expected a Robot from load_robot, got 'arm.urdf'$")):
        with_actuators('arm.urdf', {'actuators': {}})


RIGID = {'law': 'rigid', 'motor': {'inertia': 0.0}}


def test_rigid_joints_without_a_motor_keep_the_rotors_of_the_robot():
    robot = replace(bare(4), rotor_inertia=np.array([0.3, 0.2, 0.1, 0.3]))
    given = [
        RIGID, RIGID, RIGID | {'motor': {'inertia': 0.4}}, SPRING | {'motor': {'inertia': 0.5}}]
    actuators = {'actuators': {f'j{i}': x for i, x in enumerate(given)}}
    with pytest.warns(UserWarning, match="motors' inertias replace the rotor_inertia") as found:
        elastic = with_actuators(robot, actuators)
    assert len(found) == 1
    assert str(found[0].message).endswith(': j2 (0.1 by 0.4), j3 (0.3 by 0.5)')
    assert found[0].filename == __file__
    with pytest.warns(UserWarning, match='j2 .0.1 by 0.4.'):  # the same in one file
        in_one_file = hd.load_robot(chain(4, rotor_inertia=[0.3, 0.2, 0.1, 0.3], **actuators))
    assert [joint.motor for joint in in_one_file.actuators.joints] == [
        joint.motor for joint in elastic.actuators.joints]
    assert in_one_file.rotor_inertia is None
    q = np.zeros((5, 4))
    q[2, :2] = 1.0, 2.0
    feedforward = FeedForward(elastic)
    motors = feedforward.motor_side.evaluate(q, feedforward.torque(q))
    np.testing.assert_allclose(motors[3, :2], FeedForward(robot).torque(q)[0, :2], rtol=1e-12)
    assert abs(motors[3, 0] - feedforward.torque(q)[0, 0]) == pytest.approx(0.3)


def test_motors_that_agree_with_the_rotors_are_not_warned_of():
    robot = replace(bare(), rotor_inertia=np.array([0.4, 0.0]))
    geared = {'motor': ROTOR | {'side': 'rotor'}}
    assert said(with_actuators, robot, {'actuators': {
        'j0': SPRING | geared, 'j1': SPRING}}) == []
