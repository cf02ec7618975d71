"""Parameters of the node that no other test needs: each does what the table says."""
from itertools import count
from pathlib import Path
import re

from geometry_msgs.msg import WrenchStamped
import numpy as np
import pytest
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import ReliabilityPolicy

import hodyn_ros as hd
from hodyn_ros.ros import parameters
from hodyn_ros.ros.controller_state import JointTrajectoryControllerState
from hodyn_ros.ros.feedforward_node import main

NOW = 1000.0
PANDA = hd.load_robot('panda')
CONTROLLER_STATE = '/feedforward/controller_state' + (
    '' if JointTrajectoryControllerState else '/error')


def test_a_test_names_each_parameter():
    tests = '\n'.join(path.read_text('utf-8') for path in Path(__file__).parent.glob('*.py'))
    names = {name.partition('.JOINT')[0] for name in parameters.TABLE}
    assert [name for name in sorted(names) if not re.search(rf'\b{name}\b', tests)] == []


@pytest.mark.live
def test_what_plans_are_taken_and_how(live, home):
    """Another model's names, a start that is off, waypoints that are overshot, no points."""
    inertia = np.diag([0.3, 0.2, 0.1])
    node = live(
        'allow_other_model:=true', 'start_tolerance:=0.3', 'overshoot_tolerance:=10.0',
        'hold_on_empty_trajectory:=false', 'payload_link:=link7', 'payload_mass:=1.0',
        f'payload_inertia:={inertia.ravel().tolist()}')
    node.joints = [f'fr3_joint{i}' for i in range(1, 8)]
    node.first_answer(NOW, home)
    node.send_trajectory(start=NOW + 15.0)
    now = node.send_states_until_log('the trajectory has no points', NOW + 0.01, home)
    times = [0.0, 1.0, 1.2, 2.5]
    points = [[x + step for x in home] for step in (0.1, 0.3, 0.31, 0.0)]
    node.send_trajectory(*zip(times, points, strict=True), start=NOW + 15.0)
    node.send_states_until_log('trajectory accepted', now + 0.01, home)
    assert 'global interpolation' in node.log  # bounded, with the default tolerance
    answers = node.reach(NOW + 15.6, home)
    start = np.zeros((5, 7))
    start[0] = home
    plan = hd.fit_plan(
        times, points, start=start, start_tolerance=0.3, overshoot_tolerance=10.0)
    loaded = PANDA.with_payload('link7', 1.0, np.zeros(3), inertia)
    expected = hd.FeedForward(loaded).torque(plan.evaluate(0.6))
    np.testing.assert_allclose(answers[0].effort, expected[0], atol=1e-6)
    light = PANDA.with_payload('link7', 1.0, np.zeros(3))
    assert np.abs(hd.FeedForward(light).torque(plan.evaluate(0.6))[0] - expected[0]).max() > 1e-3


@pytest.mark.live
def test_how_wrenches_and_limits_are_minded(live, home):
    """A wrench is there at once and stays; a torque beyond its limit does not stop the arm."""
    node = live(
        'interpolation:=local', 'limit_margin:=1.0', 'wrench_bandwidth:=1000.0',
        'wrench_timeout:=60.0', 'fade:=0.2')
    node.first_answer(NOW, home)
    clock = (NOW + 0.004 * k for k in count(1))

    def torque():
        return np.array(node.answer(next(clock), home)[0].effort)

    free = torque()
    wrenches = node.publisher(WrenchStamped, '/feedforward/external_wrench')
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.z = 'link7', 10.0
    assert node.spin_until(  # a single message may be lost
        lambda: wrenches.publish(message) or np.abs(torque() - free).max() > 0.1, 5.0)
    for _ in range(8):
        pushed = torque() - free
    node.spin(0.3)
    later = [torque() - free for _ in range(50)][-1]
    # After some 35 ms; of 50 rad/s, the default, a twentieth is there.
    assert np.linalg.norm(pushed) > 0.3 * np.linalg.norm(later)
    assert np.abs(later).max() > 1.0
    message.wrench.force.z = 1.0  # for which there is room: it is taken as it is
    given = hd.jacobian(PANDA, np.array([home]), 'link7', representation='body_fixed')[0].T @ [
        0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert node.spin_until(
        lambda: wrenches.publish(message) or (
            np.abs(torque() - free + given).max() < 1e-3 * np.abs(given).max()), 5.0)
    node.send_trajectory((1.0, [x + 0.2 for x in home]), (2.0, home))
    assert node.spin_until(lambda: torque() is not None and 'following' in node.states, 30.0)
    assert 'local interpolation' in node.log
    assert node.set(payload_link='link7', payload_mass=15.0) == ''
    shares = []
    while node.states[-1] == 'following':
        shares.append(np.abs(torque() / PANDA.limits.effort).max())
    assert max(shares) > 1.1  # 0.05 is the default
    assert 'stopping' not in node.states


@pytest.mark.live
def test_a_dump_of_the_active_node_can_be_loaded_and_types_stay(live, home):
    node = live()
    node.first_answer(NOW, home)
    names = node.call(ListParameters, 'list_parameters', ListParameters.Request())
    # One is read-only in each node.
    asked = GetParameters.Request(names=[
        name for name in names.result.names if name != 'start_type_description_service'])
    values = node.call(GetParameters, 'get_parameters', asked).values
    assert len(values) > 40
    results = node.call(
        SetParameters, 'set_parameters', SetParameters.Request(parameters=[
            ParameterMessage(name=name, value=value)
            for name, value in zip(asked.names, values, strict=True)])).results
    assert [one.reason for one in results if not one.successful] == []
    assert node.set(payload_link='link7', payload_mass=2) == ''
    asked = GetParameters.Request(names=['payload_mass'])
    (value,) = node.call(GetParameters, 'get_parameters', asked).values
    assert (value.type, value.double_value) == (ParameterType.PARAMETER_DOUBLE, 2.0)


@pytest.mark.live
def test_the_answer_to_a_payload_asks_about_its_units(live, home):
    """Who sets it by a service or by rqt does not see the log."""
    node = live()
    node.first_answer(NOW, home)
    assert node.set(payload_link='link7', payload_mass=0.01) == ''
    for height, is_asked in ((0.1, False), (50.0, True), (0.2, False)):
        com = Parameter('payload_com', value=[0.0, 0.0, height]).to_parameter_msg()
        (result,) = node.call(
            SetParameters, 'set_parameters', SetParameters.Request(parameters=[com])).results
        assert result.successful
        assert bool(result.reason) == is_asked == ('com is in m: are these mm?' in result.reason)
    assert node.log.count('com is in m: are these mm?') == 1
    refusal = node.set(payload_mass=120.0)
    assert 'beyond its effort limit of' in refusal
    assert 'mass is in kg: are these grams?' in refusal


@pytest.mark.live
def test_the_quality_of_service_is_that_of_the_user(live, home):
    node = live(
        'qos_overrides./joint_states.subscription.reliability:=reliable',
        'qos_overrides./joint_states.subscription.depth:=7',
        'qos_overrides./feedforward/torque.publisher.reliability:=best_effort',
        f'qos_overrides.{CONTROLLER_STATE}.publisher.reliability:=best_effort')
    (states,) = node.node.get_subscriptions_info_by_topic('/joint_states')
    assert states.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    for topic in ('/feedforward/torque', CONTROLLER_STATE):
        (found,) = node.node.get_publishers_info_by_topic(topic)
        assert found.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT, topic


@pytest.mark.live
@pytest.mark.parametrize(('name', 'value'), [
    ('/joint_stats.subscription.reliability', 'reliable'),
    ('/joint_states.subscription.deadline', '100'),
    ('/joint_states.subscription.reliability', 'sometimes')])
def test_a_wrong_quality_of_service_is_one_line_and_no_node(ros_environment, capfd, name, value):
    assert main(['node', '--ros-args', '-p', f'qos_overrides.{name}:={value}']) == 2
    error = capfd.readouterr().err
    assert 'qos_overrides' in error
    assert 'Traceback' not in error
