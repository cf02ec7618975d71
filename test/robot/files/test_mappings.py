"""Mappings, files and built-in robots: what their keys mean."""
import warnings

import numpy as np
import pytest
from random_robots import random_inertia, random_mapping, random_motion, random_pose, random_robot
from rigid_bodies import link
from robot_texts import ONE_JOINT, said, saved

import hodyn_ros as hd
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import robot_keys, strict_yaml
from hodyn_ros.robot.inertia import is_slight, physical_fault
from hodyn_ros.robot.mass_matrix import mass_matrix


def mapping():
    return random_mapping(np.random.default_rng(3), 3)


def with_fixed(parent, inertia, mass=0.0):
    data = mapping()
    data['bodies'].append({
        'name': 'plate', 'type': 'fixed', 'parent': parent, 'placement': np.eye(4), 'mass': mass,
        'com': np.zeros(3), 'inertia': inertia})
    return data


@pytest.mark.parametrize('name', hd.robot_names())
def test_built_in_robots_are_whole(name):
    robot = hd.load_robot(name)
    assert robot.name == name
    assert len(robot.limits.effort) == robot.n


def test_the_iiwas_published_inertia_is_kept():
    """Without a warning, but for those who have it in a file of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        robot = hd.load_robot('iiwa14')
    assert robot.bodies[3].inertia[2, 2] == 0.04988
    with pytest.warns(UserWarning, match=r"body 'link[47]'.*triangle"):
        hd.load_robot(robot_keys('iiwa14'))


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


def test_the_arms_of_the_docs_are_built_in():
    assert {'fr3', 'iiwa14', 'panda', 'twolink', 'ur10e'} <= set(hd.robot_names())


def test_the_tool_is_a_frame_and_a_mass():
    rng = np.random.default_rng(0)
    tool = {
        'link': 'body2', 'name': 'gripper', 'placement': random_pose(rng), 'mass': 0.7,
        'com': rng.normal(size=3), 'inertia': random_inertia(rng, 0.7)}
    robot = hd.load_robot({**mapping(), 'tool': tool})
    plain = hd.load_robot(mapping())
    index, pose = robot.frame('gripper')
    assert index == 2
    np.testing.assert_array_equal(pose, tool['placement'])
    motion = random_motion(rng, robot, 2)
    rotation, position = pose[:3, :3], pose[:3, 3]
    loaded = plain.with_payload(
        'body2', 0.7, rotation @ tool['com'] + position, rotation @ tool['inertia'] @ rotation.T)
    np.testing.assert_allclose(
        hd.inverse_dynamics(robot, motion), hd.inverse_dynamics(loaded, motion), rtol=1e-10)


def test_a_tool_on_a_link_fixed_to_the_world_weighs_on_no_joint():
    data = with_fixed(-1, np.eye(3), 5.0)
    tool = {'link': 'plate', 'mass': 3.0, 'com': np.zeros(3), 'inertia': np.eye(3)}
    plain, robot = hd.load_robot(data), hd.load_robot({**data, 'tool': tool})
    assert robot.frame('tool')[0] == -1
    assert [body.mass for body in robot.bodies] == [body.mass for body in plain.bodies]


def test_null_is_no_limit():
    limits = {'position': [[-1, 1], [None, 2], [None, None]], 'jerk': [None, 5, 6]}
    loaded = hd.load_robot({**mapping(), 'limits': limits}).limits
    assert loaded.position_min.tolist() == [-1, -np.inf, -np.inf]
    assert loaded.position_max.tolist() == [1, 2, np.inf]
    assert loaded.jerk.tolist() == [np.inf, 5, 6]


def test_lists_follow_the_bodies_as_listed():
    data, per_joint = mapping(), np.array([1.0, 2.0, 3.0])
    for body, parent in zip(data['bodies'], (-1, 'body0', 'body1'), strict=True):
        body['parent'] = parent
    data['bodies'].reverse()
    robot = hd.load_robot({
        **data, 'limits': {'effort': per_joint}, 'rotor_inertia': per_joint,
        'effort_gain': -per_joint, 'friction': {
            'law': 'sigmoid', 'amplitude': per_joint, 'slope': per_joint,
            'velocity_offset': per_joint, 'viscous': per_joint}})
    assert robot.joint_names == ('joint0', 'joint1', 'joint2')
    for found in (robot.limits.effort, robot.rotor_inertia, -robot.effort_gain,
                  robot.friction.amplitude, robot.friction.viscous):
        assert found.tolist() == [3.0, 2.0, 1.0]


def test_a_massless_link_brings_its_inertia():
    plain = hd.load_robot(mapping()).bodies[2]
    plate = hd.load_robot(with_fixed('body2', np.eye(3))).bodies[2]
    np.testing.assert_allclose(plate.inertia, plain.inertia + np.eye(3), rtol=1e-14)
    assert plate.mass == plain.mass


def test_the_inertia_of_a_link_fixed_to_the_world_is_not_judged():
    thin = np.diag([0.0, 0.0, 1.0])
    hd.load_robot(with_fixed(-1, thin))
    with pytest.raises(ValueError, match="body 'plate', key 'inertia': no rigid body"):
        hd.load_robot(with_fixed('body1', thin))


def test_a_relaxed_check_still_wants_bodies_that_resist():
    with pytest.warns(UserWarning, match="'plate'.*not positive"):
        hd.load_robot(with_fixed('body1', -1e-6 * np.eye(3)), inertia_check='warn')
    with (pytest.warns(UserWarning, match="'plate'.*not positive"),
          pytest.raises(ValueError, match=r"'body1', key 'inertia', with all.*not positive")):
        hd.load_robot(with_fixed('body1', -1e3 * np.eye(3)), inertia_check='warn')


def test_a_last_body_that_turns_no_mass_takes_no_torque():
    data = mapping()
    data['bodies'][2] |= {
        'type': 'revolute', 'com': data['bodies'][2]['point'], 'inertia': np.zeros((3, 3))}
    data['bodies'][2].pop('pitch', None)
    with pytest.warns(UserWarning, match=r"can move without moving any mass \(body 'body2'\)"):
        robot = hd.load_robot(data)
    rng = np.random.default_rng(0)
    torque = hd.inverse_dynamics(robot, rng.normal(size=(5, robot.n)))
    assert np.abs(torque[:, 2]).max() < 1e-12 * np.abs(torque).max()
    with pytest.raises(ValueError, match=r"mass matrix.*joint 'joint2'"):
        hd.forward_dynamics(robot, np.zeros((2, robot.n)), np.zeros((1, robot.n)))


def test_a_robot_without_any_mass_is_refused():
    data = mapping()
    for body in data['bodies']:
        body |= {'mass': 0.0, 'inertia': np.zeros((3, 3))}
    with pytest.raises(ValueError, match="key 'bodies': nothing that moves has a mass"):
        hd.load_robot(data)


@pytest.mark.parametrize(('values', 'inertia_check', 'answer'), [
    ((0.01, 0.0105, 0.0205), None, ''), ((0.01, 0.01, 0.0205), None, 'by 0.024 of the largest'),
    ((0.01, 0.01, 0.0205), 'warn', 'by 0.024 of the largest'), ((1.0, 1.0, 2.3), None, 'refused'),
    ((1.0, 1.0, 2.3), 'warn', 'by 0.13 of'), ((0.0, 0.0, 1e-6), None, 'by 1 of'),
    ((0.0, 0.0, 1e-4), None, 'refused'), ((-0.01, 1.0, 1.0), None, 'refused'),
    ((-0.01, 1.0, 1.0), 'warn', 'refused')])
def test_what_hardly_changes_a_torque_is_a_warning(values, inertia_check, answer):
    data = mapping()
    rotation = lie.rotation_exp([0.3, -0.7, 1.0])
    data['bodies'][2] |= {'inertia': rotation @ np.diag(values) @ rotation.T, 'mass': 2.0}
    if answer == 'refused':
        with pytest.raises(ValueError, match="body 'body2', key 'inertia'"):
            hd.load_robot(data, inertia_check=inertia_check)
        return
    words = ' '.join(said(hd.load_robot, data, inertia_check=inertia_check))
    assert (answer in words and 'triangle' in words) if answer else not words


@pytest.mark.parametrize('seed', range(3))
def test_products_of_inertia_of_the_opposite_sign_are_asked_about(seed):
    rng, data = np.random.default_rng(seed), mapping()
    asked = 0
    for _ in range(100):
        rotation, (a, b) = lie.rotation_exp(rng.normal(size=3)), rng.uniform(0.1, 1.0, 2)
        right = rotation @ np.diag([a, b, 0.95 * (a + b)]) @ rotation.T
        wrong = 2.0 * np.diag(np.diag(right)) - right
        larger = right + np.diag(9.0 * np.diag(right) * np.eye(3)[rng.integers(3)])
        assert physical_fault(1.0, right) is None
        assert not str(physical_fault(1.0, larger)).endswith('?')
        if physical_fault(1.0, wrong) and not is_slight(1.0, wrong):
            asked += 1
            data['bodies'][2] |= {'inertia': wrong.tolist(), 'mass': 1.0}
            with pytest.raises(ValueError, match=r'with the opposite sign of .*\? If not, '):
                hd.load_robot(data)
    assert asked > 3


@pytest.mark.parametrize('away', [0.0, 1e4])
def test_coaxial_joints_with_a_point_mass_between_are_told(away):
    point = {'inertia': np.zeros((3, 3)), 'axis': [0, 0, 1]}
    bodies = [
        link('base', placement=lie.pose(None, [away, 0, 0]), com=[0, 0, 0.1], **point),
        link('arm', 'base', **point)]
    with pytest.warns(UserWarning, match=r"joint 'j(base|arm)'.*can move without moving any"):
        hd.load_robot({'name': 'coaxial', 'bodies': bodies})
    bodies[0]['com'] = [1e-4, 0.0, 0.1]
    assert hd.load_robot({'name': 'coaxial', 'bodies': bodies}).n == 2


@pytest.mark.parametrize('floating', [False, True])
def test_the_mass_matrix_that_is_checked_is_that_of_the_dynamics(floating):
    rng = np.random.default_rng(8)
    robot = random_robot(rng, 7, floating=floating, serial=False)
    q = rng.normal(size=(2, robot.n))
    base = {'base_pose': np.eye(4), 'base_twist': np.zeros((1, 6))} if floating else {}
    expected = hd.equations_of_motion(robot, q, **base).mass[0]
    np.testing.assert_allclose(
        mass_matrix(robot, q[0])[0], expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_a_tuple_of_a_launch_file_is_a_list():
    assert strict_yaml.load('a: !!python/tuple [1, 2]', 'launch') == {'a': [1, 2]}


def test_a_byte_order_mark_does_no_harm(tmp_path):
    path = tmp_path / 'robot.urdf'
    path.write_bytes(b'\xef\xbb\xbf' + ONE_JOINT.encode())
    for source in (path, '\ufeff' + ONE_JOINT):
        assert hd.load_robot(source).joint_names == ('j1',)


@pytest.mark.parametrize('source', [None, 3, ['panda'], b'panda'])
def test_what_is_no_source_is_refused(source):
    with pytest.raises(ValueError, match='expected the name of a robot, a path, URDF text'):
        hd.load_robot(source)
    with pytest.raises(FileNotFoundError, match=r"no robot 'pandaa'.*panda,"):
        hd.load_robot('pandaa')


@pytest.mark.parametrize('position', ['a', None, np.nan, [0.1]])
def test_joints_are_locked_at_numbers(position):
    with pytest.raises(ValueError, match="joint 'joint1' is locked at"):
        hd.load_robot('panda', locked_joints={'joint1': position})


def test_a_floating_base_needs_no_placement_and_a_pitch_may_be_0():
    hull, screw = link('hull', kind='floating'), link('screw', 'hull', 'helical', pitch=0.0)
    del hull['placement']
    found = hd.load_robot({'name': 'ship', 'bodies': [hull, screw]})
    np.testing.assert_array_equal(found.bodies[0].placement, np.eye(4))
    assert found.bodies[1].pitch == 0.0


STOP = {'name': 'too fast', 'commands': 'position', 'quantity': 'velocity', 'limit': 2.0}
UNLIMITED = {key: value for key, value in STOP.items() if key != 'limit'}


def reflexes(*stops, **keys):
    return {**random_mapping(np.random.default_rng(3), 2), 'reflexes': {
        'period': 0.001, 'stops': list(stops), **keys}}


@pytest.mark.parametrize(('stop', 'limit'), [
    ({}, [[2.0, 2.0]]),
    ({'limit': [1.0, 3.0]}, [[1.0, 3.0]]),
    ({'joints': ['joint1']}, [[np.inf, 2.0]]),
    ({'limit': {'speed': [0.0, 2.0], 'limit': [5.0, 1.0]}, 'joints': ['joint0']},
     [[5.0, np.inf], [1.0, np.inf]]),
])
def test_limits_of_reflexes_are_for_all_joints_one_each_or_over_the_speed(tmp_path, stop, limit):
    robot = hd.load_robot(reflexes(STOP | stop, gravity=False))
    for found in (robot.reflexes, saved(robot, tmp_path / 'robot.yaml').reflexes):
        assert (found.period, found.gravity) == (0.001, False)
        np.testing.assert_array_equal(found.stops[0].limit, limit)


def test_a_reflex_without_any_limit_is_said_to_trip_on_nothing():
    missing = "'limit': missing, and `limits` has no jerk for its joints: nothing"
    with pytest.warns(UserWarning, match=missing):
        hd.load_robot(reflexes(UNLIMITED | {'quantity': 'jerk'}))


def test_without_a_limit_those_of_the_file_count_in_the_order_of_joints():
    data = reflexes(UNLIMITED)
    data['limits'] = {'velocity': [3.0, 4.0]}
    robot = hd.load_robot(data)
    np.testing.assert_array_equal(robot.reflexes.stops[0].limit, [[3.0, 4.0]])
    locked = hd.load_robot(data, locked_joints={'joint0': 0.1})
    np.testing.assert_array_equal(locked.reflexes.stops[0].limit, [[4.0]])
