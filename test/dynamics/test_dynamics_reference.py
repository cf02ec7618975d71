"""Every case of the reference data, in every formulation that computes it."""
import numpy as np
import pytest
from random_robots import assert_close

import hodyn_ros as hd
from hodyn_ros.dynamics.closed_form import closed_form
from hodyn_ros.robot import lie

FORMULATIONS = ['spatial', 'body_fixed', 'closed_form']
TOLERANCE = 1e-12
FORWARD_TOLERANCE = [1e-9, 1e-9, 1e-9, 1e-9, 1e-7, 1e-7]


@pytest.mark.parametrize('formulation', FORMULATIONS)
@pytest.mark.parametrize(('name', 'file'), [
    ('panda', 'panda_second_order.json'),
    ('iiwa14', 'iiwa14_second_order.json'),
    ('twolink', 'twolink_2r.json'),
])
def test_second_order(reference, name, file, formulation):
    robot = hd.load_robot(name)
    for case in reference(file)['cases']:
        q = np.array([case[key] for key in ('q', 'q1', 'q2', 'q3', 'q4')])
        # The files give what the last body exerts on the environment.
        wrenches = np.zeros((3, robot.n, 6))
        wrenches[:, -1] = -np.array([case[key] for key in ('W', 'W1', 'W2')])
        for kind, applied in (('no_wrench', None), ('wrench', wrenches)):
            expected = [case['expected'][kind][key] for key in ('Q', 'Q1', 'Q2')]
            actual = hd.inverse_dynamics(
                robot, q, formulation=formulation, external_wrenches=applied)
            assert_close(actual, expected, TOLERANCE)


@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_nth_order(reference, formulation):
    robots = {
        'gravity': hd.load_robot('panda'),
        'no_gravity': hd.load_robot('panda').with_gravity([0, 0, 0]),
    }
    for case in reference('panda_nth_order.json')['cases']:
        q = np.array([case['q'], *(case[f'q{k}'] for k in range(1, 9))])
        for kind, robot in robots.items():
            actual = hd.inverse_dynamics(robot, q, formulation=formulation)
            assert_close(actual, case['expected'][kind], TOLERANCE)


def _gaz_robot(model):
    """Return a robot of fitted link parameters, which are not those of physical bodies."""
    bodies = []
    for entry in model['bodies']:
        assert entry['inertia_about'] == 'origin'
        com = lie.skew(entry['com'])
        bodies.append(hd.Body(
            name=entry['name'], joint=entry['name'], parent=entry['parent'], type='revolute',
            placement=np.array(entry['placement'], dtype=float),
            axis=np.array(entry['axis'], dtype=float), point=np.zeros(3), pitch=0.0,
            mass=entry['mass'], com=np.array(entry['com'], dtype=float),
            inertia=np.array(entry['inertia']) + entry['mass'] * com @ com))
    return hd.Robot(
        name='gaz', gravity=np.array(model['gravity'], dtype=float), bodies=tuple(bodies),
        joint_prefixes=(), limits=hd.Limits.none(len(bodies)))


def test_closed_form_of_gaz(reference):
    data = reference('panda_gaz_closed_form.json')
    heavy = _gaz_robot(data['equivalent_rigid_body_model_g'])
    robot = _gaz_robot(data['equivalent_rigid_body_model_M_c'])
    for case in data['cases']:
        q, rate = np.array(case['q']), np.array(case['dq'])
        authors = case['authors']
        for terms in (
            hd.equations_of_motion(robot, [q, rate]), closed_form(robot, [q, rate]),
        ):
            assert_close(terms.mass, [authors['M']], TOLERANCE)
            assert_close([terms.coriolis[0] @ rate], [authors['c']], TOLERANCE)
        holding = hd.equations_of_motion(heavy, [q, 0 * q])
        assert_close(holding.gravity, [authors['g']], TOLERANCE)
        assert_close(
            [hd.inverse_dynamics(heavy, [q, 0 * q, 0 * q])[0]], [authors['g']], TOLERANCE)


def test_panda_is_near_the_closed_form_of_gaz(reference):
    robot = hd.load_robot('panda')
    for case in reference('panda_gaz_closed_form.json')['cases']:
        mass = hd.equations_of_motion(robot, [case['q'], case['dq']]).mass[0]
        expected = np.array(case['authors']['M'])
        assert np.linalg.norm(mass - expected) < 0.06 * np.linalg.norm(expected)


def _aerial_cases(reference):
    for case in reference('aerial_manipulator_tree.json')['cases']:
        twist = np.array(case['base_twist_derivs'])
        base = {'base_pose': np.array(case['base_pose']), 'base_twist': twist}
        robot, q = hd.load_robot('aerial_manipulator'), np.array(case['q_derivs'])
        yield case, robot, q, base, _local_wrenches(case, robot, q, base)


def _local_wrenches(case, robot, q, base):
    """Return the applied wrenches, given in world axes, in body axes."""
    wrenches = np.zeros((6, len(robot.bodies), 6))
    poses, twists = hd.forward_kinematics(robot, q, **base)
    for load in case['applied_wrenches']:
        body = load['body']
        wrenches[:, body] += hd.body_wrench(poses[body], twists[:5, body], load['derivs'])
    return wrenches


@pytest.mark.parametrize('formulation', ['spatial', 'body_fixed'])
def test_aerial_manipulator_inverse(reference, formulation):
    count = 0
    for case, robot, q, base, wrenches in _aerial_cases(reference):
        torque, base_wrench = hd.inverse_dynamics(
            robot, q, formulation=formulation, external_wrenches=wrenches, **base)
        assert_close(torque, case['inverse_dynamics']['tau'], TOLERANCE)
        assert_close(base_wrench, case['inverse_dynamics']['base_wrench'], TOLERANCE)
        count += 1
    assert count > 0


def test_aerial_manipulator_forward_and_hybrid(reference):
    for case, robot, q, base, wrenches in _aerial_cases(reference):
        given = case['forward_dynamics']
        torque, wrench = np.array(given['input_tau']), np.array(given['input_base_wrench'])
        motion = np.array(given['expected']['q_high'])
        base_motion = np.array(given['expected']['base_twist_high'])
        state = {'base_pose': base['base_pose'], 'base_twist': base['base_twist'][:1],
                 'external_wrenches': wrenches}
        found, base_found = hd.forward_dynamics(
            robot, q[:2], torque, base_wrench=wrench, **state)
        for k, tolerance in enumerate(FORWARD_TOLERANCE):
            assert_close([found[k]], [motion[k]], tolerance)
            assert_close([base_found[k]], [base_motion[k]], tolerance)

        moved = ['q3', 'q5', 'q7']
        columns = [name in moved for name in robot.joint_names]
        mixed = np.where(columns, motion, torque)
        expected = np.where(columns, torque, motion)
        for known, wanted in (
            ({'base_wrench': wrench}, base_motion), ({'base_motion': base_motion}, wrench),
        ):
            found, base_found = hd.hybrid_dynamics(
                robot, q[:2], mixed, moved, **known, **state)
            for k, tolerance in enumerate(FORWARD_TOLERANCE):
                assert_close([found[k]], [expected[k]], tolerance)
                assert_close([base_found[k]], [wanted[k]], tolerance)
