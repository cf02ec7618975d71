"""Every case of the reference data, in every formulation that computes it."""
from cases import Case, joined
import numpy as np
import pytest
from random_robots import assert_close

import hodyn_ros as hd
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
def test_nth_order(reference, panda, formulation):
    robots = {'gravity': panda, 'no_gravity': panda.with_gravity([0, 0, 0])}
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
            hd.equations_of_motion(robot, [q, rate]), hd.closed_form(robot, [q, rate]),
        ):
            assert_close(terms.mass, [authors['M']], TOLERANCE)
            assert_close([terms.coriolis[0] @ rate], [authors['c']], TOLERANCE)
        holding = hd.equations_of_motion(heavy, [q, 0 * q])
        assert_close(holding.gravity, [authors['g']], TOLERANCE)
        assert_close(
            [hd.inverse_dynamics(heavy, [q, 0 * q, 0 * q])[0]], [authors['g']], TOLERANCE)


def test_panda_is_near_the_closed_form_of_gaz(reference, panda):
    for case in reference('panda_gaz_closed_form.json')['cases']:
        mass = hd.equations_of_motion(panda, [case['q'], case['dq']]).mass[0]
        expected = np.array(case['authors']['M'])
        assert np.linalg.norm(mass - expected) < 0.06 * np.linalg.norm(expected)


def _aerial_cases(reference):
    """Yield the numbers of each case and the case, whose wrenches are given in world axes."""
    for given in reference('aerial_manipulator_tree.json')['cases']:
        robot = hd.load_robot('aerial_manipulator')
        case = Case(robot, np.array(given['q_derivs']), {
            'base_pose': np.array(given['base_pose']),
            'base_twist': np.array(given['base_twist_derivs'])},
            np.zeros((6, len(robot.bodies), 6)))
        poses, twists = case.of(hd.forward_kinematics)
        for load in given['applied_wrenches']:
            body = load['body']
            case.wrenches[:, body] += hd.body_wrench(
                poses[body], twists[:5, body], load['derivs'])
        yield given, case


@pytest.mark.parametrize('formulation', ['spatial', 'body_fixed'])
def test_aerial_manipulator_inverse(reference, formulation):
    count = 0
    for given, case in _aerial_cases(reference):
        efforts = case.efforts(formulation=formulation)
        assert_close(efforts[:, 6:], given['inverse_dynamics']['tau'], TOLERANCE)
        assert_close(efforts[:, :6], given['inverse_dynamics']['base_wrench'], TOLERANCE)
        count += 1
    assert count > 0


def test_aerial_manipulator_forward_and_hybrid(reference):
    for numbers, case in _aerial_cases(reference):
        given = numbers['forward_dynamics']
        efforts = np.hstack([given['input_base_wrench'], given['input_tau']])
        motion = np.hstack([given['expected'][key] for key in ('base_twist_high', 'q_high')])
        pairs = [(case.accelerations(efforts), motion)]
        moved = ['q3', 'q5', 'q7']
        for of_base in ('base_wrench', 'base_motion'):
            known = [of_base == 'base_motion'] * 6 + [
                name in moved for name in case.robot.joint_names]
            found = joined(case.driven(
                hd.hybrid_dynamics, np.where(known, motion, efforts), moved, of_base=of_base))
            pairs.append((found, np.where(known, efforts, motion)))
        for found, expected in pairs:
            for k, tolerance in enumerate(FORWARD_TOLERANCE):
                case.assert_close(found[k:k + 1], expected[k:k + 1], tolerance)
