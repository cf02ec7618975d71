"""What the node says and refuses when it starts and is configured."""
import os
import sys

from grippers import gripper_urdf
from live_motions import NOW
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from hodyn_ros import inverse_dynamics, load_robot

pytestmark = pytest.mark.live

PATIENCE = 60.0


def test_what_the_torque_contains_is_said_at_activation(live):
    """A robot that adds gravity as well has it twice."""
    node = live('gravity_in_output:=true', 'friction_in_output:=false')
    node.wait_log("torque for robot 'panda' with gravity", PATIENCE)
    assert 'without friction: its controller must add friction' in node.log


@pytest.mark.parametrize(('prefix', 'bare'), [
    ('', '; this robot names its joints fer_joint1, but the joint states name them joint1: do '
     'they come from another arm?'),
    ('fer_', '\n')])
def test_a_robot_that_nobody_named_is_said_when_its_joints_are_found(live, home, prefix, bare):
    """Any arm of seven joints got the torques of a Panda."""
    node = live(joints=[f'{prefix}joint{i}' for i in range(1, 8)])
    node.first_answer(NOW, home)
    line = f'robot panda (the default): choose another by -p robot:=NAME or a file{bare}'
    node.wait_log(line, PATIENCE)
    assert node.log.count('(the default)') == 1


def test_a_robot_that_was_named_needs_no_warning(live, home):
    node = live('robot:=panda', joints=[f'joint{i}' for i in range(1, 8)])
    node.first_answer(NOW, home)
    assert '(the default)' not in node.log


def test_an_arm_too_heavy_to_hold_gets_no_torque_until_payload_is_correct(live, home):
    node = live(
        'robot:=panda', 'payload_link:=link7', 'payload_mass:=120.0', 'auto_activate:=true')
    wait = 'the weight needs'
    assert node.spin_until(
        lambda: node.send_state(1.0, home) or wait in node.log, PATIENCE), node.log
    assert 'beyond its effort limit of' in node.log
    assert not node.messages['torque']
    assert node.set(payload_mass=1.2) == ''
    node.first_answer(2.0, home)
    assert node.spin_until(lambda: node.states[-1] == 'holding', PATIENCE)


def test_a_robot_file_is_named_at_start_only_and_never_quoted(live, tmp_path):
    """Any file that the node may read could be named by whoever may set parameters."""
    secret = tmp_path / 'secret.yaml'
    secret.write_text('root:hunter2:19000\n')
    node = live(f'robot:={secret}', 'auto_activate:=false', ready=False)
    other = tmp_path / 'other.yaml'
    other.write_text('password: hunter2\n')
    for path in (str(other), '/etc/passwd', 'other.yaml'):
        assert 'a file can only be given at start' in node.set(robot=path)
    assert not node.change('configure')
    assert node.set(robot='twolink') == ''
    assert node.change('configure')
    assert 'a file can only be given at start' in node.set(robot=str(other))
    assert node.change('cleanup')
    # That of the start may be taken again.
    assert node.set(robot=str(secret)) == ''
    assert not node.change('configure')
    assert node.log.count(str(secret)) == 2
    assert 'hunter2' not in node.log
    assert 'Traceback' not in node.log


def chain(joints, fixed=0):
    """Return the URDF of a chain of joints that move, and of links fixed to its end."""
    links = ['<robot name="chain"><link name="link0"/>']
    for i in range(1, joints + fixed + 1):
        kind = 'revolute' if i <= joints else 'fixed'
        links.append(
            f'<link name="link{i}"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" '
            'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{i}" type="{kind}"><parent link="link{i - 1}"/>'
            f'<child link="link{i}"/><origin xyz="0.1 0 0"/><axis xyz="0 {i % 2} {1 - i % 2}"/>'
            '<limit lower="-3" upper="3" effort="2000" velocity="2"/></joint>')
    return ''.join(links) + '</robot>'


def test_a_robot_with_too_many_joints_is_refused_before_compilation(
        live, tmp_path, monkeypatch):
    """One of 3000 joints held everything for minutes."""
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'kernels'))
    node = live('robot:=robot_description', ready=False)
    node.wait_log('waiting for a robot', PATIENCE)
    publisher = node.publisher(String, '/robot_description', latched=True)
    for text, reason in (
            (chain(3000), 'not configured: URDF: 3001 links; at most 500 are accepted here'),
            (chain(3, 600), 'not configured: URDF: 604 links; at most 500'),
            (chain(65), "not configured: robot 'chain' has 65 joints that move, and the node")):
        publisher.publish(String(data=text))
        node.wait_log(reason, 20.0)
    assert not list(tmp_path.glob('kernels/**/*.nbc'))
    assert 'Traceback' not in node.log
    # It still listens.
    assert node.set(fade=0.3) == ''


def test_a_robot_with_as_many_joints_as_are_taken_is_held(live):
    node = live('robot:=robot_description', 'fade:=0.2', ready=False)
    node.wait_log('waiting for a robot', PATIENCE)
    publisher = node.publisher(String, '/robot_description', latched=True)
    publisher.publish(String(data=chain(64, 30)))
    node.joints = [f'joint{i}' for i in range(1, 65)]
    node.wait_log('waiting: for a joint state', PATIENCE)
    node.wait_ready()
    assert len(node.first_answer(1000.0, [0.1] * 64)[0].effort) == 64
    # The same robot again needs no word; another one does, since it has no effect.
    publisher.publish(String(data=chain(64, 30)))
    publisher.publish(String(data=chain(64, 31)))
    node.wait_log('another robot came on robot_description; the node keeps its robot', 10.0)
    assert node.log.count('another robot came') == 1


GRIPPER = gripper_urdf(0.0, largest_inertia=0.3, centre='0.2 0.1 0')


def test_a_gripper_is_locked_limits_are_a_files_and_inertias_are_taken(live, tmp_path):
    robot, limits, other = (tmp_path / name for name in ('arm.urdf', 'limits.yaml', 'other.yaml'))
    robot.write_text(GRIPPER)
    limits.write_text('joint_limits: {arm_j1: {has_velocity_limits: true, max_velocity: 0.01}}')
    other.write_text('limits: {}')
    node = live(
        f'robot:={robot}', 'locked_joints:=["finger1=0.02"]', f'limits_file:={limits}',
        'inertia_check:=warn', 'fade:=0.2', ready=False)
    node.joints = ['arm_j1']
    node.wait_ready()
    assert 'no rigid body has it' in node.log
    locked = load_robot(str(robot), inertia_check='warn', locked_joints={'finger1': 0.02})
    node.first_answer(1000.0, [0.1])
    # When it has faded in, it holds against gravity.
    torque = node.answer(1001.0, [0.1])[0].effort
    np.testing.assert_allclose(
        torque, inverse_dynamics(locked, np.array([[0.1], [0.0], [0.0]]))[0], rtol=1e-12)
    node.send_trajectory((0.1, [0.3]))
    node.send_states_until_log('joint_trajectory rejected: ', 1001.001, [0.1])
    assert 'limit 0.01 rad/s' in node.log
    assert 'limits_file: a file can only be given at start' in node.set(limits_file=str(other))


def test_fingers_of_which_one_follows_the_other_move(live, tmp_path):
    """Drivers and plans name both: the follower is left out, as others' joints are."""
    path = tmp_path / 'arm.urdf'
    path.write_text(GRIPPER)
    node = live(f'robot:={path}', 'inertia_check:=warn', 'fade:=0.2', ready=False)
    node.joints = ['finger2', 'finger1', 'arm_j1']
    node.wait_ready()
    robot = load_robot(str(path), inertia_check='warn')
    node.first_answer(1000.0, [0.02, 0.02, 0.1])
    answer = node.answer(1001.0, [0.02, 0.02, 0.1])[0]
    assert list(answer.name) == list(robot.joint_names) == ['arm_j1', 'finger1']
    torque = inverse_dynamics(robot, np.array([[0.1, 0.02], [0.0, 0.0], [0.0, 0.0]]))[0]
    np.testing.assert_allclose(answer.effort, torque, rtol=1e-12, atol=1e-12)
    node.send_trajectory((2.0, [0.03, 0.03, 0.15]))
    node.send_states_until_log('trajectory accepted', 1001.001, [0.02, 0.02, 0.1])


def test_limits_of_the_start_are_left_out_and_taken_again(live, tmp_path):
    """An active node asked to be deactivated first, and then refused the file all the same."""
    robot, limits, other = (tmp_path / name for name in ('arm.urdf', 'limits.yaml', 'other.yaml'))
    robot.write_text(gripper_urdf(centre='0 0 0'))
    limits.write_text('limits: {arm_j1: {velocity: 0.01}}')
    other.write_text('limits: {}')
    node = live(f'robot:={robot}', f'limits_file:={limits}', 'fade:=0.2', 'auto_activate:=false',
                ready=False)
    node.joints = ['arm_j1', 'finger1']
    refusal = (
        'limits_file: a file can only be given at start, on the command line or in a parameter '
        f"file; later it may be {limits} or ''")

    def activated(stamp, answer):
        node.of.forget_log()
        assert node.change('activate')
        node.wait_ready()
        node.first_answer(stamp, [0.1, 0.02])
        node.send_trajectory((2.0, [0.2, 0.02]))
        node.send_states_until_log(answer, stamp + 1.0, [0.1, 0.02])
        assert node.set(limits_file=str(other)) == refusal
        assert 'deactivate the node first' in node.set(limits_file='') + node.set(
            limits_file=str(limits))
        assert node.change('deactivate')

    assert node.set(limits_file=str(other)) == refusal
    assert node.change('configure')
    assert node.set(limits_file=str(other)) == refusal
    activated(1000.0, 'limit 0.01 rad/s')
    assert node.set(limits_file='') == ''
    activated(1010.0, 'trajectory accepted')
    assert node.set(limits_file=str(limits)) == ''
    activated(1020.0, 'limit 0.01 rad/s')


@pytest.mark.parametrize(('parameters', 'names', 'wrong'), [
    ((), ('arm_j1', 'finger1', 'finger2'),
     'finger2 is at 0.03, but it follows finger1 and is at 0.02: correct it, or leave it out of '
     'the stream'),
    (('locked_joints:=["finger1=0.02"]',), ('arm_j1', 'finger1'),
     'finger1 is locked at 0.02: leave it out of the stream, or do not lock it'),
    (('locked_joints:=["finger1=0.02"]',), ('arm_j1', 'hand'),
     "joint 'hand' is not one of robot 'arm'; a stream may name only its joints")])
def test_a_joint_that_a_stream_cannot_move_is_named(live, tmp_path, parameters, names, wrong):
    path = tmp_path / 'arm.urdf'
    path.write_text(GRIPPER)
    node = live(f'robot:={path}', 'inertia_check:=warn', *parameters, ready=False)
    node.joints = ['arm_j1'] if parameters else ['arm_j1', 'finger1']
    node.wait_ready()
    here = [0.1, 0.02][:len(node.joints)]
    node.first_answer(1000.0, here)
    stream = node.publisher(JointState, '/feedforward/reference')
    for k in range(200):
        stream.publish(JointState(name=names, position=[0.1, 0.02, 0.03][:len(names)]))
        node.answer(1001.0 + 0.01 * k, here)
        if 'reference rejected' in node.log:
            break
    assert f'reference rejected: {wrong}' in node.log
    assert 'streaming' not in node.states


def test_without_control_msgs_the_node_says_so_and_goes_on(live):
    """It is not on the package index; most of the node needs none of it."""
    node = live(ready=False, command=[
        sys.executable, '-c',
        "import sys; sys.modules['control_msgs'] = None\n"
        'from hodyn_ros.ros.feedforward_node import main; sys.exit(main(sys.argv))',
        '--ros-args', '-p', 'robot:=twolink'])
    node.wait_log('no action ~/follow_joint_trajectory: control_msgs is not installed', PATIENCE)
    node.wait_log('waiting', PATIENCE)
    assert 'rror' not in node.log


def test_node_and_planning_process_run_without_rosbags(live, home, tmp_path, monkeypatch):
    """It has no Debian package, so a node released as one cannot bring it."""
    (tmp_path / 'rosbags.py').write_text('raise ImportError("no rosbags here")\n')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=os.pathsep)
    node = live()
    annotated = node.subscribe(JointTrajectory, '/feedforward/annotated_trajectory')
    node.first_answer(1000.0, home)  # by then the node knows of the subscription, too
    node.send_trajectory((3.0, [x + 0.1 for x in home]))
    node.send_states_until_log('trajectory accepted', 1000.001, home)
    assert node.spin_until(lambda: bool(annotated), PATIENCE)
    assert len(annotated[0].points[-1].effort) == 7


def test_a_tolerance_for_a_joint_that_there_is_not_is_refused(live):
    node = live('robot:=twolink', 'constraints.elbow.goal:=0.1', ready=False)
    node.wait_log('not configured: parameter constraints.elbow.goal: no such joint', PATIENCE)
    assert node.process.wait(PATIENCE) == 2


def test_a_node_that_would_read_what_it_publishes_is_refused(live):
    node = live(ready=False, command=[
        sys.executable, '-m', 'hodyn_ros.ros.feedforward_node', '--ros-args', '-p',
        'robot:=twolink', '-r', '~/torque:=/joint_states'])
    node.wait_log(
        'not configured: /joint_states would be both published and read (as joint_states) by this '
        'node: correct the remapping', PATIENCE)
    assert node.process.wait(PATIENCE) == 2


def test_the_robot_of_a_topic_and_never_a_file_of_a_message(live, home, tmp_path):
    node = live('robot:=robot_description', ready=False)
    node.wait_log('waiting for a robot', 60.0)
    publisher = node.publisher(String, '/robot_description', latched=True)
    secret = tmp_path / 'secret.yaml'
    secret.write_text('name: secret')
    for text, reason in (
            (str(secret), 'that are not a URDF'), ('panda', 'that are not a URDF'),
            ('<robot name="x"><link', 'not configured'),
            (f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{secret}">]><robot name="&e;"/>',
             'not configured'),
            ('<' * 5_000_000, 'are read')):
        before = node.log.count(reason)
        publisher.publish(String(data=text))
        assert node.spin_until(lambda n=before, r=reason: node.log.count(r) > n, 20.0), node.log
    assert 'secret' not in node.log.replace(str(secret), '')
    limit = '<limit lower="-3" upper="3" effort="80" velocity="2"/>'
    publisher.publish(String(data=(
        '<robot name="pendulum"><link name="world"/><link name="arm"><inertial>'
        '<origin xyz="0 0 -0.5"/><mass value="2"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<visual><geometry><mesh filename="package://nowhere/x.stl"/></geometry></visual></link>'
        '<joint name="hinge" type="revolute"><parent link="world"/><child link="arm"/>'
        f'<axis xyz="0 1 0"/>{limit}</joint></robot>')))
    node.wait_log('waiting: for a joint state', 30.0)
    node.joints = ['hinge']
    node.wait_ready()
    answers = node.first_answer(NOW, [0.5])
    assert abs(answers[0].effort[0]) == pytest.approx(2 * 9.81 * 0.5 * np.sin(0.5), rel=1e-2)
