"""Plan files and the commands on them."""
import json
import struct

from hypothesis import example, given
from hypothesis import strategies as st
import numpy as np
import pytest
import yaml

from hodyn_ros import load_robot
from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_trajectory import decode, encode
from hodyn_ros.plans import annotate, files
from hodyn_ros.plans.files import read_trajectory, write_annotated
from hodyn_ros.reference import fit_plan

NAMES = tuple(f'fer_joint{i}' for i in range(1, 8))
START = np.array([0.0, 1.2, 0.0, -0.5, 0.0, 1.57, 0.78])


def plan_file(path, duration=0.1, distance=0.0075, names=NAMES):
    """Write joint 2's rest-to-rest motion as CSV."""
    goal = START.copy()
    goal[1] += distance
    lines = [','.join(('time', *names))]
    for time, row in ((0.0, START), (duration, goal)):
        lines.append(','.join(map(str, (time, *row[:len(names)]))))
    path.write_text('\n'.join(lines))
    return path


@pytest.fixture(scope='module')
def annotated():
    feedforward = FeedForward(load_robot('panda'))
    plan = fit_plan([0.0, 0.5, 1.0], [START, START + 0.05, START - 0.05])
    return annotate(plan, feedforward, 0.005, names=NAMES)


@pytest.mark.parametrize('name', ['plan.yaml', 'plan.json', 'plan.csv', 'bag'])
def test_annotated_plans_read_back(tmp_path, annotated, name):
    write_annotated(annotated, tmp_path / name)
    trajectory = read_trajectory(tmp_path / name)
    assert trajectory.names == NAMES
    np.testing.assert_allclose(trajectory.times, annotated.times, atol=1e-9)
    for k, rows in enumerate(
        (trajectory.positions, trajectory.velocities, trajectory.accelerations)
    ):
        np.testing.assert_allclose(np.array(rows), annotated.motion[:, k])


def test_a_bag_is_not_written_where_its_storage_would_go_elsewhere(tmp_path, annotated):
    with pytest.raises(ValueError, match=r'what\?: the path of a bag must not contain'):
        write_annotated(annotated, tmp_path / 'what?')
    assert not any(tmp_path.iterdir())



def plain_plan(**time):
    return {'joint_names': ['joint1', 'joint2'], 'points': [
        {'positions': [0.0, 0.0], 'time_from_start': 0.0},
        {'positions': [0.5, 0.3], 'time_from_start': time or 1.5}]}


@pytest.mark.parametrize('name', ['plan.json', 'plan.yaml'])
@pytest.mark.parametrize('data', [
    plain_plan(sec=1, nanosec=500_000_000), plain_plan(secs=1, nsecs=500_000_000), plain_plan(),
    {'joint_trajectory': plain_plan(), 'multi_dof_joint_trajectory': {'points': []}},
    {'trajectory': plain_plan(), 'path_tolerance': [], 'goal_time_tolerance': {'sec': 1}},
    {'model_id': 'arm', 'trajectory': [{'joint_trajectory': plain_plan()}],
     'trajectory_start': {'is_diff': False}}])
def test_plans_of_moveit_and_of_ros_1_are_read(tmp_path, name, data):
    (tmp_path / name).write_text(json.dumps(data))  # which is YAML as well
    trajectory = read_trajectory(tmp_path / name)
    assert trajectory.names == ('joint1', 'joint2')
    assert list(trajectory.times) == [0.0, 1.5]


@pytest.mark.parametrize(('data', 'message'), [
    ({'trajectory': [{}, {}]}, 'holds 2 trajectories; keep one'),
    ({'trajectory': 1}, 'holds no trajectories'),
    ({'joint_trajectory': plain_plan(), 'multi_dof_joint_trajectory': {'points': [{}]}},
     'multi_dof_joint_trajectory has points'),
    (plain_plan(secs=1, nanosec=5), "point 1, time_from_start: unknown key 'secs'; known keys"),
    (plain_plan(sec=1, nanosecs=5), "unknown key 'nanosecs'; known keys are nanosec, sec$"),
    (plain_plan(sec=1, nanosec=5_000_000_000),
     'point 1, time_from_start, nanosec: 5000000000 is not between 0 and 999999999'),
    (plain_plan(sec=1, nanosec=-5), 'point 1, time_from_start, nanosec: -5 is not between'),
    (plain_plan(secs=1, nsecs=10**9), 'nsecs: 1000000000 is not .*; whole seconds belong to secs'),
    ({**plain_plan(), 'points': [*plain_plan()['points'], '...']}, 'point 2.* --full-length'),
    ({**plain_plan(), 'points': [{'positions': [0.0, '...'], 'time_from_start': 0}]},
     'point 0, positions.* --full-length'),
    ({'header': {}, 'name': ['joint1'], 'position': [0.0]}, 'looks like a JointState message'),
    ({'name': 'arm', 'bodies': []}, r'looks like a robot file \(--robot\)'),
    ({'limits': {}}, r'looks like a file of limits \(--limits\)'),
    ({'/**': {'ros__parameters': {}}}, 'looks like a parameter file of a node'),
])
def test_what_no_plan_of_joints_is_in_is_named(tmp_path, data, message):
    (tmp_path / 'plan.json').write_text(json.dumps(data))
    with pytest.raises(ValueError, match=message):
        read_trajectory(tmp_path / 'plan.json')


def test_a_file_and_a_message_refuse_nanoseconds_in_the_same_words(tmp_path):
    message = bytearray(encode(
        ['joint1'], np.array([0.0, 1.5]), np.zeros((2, 3, 1)), np.zeros((2, 1))))
    struct.pack_into('<iI', message, len(message) - 8, 0, 1_200_000_000)
    (tmp_path / 'plan.json').write_text(json.dumps(plain_plan(sec=0, nanosec=1_200_000_000)))
    with pytest.raises(ValueError, match=r'point 1.*: 1200000000 is not') as by_message:
        decode(bytes(message))
    with pytest.raises(ValueError, match=r'point 1.*: 1200000000 is not') as by_file:
        read_trajectory(tmp_path / 'plan.json')
    assert str(by_file.value) == f'{tmp_path}/plan.json, {by_message.value}'


def test_a_topic_printed_by_ros2_topic_echo_is_read(tmp_path):
    path = tmp_path / 'echo.yaml'
    path.write_text(
        'header:\n  stamp: {sec: 0, nanosec: 0}\n  frame_id: ""\n'
        'joint_names: [a, b]\npoints:\n'
        '- {positions: [0.0, 1.0], velocities: [], accelerations: [], effort: [],\n'
        '   time_from_start: {sec: 0, nanosec: 500000000}}\n'
        '- {positions: [1e-3, 1.0], time_from_start: 2}\n---\n')
    trajectory = read_trajectory(path)
    assert trajectory.names == ('a', 'b')
    assert trajectory.times == [0.5, 2.0]
    assert trajectory.positions == [[0.0, 1.0], [0.001, 1.0]]


@pytest.mark.parametrize('text', [
    'time,a,b\n0,0.5,0\n1.5,1,2\n', 't;a;b\n0;0,5;0\n1,5;1;2\n',
    '\ufeffTime (s)\ta\tb\n0\t0.5\t0\n1.5\t1\t2\n', 'time_from_start, a, b\n0,.5,0\n1.5,1,2\n'])
def test_tables_of_spreadsheets_and_loggers_are_read(tmp_path, text):
    (tmp_path / 'plan.csv').write_text(text, 'utf-8')
    trajectory = read_trajectory(tmp_path / 'plan.csv')
    assert trajectory.names == ('a', 'b')
    assert trajectory.times == [0.0, 1.5]
    assert trajectory.positions == [[0.5, 0.0], [1.0, 2.0]]


@pytest.mark.parametrize('header', [
    'time,x.position,force_x.position', 'time,pos,force,pos.velocity,force.velocity',
    'time,x,x.velocity,force_x.position,force_x.velocity'])
def test_joints_may_be_named_like_kinds_of_columns(tmp_path, header):
    path = tmp_path / 'plan.csv'
    zeros = ',0' * header.count(',')
    path.write_text(f'{header}\n0{zeros}\n1{zeros}\n')
    assert len(read_trajectory(path).names) == 2


def test_a_joint_may_be_called_t(tmp_path):
    for time in ('time', 'time_from_start'):
        (tmp_path / 'plan.csv').write_text(f'{time},t\n0,1\n1,2\n')
        assert read_trajectory(tmp_path / 'plan.csv').names == ('t',)


@pytest.mark.parametrize('separator', [',', ';', '\t'])
def test_separators_within_quotes_separate_nothing(tmp_path, separator):
    names = ('a,b,c,d', 'e;f;g;h', 'i\tj')
    (tmp_path / 'plan.csv').write_text('\n'.join(
        separator.join(line) for line in (
            ['time_from_start', *(f'"{name}"' for name in names)], '0123', '1456')))
    assert read_trajectory(tmp_path / 'plan.csv').names == names


@pytest.mark.parametrize(('name', 'text', 'message'), [
    ('p.yaml', 'a: [1', 'not valid YAML'),
    ('p.yaml', '- 1', 'expected a mapping'),
    ('p.yaml', 'joint_names: [a]\npoints: []\nspeed: 1', "unknown key 'speed'"),
    ('p.yaml', 'joint_names: a\npoints: []', 'joint_names must be'),
    ('p.yaml', 'joint_names: [a]\npoints: [{positions: [x], time_from_start: 0}]',
     'point 0, positions: expected numbers'),
    ('p.yaml', 'joint_names: [a]\npoints: [{positions: [0]}]', 'time_from_start is missing'),
    ('p.yaml', 'joint_names: [a]\npoints: []\n---\njoint_names: [b]', 'holds 2 documents'),
    ('p.yaml', 'joint_names: [a]\npoints: []\npoints: []', "key 'points' occurs twice"),
    ('p.yaml', 'joint_names: &n [a]\npoints: *n', 'an alias is not accepted'),
    ('p.yaml', 'joint_names: [a]\npoints: [{positions: [true], time_from_start: 0}]',
     'point 0, positions: expected numbers, got [True]'),
    ('p.yaml', 'joint_names: [a]\npoints: [{positions: [0], time_from_start: 2001-13-01}]',
     'not valid YAML'),
    ('p.json', '{', 'not valid JSON'),
    ('p.json', '{"points": [], "points": []}', "key 'points' occurs twice"),
    ('p.json', '{"joint_names": ["a"], "points": [{"time_from_start": 0, "positions": [1'
     + 400 * '0' + ']}]}', 'point 0, positions: expected numbers'),
    ('p.json', '[1' + 5000 * '0' + ']', 'not valid JSON'),
    ('p.csv', 'a,b\n0,1', "NAME.acceleration; it has 'a', 'b'"),
    ('p.csv', '0.0,1.0\n0.1,1.1', 'time in seconds (one of time, time_from_start, '),
    ('p.csv', '', 'NAME.acceleration; it has nothing'),
    ('p.csv', 'time;a\n0.25;1,234', "line 2, column 'a': expected a finite number, got '1,234'"),
    ('p.csv', 'time,a\n0,0\n1,1,2', 'line 3: 3 entries for 2 columns'),
    ('p.csv', 'time,a\n0,0,1\n0.5,1,2', 'line 2: 3 entries for 2 columns'),
    ('p.csv', 'time;a\n0;0;1;2', 'line 2: 4 entries for 2 columns'),
    ('p.csv', 'time,a,b\n0,0,0,4\n1,5,0,7', 'line 2: more entries than the 3 columns: are these'),
    ('p.csv', 'time,a,b\n0,1,5,2,5', 'than the 3 columns: are these decimal commas? Then '),
    ('p.csv', 'time,a,b\n0,0.1,0.20.3,0.1,0.2', 'line 2: 5 entries for 3 columns'),
    ('p.csv', 'time,vel_a,a,a.velocity\n0,1,1,1', 'write a.velocity, or vel_a.position if'),
    ('p.csv', 'time,pos_a,vel_a\n0,1,1', "column 'pos_a': write a.position"),
    ('p.csv', 'time,a_pos,a_vel\n0,1,1', "column 'a_pos': write a.position"),
    ('p.csv', 'time,a,vel/a\n0,1,1', "column 'vel/a': write a.velocity"),
    ('p.csv', 'time,a\n0,0\n\n1,x', "line 4, column 'a': expected a finite number, got 'x'"),
    ('p.csv', 'time,a\n0,0\n1,nan', "line 3, column 'a': expected a finite number, got 'nan'"),
    ('p.csv', 'time,a\n0,0\n1,', "line 3, column 'a': expected a finite number, got ''"),
    ('p.csv', 'time,a\n0,0\n1', 'line 3: cut off after 1 of 2 entries'),
    ('p.csv', 'time,a,a\n0,1,1', "column 'a' occurs twice"),
    ('p.csv', 'time,a,b.velocity\n0,1,1', "'b.velocity': no column 'b' has the"),
    ('p.csv', 'time,a,a.acc\n0,1,1', "column 'a.acc': write a.acceleration"),
    ('p.csv', 'time,a [deg]\n0,1', "column 'a [deg]': position is in rad or m"),
    ('p.csv', 'time,a\n0,' + 200_000 * '1', 'not valid CSV: field larger'),
    ('p.txt', '', 'not a plan file'),
    ('p.urdf', '', "a robot's file, not a plan; give it by --robot"),
    ('p.bag', '', 'a bag of ROS 1: `rosbags-convert'),
    ('p.db3', 'x', 'p.db3'),
])
def test_bad_files_exit_with_2_and_one_line(tmp_path, capsys, name, text, message):
    (tmp_path / name).write_text(text)
    assert main(['check', str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert 'Traceback' not in error


@pytest.mark.slow
def test_check_exits_with_1_beyond_and_0_within_limits(tmp_path, capsys):
    assert main([
        'check', str(plan_file(tmp_path / 'fast.csv')), '--output', str(tmp_path / 'curves.png'),
        '--json', str(tmp_path / 'figures.json')]) == 1
    printed = capsys.readouterr().out
    assert 'beyond limits: joint2: effort_rate -1828' in printed
    assert 'times slower' in printed
    assert (tmp_path / 'curves.png').stat().st_size > 10_000
    figures = json.loads((tmp_path / 'figures.json').read_text())
    assert figures['stretch'] == pytest.approx(1.22, abs=0.01)
    assert [e['quantity'] for e in figures['worst'] if e['exceeded']] == ['effort_rate']
    within = plan_file(tmp_path / 'slow.csv', duration=0.1 * figures['stretch'])
    assert main(['check', str(within)]) == 0
    assert 'within all limits' in capsys.readouterr().out


@pytest.mark.parametrize('folder', [True, False])
def test_a_lone_storage_file_is_a_bag_with_and_without_its_folder(tmp_path, annotated, folder):
    bag = tmp_path / 'bag'
    write_annotated(annotated, bag)
    (bag / 'metadata.yaml').unlink()
    (file,) = bag.iterdir()
    assert read_trajectory(bag if folder else file).names == NAMES


def test_an_empty_folder_is_no_bag(tmp_path, capsys):
    assert main(['check', str(tmp_path)]) == 2
    assert 'no plan there (a bag, or a .yaml, .json or .csv file)' in capsys.readouterr().err


def test_names_of_another_model_need_their_prefix(tmp_path, capsys):
    names = tuple(name.replace('fer', 'fr3') for name in NAMES)
    path = plan_file(tmp_path / 'other.csv', duration=1.0, names=names)
    assert main(['check', str(path)]) == 2
    assert 'joint_prefix:=fr3_ (node), --joint-prefix fr3_' in capsys.readouterr().err
    assert main(['check', str(path), '--joint-prefix', 'fr3_']) == 0


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = plan_file(tmp_path / 'saved.csv')
    path.write_text(path.read_text(), encoding='utf-8-sig')
    assert read_trajectory(path).names == NAMES


@pytest.mark.parametrize('option', [('--number', '3'), ('--topic', '/plan')])
def test_what_chooses_within_a_bag_is_refused_for_other_files(tmp_path, capsys, option):
    path = plan_file(tmp_path / 'good.csv', duration=1.0)
    assert main(['check', str(path), *option]) == 2
    assert 'topic and number are only for bags' in capsys.readouterr().err


def test_check_tells_how_far_a_plan_leaves_the_range_of_its_points(tmp_path, capsys):
    path, joint = tmp_path / 'through.csv', 'fer_joint2'
    header = ','.join(('time', *NAMES, *(f'{name}.velocity' for name in NAMES)))
    rows = [
        [time, *START, *(v if name == joint else 0.0 for name in NAMES)]
        for time, v in ((0.0, 0.0), (1.0, -0.5), (2.0, 0.0))]
    path.write_text('\n'.join([header, *(','.join(map(str, row)) for row in rows)]))
    assert main(['check', str(path), '--json', str(tmp_path / 'figures.json')]) == 0
    figures = json.loads((tmp_path / 'figures.json').read_text())
    assert figures['overshoot'] > 0.05
    assert f'joint2 leaves the range of its points by {figures["overshoot"]:.3g} rad' in (
        capsys.readouterr().out)


def test_check_refuses_a_missing_joint_and_a_missing_file(tmp_path, capsys):
    assert main(['check', str(plan_file(tmp_path / 'six.csv', names=NAMES[:6]))]) == 2
    assert "'fer_joint7'" in capsys.readouterr().err
    assert main(['check', str(tmp_path / 'none.csv')]) == 2
    assert 'no such plan file' in capsys.readouterr().err


def test_annotate_writes_only_what_is_within_limits(tmp_path, capsys):
    plan, output = plan_file(tmp_path / 'fast.csv'), tmp_path / 'out.json'
    assert main(['annotate', str(plan), '--output', str(output)]) == 1
    assert not output.exists()
    assert main(['annotate', str(plan), '--output', str(output), '--stretch', 'auto']) == 0
    assert 'times slower' in capsys.readouterr().out
    # What was annotated passes the check in its turn.
    assert main(['check', str(output)]) == 0



def test_a_bag_with_several_trajectories_needs_a_number(tmp_path, annotated):
    from rosbags.rosbag2 import Reader, Writer
    from rosbags.typesys import Stores, get_typestore

    write_annotated(annotated, tmp_path / 'one')
    store = get_typestore(Stores.ROS2_JAZZY)
    with Reader(tmp_path / 'one') as reader, Writer(tmp_path / 'two', version=9) as writer:
        ((connection, _, raw),) = reader.messages()
        for topic in ('/a', '/a', '/b'):
            known = [c for c in writer.connections if c.topic == topic]
            target = known[0] if known else writer.add_connection(
                topic, connection.msgtype, typestore=store)
            writer.write(target, 0, raw)
    with pytest.raises(ValueError, match=r'choose a topic.*/a, /b'):
        read_trajectory(tmp_path / 'two')
    for number, no in (None, ''), (3, ', so there is no --number 3'):
        with pytest.raises(ValueError, match=f'2 trajectories on /a{no}; choose one with --numb'):
            read_trajectory(tmp_path / 'two', topic='/a', index=number)
    assert read_trajectory(tmp_path / 'two', topic='/a', index=2).names == NAMES
    assert read_trajectory(tmp_path / 'two', topic='/b').names == NAMES


def test_a_damaged_bag_gives_readable_trajectories_and_names_lost_ones(
        tmp_path, annotated, capsys):
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    write_annotated(annotated, tmp_path / 'one')
    with Reader(tmp_path / 'one') as reader:
        ((connection, _, raw),) = reader.messages()
    with Writer(tmp_path / 'two', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        target = writer.add_connection(
            '/a', connection.msgtype, typestore=get_typestore(Stores.ROS2_JAZZY))
        for time in range(2):
            writer.write(target, time, raw)
    file = tmp_path / 'two/two.mcap'
    whole = file.read_bytes()
    file.write_bytes(whole[:whole.rindex(raw) + 100])
    lost = r'damaged: .* trajectories on /a that can be read; lost: 1 in two.mcap, bytes'
    with pytest.warns(UserWarning, match=lost):
        assert read_trajectory(tmp_path / 'two').names == NAMES
    assert main(['check', str(tmp_path / 'two')]) == 0
    assert 'warning: ' in capsys.readouterr().err
    file.write_bytes(whole[:whole.index(raw)])
    assert main(['check', str(tmp_path / 'two')]) == 2
    assert '0 trajectories on /a; lost: 2 in' in capsys.readouterr().err


@pytest.mark.parametrize('command', ['annotate', 'retime'])
def test_efforts_are_without_what_the_controller_adds(tmp_path, command):
    """With both left out they are those of the inertias alone."""
    plan, efforts = plan_file(tmp_path / 'slow.csv', duration=1.0, distance=0.1), {}
    for options in ((), ('--without-gravity',), ('--without-friction',)):
        output = tmp_path / f'out{len(efforts)}.json'
        assert main([command, str(plan), '--output', str(output), '--period', '0.01',
                     *options]) == 0
        trajectory = read_trajectory(output)
        feedforward = FeedForward(load_robot('panda'))
        q = np.zeros((len(trajectory.times), 5, 7))
        q[:, 0], q[:, 1], q[:, 2] = (
            trajectory.positions, trajectory.velocities, trajectory.accelerations)
        points = json.loads(output.read_text())['points']
        efforts[options] = np.array([point['effort'] for point in points])
        np.testing.assert_allclose(efforts[options], feedforward.torque(
            q, gravity='--without-gravity' not in options,
            friction='--without-friction' not in options)[:, 0], atol=1e-6)
    whole, heavy, rubbing = efforts.values()
    assert np.abs(whole - heavy).max() > 1.0
    assert np.abs(whole - rubbing).max() > 0.1


@pytest.mark.parametrize('interpolation', ['global', 'bounded', 'local'])
def test_the_interpolation_is_that_asked_for(tmp_path, capsys, interpolation):
    path = tmp_path / 'plan.csv'
    lines = [','.join(('time', *NAMES))]
    for time, shift in ((0.0, 0.0), (2.0, 0.05), (4.0, 0.02), (6.0, 0.06)):
        lines.append(','.join(map(str, (time, *(START + shift)))))
    path.write_text('\n'.join(lines))
    figures = tmp_path / 'figures.json'
    assert main(['check', str(path), '--interpolation', interpolation, '--json',
                 str(figures)]) == 0
    assert json.loads(figures.read_text())['interpolation'] == interpolation
    assert f'{interpolation} interpolation' in capsys.readouterr().out


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e-5)
@example(-1e22)
@example(5e-324)
def test_numbers_are_those_of_yaml(value):
    """Guards 1e-05, which is a number in JSON and text in YAML 1.1."""
    read = yaml.safe_load(files._yaml_number(value))
    assert isinstance(read, float)
    assert read == value
