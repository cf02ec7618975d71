import numpy as np
import pytest
from random_robots import random_mapping

import hodyn_ros as hd
from hodyn_ros.robot import lie
from hodyn_ros.robot.files.joint_geometry import dh, modified_dh, product_of_exponentials


def turn(axis, angle):
    return lie.exp(angle * np.eye(6)['xyz'.index(axis)])


def shift(*position):
    return lie.pose(None, position)


def moved(joint, kind, q):
    """Return placement · Exp(screw q) of one joint's keys."""
    axis = joint['axis']
    screw = [np.zeros(3), axis] if kind == 'prismatic' else [
        axis, np.cross(joint.get('point', np.zeros(3)), axis)]
    return joint['placement'] @ lie.exp(q * np.concatenate(screw))


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
@pytest.mark.parametrize('seed', range(5))
def test_dh_joints_move_as_the_conventions_say(kind, seed):
    a, alpha, d, theta, q = np.random.default_rng(seed).normal(size=5)
    t, z = (theta + q, d) if kind == 'revolute' else (theta, d + q)
    np.testing.assert_allclose(
        moved(dh(a, alpha, d, theta), kind, q),
        turn('z', t) @ shift(0, 0, z) @ shift(a, 0, 0) @ turn('x', alpha), atol=1e-14)
    np.testing.assert_allclose(
        moved(modified_dh(a, alpha, d, theta), kind, q),
        turn('x', alpha) @ shift(a, 0, 0) @ turn('z', t) @ shift(0, 0, z), atol=1e-14)


def test_panda_by_its_modified_dh_table(reference):
    table = reference('panda_gaz2019.json')['modified_DH']
    panda = hd.load_robot('panda')
    for i, body in enumerate(panda.bodies):
        joint = modified_dh(table['a'][i], table['alpha_over_pi'][i] * np.pi, table['d'][i])
        np.testing.assert_allclose(joint['placement'], body.placement, atol=1e-15)
        np.testing.assert_array_equal(joint['axis'], body.axis)


@pytest.mark.parametrize(('key', 'convention'), [('dh', dh), ('modified_dh', modified_dh)])
def test_dh_keys_in_a_robot(key, convention):
    table = [{'a': 0.1, 'alpha': 0.4, 'd': 0.2}, {'a': 0.3, 'alpha': -1.0, 'd': 0.1, 'theta': 0.7}]
    bodies = random_mapping(np.random.default_rng(1), 2, ('revolute', 'prismatic'))['bodies']
    rest = [{name: body[name] for name in body if name not in ('placement', 'axis', 'point')}
            for body in bodies]
    by_keys, by_function = (hd.load_robot({'name': 'r', 'bodies': [
        body | given for body, given in zip(rest, rows, strict=True)]}) for rows in (
            [{key: row} for row in table], [convention(**row) for row in table]))
    np.testing.assert_array_equal(
        by_keys.kernel_model.body_table, by_function.kernel_model.body_table)


@pytest.mark.parametrize('seed', range(10))
def test_screws_at_home_give_the_same_robot(seed):
    rng = np.random.default_rng(seed)
    mapping = random_mapping(rng, 8, serial=False)
    robot = hd.load_robot(mapping)
    poses, screws = [], []
    for body in robot.bodies:
        pose = body.placement if body.parent < 0 else poses[body.parent] @ body.placement
        poses.append(pose)
        screws.append(lie.adjoint(pose) @ body.screw)
    joints = product_of_exponentials(screws, poses, [body.parent for body in robot.bodies])
    assert [joint['type'] for joint in joints] == [body.type for body in robot.bodies]
    again = hd.load_robot({**mapping, 'bodies': [
        {'name': body.name, 'mass': body.mass, 'com': body.com, 'inertia': body.inertia, **joint}
        for body, joint in zip(robot.bodies, joints, strict=True)]})
    motion = rng.normal(size=(5, 8))
    expected = hd.inverse_dynamics(robot, motion)
    np.testing.assert_allclose(
        hd.inverse_dynamics(again, motion), expected, atol=1e-11 * np.abs(expected).max())


def test_the_panda_by_the_screws_of_the_paper():
    d1, d3, d5, a4, a7 = 0.333, 0.316, 0.384, 0.0825, 0.088
    axes = [[0, 0, 1], [0, 1, 0], [0, 0, 1], [0, -1, 0], [0, 0, 1], [0, -1, 0], [0, 0, -1]]
    points = [[0, 0, d1], [0, 0, d1], [0, 0, d1 + d3], [a4, 0, d1 + d3], [0, 0, d1 + d3 + d5],
              [0, 0, d1 + d3 + d5], [a7, 0, d1 + d3 + d5]]
    screws = [[*e, *np.cross(y, e)] for e, y in zip(axes, points, strict=True)]
    panda = hd.load_robot('panda')
    poses = [panda.bodies[0].placement]
    for body in panda.bodies[1:]:
        poses.append(poses[-1] @ body.placement)
    for joint, body in zip(product_of_exponentials(screws, poses), panda.bodies, strict=True):
        assert joint['type'] == 'revolute'
        np.testing.assert_allclose(joint['placement'], body.placement, atol=1e-14)
        np.testing.assert_allclose(joint['axis'], body.axis, atol=1e-14)


SCREW = [0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize(('screws', 'poses', 'parents', 'words'), [
    ([SCREW, [0, 0, 0, 0, 2, 0]], 2, None, 'screw 1: its axis has length 2'),
    (np.zeros((2, 5)), 1, None, r'\(n, 6\)'),
    *((wrong, 2, None, 'screws') for wrong in ([['x'] * 6], [[0.0], [0.0, 1.0]], None, 1.0)),
    ([SCREW] * 2, 2, [-1], '1 parents for 2 screws')])
def test_screws_without_unit_axes_numbers_or_parents_are_refused(screws, poses, parents, words):
    with pytest.raises(hd.HodynError, match=words):
        product_of_exponentials(screws, [np.eye(4)] * poses, parents)
