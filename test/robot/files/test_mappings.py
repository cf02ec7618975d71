import warnings

import numpy as np
import pytest
from random_robots import random_inertia, random_mapping, random_motion, random_pose, random_robot

import hodyn_ros as hd
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import strict_yaml
from hodyn_ros.robot.mass_matrix import mass_matrix


def mapping():
    return random_mapping(np.random.default_rng(3), 3)


@pytest.mark.parametrize('name', hd.robot_names())
def test_built_in_robots_are_whole(name):
    robot = hd.load_robot(name)
    assert robot.name == name
    assert len(robot.limits.effort) == robot.n


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
    data = mapping()
    data['bodies'] = [*data['bodies'], {
        'name': 'stand', 'parent': -1, 'type': 'fixed', 'placement': np.eye(4), 'mass': 5.0,
        'com': np.zeros(3), 'inertia': np.eye(3)}]
    tool = {'link': 'stand', 'mass': 3.0, 'com': np.zeros(3), 'inertia': np.eye(3)}
    plain, robot = hd.load_robot(data), hd.load_robot({**data, 'tool': tool})
    assert robot.frame('tool')[0] == -1
    assert [body.mass for body in robot.bodies] == [body.mass for body in plain.bodies]


@pytest.mark.parametrize(('tool', 'message'), [
    ({'link': 'body9'}, "tool, key 'link': .*no link 'body9'"),
    ({'link': 'body2', 'name': 'body1'}, "tool, key 'name': .*already"),
    ({'link': 'body2', 'mass': 1.0}, "tool: key 'com' is missing"),
    ({'link': 'body2', 'weight': 1.0}, "tool: unknown key 'weight'"),
    ({'link': 'body2', 'placement': np.zeros((4, 4))}, "tool, key 'placement': its rotation"),
])
def test_mistakes_in_a_tool_are_named(tool, message):
    with pytest.raises(ValueError, match=message):
        hd.load_robot({**mapping(), 'tool': tool})


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


@pytest.mark.parametrize(('keys', 'text'), [
    ({'rotor_inertia': [0.1, -0.2]}, "key 'rotor_inertia': joint 'joint1': is below 0"),
    ({'rotor_inertia': [0.1]}, "key 'rotor_inertia'"),
    ({'rotor_inertia': [0.1, 0.2], 'actuators': {}}, 'the motors under the key `actuators`'),
    ({'effort_gain': [0.0, 1.0]}, "key 'effort_gain': joint 'joint0': is 0"),
    *(({'friction': {
        'law': 'sigmoid', 'amplitude': [1, 1], 'slope': [1, 1], 'velocity_offset': [-1, 0],
        'viscous': [0, 0], key: [0.0, -2.5]}},
       f"friction, key '{key}': joint 'joint1': -2.5 is below 0: such friction would drive")
      for key in ('amplitude', 'slope', 'viscous')),
])
def test_wrong_lists_of_drives_are_refused(keys, text):
    with pytest.raises(ValueError, match=text):
        hd.load_robot({**random_mapping(np.random.default_rng(3), 2), **keys})


def test_a_helical_joint_needs_its_pitch():
    data = mapping()
    data['bodies'][1].pop('pitch', None)
    data['bodies'][1]['type'] = 'helical'
    with pytest.raises(hd.HodynError, match=r"body 'body1': key 'pitch' is missing"):
        hd.load_robot(data)
    data['bodies'][1]['pitch'] = 0.0
    assert hd.load_robot(data).bodies[1].pitch == 0.0


def with_fixed(parent, inertia, mass=0.0):
    data = mapping()
    data['bodies'].append({
        'name': 'plate', 'type': 'fixed', 'parent': parent, 'placement': np.eye(4), 'mass': mass,
        'com': np.zeros(3), 'inertia': inertia})
    return data


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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        if answer == 'refused':
            with pytest.raises(ValueError, match="body 'body2', key 'inertia'"):
                hd.load_robot(data, inertia_check=inertia_check)
            return
        hd.load_robot(data, inertia_check=inertia_check)
    said = ' '.join(str(one.message) for one in caught)
    assert (answer in said and 'triangle' in said) if answer else not said


@pytest.mark.parametrize('away', [0.0, 1e4])
def test_coaxial_joints_with_a_point_mass_between_are_told(away):
    point = {'mass': 1.0, 'inertia': np.zeros((3, 3)), 'type': 'revolute', 'axis': [0, 0, 1]}
    here = np.eye(4)
    here[0, 3] = away
    bodies = [
        {**point, 'name': 'base', 'parent': -1, 'placement': here, 'com': [0, 0, 0.1]},
        {**point, 'name': 'arm', 'parent': 'base', 'placement': np.eye(4), 'com': [0.3, 0, 0]},
    ]
    with pytest.warns(UserWarning, match=r"joint '(base|arm)'.*can move without moving any mass"):
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


def test_a_file_is_read_and_a_wrong_one_is_refused(tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_bytes(b'\xff\xfe\x00')
    with pytest.raises(ValueError, match='not UTF-8'):
        hd.load_robot(path)
    path.write_text('# ' + 'x' * (4 * 1024 * 1024))
    with pytest.raises(ValueError, match='larger than'):
        hd.load_robot(path)
    with pytest.raises(FileNotFoundError, match=r"no robot 'pandaa'.*panda,"):
        hd.load_robot('pandaa')


@pytest.mark.parametrize(('text', 'message'), [
    ('name: a\nname: b\n', "key 'name' occurs twice"),
    ('name: a\nlimits: {jerk: [1], jerk: [2]}\n', "key 'jerk' occurs twice"),
    ('a: &a [1, 1]\nb: [*a, *a]\n',
     'line 2, column 5: .* an alias is not accepted: .*id001 .*yaml.dump .* copy'),
    ('[' * 20000, 'nested too deeply|nesting depth'),  # PyYAML says it itself from 6.0.4 on
    ('!!python/object/apply:os.system [ls]', 'not valid YAML'),
    ('? [a]\n: b\n', 'not valid YAML'),
    ('name: [unclosed\n', 'not valid YAML'),
    ('just text', 'a robot file is a mapping'),
    ('- just\n- a list\n', 'a robot file is a mapping'),
    ('name: a\n---\nname: b\n', 'holds 2 YAML documents; keep one'),
])
def test_yaml_is_read_strictly(text, message, tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        hd.load_robot(path)


def test_a_tuple_of_a_launch_file_is_a_list():
    assert strict_yaml.load('a: !!python/tuple [1, 2]', 'launch') == {'a': [1, 2]}


def test_a_byte_order_mark_does_no_harm(tmp_path):
    path = tmp_path / 'robot.urdf'
    text = (
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia '
        'ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>')
    path.write_bytes(b'\xef\xbb\xbf' + text.encode())
    assert hd.load_robot(path).joint_names == hd.load_robot('\ufeff' + text).joint_names == ('j',)


SECRET = 'hunter2'


@pytest.mark.parametrize('text', [
    f'root:{SECRET}:19000\nuser: {SECRET}: x\n',
    f'%{SECRET}\n', f'!{SECRET} x', f'a: !!python/{SECRET} x', f'a: *{SECRET}', f'a: &{SECRET}',
    f'[{SECRET}', f"'{SECRET}", f'"\\{SECRET}"', f'a: 0x{SECRET}', f'\t{SECRET}: x\n a: [',
    f'{SECRET}', f'- {SECRET}', f'a: 2020-{SECRET}-01', 'a: 2020-13-45', f'`{SECRET}`',
    f'{{{SECRET}: [a}}', f'<{SECRET}>', f'<robot>&{SECRET};</robot>', f'<robot><{SECRET}</robot>',
    f'@{SECRET}', f'<robot {SECRET}>', f'<?{SECRET}',
])
def test_a_file_that_is_no_robot_is_not_quoted(text, tmp_path):
    """Its path may have come from somebody who may not read it."""
    path = tmp_path / 'robot.yaml'
    path.write_text(text)
    with pytest.raises(hd.HodynError) as caught:
        hd.load_robot(path)
    assert SECRET not in str(caught.value)
    assert '\n' not in str(caught.value)
    assert str(path) in str(caught.value)
