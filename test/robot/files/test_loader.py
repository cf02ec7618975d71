import copy
from importlib import resources
import warnings

import numpy as np
import pytest
import yaml

import hodyn_ros as hd


def text(name):
    return resources.files('hodyn_ros.robot.builtin').joinpath(f'{name}.yaml').read_text('utf-8')


@pytest.fixture
def panda():
    return yaml.safe_load(text('panda'))


def test_the_iiwas_published_inertia_is_kept():
    """Without a warning, but for those who have it in a file of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        robot = hd.load_robot('iiwa14')
    assert robot.bodies[3].inertia[2, 2] == 0.04988
    with pytest.warns(UserWarning, match=r"body 'link[47]'.*triangle"):
        hd.load_robot(yaml.safe_load(text('iiwa14')))


@pytest.mark.parametrize('source', [None, 3, ['panda'], b'panda'])
def test_what_is_no_source_is_refused(source):
    with pytest.raises(ValueError, match='expected the name of a robot, a path, URDF text'):
        hd.load_robot(source)


@pytest.mark.parametrize('position', ['a', None, np.nan, [0.1]])
def test_joints_are_locked_at_numbers(position):
    with pytest.raises(ValueError, match="joint 'joint1' is locked at"):
        hd.load_robot('panda', locked_joints={'joint1': position})


def test_a_floating_base_needs_no_placement():
    body = {'name': 'hull', 'parent': -1, 'type': 'floating', 'mass': 1.0, 'com': [0.0] * 3,
            'inertia': np.eye(3).tolist()}
    found = hd.load_robot({'name': 'ship', 'bodies': [body]})
    np.testing.assert_array_equal(found.bodies[0].placement, np.eye(4))
    with pytest.raises(hd.HodynError, match="key 'placement' is missing"):
        hd.load_robot({'name': 'arm', 'bodies': [
            body | {'type': 'revolute', 'axis': [0.0, 0.0, 1.0]}]})


@pytest.mark.parametrize(('locked', 'message'), [
    ({'joint1': 0.1}, r"locked, key 'joint1': is a joint of a body; give locked_joints"),
    ({'finger': 'a'}, "locked, key 'finger': expected numbers, got 'a'"),
    (['finger'], 'locked: expected a mapping, got list'),
])
def test_locked_joints_of_a_file_are_joints_it_has_no_longer(locked, message):
    with pytest.raises(hd.HodynError, match=message):
        hd.load_robot(yaml.safe_load(text('twolink')) | {'locked': locked})


def test_drivers_names_and_limits_of_the_panda():
    robot = hd.load_robot('panda')
    assert robot.joint_names == tuple(f'joint{i}' for i in range(1, 8))
    assert robot.joint_prefixes == ('fer_', 'panda_')
    assert robot.limits.position_max[3] == -0.0698
    assert robot.limits.effort_rate.tolist() == [1000.0] * 7
    assert np.isinf(hd.load_robot('twolink').limits.effort).all()


def test_the_ur10e_moves_by_its_published_denavit_hartenberg_parameters():
    """Universal Robots' article "DH parameters for calculations of kinematics and dynamics"."""
    right = np.pi / 2.0
    table = [  # a, d, alpha; mass; com; ixx, iyy, izz, ixy, ixz, iyz about it, all in DH frames
        (0, 0.1807, right, 7.369, [0.021, 0, 0.027],
         (0.03408, 0.03529, 0.02156, 2e-5, -0.00425, 8e-5)),
        (-0.6127, 0, 0, 13.051, [0.38, 0, 0.158],
         (0.02814, 0.77068, 0.76943, 5e-5, -0.01561, 2e-5)),
        (-0.57155, 0, 0, 3.989, [0.24, 0, 0.068],
         (0.01014, 0.30928, 0.30646, 8e-5, 0.00916, 0)),
        (0, 0.17415, right, 2.1, [0, 0.007, 0.018], (0.00296, 0.00222, 0.00258, -1e-5, 0, -24e-5)),
        (0, 0.11985, -right, 1.98, [0, 0.007, 0.018],
         (0.00296, 0.00222, 0.00258, -1e-5, 0, -24e-5)),
        (0, 0.11655, 0, 0.615, [0, 0, -0.026], (0.0004, 0.00041, 0.00034, 0, 0, 0))]
    published = hd.load_robot({'name': 'published', 'bodies': [
        {'name': f'link{i}', 'parent': i - 1, 'type': 'revolute', 'mass': mass, 'com': com,
         'dh': {'a': a, 'd': d, 'alpha': alpha},
         'inertia': [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]}
        for i, (a, d, alpha, mass, com, (xx, yy, zz, xy, xz, yz)) in enumerate(table)]})
    robot = hd.load_robot('ur10e')
    q = np.random.default_rng(1).uniform(-2, 2, (20, 5, 6))
    expected = hd.inverse_dynamics(published, q)
    np.testing.assert_allclose(
        hd.inverse_dynamics(robot, q), expected, rtol=0, atol=1e-14 * np.abs(expected).max())
    turned = np.diag([-1.0, -1.0, 1.0, 1.0])  # base_link looks the other way than UR's base
    pose = hd.forward_kinematics(published, q[:, 0][:, None], 'link5')[0]
    np.testing.assert_allclose(
        turned @ hd.forward_kinematics(robot, q[:, 0][:, None], 'tool0')[0], pose, atol=1e-14)


def change(data, path, value):
    data = copy.deepcopy(data)
    target = data
    for key in path[:-1]:
        target = target[key]
    if value is None:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return data


@pytest.mark.parametrize(('path', 'value', 'message'), [
    (['colour'], 'red', "unknown key 'colour'"),
    (['name'], None, "key 'name' is missing"),
    (['bodies'], [], "key 'bodies': expected a list"),
    (['gravity'], [0, 0], "key 'gravity': expected 3, got 2"),
    (['gravity'], [0, 0, float('nan')], "key 'gravity': not finite"),
    (['bodies', 2, 'masss'], 1.0, "body 'link3': unknown key 'masss'"),
    (['bodies', 2, 'mass'], None, "body 'link3': key 'mass' is missing"),
    (['bodies', 2, 'mass'], -1e-9, "body 'link3', key 'mass': -1e-09 kg is below 0"),
    (['bodies', 2, 'mass'], '1e-3', "key 'mass': expected numbers.*1e-3 as text: write 1.0e-3"),
    (['bodies', 2, 'mass'], '-.5E3', 'YAML reads -.5E3 as text: write -.5e[+]3'),
    (['bodies', 2, 'mass'], 'one', "expected numbers, got 'one'$"),
    (['bodies', 2, 'com'], [0, '5.0e2', '1e2'], 'YAML reads 5.0e2 as text: write 5.0e[+]2[)]$'),
    (['bodies', 2, 'mass'], True, "key 'mass': expected numbers"),
    (['bodies', 2, 'com'], [0, 0], "key 'com': expected 3, got 2"),
    (['bodies', 2, 'com'], [[0], [0, 1]], "key 'com': expected numbers"),
    (['bodies', 2, 'type'], 'cylindrical', "key 'type': expected one of revolute"),
    (['bodies', 2, 'axis'], [0, 0, 2], "key 'axis': expected a unit vector, got one of length 2"),
    (['bodies', 2, 'pitch'], 0.1, "key 'pitch': a revolute joint has none"),
    (['bodies', 2, 'parent'], 12, "body 'link3', key 'parent': no body 12"),
    (['bodies', 2, 'parent'], 'nobody', "no body 'nobody'"),
    (['bodies', 2, 'parent'], 5, "form a cycle: 'link3'"),
    (['bodies', 2, 'placement', 3], [0, 0, 0, 2], "key 'placement': its last row"),
    (['bodies', 2, 'placement', 0, 0], 1.1, "key 'placement': its rotation is not orthonormal"),
    (['bodies', 2, 'inertia', 0, 1], 0.5, "key 'inertia': not symmetric"),
    (['bodies', 2, 'inertia', 0, 0], -0.5, "key 'inertia': not positive"),
    (['bodies', 2, 'inertia', 0, 0], 5.0, "key 'inertia': no rigid body has it.*inertia_check"),
    (['bodies', 2, 'name'], 'link2', "two bodies have the body name 'link2'"),
    (['bodies', 2, 'joint'], 'joint2', "two bodies have the joint name 'joint2'"),
    (['limits', 'torque'], [1] * 7, "limits: unknown key 'torque'"),
    (['limits', 'effort'], [1] * 6, "limits, key 'effort': expected 7, got 6"),
    (['limits', 'effort', 4], -1.0, "joint 'joint5': must be above 0"),
    (['limits', 'position', 1], [1, 0], "joint 'joint2': its lower limit is not below"),
    (['limits', 'position'], [None, *[[0, 1]] * 6], "limits, key 'position'"),
    (['limits', 'jerk', 1], 'x', "limits, key 'jerk': expected numbers"),
    (['base_pose'], np.zeros((4, 4)), "key 'base_pose': its rotation"),
    (['joint_prefixes'], 'fer_', "key 'joint_prefixes': expected a list"),
    (['inertia_check'], 'no', "key 'inertia_check'"),
    (['friction', 'law'], 'dry', "friction, key 'law': expected 'sigmoid'"),
    (['friction', 'slope'], None, "friction: key 'slope' is missing"),
])
def test_a_wrong_file_is_refused_naming_body_and_key(panda, path, value, message):
    with pytest.raises(ValueError, match=message):
        hd.load_robot(change(panda, path, value))
