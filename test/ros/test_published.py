"""What a live node publishes never steps and keeps its limits, whatever is done to it."""
import time

from geometry_msgs.msg import WrenchStamped
from live_motions import (
    LIMITS,
    MARGIN,
    NOW,
    Stepper,
    assert_efforts_within,
    assert_no_step,
    beside,
    cycles,
    leap,
    start_with_motors,
    table,
    weight,
    write_robot_keys,
)
import numpy as np
import pytest
from sensor_msgs.msg import JointState

import hodyn_ros as hd
from hodyn_ros.robot.files import robot_keys

pytestmark = pytest.mark.live

REST = {'velocity': [0.0] * 7}
# As users have them.
DEFAULTS = 'state_timeout:=0.05', 'max_time_step:=0.01', 'tracking_tolerance:=[0.0]'


def test_ctrl_c_while_the_arm_is_held_elsewhere_makes_no_step(live, home):
    """It threw the torque of joint 2 by 96 N m in one cycle."""
    node = live(*DEFAULTS[1:])
    node.drive(20.0, home, until=lambda: node.states[-1] == 'holding')
    node.drive(0.3, home)
    away = [0.0, 0.785, 0.0, -0.9, 0.0, 1.571, 0.785]
    node.drive(20.0, away, until=lambda: 'held where it is' in node.log)
    node.drive(0.12, away)
    before = node.messages['torque'][-1]
    assert np.abs(np.subtract(before.effort, weight(away))).max() > 10.0
    assert node.end() == 0
    assert_efforts_within(node)
    _, values = table(node, 'torque')
    np.testing.assert_allclose(values[-1, 2], weight(away), atol=1e-6)


def test_ctrl_c_while_another_torque_is_gone_over_to_makes_no_step(live, home):
    node = live('evaluate_at:=measurement', 'fade:=2.0', *DEFAULTS[1:2])
    away = beside(home, 0.15, 1)
    end = time.monotonic() + 3.0
    while time.monotonic() < end:
        node.send_state(time.time(), away, **REST)
        node.spin(0.005)
    assert node.end() == 0
    assert_efforts_within(node)
    assert_no_step(node)


@pytest.mark.parametrize(('velocity', 'position'), [(20.0, 0.0), (9e5, 0.0), (0.0, 1.5)])
def test_one_wrong_measured_state_does_not_reach_the_torque(live, home, velocity, position):
    """A velocity of 20 rad/s made −224 N m of 87, one of 9e5 rad/s 1.8e12 N m."""
    node = live('evaluate_at:=measurement', 'tracking_tolerance:=[0.0]')
    node.first_answer(NOW, home, **REST)
    for k in range(1, 400):
        assert node.answer(NOW + 0.002 * k, home, **REST) is not None
    before = np.array(node.messages['torque'][-1].effort)
    wrong = beside(home, position, 1), {'velocity': beside([0.0] * 7, velocity, 1)}
    assert node.answer(NOW + 0.8, wrong[0], **wrong[1]) is not None
    for k in range(1, 200):
        assert node.answer(NOW + 0.8 + 0.002 * k, home, **REST) is not None
    after = np.array([message.effort for message in node.messages['torque'][-200:]])
    assert np.abs(after - before).max() < 0.05
    assert any('contradicts the state before' in reason for reason in node.reasons)
    assert_efforts_within(node)


@pytest.fixture
def springs(tmp_path):
    """Return the file of a Panda with springs and motors of limited speed."""
    mapping = robot_keys('panda')
    mapping['actuators'] = {
        f'joint{i}': {
            'law': 'variable', 'stiffness': 100.0,
            'motor': {'inertia': 0.4, 'viscous': 0.5, 'max_velocity': 3.0, 'max_effort': 90.0}}
        for i in range(1, 8)}
    return write_robot_keys(tmp_path / 'springs.yaml', mapping)


def motors(node) -> tuple[np.ndarray, np.ndarray]:
    """Return stamps and θ, θ̇, τ_m, (T, 3, m)."""
    stamps = np.array(list(node.answers['motor_reference'])) * 1e-9
    return stamps, np.array([
        (m.position, m.velocity, m.effort) for m in node.answers['motor_reference'].values()])


def assert_motors_keep(node) -> None:
    stamps, values = motors(node)
    assert len(stamps) > 50
    dt = np.diff(stamps)[:, np.newaxis]
    assert np.abs(values[:, 1]).max() <= MARGIN * 3.0
    assert np.abs(values[:, 2]).max() <= MARGIN * 90.0
    theta, speed, torque = np.moveaxis(values, 1, 0)
    assert (np.abs(np.diff(theta, axis=0)) <= MARGIN * 3.0 * np.maximum(dt, 0.0) + 1e-9).all()
    assert np.abs(np.diff(speed, axis=0)).max() < 0.3
    assert np.abs(np.diff(torque, axis=0)).max() < 5.0


def test_a_stiffness_of_nearly_nothing_does_not_turn_the_motors_round(live, home, springs):
    """Asked for 0.01 N m/rad, θ ran 2774 rad at 28 060 rad/s, with 44 kN m."""
    node = start_with_motors(live, f'robot:={springs}')
    stiffness = node.publisher(JointState, '/feedforward/stiffness')
    node.first_answer(NOW, home)
    for k in range(1, 1000):
        if k % 20 == 10:
            stiffness.publish(JointState(name=node.joints, effort=[0.01] * 7))
        assert node.answer(NOW + 0.004 * k, home) is not None, node.log
    assert_motors_keep(node)
    _, values = motors(node)
    assert np.abs(values[:, 0] - home).max() < 0.5 * np.pi + 1e-6
    assert 'of 0.01 N m/rad, as far as' in node.log
    assert 'N m/rad, as far as ' in node.log


def test_an_elastic_arm_that_is_held_elsewhere_gets_no_step_of_its_motors(live, home, springs):
    """θ stepped by 0.59 rad, τ_m by 17 N m, at once."""
    node = start_with_motors(live, f'robot:={springs}', 'tracking_tolerance:=[0.0]')
    node.first_answer(NOW, home)
    for k in range(1, 50):
        assert node.answer(NOW + 0.004 * k, home) is not None
    away = np.add(home, [0.2, 0.5, 0.0, 0.4, 0.0, 0.0, 0.3]).tolist()
    there = leap(node, away, NOW + 0.2)
    for k in range(1, 600):
        assert node.answer(there + 0.004 * k, away) is not None
    assert 'held where it is' in node.log
    assert_motors_keep(node)
    assert_efforts_within(node)
    np.testing.assert_allclose(
        motors(node)[1][-1, 0], np.array(away) + weight(away) / 100.0, atol=1e-6)


def test_streams_keep_the_torque_rate_at_the_largest_bandwidth(live, home):
    """Two single samples took 2.8 and 4.8 times what is allowed."""
    node = live('stream_bandwidth:=1000.0')
    stream = node.publisher(JointState, '/feedforward/reference')
    node.first_answer(NOW, home)
    node.let_stream()
    rng = np.random.default_rng(5)
    for k in range(1, 1500):
        if k % 100 in (20, 50):
            goal = np.clip(
                home + rng.uniform(-1.5, 1.5, 7), LIMITS.position_min, LIMITS.position_max)
            stream.publish(JointState(name=node.joints, position=goal.tolist()))
        assert node.answer(NOW + 0.004 * k, home) is not None
    stamps, values = cycles(node)
    rates = np.abs(values[:, 3] / LIMITS.effort_rate)
    assert rates.max() <= 1.02, rates.max()
    assert rates.max() > 0.3, 'it was not driven hard'
    assert 'beyond its limit' not in node.log
    # Not only said: what is published changes no faster.
    step = np.abs(np.diff(values[:, 2], axis=0)) / np.diff(stamps)[:, np.newaxis]
    assert (step <= 1.02 * LIMITS.effort_rate).all()


def test_a_stamped_stream_is_followed_whatever_the_drivers_clock_says(live, home):
    """The driver's clock was set ahead, and samples were refused for as long as that."""
    node = live('max_time_step:=0.01')
    node.let_stream()
    stream = node.publisher(JointState, '/feedforward/reference')
    node.first_answer(NOW, home)
    t, q = NOW, list(home)

    def go_on(cycles: int, offset: float) -> None:
        nonlocal t, q
        for k in range(cycles):
            t += 0.004
            if k % 5 == 0:
                sample = JointState(name=node.joints, position=beside(home, 0.3 * (t - NOW)))
                stamp = sample.header.stamp
                stamp.sec, stamp.nanosec = divmod(round(t * 1e9), 10**9)
                stream.publish(sample)
            answers = node.answer(t + offset, q, 0.03 if k == 0 and offset < 0.0 else 5.0)
            if k == 0 and offset < 0.0 and answers is None:
                continue  # a single state with an older stamp may be late
            assert answers is not None
            q = list(answers[0].position)

    go_on(100, 0.0)
    for ahead in (6.0, -6.0, 3600.0):
        go_on(250, ahead)
        assert 'reference rejected' not in node.log
        assert node.states[-1] == 'streaming'
        assert abs(q[0] - home[0] - 0.3 * (t - NOW)) < 0.06
    assert_no_step(node, jump=0.5)


def test_a_wrench_of_before_a_silence_does_not_come_back(live, home):
    node = live('state_timeout:=0.05', 'max_time_step:=0.01')
    node.drive(20.0, home, until=lambda: node.states[-1] == 'holding')
    push = node.publisher(WrenchStamped, '/feedforward/external_wrench')
    message = WrenchStamped()
    message.header.frame_id = 'link7'
    message.wrench.force.z = 25.0
    for _ in range(40):
        push.publish(message)
        node.drive(0.01, home)
    assert np.abs(np.subtract(node.messages['torque'][-1].effort, weight(home))).max() > 5.0
    assert node.spin_until(lambda: node.states[-1] == 'fault', 10.0), node.log
    node.settle()
    # What is left to consumers that keep the last torque is the weight.
    np.testing.assert_allclose(node.messages['torque'][-1].effort, weight(home), atol=1e-6)
    count = len(node.messages['torque'])
    node.drive(20.0, home, until=lambda: node.states[-1] == 'holding')
    node.drive(0.5, home)
    later = np.array([one.effort for one in node.messages['torque'][count:]])
    np.testing.assert_allclose(later, np.tile(weight(home), (len(later), 1)), atol=1e-6)
    assert_efforts_within(node)


def assert_stays(node, home):
    """After a while more the reference has never been anywhere else."""
    node.drive(0.2, home)
    q = np.array([message.position for message in node.messages['torque']])
    np.testing.assert_array_equal(q, np.tile(home, (len(q), 1)))


def test_one_state_of_zeros_after_a_silence_is_not_believed(live, home):
    """A driver that was restarted says 0 first: joint 4 went there, out of its range, and back."""
    node = live('state_timeout:=0.05', 'max_time_step:=0.01', 'tracking_tolerance:=[0.0]')
    node.drive(20.0, home, until=lambda: node.states[-1] == 'holding')
    assert node.spin_until(lambda: node.states[-1] == 'fault', 10.0), node.log
    node.send_state(time.time(), [0.0] * 7)
    node.spin(0.02)
    node.drive(20.0, home, until=lambda: node.states[-1] == 'holding')
    assert_stays(node, home)


def test_one_state_of_zeros_at_the_start_is_not_believed(live, home):
    """Drivers publish zeros before they have read their hardware."""
    node = live()
    node.send_state(time.time(), [0.0] * 7)
    node.spin(0.1)
    node.drive(20.0, home, until=lambda: node.states[-1] == 'holding')
    assert_stays(node, home)


def test_an_arm_that_says_it_is_out_of_range_is_held_at_the_end_of_it(live, home):
    node = live('tracking_tolerance:=[0.0]')
    node.first_answer(NOW, home)
    there = leap(node, [0.0] * 7, NOW + 0.004)
    for k in range(1, 10):
        assert node.answer(there + 0.004 * k, [0.0] * 7) is not None
    q = np.array([message.position for message in node.messages['torque']])
    assert q[-1, 3] == LIMITS.position_max[3]
    assert (q <= LIMITS.position_max).all()
    assert_efforts_within(node)


def test_a_stream_does_not_overshoot_the_target_of_an_unlimited_joint(live, home, tmp_path):
    """Samples back and forth, of which each came while it swung: it went 4 to 6 rad past all."""
    keys = robot_keys('panda')
    for quantity, none in (
            ('position', [-1e4, 1e4]), ('velocity', 100.0), ('acceleration', 40.0)):
        keys['limits'][quantity][0] = none
    path = write_robot_keys(tmp_path / 'turning.yaml', keys)
    node = live(f'robot:={path}')
    arm = Stepper(node, home)
    rng = np.random.default_rng(7)
    rng.random()
    asked = [home[0]]
    for k in range(1, 1500):
        if k % 60 == 1:
            # The other joints use the efforts up, so that slower motions are tried.
            goal = np.clip(
                home + rng.uniform(-1.0, 1.0, 7), LIMITS.position_min, LIMITS.position_max)
            goal[0] = rng.uniform(-10.0, 10.0)
            asked.append(goal[0])
            arm.sample(goal)
        arm.step()
    _, values = cycles(node)
    moved, speed = values[:, 0, 0], np.abs(values[:, 1, 0]).max()
    assert min(asked) - 0.5 <= moved.min()
    assert moved.max() <= max(asked) + 0.5
    assert speed > 10.0, 'it was not driven hard'
    assert_efforts_within(node)


def test_an_fr3_that_is_streamed_keeps_its_vendors_law(live):
    """1.63 rad/s where the law allows 0: the arm would stop with joint_velocity_violation."""
    robot = hd.load_robot('fr3')
    limits = robot.limits
    home = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
    node = live('robot:=fr3', joints=[f'fr3_joint{i}' for i in range(1, 8)])
    arm = Stepper(node, home)
    for k in range(1, 2500):
        if k % 25 == 1:
            side = 1.0 if (k // 500) % 2 else -1.0
            end = limits.position_max if side > 0.0 else limits.position_min
            goal = home[:2] + (end - side * 0.02)[2:4].tolist() + home[4:]
            goal[0] = (end - side * 0.02)[0]
            arm.sample(goal)
        arm.step()
    _, values = cycles(node)
    lower, upper = limits.velocity_range(values[:, 0])
    assert (values[:, 1] <= upper + 1e-9).all()
    assert (values[:, 1] >= lower - 1e-9).all()
    assert np.abs(values[:, 1, 0]).max() > 1.0, 'it was not driven hard'
    assert np.abs(values[:, 0, 0]).max() > 2.7
    assert 'velocity' not in node.reason
    assert_no_step(node)
    assert_efforts_within(node, limits)
