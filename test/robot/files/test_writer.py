"""A robot that is saved is the robot that is read back."""
from dataclasses import fields
import warnings

import numpy as np
import pytest
from random_robots import random_mapping, random_motion, random_pose
from robot_texts import said, saved
import yaml

import hodyn_ros as hd
from hodyn_ros.robot.files import load_robot, robot_names, save_robot
from hodyn_ros.robot.files.writer import robot_mapping

PLAIN = random_mapping(np.random.default_rng(3), 1, ('revolute',)) | {
    'gravity': [0.0, 0.0, -9.80665]}
PLAIN['bodies'][0] |= {'joint': 'joint1', 'point': [0.0, 0.0, 0.0]}
TURNED = np.array([[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1.0]])


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    elif hasattr(one, '__dataclass_fields__'):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for entry, counterpart in zip(one, other, strict=True):
            assert_same(entry, counterpart)
    elif hasattr(one, 'keys'):
        assert set(one) == set(other)
        for key in one:
            assert_same(one[key], other[key])
    else:
        assert one == other or one != one


@pytest.mark.parametrize('name', robot_names())
def test_every_number_of_a_saved_robot_is_read_back(tmp_path, name):
    robot = load_robot(name)
    assert_same(saved(robot, tmp_path / 'robot.yaml'), robot)


def test_payload_base_pose_and_actuators_are_saved(tmp_path):
    robot = load_robot('twolink').with_payload('link2', 1.5, [0.1, 0.0, 0.2])
    robot = robot.with_base_pose(TURNED)
    back = saved(robot, tmp_path / 'robot.yaml')
    np.testing.assert_array_equal(
        back.kernel_model.body_table, robot.kernel_model.body_table)
    np.testing.assert_array_equal(back.base_pose, TURNED)
    assert_same(back.actuators, robot.actuators)


@pytest.mark.parametrize('seed', range(20))
def test_a_mounted_robot_is_read_back_to_the_last_bit(tmp_path, seed):
    """Guards placements that drifted by round-off with each save."""
    rng = np.random.default_rng(seed)
    keys = random_mapping(rng, 5, serial=False, coupled=bool(seed % 2))
    keys['bodies'] += [
        {'name': name, 'type': 'fixed', 'parent': parent, 'placement': random_pose(rng)}
        for name, parent in (('stand', -1), ('shelf', 'stand'), ('flange', 'body4'))]
    robot = load_robot(keys | {'base_pose': random_pose(rng)} if seed % 3 else keys)
    for pose in [random_pose(rng, 2.0) for _ in range(seed % 4)]:
        robot = robot.with_base_pose(np.asfortranarray(pose)).with_payload(
            'flange', rng.uniform(0.1, 2.0), rng.normal(scale=0.1, size=3))
    back = saved(robot, tmp_path / 'robot.yaml')
    save_robot(back, tmp_path / 'again.yaml')
    assert (tmp_path / 'again.yaml').read_text() == (tmp_path / 'robot.yaml').read_text()
    q = random_motion(rng, robot, 2)
    np.testing.assert_array_equal(
        hd.inverse_dynamics(back, q), hd.inverse_dynamics(robot, q))
    assert_same(back.bodies, robot.bodies)
    assert_same(back.frames, robot.frames)
    there = robot.with_base_pose(random_pose(rng)).with_base_pose(robot.base_pose)
    assert_same(there.bodies, robot.bodies)


def test_where_joints_were_locked_is_saved(tmp_path):
    robot = load_robot('panda', locked_joints={'joint7': 0.785})
    assert saved(robot, tmp_path / 'robot.yaml').locked == robot.locked
    both = load_robot(tmp_path / 'robot.yaml', locked_joints={'joint6': 1.0})
    assert both.locked == (('joint7', 0.785), ('joint6', 1.0))


def test_joints_that_follow_a_locked_one_are_saved_as_locked(tmp_path):
    keys = random_mapping(np.random.default_rng(3), 4, ('revolute',))
    keys['bodies'][1]['mimic'] = {'joint': 'joint2', 'multiplier': -1.5, 'offset': 0.1}
    keys['bodies'][3]['mimic'] = {'joint': 'joint2', 'multiplier': -1.0}
    robot = load_robot(keys, locked_joints={'joint2': np.float64(0.3)})
    assert dict(robot.locked) == {'joint2': 0.3, 'joint1': -1.5 * 0.3 + 0.1, 'joint3': -0.3}
    back = saved(robot, tmp_path / 'robot.yaml')
    assert back.locked == robot.locked
    assert_same(back.kernel_model.body_table, robot.kernel_model.body_table)


def test_what_is_known_of_the_drives_is_saved(tmp_path):
    keys = random_mapping(np.random.default_rng(3), 3, ('revolute',)) | {
        'friction': {'law': 'sigmoid', 'amplitude': [1.0, 2.0, 3.0], 'slope': [20.0] * 3,
                     'velocity_offset': [0.0, 0.1, 0.0], 'viscous': [0.5, 0.0, 0.2]},
        'rotor_inertia': [0.1, 0.2, 0.3], 'effort_gain': [9.0, -8.0, 7.0]}
    robot = load_robot(keys)
    back = saved(robot, tmp_path / 'robot.yaml')
    for name in ('friction', 'rotor_inertia', 'effort_gain', 'limits'):
        assert_same(getattr(back, name), getattr(robot, name))


@pytest.mark.parametrize('limits', [
    {}, {'velocity': [2.0]}, {'effort': [9.0]}, {'jerk': [9.0]},
    {'velocity': [2.0], 'jerk': [9.0]}, {'velocity': [2.0], 'effort': [9.0]}])
def test_limits_that_are_not_known_give_no_warning_about_ones_own_urdf(tmp_path, limits):
    robot = load_robot(PLAIN | {'limits': {'position': [[-1.0, 2.0]], **limits}})
    path = tmp_path / 'robot.urdf'
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        back = saved(robot, path)
    assert_same(back.limits, robot.limits)
    has_zeros = '="0"' in path.read_text()
    assert ('<!-- Limits of 0 are not known. -->' in path.read_text()) == has_zeros
    assert has_zeros == (len(limits) < 2 and 'jerk' not in limits)


def test_a_floating_base_is_a_floating_joint_of_its_urdf(tmp_path):
    """Frames of the world had a link as parent that the file did not have."""
    keys = robot_mapping(load_robot('aerial_manipulator'))
    keys['bodies'].append({'name': 'world', 'type': 'fixed', 'parent': -1, 'placement': TURNED})
    robot = load_robot(keys)
    back = saved(robot, tmp_path / 'robot.urdf')
    assert back.floating
    assert [body.mass for body in back.bodies] == [body.mass for body in robot.bodies]
    assert [back.frames[name][0] for name in robot.frames] == [
        index for index, _ in robot.frames.values()]
    np.testing.assert_allclose(back.frames['world'][1], TURNED, atol=1e-15)


def test_what_a_file_cannot_say_or_must_not_replace_is_one_line(tmp_path):
    robot = load_robot('twolink')
    with pytest.raises(hd.HodynError, match=r'saved as \.yaml or \.urdf'):
        save_robot(robot, tmp_path / 'robot.txt')
    (tmp_path / 'robot.yaml').write_text('mine')
    with pytest.raises(FileExistsError):
        save_robot(robot, tmp_path / 'robot.yaml')
    screw = load_robot(random_mapping(np.random.default_rng(0), 1, ('helical',)))
    with pytest.raises(hd.HodynError, match='helical, which URDF cannot express'):
        save_robot(screw, tmp_path / 'screw.urdf')


@pytest.mark.parametrize(('keys', 'name'), [
    ({'gravity': [0.0, 0.0, -1.6]}, 'gravity'),
    ({'joint_prefixes': ['left_']}, 'joint_prefixes'),
    ({'friction': {'law': 'sigmoid', 'amplitude': [1.0], 'slope': [9.0], 'velocity_offset': [0.0],
                   'viscous': [0.1]}}, 'friction'),
    ({'rotor_inertia': [0.1]}, 'rotor_inertia'),
    ({'effort_gain': [9.0]}, 'effort_gain'),
    ({'actuators': {'joint1': {'law': 'spring', 'stiffness': 9.0, 'motor': {'inertia': 1.0}}}},
     'actuators'),
    ({'limits': {'effort_rate': [9.0]}}, 'limits.effort_rate'),
    ({'limits': {'tracking_error': [0.1]}}, 'limits.tracking_error'),
    ({'limits': {'position': [[None, 1.0]]}}, 'limits.position with one end'),
    ({'limits': {'stopping': {'position': [[-1.0, 1.0]], 'deceleration': [5.0],
                              'velocity_offset': [0.0]}}}, 'limits.stopping'),
    ({'locked': {'grip': 0.02}}, 'locked'),
    ({'base_pose': TURNED}, 'base_pose'),
    ({'bodies': [{**PLAIN['bodies'][0], 'point': [0.1, 0.0, 0.2]}]}, 'point'),
    ({'bodies': [{**PLAIN['bodies'][0], 'inertia': np.diag([1.0, 1.0, 3.0])}],
      'inertia_check': 'warn'}, 'inertia_check'),
    ({'bodies': [{**PLAIN['bodies'][0], 'name': 'base', 'joint': 'free', 'type': 'floating',
                  'axis': None},
                 {**PLAIN['bodies'][0], 'parent': 'base'}]}, ''),
    ({'limits': {'position': [[-1.0, 1.0]], 'velocity': [1.0], 'effort': [2.0],
                 'acceleration': [3.0], 'jerk': [4.0]}}, ''),
])
def test_the_keys_that_a_urdf_loses_are_the_keys_that_it_names(tmp_path, keys, name):
    path = tmp_path / 'arm.urdf'
    assert said(save_robot, load_robot(PLAIN), path) == []
    assert lost(PLAIN, tmp_path) == set()
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        robot = load_robot(PLAIN | keys)
    lines = said(save_robot, robot, path, force=True)
    assert len(lines) == bool(name)
    assert ''.join(lines).startswith(
        f'{path}: without the key {name}, which URDF cannot express: ' * bool(name))
    assert lost(PLAIN | keys, tmp_path) == ({name.removesuffix(' with one end')} - {''})
    assert said(save_robot, robot, tmp_path / 'arm.yaml') == []


def lost(keys, folder):
    """Return the keys of a robot's file that differ after it was saved as a URDF."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        robot = load_robot(keys)
        save_robot(robot, folder / 'way.urdf', force=True)
        refused = set()
        try:
            back = load_robot(folder / 'way.urdf')
        except hd.HodynError:
            refused = {'inertia_check'}
            back = load_robot(folder / 'way.urdf', inertia_check='warn')
        for one in (robot, back):
            save_robot(one, folder / 'keys.yaml', force=True)
            found.append(flat(yaml.safe_load((folder / 'keys.yaml').read_text())))
    before, after = found
    different = {key for key in {*before, *after} if not same(before.get(key), after.get(key))}
    # The frame of the body moves with these.
    moved = {'placement', 'com', 'inertia'} if {'base_pose', 'point'} & different else set()
    return refused | different - moved


def flat(keys):
    """Return the values of a robot's file by key, those of bodies as mappings by body."""
    bodies, limits = keys.pop('bodies'), keys.pop('limits')
    keys |= {f'limits.{key}': values for key, values in limits.items()}
    for body in bodies:
        for key, value in body.items():
            if body['type'] != 'fixed' and key not in ('name', 'parent'):
                keys.setdefault(key, {})[body['name']] = value
    return keys


def same(one, other):
    """Whether values are equal; numbers to rounding."""
    try:
        return one == other or np.allclose(one, other, rtol=0.0, atol=1e-12)
    except (TypeError, ValueError):
        return isinstance(one, dict) and isinstance(other, dict) and set(one) == set(other) and (
            all(same(one[key], other[key]) for key in one))


def test_inertias_that_no_body_has_are_told_again(tmp_path):
    lines = said(saved, load_robot('iiwa14'), tmp_path / 'robot.yaml')
    assert any('no rigid body has it' in line for line in lines)
