"""Joints that follow others: the robot moves as one whose joints are moved so one by one."""
from dataclasses import replace

from cases import Case, case_of
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from random_robots import assert_close, couple, random_inertia, random_mapping, random_motion
from rigid_bodies import link
from scipy.linalg import block_diag

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward

SEEDS = st.integers(0, 2**32 - 1)
prove = settings(max_examples=20, deadline=None, derandomize=True)


class Pair:
    """A robot with coupled joints, and the same with all joints free.

    Attributes
    ----------
    robot, free : Robot
        Both.
    s, c : (m, n) and (m,) arrays
        The free robot's joints are at S q + c, found here by walking from follower to leader.

    """

    def __init__(self, seed, largest=9, *, floating=False, serial=None):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, largest + 1)) + floating
        serial = bool(rng.random() < 0.5) if serial is None else serial
        keys = random_mapping(rng, count, floating=floating, serial=serial, coupled=True)
        bodies = keys['bodies']
        if not any('mimic' in body for body in bodies):
            bodies[-1]['mimic'] = {'joint': bodies[-2]['joint'], 'multiplier': -0.7, 'offset': 0.2}
        self.robot = hd.load_robot(keys)
        self.free = hd.load_robot({**keys, 'bodies': [
            {key: value for key, value in body.items() if key != 'mimic'} for body in bodies]})
        by_joint = {body['joint']: body for body in bodies}
        names = self.robot.joint_names
        self.s = np.zeros((self.free.n, len(names)))
        self.c = np.zeros(self.free.n)
        for row, joint in enumerate(self.free.joint_names):
            factor = 1.0
            while 'mimic' in by_joint[joint]:
                mimic = by_joint[joint]['mimic']
                self.c[row] += factor * mimic['offset']
                factor *= mimic['multiplier']
                joint = mimic['joint']
            self.s[row, names.index(joint)] = factor
        self.rng = rng

    def moving(self, order, count=None):
        """Return a case of the robot, or a batch, and the same motion of the free robot."""
        case = case_of(self.rng, self.robot, order, count)
        moved = case.q @ self.s.T
        moved[..., 0, :] += self.c
        return case, Case(self.free, moved, case.base, case.wrenches)


@pytest.mark.parametrize(('formulation', 'floating'), [
    ('spatial', False), ('body_fixed', False), ('closed_form', False), ('spatial', True),
    ('body_fixed', True)])
@prove
@given(seed=SEEDS, order=st.integers(0, 4))
def test_torques_are_those_of_the_free_robot_summed_up(formulation, floating, seed, order):
    pair = Pair(seed, floating=floating)
    coupled, free = pair.moving(order, 3)
    for acting in ({}, {'wrenches': None}):
        case = replace(coupled, **acting)
        expected = replace(free, **acting).efforts() @ block_diag(np.eye(6 * floating), pair.s)
        batch = case.efforts(formulation=formulation)
        for t in range(3):
            case.assert_close(case[t].efforts(formulation=formulation), expected[t], 1e-11)
            case.assert_close(batch[t], expected[t], 1e-11)


@prove
@given(seed=SEEDS)
def test_bodies_and_links_move_as_those_of_the_free_robot(seed):
    pair = Pair(seed)
    case, free = pair.moving(2)
    q, moved, link = case.q, free.q, pair.robot.bodies[-1].name
    for representation in ('spatial', 'body_fixed', 'hybrid'):
        kind = {'representation': representation}
        for one, other in zip(
                *(x.of(hd.forward_kinematics, **kind) for x in (case, free)), strict=True):
            assert_close(one, other, 1e-11)
        jacobian = case.of(hd.jacobian, link, **kind)
        assert_close(jacobian, free.of(hd.jacobian, link, **kind) @ pair.s, 1e-11)
        _, twist = case.of(hd.forward_kinematics, link, **kind)
        assert_close(jacobian[0] @ q[1], twist[0], 1e-11)
    for function in (
            hd.center_of_mass, hd.momentum, hd.gravity_wrenches,
            lambda robot, q: np.transpose(hd.energy(robot, q))):
        assert_close(case.of(function), free.of(function), 1e-11)
    np.testing.assert_allclose(
        hd.center_of_mass(pair.robot, q[0])[0], hd.center_of_mass(pair.free, moved[0])[0],
        atol=1e-12)


@prove
@given(seed=SEEDS)
def test_matrices_are_those_of_the_free_robot_between_s(seed):
    pair = Pair(seed)
    case, free = pair.moving(1)
    q = case.q[:3]
    one, other = (x.pushed(hd.closed_form, first=3) for x in (case, free))
    for name in ('mass', 'coriolis', 'coriolis_skew'):
        assert_close(getattr(one, name), pair.s.T @ getattr(other, name) @ pair.s, 1e-11)
    for name in ('gravity', 'external'):
        assert_close(getattr(one, name), getattr(other, name) @ pair.s, 1e-11)
    terms = hd.equations_of_motion(pair.robot, q)
    assert_close(terms.mass, one.mass, 1e-11)
    assert_close(terms.coriolis, one.coriolis_skew, 1e-11)
    symbols = hd.christoffel_symbols(pair.robot, q[0])
    assert_close(
        ((symbols @ q[1]) @ q[1])[np.newaxis], (terms.coriolis[0] @ q[1])[np.newaxis], 1e-10)


def test_all_joints_may_be_prescribed():
    case, _ = Pair(3).moving(1)
    found = case.driven(hd.hybrid_dynamics, case.q[2:], case.robot.joint_names)
    assert_close(found, case.efforts(), 1e-12)


def hand():
    """Return an arm of one joint with two fingers, of which one follows the other."""
    def body(name, parent, kind, axis, mass, **more):
        return {
            'name': name, 'joint': f'{name}_joint', 'parent': parent, 'type': kind, 'mass': mass,
            'placement': np.eye(4), 'axis': axis, 'com': [0.1, 0.0, 0.0],
            'inertia': 1e-3 * mass * np.eye(3), **more}
    return {'name': 'hand', 'bodies': [
        body('arm', -1, 'revolute', [0.0, 0.0, 1.0], 1.0),
        body('left', 'arm', 'prismatic', [0.0, 1.0, 0.0], 0.1),
        body('right', 'arm', 'prismatic', [0.0, -1.0, 0.0], 0.1, mimic={
            'joint': 'left_joint', 'offset': 0.01})]}


def test_a_joint_that_moves_no_mass_is_named():
    keys = hand()
    robot = hd.load_robot(keys)
    assert robot.joint_names == ('arm_joint', 'left_joint')
    np.testing.assert_allclose(hd.equations_of_motion(robot, np.zeros((2, 2))).mass[0, 1, 1], 0.2)
    keys['bodies'][1] |= {'mass': 0.0, 'inertia': np.zeros((3, 3)), 'com': np.zeros(3)}
    keys['bodies'].append({
        'name': 'tip', 'parent': 'left', 'type': 'revolute', 'mass': 1e-3, 'com': np.zeros(3),
        'placement': np.eye(4), 'axis': [1.0, 0.0, 0.0], 'inertia': 1e-6 * np.eye(3),
        'mimic': {'joint': 'left_joint', 'multiplier': 0.5}})
    assert hd.load_robot(keys).n == 2
    # Two bodies that turn about the same axis, one back as the other goes on.
    with pytest.warns(UserWarning, match="joint 'jbase', alone or with others, can move"):
        hd.load_robot({'name': 'still', 'bodies': [
            link('base', mass=0.0, inertia=np.zeros((3, 3))),
            link('back', 'base', com=[0.0] * 3, mimic={'joint': 'jbase', 'multiplier': -1.0})]})


def test_inverse_kinematics_counts_joints_not_bodies():
    rng = np.random.default_rng(5)
    keys = random_mapping(rng, 8, kinds=('revolute',))
    keys['bodies'][4]['mimic'] = {'joint': 'joint2', 'multiplier': -0.8, 'offset': 0.3}
    robot = hd.load_robot(keys)
    assert robot.n == 7
    q = random_motion(rng, robot, 1)
    pose, twist = hd.forward_kinematics(robot, q, 'body7')
    found = hd.inverse_kinematics(
        robot, q[0], twist, 'body7', prescribed={'joint0': q[1:4, 0]})
    assert_close(found, q, 1e-8)
    solved = hd.solve_pose(robot, pose, 'body7', q[0] + 1e-2)
    np.testing.assert_allclose(hd.forward_kinematics(robot, solved, 'body7')[0], pose, atol=1e-9)
    terms = hd.task_space_dynamics(robot, q[:2], 'body7')
    torque = terms.torques(twist[1])
    there = hd.forward_dynamics(robot, q[:2], torque[np.newaxis])
    _, found = hd.forward_kinematics(robot, np.vstack([q[:2], there]), 'body7')
    np.testing.assert_allclose(found[1], twist[1], atol=1e-7)
    del keys['bodies'][6:]
    with pytest.raises(ValueError, match='moved by 5 free joints'):
        hd.inverse_kinematics(hd.load_robot(keys), q[0, :5], twist, 'body5')


def test_energy_is_kept_along_a_simulated_motion():
    robot = Pair(11, 4, serial=False).robot
    start = np.vstack([0.3 * np.ones(robot.n), -0.2 * np.ones(robot.n)])
    states = hd.simulate(robot, lambda t, state: np.zeros(robot.n), start, [0.0, 0.05, 0.1])
    energies = [sum(entry[0] for entry in hd.energy(robot, state)) for state in states]
    assert np.ptp(energies) < 1e-7 * max(map(abs, energies))


def test_the_feed_forward_adds_rotors_and_friction_by_joint():
    keys = hand() | {
        'rotor_inertia': [0.1, 0.2],
        'friction': {'law': 'sigmoid', 'amplitude': [1.0, 2.0], 'slope': [10.0, 20.0],
                     'velocity_offset': [0.0, 0.0]}}
    robot = hd.load_robot(keys)
    q = random_motion(np.random.default_rng(0), robot, 2)
    torque = FeedForward(robot).torque(q, friction=False)
    np.testing.assert_allclose(
        torque, hd.inverse_dynamics(robot, q) + q[2:] * [0.1, 0.2], rtol=1e-12)


def test_against_mujoco_with_an_equality_of_joints():
    """MuJoCo's own solver holds the joints together, nearly."""
    mujoco = pytest.importorskip('mujoco')
    body = """<body name="{0}"><joint name="{0}" type="{1}" axis="{2}"/>
      <inertial pos="0.1 0.02 -0.05" mass="{3}" diaginertia="0.01 0.02 0.015"/>{4}</body>"""
    tips = ''.join(body.format(*values, '') for values in (
        ('left', 'slide', '0 1 0', 0.4), ('right', 'hinge', '1 0 1', 0.7)))
    text = f"""<mujoco><option gravity="0 0 -9.81"/><compiler angle="radian"/><worldbody>
      {body.format('arm', 'hinge', '0 1 0', 2.0, tips)}</worldbody><equality>
      <joint joint1="right" joint2="left" polycoef="0.3 -2 0 0 0" solref="-1e4 -200"
        solimp="0.9999999 0.9999999 0.001"/></equality></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    robot = hd.load_robot(model)
    assert robot.joint_names == ('arm', 'left')
    assert str(robot.bodies[-1].mimic) == '−2 × left + 0.3'
    q, torque = np.array([[0.4, 0.1], [0.7, -0.3]]), np.array([1.0, -2.0])
    data = mujoco.MjData(model)
    data.qpos[:] = [*q[0], 0.3 - 2.0 * q[0, 1]]
    data.qvel[:] = [*q[1], -2.0 * q[1, 1]]
    data.qfrc_applied[:2] = torque
    mujoco.mj_forward(model, data)
    found = hd.forward_dynamics(robot, q, torque[np.newaxis])[0]
    np.testing.assert_allclose(found, data.qacc[:2], rtol=1e-3)


def test_against_pinocchio_with_mimic(tmp_path):
    pin = pytest.importorskip('pinocchio')
    rng = np.random.default_rng(2)
    keys = random_mapping(rng, 6, kinds=('revolute', 'prismatic'), serial=False)
    for child, leader in ((3, 1), (5, 2)):
        keys['bodies'][child]['mimic'] = {
            'joint': f'joint{leader}', 'multiplier': -1.3, 'offset': 0.2}
    keys |= {'gravity': [0.0, 0.0, -9.81], 'limits': {
        'position': [[-9.0, 9.0]] * 4, 'velocity': [9.0] * 4, 'effort': [9.0] * 4}}
    robot = hd.load_robot(keys)
    hd.save_robot(robot, tmp_path / 'robot.urdf')
    model = pin.buildModelFromXML((tmp_path / 'robot.urdf').read_text(), mimic=True)
    assert model.nv == robot.n
    model.gravity.linear = robot.gravity
    q = random_motion(rng, robot, 0)
    columns = [model.joints[model.getJointId(name)].idx_v for name in robot.joint_names]
    arranged = np.empty_like(q)
    arranged[:, columns] = q
    torque = pin.rnea(model, model.createData(), *arranged)[columns]
    assert_close(hd.inverse_dynamics(robot, q), torque[np.newaxis], 1e-10)


def test_couplings_of_a_large_hand():
    """Twenty joints, fifteen of them coupled: as in hands driven by tendons."""
    rng = np.random.default_rng(9)
    keys = random_mapping(rng, 20, kinds=('revolute',), serial=False)
    for i, body in enumerate(keys['bodies']):
        body |= {'mass': 0.05, 'inertia': random_inertia(rng, 0.05)}
        if i >= 5:
            body['mimic'] = {'joint': f'joint{i % 5}', 'multiplier': 0.7}
    robot = hd.load_robot(keys)
    assert robot.n == 5
    couple(rng, keys['bodies'][:5])
    assert hd.load_robot(keys).n <= 5
    q = random_motion(rng, robot, 1)
    found = hd.forward_dynamics(robot, q[:2], hd.inverse_dynamics(robot, q))
    assert_close(found, q[2:], 1e-8)
