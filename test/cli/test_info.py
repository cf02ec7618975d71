"""What ``hodyn info`` tells of a robot."""
import json
from pathlib import Path
import re

import numpy as np
import pytest
from robot_texts import chain
import yaml

from hodyn_ros.robot.files import robot_keys


@pytest.fixture
def info(hodyn):
    """Return a function that writes a robot, and returns its figures and what is told of it."""
    def run(robot):
        Path('arm.yaml').write_text(json.dumps(robot))
        text = hodyn('info', 'arm.yaml').out
        return hodyn('info', 'arm.yaml', '--json', '-').figures, text
    return run


def test_a_file_of_springs_is_recognised(hodyn):
    Path('springs.yaml').write_text(
        'actuators: {joint1: {law: spring, stiffness: 400, motor: {inertia: 0.5}}}')
    assert hodyn.refuses('info', 'springs.yaml') == (
        "hodyn info: springs.yaml: not a robot file: key 'bodies' is missing; it looks like a "
        'file of springs and motors (--actuators)')


@pytest.mark.parametrize(('kinds', 'slides', 'reach'), [
    (('revolute', 'revolute', 'revolute'), [], 0.5 + 0.5 + 0.2),
    (('revolute', 'prismatic', 'revolute'), [[-0.1, 0.3], [-1.0, 1.0]], 0.5 + 0.3 + 0.5 + 0.2),
    (('revolute', 'prismatic', 'revolute'), [[-0.4, 0.3], [-1.0, 1.0]], 0.5 + 0.4 + 0.5 + 0.2),
    (('revolute', 'prismatic', 'prismatic'), [[-0.1, 0.2], [None, 0.3]], None)])
def test_the_reach_is_that_of_a_stretched_arm_with_its_slides_out(info, kinds, slides, reach):
    limits = {'position': [[-1.0, 1.0], *slides]} if slides else None
    figures, text = info(chain(*kinds, limits=limits))
    assert 'inf' not in text.replace('info', '')
    if reach is None:
        assert figures['reach'] is None
        assert 'reach without bound, since no range of link2 is known' in ' '.join(text.split())
    else:
        assert figures['reach'] == pytest.approx(reach)
        assert f'arm: 3 joints, 3 kg in motion, reach at most {reach:g} m' in text


@pytest.mark.parametrize('kind', ['dh', 'modified_dh'])
def test_the_reach_of_a_planar_arm_is_the_same_by_both_conventions(info, kind):
    """Distal DH has a link's frame at its end, modified DH at its joint."""
    lengths = [0.5, 0.4, 0.2]
    data = chain('revolute', 'revolute', 'revolute')
    for body, length, before in zip(data['bodies'], lengths, [0.0, *lengths], strict=False):
        del body['placement'], body['axis']
        body[kind] = {'a': length if kind == 'dh' else before, 'alpha': 0.0, 'd': 0.0}
        body['com'] = [-0.1 if kind == 'dh' else length - 0.1, 0.0, 0.0]
    assert info(data)[0]['reach'] == pytest.approx({'dh': 1.2, 'modified_dh': 1.0}[kind])


@pytest.mark.parametrize(('kinds', 'unit'), [
    (('revolute',), 'rad/s'), (('prismatic',), 'm/s'),
    (('revolute', 'prismatic'), 'rad/s or m/s')])
def test_units_are_those_of_the_joints_there_are(info, kinds, unit):
    _, text = info(chain(*kinds, limits={'position': [[-1.0, 1.0]] * len(kinds)}))
    cells = {cell.strip() for line in text.splitlines() for cell in line.split('  ')}
    assert cells & {'rad/s', 'm/s', 'rad/s or m/s'} == {unit}


def test_what_is_not_known_is_said_and_of_whom(info):
    figures, text = info(chain(
        'revolute', 'revolute', limits={
            'position': [[-1.0, 2.0], [-1.0, 2.0]], 'velocity': [2.0, None],
            'acceleration': [1.0, 20_000.0]}))
    second = list(figures['joints'])[1]
    assert f'no limit of velocity is known for {second}' in figures['unknown']
    assert 'no limit of jerk is known for any joint' in figures['unknown']
    assert not any('acceleration' in one or 'position' in one for one in figures['unknown'])
    assert 'no tracking error is given for any joint: the default is 0.2 rad' in figures['unknown']
    assert any('no friction: hodyn identify' in one for one in figures['unknown'])
    assert any('no actuators' in one for one in figures['unknown'])
    for sentence in figures['unknown']:
        assert f'• {sentence}' in text
    rows = [line for line in text.splitlines() if 'revolute' in line]
    assert '-1 … 2' in rows[0]
    assert '–' in rows[1]
    assert '20000' in rows[1]


def test_joints_that_turn_without_a_range_are_called_continuous(info):
    figures, text = info(chain('revolute', 'revolute', 'revolute', 'prismatic', limits={
        'position': [[-1.0, 2.0], [None, None], [None, 2.0], [None, None]]}))
    kinds = ['revolute', 'continuous', 'revolute', 'prismatic']
    assert [joint['type'] for joint in figures['joints'].values()] == kinds
    ranges = ['-1 … 2', '–', '– … 2', '–']
    rows = [line for line in text.splitlines() if re.search(r'link\d  ', line)]
    for row, kind, reach in zip(rows, kinds, ranges, strict=True):
        assert re.search(rf' {kind} +1 +{reach} ', row)


def test_the_default_of_a_tracking_error_that_is_not_given_is_said(info):
    figures, _ = info(chain(
        'revolute', 'prismatic', 'revolute', limits={'tracking_error': [0.1, None, None]}))
    assert ('no tracking error is given for link1, link2: the default is 0.05 m, 0.2 rad'
            in figures['unknown'])


def test_inertias_are_repaired_on_demand(hodyn):
    robot = chain('revolute', 'revolute')
    robot['bodies'][1]['inertia'] = np.diag([0.1, 0.1, 0.9]).tolist()
    Path('arm.yaml').write_text(json.dumps(robot))
    assert 'hodyn info --repair' in hodyn.refuses('info', 'arm.yaml')
    repair = 'info', 'arm.yaml', '--repair', 'mended.yaml'
    done = hodyn(*repair, '--json', '-')
    assert 'mended.yaml: impossible inertias: 1, replaced' in done.err
    figures = done.figures
    repaired, = figures['repaired']
    assert repaired['link'] == 'link1'
    np.testing.assert_allclose(
        repaired['proposed'], np.diag([1.0, 1.0, 2.0]) * (0.1 + 0.7 / 3), rtol=1e-12)
    assert figures['mass'] == 2.0
    assert 'mended.yaml' in hodyn(*repair, code=2).err
    hodyn('info', 'mended.yaml', '--repair', 'mended.yaml', '--force', code=2)  # its own input
    assert 'nothing to repair' in hodyn('info', 'mended.yaml', '--repair', 'same.yaml').out
    assert '--repair does not work with --lock' in hodyn(
        'info', 'mended.yaml', '--lock', 'link0=0', '--repair', 'x.yaml', code=2).err


def test_info_tells_springs_and_motors(hodyn):
    motor = {'side': 'rotor', 'gear_ratio': 100, 'inertia': 4e-5}
    Path('elastic.yaml').write_text(yaml.safe_dump({**robot_keys('twolink'), 'actuators': {
        'joint1': {'law': 'spring', 'stiffness': 321.0, 'motor': motor},
        'joint2': {'law': 'rigid', 'motor': {**motor, 'gear_ratio': 160}}}}))
    said = hodyn('info', 'elastic.yaml').words
    assert 'joint1: spring, stiffness 321' in said
    assert 'motor as the link sees it (inertia 0.4, gear_ratio 100)' in said
    figures = hodyn('info', 'elastic.yaml', '--json', '-').figures
    assert figures['actuators']['joint1']['stiffness'] == 321.0
    assert 'no actuators' in hodyn('info', 'twolink').out
    assert 'coulomb_velocity' not in hodyn('info', 'elastic.yaml').out


def test_masses_and_payloads_in_grams_are_asked_about(hodyn):
    robot, path = chain('revolute', 'revolute'), Path('arm.yaml')
    path.write_text(json.dumps(robot))
    said = hodyn('info', path, '--payload', 'link1', '1500', '0', '0', '100').err
    assert "payload on 'link1': mass is in kg: are these grams? 1500 kg on a robot of 2 kg" in said
    assert "payload on 'link1': com is in m: are these mm? 100 m on a robot of " in said
    for body in robot['bodies']:
        body['mass'] *= 1000.0
    path.write_text(json.dumps(robot))
    assert 'masses are in kg: are these grams? link0 (1000 kg), link1 (1000 kg)' in hodyn(
        'info', path).err
