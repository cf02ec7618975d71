"""Numbers of springs, motors and rotors that are likely not in SI units are asked about."""
import numpy as np
import pytest
from robot_texts import mapping, said

import hodyn_ros as hd


def driven(law, motor, *, effort=50.0):
    joint = {**law, 'motor': {'inertia': 0.1, **motor}}
    data = mapping(actuators={f'j{i}': joint for i in range(3)})
    return {**data, 'limits': {'effort': 3 * [effort]}}


TABLE = {'law': 'table', 'torque': [-50, -20, 0, 20, 50]}
TENDONS = {'law': 'exponential', 'scale': 2, 'rate': 10}


@pytest.mark.parametrize(('law', 'motor', 'asked'), [
    ({'law': 'spring', 'stiffness': 400}, {}, ''),
    ({'law': 'spring', 'stiffness': 7}, {}, 'is this N m/deg? If they are so soft, give '
     'max_deflection. At the largest torque springs deflect by j0 (7.14 rad), j1 (7.14 rad)'),
    ({'law': 'spring', 'stiffness': 95}, {}, 'is this N m/deg? If they are so soft'),
    ({'law': 'spring', 'stiffness': 105}, {}, ''),
    ({'law': 'spring', 'stiffness': 60, 'max_deflection': 0.9}, {}, ''),
    ({'law': 'spring', 'stiffness': 40, 'max_deflection': 0.9}, {},
     'is this N m/deg? At the largest torque springs deflect by j0 (1.25 rad), j1'),
    ({'law': 'cubic', 'stiffness': 7, 'cubic': 1}, {}, 'deflect by j0 (7.14 rad)'),
    ({'law': 'spring', 'stiffness': 400, 'max_deflection': 3}, {},
     'max_deflection is in rad: are these degrees? j0 (3), j1 (3), j2 (3)'),
    ({**TENDONS, 'stiffness': 400, 'max_deflection': 20}, {},
     'max_deflection is in rad: are these degrees? j0 (20)'),
    ({'law': 'spring', 'stiffness': 6e6}, {}, 'is this N mm/rad? At the largest torque springs '
     'deflect by j0 (8.33e-06 rad), j1 (8.33e-06 rad)'),
    ({'law': 'cubic', 'stiffness': 6e6, 'cubic': 1}, {}, 'is this N mm/rad?'),
    ({'law': 'spring', 'stiffness': 2e5}, {}, ''),
    ({'law': 'variable', 'stiffness': 4e5}, {}, 'is this N mm/rad? At the largest torque springs '
     'deflect by j0 (0.000125 rad), j1'),
    ({'law': 'variable', 'stiffness': 2e4}, {}, ''),
    ({'law': 'variable', 'stiffness': 7, 'max_deflection': 0.9}, {}, ''),
    ({'law': 'variable', 'stiffness': 7}, {},
     'is this N m/deg? If they are so soft, give max_deflection. At the largest torque springs '
     'deflect by j0 (7.14 rad), j1'),
    ({**TABLE, 'deflection': [-0.2, -0.1, 0, 0.1, 0.2]}, {}, ''),
    ({**TABLE, 'deflection': [-12, -6, 0, 6, 12]}, {},
     'deflection is in rad: are these degrees? j0 (12)'),
    ({**TABLE, 'torque': [10, 20, 30, 35, 40], 'deflection': [0.1, 0.2, 0.3, 0.35, 0.4]}, {},
     'cannot carry 0 N m: is this meant? j0 (its table goes from 10 to 40 N m), j1'),
    ({**TENDONS, 'stiffness': 20}, {}, 'cannot carry 0 N m: is this meant? j0 (stiffness 20 is '
     'below 2 scale rate = 40 N m/rad, and its tendons do not push)'),
    ({**TENDONS, 'stiffness': 400, 'max_deflection': 0.2}, {},
     'stiffness too large? j0 (0.23 at stiffness 400, max_deflection 0.2), j1'),
    ({**TENDONS, 'stiffness': 400, 'max_deflection': 0.24}, {}, ''),
    ({'law': 'quadratic', 'coefficient': 1000, 'stiffness': 500, 'max_deflection': 0.2}, {},
     'j0 (0.25 at stiffness 500, max_deflection 0.2)'),
    ({**TENDONS, 'stiffness': 40}, {}, ''), ({**TENDONS, 'stiffness': 20, 'pushes': True}, {}, ''),
    ({'law': 'rigid'}, {'gear_ratio': 0.01, 'side': 'rotor'}, 'are these the inverse? j0 (0.01)'),
    ({'law': 'rigid'}, {'gear_ratio': 100, 'side': 'rotor', 'inertia': 0.5},
     'j0 (5e+03 kg m², the whole robot 11.9), j1'),
    ({'law': 'rigid'}, {'inertia': 500}, 'are these in kg cm² or g cm², or multiplied by'),
    ({'law': 'rigid'}, {'gear_ratio': 160, 'side': 'rotor', 'inertia': 1e-4}, ''),
    ({'law': 'rigid'}, {'inertia': 4e-5},
     'are these without the squared gear ratio? j0 (4e-05 kg m²)'),
    ({'law': 'rigid'}, {'max_velocity': 3000}, 'are these rpm? j0 (3000 rad/s at the joint)'),
    ({'law': 'rigid'}, {'gear_ratio': 100, 'side': 'rotor', 'inertia': 1e-4, 'max_velocity': 3000},
     'are these rpm? j0 (30 rad/s at the joint)'),
    ({'law': 'rigid'}, {'gear_ratio': 100, 'side': 'rotor', 'inertia': 1e-4, 'max_velocity': 500},
     ''),
])
def test_springs_and_motors_beyond_any_joint_are_asked_about(law, motor, asked):
    data = driven(law, motor)
    lines = said(hd.load_robot, data)
    if not asked:
        assert lines == []
        return
    (line,) = lines
    assert line.startswith("robot 'arm', actuators: ")
    assert asked in line
    plain = hd.load_robot({**data, 'actuators': None})
    assert said(hd.with_actuators, plain, {'actuators': data['actuators']}) == [line]


@pytest.mark.parametrize(('stiffness', 'asked'), [
    (8.0, ['stiffness is in N/m: is this N/mm? If they are so soft, give max_deflection. At the '
           'largest force springs deflect by j0 (6.25 m), j1 (6.25 m), j2 (6.25 m)']),
    (500.0, []), (1e5, [])])
def test_springs_of_slides_are_asked_about_as_well(stiffness, asked):
    data = driven({'law': 'spring', 'stiffness': stiffness}, {})
    for body in data['bodies']:
        body['type'] = 'prismatic'
    assert said(hd.load_robot, data) == [f"robot 'arm', actuators: {line}" for line in asked]


@pytest.mark.parametrize(('motor', 'asked'), [
    ({'max_velocity': 3000}, '(3000 m/s at the joint)'),
    ({'side': 'rotor', 'gear_ratio': 400, 'inertia': 4e-5, 'max_velocity': 3000},
     '(7.5 m/s at the joint)'),
    ({'side': 'rotor', 'gear_ratio': 400, 'inertia': 4e-5, 'max_velocity': 300}, '')])
def test_motors_of_slides_are_asked_about_as_well(motor, asked):
    data = driven({'law': 'rigid'}, motor)
    for body in data['bodies']:
        body['type'] = 'prismatic'
    lines = said(hd.load_robot, data)
    assert len(lines) == bool(asked)
    assert all(f'are these rpm? j0 {asked}, j1 {asked}' in line for line in lines)




UNIT_OF_ROTOR = {'kg m²': 1.0, 'kg cm²': 1e4, 'g cm²': 1e7}


def palletizer(rng, wrong, factor):
    """Return a lift and three turning joints whose motors are quick; `factor` is of one rotor."""
    size, mass = rng.uniform(0.4, 1.5), 10.0 ** rng.uniform(-0.5, 1.5)
    data = mapping(size, mass)
    data['bodies'].insert(0, {
        **data['bodies'][0], 'name': 'lift', 'joint': 'lift', 'type': 'prismatic',
        'axis': [0.0, 0.0, 1.0]})
    for i, body in enumerate(data['bodies']):
        body['parent'] = i - 1
        body['mass'] = mass * 0.5 ** i
        body['inertia'] = (0.5 ** i * np.array(body['inertia'])).tolist()
    top_speed = rng.uniform(0.5, 4.0, 4)
    # What the motors accelerate without a load: to the top speed in 5 to 50 ms.
    effort = 10.0 * size * mass * np.array([10.0, 4.0, 2.0, 1.0])
    inertia = effort * 10.0 ** rng.uniform(-2.3, -1.3, 4) / top_speed
    inertia[wrong] *= factor
    data['limits'] = {'velocity': top_speed.tolist(), 'effort': effort.tolist()}
    ratio = 10.0 ** rng.uniform(1.3, 2.3, 4)
    return {**data, 'actuators': {
        body['joint']: {'law': 'rigid', 'motor': {
            'side': 'rotor', 'gear_ratio': float(n), 'inertia': float(inertia[i] / n**2)}}
        for i, (body, n) in enumerate(zip(data['bodies'], ratio, strict=True))}}


@pytest.mark.parametrize('unit', UNIT_OF_ROTOR)
@pytest.mark.parametrize('wrong', [0, 1, 3])
def test_the_rotor_of_one_joint_in_a_wrong_unit_is_asked_about(unit, wrong):
    """Those of slides and of wrists were compared with the whole arm or not at all."""
    for seed in range(10):
        data = palletizer(np.random.default_rng(seed), wrong, UNIT_OF_ROTOR[unit])
        lines = said(hd.load_robot, data)
        assert len(lines) == (unit != 'kg m²'), (seed, lines)
        if lines:
            name = data['bodies'][wrong]['joint']
            _, question, joints = lines[0].partition('by the squared gear ratio twice? ')
            assert question
            assert joints.startswith(f'{name} (')
            assert joints.count('(') == 1


@pytest.mark.parametrize(('kind', 'inertia', 'is_asked'), [
    ('revolute', 30.0, True), ('revolute', 5.0, False), ('prismatic', 9000.0, True),
    ('prismatic', 4000.0, False)])
def test_rotors_are_compared_with_the_robot_where_no_limit_is_known(kind, inertia, is_asked):
    data = mapping()  # with the third link: 4.1 kg, 6 kg m²
    data['bodies'][2] |= {
        'type': kind, 'mass': 0.1, 'inertia': (1e-4 * np.eye(3)).tolist(), 'com': [0.0, 0.0, 0.0]}
    assert len(said(hd.load_robot, {**data, 'rotor_inertia': [0.5, 0.5, inertia]})) == is_asked


@pytest.mark.parametrize(('kind', 'ratio', 'is_asked'), [
    ('prismatic', 0.005, True), ('prismatic', 10.0, False), ('revolute', 0.2, True),
    ('revolute', 1.0, False)])
def test_an_inverse_gear_ratio_is_asked_about(kind, ratio, is_asked):
    data = driven({'law': 'rigid'}, {'gear_ratio': ratio, 'side': 'link'})
    for body in data['bodies']:
        body['type'] = kind
    lines = said(hd.load_robot, data)
    assert len(lines) == is_asked
    assert all(
        f'(prismatic: rad/m): are these the inverse? j0 ({ratio:g})' in line for line in lines)
