"""What is identified is written for the bodies and joints that it was found for."""
from pathlib import Path

from known_recordings import PAYLOAD
import numpy as np
import pytest
from random_robots import random_mapping
from robot_texts import LIMIT, joined_link, urdf
import yaml

from hodyn_ros import inverse_dynamics, load_robot
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.robot_writer import write_robot
from hodyn_ros.robot.files import robot_keys
from hodyn_ros.robot.files.plain_values import plain

ARM = urdf(joined_link('l1', inside=LIMIT), joined_link('hand', 'l1', 'fixed', ''))


def rewritten(source, estimate):
    """Return the robot of a file, and that of the file which is written of an estimate."""
    robot, found = load_robot(source), Path('found.yaml')
    write_robot(source, robot, estimate, found)
    return robot, load_robot(found)


@pytest.fixture
def arm():
    Path('arm.urdf').write_text(ARM)
    return 'arm.urdf'


def test_of_a_doubtful_number_the_written_file_does_not_warn_again(recwarn):
    """Each file that was read back warned, by the name of an unfinished file."""
    data = robot_keys('panda')
    data['limits']['position'][6] = [0.0, 120.0]
    Path('screw.yaml').write_text(yaml.safe_dump(plain(data)), 'utf-8')
    robot = load_robot('screw.yaml')
    assert [str(one.message) for one in recwarn] == [
        "robot 'screw.yaml': ranges are in rad: are these degrees? joint7 (0 to 120)"]
    write_robot('screw.yaml', robot, Estimate(), Path('found.yaml'))
    assert len(recwarn) == 1
    write_robot('screw.yaml', robot, Estimate(
        joints={'rotor_inertia': np.full(7, 1e4)}), Path('again.yaml'))
    assert len(recwarn) == 2
    assert str(recwarn[-1].message).startswith("robot 'again.yaml': ")


def test_friction_is_written_for_the_bodies_as_they_are_listed():
    data = robot_keys('panda')
    del data['limits'], data['friction']
    names = [body['name'] for body in data['bodies']]
    for body in data['bodies']:
        if isinstance(body['parent'], int) and body['parent'] >= 0:
            body['parent'] = names[body['parent']]
    data['bodies'].reverse()
    Path('reversed.yaml').write_text(yaml.safe_dump(data), 'utf-8')
    values = np.arange(1.0, 8.0)
    joints = {key: values + i for i, key in enumerate((
        'amplitude', 'slope', 'velocity_offset', 'viscous', 'rotor_inertia', 'effort_gain'))}
    _, robot = rewritten('reversed.yaml', Estimate(joints=joints))
    for key in ('amplitude', 'slope', 'velocity_offset', 'viscous'):
        np.testing.assert_array_equal(getattr(robot.friction, key), joints[key])
    np.testing.assert_array_equal(robot.rotor_inertia, joints['rotor_inertia'])
    np.testing.assert_array_equal(robot.effort_gain, joints['effort_gain'])


def test_a_robot_from_urdf_becomes_one_in_yaml(arm):
    friction = SigmoidFriction(*(np.array([value]) for value in (0.9, 8.0, 0.02)))
    joints = {key: getattr(friction, key) for key in ('amplitude', 'slope', 'velocity_offset')}
    robot, written = rewritten(arm, Estimate(joints=joints, payload=PAYLOAD))
    q = np.random.default_rng(5).normal(size=(5, 1))
    expected = FeedForward(PAYLOAD.fixed_to(robot)).torque(q) + friction.torque(q)
    np.testing.assert_allclose(FeedForward(written).torque(q), expected, rtol=1e-12)
    np.testing.assert_array_equal(written.limits.effort, robot.limits.effort)


def test_a_link_is_written_with_all_that_is_fixed_to_it(arm):
    body = rewritten(arm, Estimate(links=(PAYLOAD,)))[1].bodies[0]
    assert (body.mass, *body.com) == (PAYLOAD.mass, *PAYLOAD.com)
    np.testing.assert_allclose(body.inertia, PAYLOAD.inertia, atol=1e-15)


def test_zeros_move_placements_and_limits(arm):
    robot, written = rewritten(arm, Estimate(joints={'zero': np.array([0.3])}))
    q = np.random.default_rng(5).normal(size=(5, 1))
    shifted = q.copy()
    shifted[0] += 0.3
    np.testing.assert_allclose(
        FeedForward(written).torque(q), FeedForward(robot).torque(shifted), rtol=1e-12)
    assert written.limits.position_min[0] == pytest.approx(-1.3)
    assert written.limits.position_max[0] == pytest.approx(1.7)


def test_what_follows_a_joint_follows_it_from_its_new_zero():
    keys = random_mapping(np.random.default_rng(4), 4, kinds=('revolute',))
    keys['bodies'][0]['mimic'] = {'joint': 'joint1', 'multiplier': -1.5}
    keys['bodies'][2]['mimic'] = {'joint': 'joint0', 'offset': 0.2}
    Path('arm.yaml').write_text(yaml.safe_dump(plain(keys)))
    zeros, rotors = np.array([0.3, -0.2]), np.array([0.5, 0.6])
    robot, written = rewritten(
        'arm.yaml', Estimate(joints={'zero': zeros, 'rotor_inertia': rotors}))
    np.testing.assert_array_equal(written.rotor_inertia, rotors)
    q = np.random.default_rng(5).normal(size=(5, 2))
    shifted = q.copy()
    shifted[0] += zeros
    np.testing.assert_allclose(
        inverse_dynamics(written, q), inverse_dynamics(robot, shifted), rtol=1e-10, atol=1e-10)
