"""Wrong files are refused in one line that says where: changes of a sound one, and its words."""
import copy

import numpy as np
import pytest
from robot_texts import INERTIAL, LIMIT, ONE_JOINT, WIDE, joined_link, limit, tag, urdf
import yaml

import hodyn_ros as hd
from hodyn_ros.robot.files import robot_keys

PANDA = yaml.safe_load(yaml.safe_dump(robot_keys('panda')))
STOP = {'name': 'too fast', 'commands': 'position', 'quantity': 'velocity', 'limit': 2.0}
DH = {'a': 0, 'alpha': 0, 'd': 0}


def with_changes(data, changes):
    """Return a copy of a file in which keys, as bodies.2.mass, have other values, or none."""
    data = copy.deepcopy(data)
    for path, value in changes.items():
        target = data
        *parents, last = (int(key) if key.isdigit() else key for key in path.split('.'))
        for key in parents:
            target = target[key]
        if value is None:
            del target[last]
        else:
            target[last] = value
    return data


def joint2(kind, **keys):
    """Return the changes that give the second body another joint."""
    return {'bodies.1.type': kind, 'bodies.1.axis': None} | {
        f'bodies.1.{key}': value for key, value in keys.items()}


def followers(*joints, **more):
    """Return the changes by which the first joints follow others."""
    return {f'bodies.{i}.mimic': {'joint': joint, **more} for i, joint in enumerate(joints)}


@pytest.mark.parametrize(('changes', 'words'), [
    ({'colour': 'red'}, "unknown key 'colour'"),
    ({'name': None}, "key 'name' is missing"),
    ({'bodies': []}, "key 'bodies': expected a list"),
    ({'gravity': [0, 0]}, "key 'gravity': expected 3, got 2"),
    ({'gravity': [0, 0, float('nan')]}, "key 'gravity': not finite"),
    ({'gravity': 9.81},
     r"key 'gravity': expected a vector, m/s², e.g. \[0, 0, -9.80665\], got 9.81"),
    ({'bodies.2.masss': 1.0}, "body 'link3': unknown key 'masss'; .*; did you mean 'mass'[?]$"),
    ({'bodies.2.mass': None}, "body 'link3': key 'mass' is missing"),
    ({'bodies.2.mass': -1e-9}, "body 'link3', key 'mass': -1e-09 kg is below 0"),
    ({'bodies.2.mass': '1e-3'}, "key 'mass': expected numbers.*1e-3 as text: write 1.0e-3"),
    ({'bodies.2.mass': '-.5E3'}, 'YAML reads -.5E3 as text: write -0.5e[+]3'),
    ({'bodies.2.mass': '1,250'}, 'YAML reads 1,250 as text: write 1.250 or 1250[)]$'),
    ({'bodies.2.com': [0, 0, '-.09']}, "key 'com'.*YAML reads -.09 as text: write -0.09[)]$"),
    ({'bodies.2.mass': '0.3'}, "got '0.3' [(]text: write it without quotes[)]$"),
    ({'bodies.2.mass': '-'}, "got '-'$"),
    ({'bodies.2.mass': 'one'}, "expected numbers, got 'one'$"),
    ({'bodies.2.com': [0, '5.0e2', '1e2']}, 'YAML reads 5.0e2 as text: write 5.0e[+]2[)]$'),
    ({'bodies.2.mass': True}, "key 'mass': expected numbers"),
    ({'bodies.2.com': [0, 0]}, "key 'com': expected 3, got 2"),
    ({'bodies.2.com': [[0], [0, 1]]}, "key 'com': expected numbers"),
    ({'bodies.2.type': 'cylindrical'}, "key 'type': expected one of revolute"),
    ({'bodies.2.axis': [0, 0, 2]}, "key 'axis': expected a unit vector, got one of length 2"),
    ({'bodies.2.pitch': 0.1}, "key 'pitch': a revolute joint has none"),
    ({'bodies.2.type': 'helical'}, "body 'link3': key 'pitch' is missing"),
    ({'bodies.2.parent': 12}, "body 'link3', key 'parent': no body 12"),
    ({'bodies.2.parent': 'nobody'}, "no body 'nobody'"),
    ({'bodies.2.parent': 5}, "form a cycle: 'link3'"),
    ({'bodies.2.placement': None}, "body 'link3': key 'placement' is missing"),
    ({'bodies.2.placement.3': [0, 0, 0, 2]}, "key 'placement': its last row"),
    ({'bodies.2.placement.0.0': 1.1}, "key 'placement': its rotation is not orthonormal"),
    ({'bodies.2.placement': None, 'bodies.2.dh': DH}, r"body 'link3', key 'dh'.*'axis'"),
    ({'bodies.2.placement': None, 'bodies.2.axis': None, 'bodies.2.dh': {
        'a': 0, 'alpha': 0, 'theta': 1}}, "body 'link3', dh: key 'd' is missing"),
    ({'bodies.2.inertia.0.1': 0.5}, "key 'inertia': not symmetric"),
    ({'bodies.2.inertia.0.0': -0.5}, "key 'inertia': not positive"),
    ({'bodies.2.inertia.0.0': 5.0}, "key 'inertia': no rigid body has it.*inertia_check"),
    ({'bodies.2.name': 'link2'}, "two bodies have the body name 'link2': rename one"),
    ({'bodies.6.name': 'link6', 'bodies.6.parent': 'link6'}, "have the body name 'link6'"),
    ({'bodies.4.name': 'link4', 'bodies.5.parent': 'link5'}, "have the body name 'link4'"),
    ({'bodies.2.joint': 'joint2'}, "two bodies have the joint name 'joint2'"),
    ({'limits.torque': [1] * 7}, "limits: unknown key 'torque'"),
    ({'limits.effort': [1] * 6}, "limits, key 'effort': expected 7, got 6"),
    ({'friction.amplitude': [1] * 8}, "'amplitude': expected 7, got 8: one for each of joint1"),
    ({'limits.position': [[-1, 1]] * 8}, 'expected 7, got 8: one for each of joint1, joint2'),
    ({'limits.effort.4': -1.0}, "joint 'joint5': must be above 0"),
    ({'limits.position.1': [1, 0]}, "joint 'joint2': its lower limit is not below"),
    ({'limits.position': [None, *[[0, 1]] * 6]}, "limits, key 'position'"),
    ({'limits.jerk.1': 'x'}, "limits, key 'jerk': expected numbers"),
    ({'base_pose': np.zeros((4, 4))}, "key 'base_pose': its rotation"),
    ({'joint_prefixes': 'fer_'}, "key 'joint_prefixes': expected a list"),
    ({'inertia_check': 'no'}, "key 'inertia_check'"),
    ({'rotor_inertia': [0.1, -0.2, *[0.1] * 5]}, "'rotor_inertia': joint 'joint2': is below 0"),
    ({'rotor_inertia': [0.1]}, "key 'rotor_inertia': expected 7, got 1"),
    ({'effort_gain': [0.0, *[1.0] * 6]}, "key 'effort_gain': joint 'joint1': is 0"),
    ({'friction.law': 'dry'}, "friction, key 'law': expected 'sigmoid'"),
    ({'friction.slope': None}, "friction: key 'slope' is missing"),
    *(({f'friction.{key}': [1, -2.5, *[1] * 5]}, f"friction, key '{key}': joint 'joint2': -2.5 "
       'is below 0: such friction would drive') for key in ('amplitude', 'slope', 'viscous')),
    ({'tool': {'link': 'body9'}}, "tool, key 'link': .*no link 'body9'"),
    ({'tool': {'link': 'link2', 'name': 'link1'}}, "tool, key 'name': .*already"),
    ({'tool': {'link': 'link2', 'mass': 1.0}}, "tool: key 'com' is missing"),
    ({'tool': {'link': 'link2', 'weight': 1.0}}, "tool: unknown key 'weight'"),
    ({'tool': {'link': 'link2', 'placement': np.zeros((4, 4))}},
     "tool, key 'placement': its rotation"),
    ({'bodies.1.type': 'spherical'}, "body 'link2', key 'axis': a spherical joint has none"),
    ({'bodies.1.type': 'planar', 'bodies.1.axis': [0, 0, 2]},
     "body 'link2', key 'axis': expected a unit vector"),
    (joint2('planar'), "body 'link2': key 'axis' is missing"),
    (joint2('spherical', mimic={'joint': 'joint1'}),
     "key 'mimic': a spherical joint cannot follow another"),
    (joint2('spherical', dh=DH), "key 'dh': a spherical joint has none"),
    (joint2('spherical', name=None), "body number 1: key 'name' is missing"),
    (joint2('spherical', parent=12), "key 'parent': no body '12'"),
    (joint2('spherical', point=[0, 0]), "key 'point': expected 3, got 2"),
    (joint2('spherical', colour='red'), "unknown key 'colour'"),
    (followers('joint2', 'joint1'), "cycle: 'joint1', 'joint2', 'joint1'"),
    (followers('joint1'), "cycle: 'joint1', 'joint1'"),
    (followers('joint9'), "joint 'joint1' mimics 'joint9', but there is no joint with one degree "
     'of freedom of this name; those that move are joint1, joint2, joint3'),
    (followers('joint2', multiplier=np.nan), "'link1'.*mimic.*not finite"),
    (followers('joint2', factor=2.0), "mimic: unknown key 'factor'"),
    ({'bodies.1.mimic': 'joint3'}, "body 'link2', mimic: expected a mapping"),
    ({'bodies.1.mimic': {'multiplier': 2.0}}, "body 'link2', mimic: key 'joint' is missing"),
    (joint2('fixed', mimic={'joint': 'joint3'}), "key 'mimic': a fixed joint cannot follow"),
    ({'reflexes.period': 0.0}, "reflexes, key 'period': 0 s: expected 1e-05 to 0.1"),
    ({'reflexes.gravity': 'no'}, "key 'gravity': expected true or false"),
    ({'reflexes.stops': 3}, "key 'stops': expected a list"),
    ({'reflexes.stops': [STOP, STOP]}, "'too fast' has two limits of velocity for one joint"),
    *(({'reflexes.stops': [STOP | keys]}, words) for keys, words in (
        ({'joints': []}, "key 'joints': expected a list of joints"),
        ({'joints': ['elbow']}, "'elbow' is not a joint; the joints are joint1"),
        ({'commands': 'torque'}, "entry 1, key 'commands': expected one of effort"),
        ({'quantity': 'snap'}, "key 'quantity': expected one of velocity"),
        ({'limit': 0.0}, "entry 1, key 'limit': must be above 0"),
        ({'limit': [1.0]}, "entry 1, key 'limit': expected 7, got 1"),
        ({'limit': {'speed': [1.0, 0.0], 'limit': [1.0, 1.0]}}, "key 'speed'"),
        ({'limits': 2.0}, "entry 1: unknown key 'limits'"))),
    ({'locked': {'joint1': 0.1}},
     r"locked, key 'joint1': is a joint of a body; give locked_joints"),
    ({'locked': {'finger': 'a'}}, "locked, key 'finger': expected numbers, got 'a'"),
    ({'locked': ['finger']}, 'locked: expected a mapping, got list'),
    *(({'locked': {'grip': 0.0}, 'harmless_locks': harmless},
       "'harmless_locks': expected a list of joints of `loc")
      for harmless in ('grip', ['grip', 'other'], [1])),
    ({'locked': {'lift': 0.0, 'grip': 0.0}, 'harmless_locks': ['lift'],
      'shifting_locks': ['grip']}, "'shifting_locks': expected a list of joints of `har"),
])
def test_a_wrong_file_is_refused_naming_body_and_key(changes, words):
    with pytest.raises(hd.HodynError, match=words):
        hd.load_robot(with_changes(PANDA, changes))


def one(inside=LIMIT, version='1.2', **options):
    return urdf(joined_link('l1', inside=inside, **options), version=version)


def two(inside, *others, kind='revolute', other='revolute'):
    """Return joints j0, j1 and maybe j2 at the base, the first with this inside."""
    return urdf(joined_link('l0', kind=kind, inside=inside), *(
        joined_link(f'l{i}', kind=other, inside=text) for i, text in enumerate(others, 1)))


def mimic(joint, **attributes):
    return WIDE + tag('mimic', joint=joint, **attributes)


FLOATING, SECOND = joined_link('l2', 'l1', 'floating'), joined_link('l2', 'l1')
WITHOUT_PARENT = f'<link name="l2">{INERTIAL}</link>'


@pytest.mark.parametrize(('text', 'words'), [
    ('<!DOCTYPE robot [<!ENTITY a "b">]>' + ONE_JOINT, 'DOCTYPE'),
    ('<robot name="x"><!ENTITY a "b"></robot>', 'line 1, column .*: not valid XML'),
    ('<robot name="x">' + ' ' * (4 * 1024 * 1024), 'larger than'),
    ('<robot name="x">' + '<a>' * 100000 + '</a>' * 100000 + '</robot>', 'nested deeper'),
    ('<robot name="x">', 'not valid XML'),
    ('<sdf/>', 'this is SDF, which is not read; convert it to URDF or MJCF'),
    ('<model/>', 'expected a <robot>'),
    ('<robot/>', 'has no name'),
    ('<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arm/></robot>', 'xacro'),
    ('<robot name="x"><group name="a"><link name="b"/></group></robot>', 'is it an SRDF'),
    ('\ufeff\n\n' + ONE_JOINT.replace('<link name="l1">', '\n<link name="l1">\n').replace(
        'value="2"', 'value="two"'), "URDF, line 5, link 'l1', <mass>: value is 'two', exp"),
    (one(inertial=''), 'nothing that moves has a mass'),
    (urdf(joined_link('l1', kind='fixed')), 'none of them moves'),
    (urdf(joined_link('l1'), joined_link('l1', joint='j2')),
     "link 'l1': another link has this name, in line 1"),
    (urdf(joined_link('l1'), joined_link('l2', joint='j1')), 'another joint has this name'),
    (urdf(joined_link('l1'), joined_link('l2', 'l3'), joined_link('l3', 'l2')), "'l2'.*cycle"),
    (urdf(joined_link('l1'), WITHOUT_PARENT), "one root link, found 'base', 'l2'"),
    (urdf(joined_link('l1'), FLOATING), "'l2': only the first body can be floating"),
    (urdf(joined_link('l1'), SECOND + SECOND[SECOND.index('<joint'):].replace('"j2"', '"j3"')),
     'carried by two'),
    (two(mimic('j1'), mimic('j0'), WIDE), "cycle: 'j0', 'j1', 'j0'"),
    (two(mimic('j0'), WIDE, WIDE), "cycle: 'j0', 'j0'"),
    (two(mimic('j9'), WIDE, WIDE), "joint 'j0' mimics 'j9', but there is no joint with one "
     'degree of freedom of this name; those that move are j0, j1, j2'),
    (two(mimic('j1', multiplier='nan'), WIDE), "'j0'.*mimic.*not finite"),
    *(row for kind in ('planar', 'floating') for row in (
        (two(mimic('j1'), WIDE, kind=kind), f"'j0', <mimic>: a {kind} joint cannot mimic another"),
        (two('', mimic('j0'), kind=kind), "'j1' mimics 'j0', but there is no joint with one"))),
    (two(tag('mimic', joint='j1', ratio=2), WIDE),
     "<mimic>: unknown attribute 'ratio'; known are joint, multiplier, offset"),
    (one('<limit lower="0" upper="1"/>', '1.1'), 'velocity is missing; ROS refuses a <limit> '
     'without it: write the largest that the drive gives, velocity="…" in rad/s, or velocity="0" '
     'if it is not known'),
    (urdf(*(joined_link(f'l{i}', kind=kind, inside=limit(effort=effort)) for i, (kind, effort)
            in enumerate([('revolute', 2), ('prismatic', None), ('revolute', None),
                          ('continuous', None)]))),
     "joint 'j1', <limit>: effort is missing, also for joints 'j2', 'j3'; ROS refuses a "
     '<limit> without it: write the largest that the drive gives, effort="…" in N, or '
     'effort="0" if it is not known$'),
    *((one(version=version), f"URDF: version '{version}' is not known; known are 1.0, 1.1, 1.2")
      for version in ('1', '1.3')),
    (one(version='1.0', origin='quat_xyzw="0 0 0 1"'), "line 1, joint 'j1', <origin>: quat_xyzw "
     'needs URDF 1.1; ROS ignores it in a file of version 1.0: write <robot version="1.1"'),
    *((one(f'<limit lower="-1" upper="1" {given}/>', '1.0'),
       f"line 1, joint 'j1', <limit>: unknown attribute '{wrong}'; .*did you mean '{right}'")
      for given, wrong, right in (
          ('efort="3" velocity="1"', 'efort', 'effort'),
          ('effort="3" velocty="1"', 'velocty', 'velocity'))),
    (one(limit(jerk=1), '1.1'), 'jerk needs URDF 1.2; .*1.1'),
    (one(origin='quat_xyzw="0 0 0 1" rpy="0.5 0 0"'), 'has rpy and quat_xyzw; keep one'),
    (one(origin='quat_xyzw="0 0 0 0.98"'), 'quat_xyzw has length 0.98 instead of 1'),
    (one(origin='quat_xyzw="0 0 0 0"'), 'quat_xyzw has length 0 instead of 1'),
    (one(origin='quat_xyzw="0 0 0"'), "quat_xyzw is '0 0 0', expected 4 numbers"),
    (one('<limit lower="-1"/>'), 'only lower is given; URDF 1.2 needs lower and upper'),
    (one(limit(jerk=-3)), 'jerk is -3; write the real one'),
    (one(limit(jerk='nan')), "jerk is 'nan', not finite"),
    *((ONE_JOINT.replace(right, wrong), words) for right, wrong, words in (
        ('value="2"', '', "link 'l1'"),
        ('value="2"', 'value="nan"', "'l1', <mass>: value is 'nan', not finite"),
        ('value="2"', 'value="two"', "link 'l1'.*two"),
        ('value="2"', 'value="${m2}"', r"value is '\$\{m2\}', which xacro has not expanded"),
        ('izz="0.025"', 'izz="-0.025"', "body 'l1', key 'inertia'"),
        ('izz="0.025"', '', "link 'l1'.*izz"),
        ('xyz="0 2 1"', 'xyz="0 0 0"', "joint 'j1'.*not an axis"),
        ('xyz="0 2 1"', 'xyz="0 2"',
         "line 1, joint 'j1', <axis>: xyz is '0 2', expected 3 numbers"),
        ('rpy="0.5 0 0"', 'rpy="inf 0 0"', "joint 'j1'.*not finite"),
        ('upper="2"', 'upper="-2"', "joint 'j1', <limit>: lower is -1, not below upper, -2"),
        ('effort="40"', 'effort="-1"', "joint 'j1', <limit>: effort is -1; write"),
        ('"revolute"', '"hinge"', "joint 'j1'.*hinge"),
        ('"revolute"', '"ball"', r"'ball' is not supported; .*planar, spherical"),
        ('child link="l1"', 'child link="l2"', "joint 'j1'.*no child link 'l2'"),
        ('<axis', '<axis xyz="1 0 0"/><axis',
         "joint 'j1', <axis>: occurs twice, also in line 1"),
        ('<axis ', '<axis\n y="1" ',
         "line 1, joint 'j1', <axis>: unknown attribute 'y'; known are xyz"),
        ('rpy="0.5 0 0"', 'rpy="0.5 0 0" rpz="1 0 0"',
         "joint 'j1', <origin>: unknown attribute 'rpz'; known are xyz, rpy, quat_xyzw"),
        ('<mass value', '\n<mass unit="g" value',
         "line 2, link 'l1', <mass>: unknown attribute 'unit'"),
        ('ixx=', 'ixx_="1" ixx=', "<inertia>: unknown attribute 'ixx_'"),
        ('<child ', '<child frame="x" ', "<child>: unknown attribute 'frame'"),
        ('velocity=', 'speed="1" velocity=', "<limit>: unknown attribute 'speed'"))),
])
def test_a_wrong_urdf_is_refused_naming_line_and_element(text, words):
    with pytest.raises(hd.HodynError, match=f'(?s){words}'):
        hd.load_robot(text)


def test_more_links_than_asked_for_are_refused_before_they_are_parsed():
    """The links are not even looked at: these have no names."""
    with pytest.raises(ValueError, match='URDF: 11 links; at most 10 are accepted here'):
        hd.load_robot(urdf(*['<link/>'] * 11, base=''), max_bodies=10)
    with pytest.raises(ValueError, match="'bodies': 11 of them; at most 10 are accepted here"):
        hd.load_robot({'name': 'x', 'bodies': [{}] * 11}, max_bodies=10)


@pytest.mark.parametrize('count', [500, 501])
def test_a_robot_has_so_many_bodies_that_move(count):
    text = urdf(*(joined_link(f'l{k}') for k in range(count)))
    if count == 500:
        assert hd.load_robot(text).n == count
        return
    with pytest.raises(ValueError, match="'bodies': 501 of them move; at most 500 can"):
        hd.load_robot(text)


@pytest.mark.parametrize(('text', 'words'), [
    (b'\xff\xfe\x00', 'not UTF-8'),
    (b'# ' + b'x' * (4 * 1024 * 1024), 'larger than'),
    ('name: a\nname: b\n', "key 'name' occurs twice"),
    ('name: a\nlimits: {jerk: [1], jerk: [2]}\n', "key 'jerk' occurs twice"),
    ('a: &a [1, 1]\nb: [*a, *a]\n',
     'line 2, column 5: .* an alias is not accepted: .*id001 .*yaml.dump .* copy'),
    ('[' * 20000, 'nested too deeply|nesting depth'),  # PyYAML says it itself from 6.0.4 on
    ('!!python/object/apply:os.system [ls]', 'not valid YAML'),
    ('? [a]\n: b\n', 'not valid YAML'),
    ('name: [unclosed\n', 'not valid YAML'),
    ('a:\n  - 1\n  b: 2\n', "not valid YAML: did not find expected '-' indicator|expected <"),
    ('a:\n\t- 1\n', r'not valid YAML: .*start any token \(a tab, @ or `\)'),
    ('just text', 'a robot file is a mapping'),
    ('- just\n- a list\n', 'a robot file is a mapping'),
    ('name: a\n---\nname: b\n', 'holds 2 YAML documents; keep one'),
    # Comments by the thousand: telling MJCF by a pattern doubled the time with each.
    *((f'{comment * 10000}<robot/>', 'not valid XML|has no name') for comment in (
        '<!--===== a -->\n', '<!---->', '<?a?>', '<!-- -- -->')),
], ids=range(18))
def test_files_are_read_strictly(text, words, tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=words):
        hd.load_robot(path)


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
