"""What ``hodyn info`` tells of a robot."""
import json

import numpy as np
import pytest
import yaml

from hodyn_ros.cli import main
from hodyn_ros.robot.files import robot_keys

AXES = {'revolute': [0.0, 0.0, 1.0], 'prismatic': [1.0, 0.0, 0.0]}


def arm(*kinds, limits=None, **more):
    """Return a robot whose joints are each 0.5 m from the one before, of 1 kg at 0.2 m."""
    placement = np.eye(4)
    placement[0, 3] = 0.5
    return {'name': 'arm', 'bodies': [{
        'name': f'link{i}', 'parent': i - 1, 'type': kind, 'axis': AXES[kind],
        'placement': placement.tolist(), 'mass': 1.0, 'com': [0.2, 0.0, 0.0],
        'inertia': np.diag([0.1, 0.1, 0.1]).tolist()} for i, kind in enumerate(kinds)],
        **({} if limits is None else {'limits': limits}), **more}


@pytest.fixture
def info(tmp_path, capsys):
    def run(robot):
        (tmp_path / 'arm.yaml').write_text(json.dumps(robot))
        assert main(('info', str(tmp_path / 'arm.yaml'))) == 0
        text = capsys.readouterr().out
        assert main(('info', str(tmp_path / 'arm.yaml'), '--json', '-')) == 0
        return json.loads(capsys.readouterr().out), text
    return run


def test_a_file_of_springs_is_recognised(tmp_path, capsys):
    path = tmp_path / 'springs.yaml'
    path.write_text('actuators: {joint1: {law: spring, stiffness: 400, motor: {inertia: 0.5}}}')
    assert main(('info', str(path))) == 2
    assert capsys.readouterr().err == (
        f"hodyn info: {path}: not a robot file: key 'bodies' is missing; it looks like a "
        'file of springs and motors (--actuators)\n')


def test_the_reach_is_that_of_a_stretched_arm_from_its_first_joint(info):
    figures, text = info(arm('revolute', 'revolute', 'revolute'))
    assert figures['reach'] == pytest.approx(0.5 + 0.5 + 0.2)
    assert 'arm: 3 joints, 3 kg in motion, reach at most 1.2 m' in text


@pytest.mark.parametrize(('low', 'high', 'stroke'), [(-0.1, 0.3, 0.3), (-0.4, 0.3, 0.4)])
def test_a_slide_reaches_as_far_as_it_goes(info, low, high, stroke):
    figures, _ = info(arm(
        'revolute', 'prismatic', 'revolute',
        limits={'position': [[-1.0, 1.0], [low, high], [-1.0, 1.0]]}))
    assert figures['reach'] == pytest.approx(0.5 + stroke + 0.5 + 0.2)


def test_a_slide_without_ends_reaches_without_bound(info):
    figures, text = info(arm('revolute', 'prismatic', 'prismatic', limits={
        'position': [[-1.0, 1.0], [-0.1, 0.2], [None, 0.3]]}))
    assert figures['reach'] is None
    assert 'reach without bound, since no range of link2 is known' in ' '.join(text.split())
    assert 'inf' not in text.replace('info', '')


def test_units_are_those_of_the_joints_there_are(info):
    for kinds, unit in (
            (('revolute',), 'rad/s'), (('prismatic',), 'm/s'),
            (('revolute', 'prismatic'), 'rad/s or m/s')):
        limits = {'position': [[-1.0, 1.0]] * len(kinds)}
        _, text = info(arm(*kinds, limits=limits))
        cells = [cell.strip() for line in text.splitlines() for cell in line.split('  ')]
        assert unit in cells
        for other in {'rad/s', 'm/s', 'rad/s or m/s'} - {unit}:
            assert other not in cells


def test_what_is_not_known_is_said_and_of_whom(info):
    figures, text = info(arm(
        'revolute', 'revolute', limits={
            'position': [[-1.0, 2.0], [-1.0, 2.0]], 'velocity': [2.0, None],
            'acceleration': [1.0, 20_000.0]}))
    second = list(figures['joints'])[1]
    assert f'no limit of velocity is known for {second}' in figures['unknown']
    assert 'no limit of jerk is known for any joint' in figures['unknown']
    assert not any('acceleration' in one or 'position' in one for one in figures['unknown'])
    assert any('no friction: hodyn identify' in one for one in figures['unknown'])
    assert any('no actuators' in one for one in figures['unknown'])
    for sentence in figures['unknown']:
        assert f'• {sentence}' in text
    rows = [line for line in text.splitlines() if 'revolute' in line]
    assert '-1 … 2' in rows[0]
    assert '–' in rows[1]
    assert '20000' in rows[1]


def test_inertias_are_repaired_on_demand(tmp_path, capsys):
    robot = arm('revolute', 'revolute')
    robot['bodies'][1]['inertia'] = np.diag([0.1, 0.1, 0.9]).tolist()
    source, out = tmp_path / 'arm.yaml', tmp_path / 'mended.yaml'
    source.write_text(json.dumps(robot))
    assert main(('info', str(source))) == 2
    assert 'hodyn info --repair' in capsys.readouterr().err
    assert main(('info', str(source), '--repair', str(out), '--json', '-')) == 0
    figures = json.loads(capsys.readouterr().out)
    repaired, = figures['repaired']
    assert repaired['link'] == 'link1'
    np.testing.assert_allclose(
        repaired['proposed'], np.diag([1.0, 1.0, 2.0]) * (0.1 + 0.7 / 3), rtol=1e-12)
    assert figures['mass'] == 2.0
    assert main(('info', str(source), '--repair', str(out))) == 2
    assert 'mended.yaml' in capsys.readouterr().err
    assert main(('info', str(out), '--repair', str(out), '--force')) == 2  # its own input
    capsys.readouterr()
    assert main(('info', str(out), '--repair', str(tmp_path / 'same.yaml'))) == 0
    assert 'nothing to repair' in capsys.readouterr().out
    assert main(('info', str(out), '--lock', 'link0=0', '--repair', str(tmp_path / 'x.yaml'))) == 2
    assert '--repair does not work with --lock' in capsys.readouterr().err


def test_info_tells_springs_and_motors(capsys, tmp_path):
    motor = '{side: rotor, gear_ratio: 100, inertia: 4.0e-5}'
    springs = (f'{{joint1: {{law: spring, stiffness: 321.0, motor: {motor}}}, '
               f'joint2: {{law: rigid, motor: {motor}}}}}')
    (tmp_path / 'elastic.yaml').write_text(yaml.safe_dump({
        **robot_keys('twolink'), 'actuators': yaml.safe_load(springs)}))
    assert main(['info', 'elastic.yaml', '--json', 'figures.json']) == 0
    said = ' '.join(capsys.readouterr().out.split())
    assert 'joint1: spring, stiffness 321' in said
    assert 'motor as the link sees it (inertia 0.4, gear_ratio 100)' in said
    figures = json.loads((tmp_path / 'figures.json').read_text())
    assert figures['actuators']['joint1']['stiffness'] == 321.0
    assert main(['info', 'twolink']) == 0
    assert 'no actuators' in capsys.readouterr().out


def test_masses_and_payloads_in_grams_are_asked_about(tmp_path, capsys):
    robot, path = arm('revolute', 'revolute'), tmp_path / 'arm.yaml'
    path.write_text(json.dumps(robot))
    assert main(('info', str(path), '--payload', 'link1', '1500', '0', '0', '100')) == 0
    said = capsys.readouterr().err
    assert "payload on 'link1': mass is in kg: are these grams? 1500 kg on a robot of 2 kg" in said
    assert "payload on 'link1': com is in m: are these mm? 100 m on a robot of " in said
    for body in robot['bodies']:
        body['mass'] *= 1000.0
    path.write_text(json.dumps(robot))
    assert main(('info', str(path))) == 0
    assert 'masses are in kg: are these grams? link0 (1000 kg), link1 (1000 kg)' in (
        capsys.readouterr().err)
