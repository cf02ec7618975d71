"""Whatever is streamed, the reference follows it within its limits, or says why it does not."""
from itertools import groupby
import sys
import time

from live_motions import (
    LIMITS,
    NOW,
    Stepper,
    assert_no_step,
    assert_within_limits,
    beside,
    move,
    table,
)
from node_process import arguments
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

pytestmark = pytest.mark.live


def test_a_slow_slider_and_a_single_sample_are_reached_without_overshoot(live, home):
    """A step of 0.15 rad streamed at 5 Hz had the reference swing to 40 rad."""
    node = live()
    node.let_stream()
    node.drive(20.0, home, until=lambda: 'holding' in node.states)
    stream = node.publisher(JointState, '/feedforward/reference')
    begin = list(home)
    for rate, by in ((5.0, 0.15), (0.0, 0.5)):
        goal = beside(begin, by)
        count = len(node.messages['torque'])
        for target in (begin, begin, *[goal] * 5) if rate else (goal,):
            stream.publish(JointState(name=node.joints, position=target))
            node.drive(1.0 / rate if rate else 0.02, home)
        node.drive(20.0, home, until=lambda: node.states[-1] == 'streaming')
        node.drive(20.0, home, until=lambda: node.states[-1] == 'holding')
        node.drive(0.3, home)
        assert node.states[-1] == 'holding'
        way = np.array([m.position for m in node.messages['torque'][count:]])
        low, high = np.minimum(begin, goal), np.maximum(begin, goal)
        assert (way > low - 1e-6).all()
        assert (way < high + 1e-6).all()
        np.testing.assert_allclose(way[-1], goal, atol=1e-6)
        assert not np.any(node.messages['torque'][-1].velocity)
        begin = goal
    assert 'the streamed reference fell silent: it goes on to where' in node.log
    assert not set(node.states) & {'stopping', 'fault'}
    assert_within_limits(node)
    assert_no_step(node)


def test_a_fast_stream_that_asks_for_anything_stays_within_the_limits(live, home):
    """A jump of 1.5 rad at 250 Hz had the reference move at eight times its speed limit."""
    node = live()
    arm = Stepper(node, home)

    def follow(targets) -> None:
        for target in targets:
            arm.sample(*target)
            arm.step()

    for by, states in ((1.5, 300), (-1.5, 500)):
        follow([(beside(home, by),)] * states)
        assert abs(node.messages['torque'][-1].position[0] - by) < 0.1
    # From end to end of the range of all joints, faster than they can follow.
    low, high = LIMITS.position_min + 1e-3, LIMITS.position_max - 1e-3
    follow([((low, high)[k // 40 % 2],) for k in range(400)])
    assert node.states[-1] == 'streaming'
    follow([(home,)] * 50)
    arm.rest()
    # A ramp of 1 rad/s with velocities, of which 0.4 s are lost.
    start = np.array(arm.q)
    ahead = np.eye(7)[0]

    def ramp(begin: float, end: float) -> None:
        follow([(start + t * ahead, ahead) for t in np.arange(begin, end, arm.period)])

    ramp(0.0, 0.6)
    np.testing.assert_allclose(arm.q[0], start[0] + 0.6, atol=0.02)
    arm.step(100)
    ramp(1.0, 1.6)
    np.testing.assert_allclose(arm.q[0], start[0] + 1.6, atol=0.02)
    arm.rest()
    assert not set(node.states) & {'stopping', 'fault'}
    assert_within_limits(node)
    assert_no_step(node)


def test_stamps_order_a_stream_and_with_a_delay_they_time_it(live, home):
    """Stamps were ignored: what the transport overtook, or jittered, went to the arm."""
    node = live('stream_delay:=0.1', 'stream_timeout:=1.0')
    arm = Stepper(node, home)
    rng = np.random.default_rng(3)
    slope = 0.5 * np.eye(7)[0]
    begin = arm.time
    due = begin
    for _ in range(400):
        # A sample each 20 ms, which comes up to 16 ms after its stamp.
        if arm.time >= due:
            stamp = due
            due = round(due + 0.02, 6)
            arm.step(int(rng.integers(0, 5)) or 1)
            arm.sample(np.array(home) + (stamp - begin) * slope, slope, stamp)
        arm.step()
        if arm.time > begin + 1.5:
            break
    stamps, values = table(node, 'torque')
    late = stamps > begin + 0.8
    assert np.count_nonzero(late) > 100
    # As late as the fastest sample was under way, and the delay.
    lag = begin + (home[0] - values[late, 0, 0]) * -2.0 - stamps[late]
    assert np.ptp(lag) < 4e-3
    assert -0.112 < lag.mean() < -0.098
    arm.sample(home, None, stamp - 0.01)
    node.wait_log('reference rejected: a stamp is not newer than the last')
    arm.rest()
    assert_within_limits(node)
    assert_no_step(node)


def test_a_slow_slider_after_a_hold_is_refused_until_it_pauses(live, home):
    """At 5 Hz each sample came after a silence: the first after the stop moved the arm on."""
    node = live()
    node.let_stream()
    node.drive(20.0, home, until=lambda: 'holding' in node.states)
    stream = node.publisher(JointState, '/feedforward/reference')
    client = node.node.create_client(Trigger, '/feedforward/hold')
    assert node.spin_until(client.service_is_ready, 20.0), node.log
    goal = beside(home, 2.0)

    def slide(samples: int) -> float:
        for _ in range(samples):
            # Sliders send in bursts.
            for _ in range(2):
                stream.publish(JointState(name=node.joints, position=goal))
                node.spin(0.001)
            node.drive(0.2, home)
        return node.messages['torque'][-1].position[0]

    slide(3)
    assert node.states[-1] == 'streaming'
    asked = client.call_async(Trigger.Request())
    node.drive(10.0, home, until=lambda: asked.done() and node.states[-1] == 'stopping')
    slide(8)
    assert node.states[-1] == 'holding'
    assert node.reason.startswith('held on request')
    held = slide(3)
    assert held == slide(3)
    assert held < 1.9
    node.drive(2.1, home)
    slide(6)
    node.drive(10.0, home, until=lambda: node.states[-1] == 'holding')
    np.testing.assert_allclose(node.messages['torque'][-1].position, goal, atol=1e-6)
    assert_no_step(node)


def test_a_stream_under_way_does_not_move_an_arm_that_becomes_active(live, home):
    """A forgotten slider moved the arm by a radian within a second of the activation."""
    node = live()
    arm = Stepper(node, home)
    goal = beside(home, 1.0)

    def slide(count: int, steps: int = 5) -> None:
        for _ in range(count):
            arm.stream.publish(JointState(name=node.joints, position=goal))
            for _ in range(steps):
                arm.step()
            node.spin(0.02)

    refused = 'reference rejected: the stream was under way when the node became active; let it'
    slide(60)  # from the start on
    assert refused in node.log
    assert arm.q == home
    arm.sample(goal)
    arm.step(40, until=lambda: node.states[-1] == 'streaming')
    slide(5)
    assert node.change('deactivate')
    slide(5, steps=0)
    node.of.forget_log()
    assert node.change('activate')
    slide(1, steps=0)
    arm.time += 1.0
    node.first_answer(arm.time, arm.q)
    held = arm.q
    slide(100)
    assert refused in node.log
    assert node.states[-1] == 'holding'
    assert arm.q == held
    arm.has_streamed = False
    arm.sample(goal)
    arm.step(500, until=lambda: node.states[-1] == 'streaming')
    arm.rest()
    np.testing.assert_allclose(arm.q, goal, atol=1e-6)
    assert_no_step(node)


# A node whose activation takes long if its parameters have changed.
SLOW = """
from itertools import groupby
import sys
import time
from hodyn_ros.ros import feedforward_node
load = feedforward_node.FeedforwardNode._load
def load_slowly(node):
    load(node)
    time.sleep(2.5)
feedforward_node.FeedforwardNode._load = load_slowly
sys.exit(feedforward_node.main(['node', *sys.argv[1:]]))
"""


def test_a_slow_stream_is_under_way_though_an_activation_takes_longer(live, home):
    """A sample each second: while the node loads, it hears none."""
    node = live(command=[sys.executable, '-c', SLOW, *arguments()])
    arm = Stepper(node, home)
    goal = beside(home, 1.0)
    assert node.change('deactivate')
    assert node.set(fade=0.7) == ''
    node.let_stream()
    arm.stream.publish(JointState(name=node.joints, position=goal))
    node.spin(0.5)
    assert node.change('activate')
    arm.time += 10.0
    node.first_answer(arm.time, arm.q)
    for _ in range(3):
        arm.stream.publish(JointState(name=node.joints, position=goal))
        for _ in range(10):
            arm.step()
        node.spin(0.5)
    assert 'the stream was under way when the node became active' in node.log
    assert arm.q == home


def test_a_refused_first_sample_does_not_make_a_new_stream_one_under_way(live, home):
    """A slider that begins out of range was refused for ever, also within the range."""
    node = live()
    arm = Stepper(node, home)
    arm.sample([3.5, *home[1:]])
    node.wait_log("reference rejected: position 3.5 of joint 'fer_joint1' is above ")
    for _ in range(20):
        arm.sample(beside(home, 0.1))
        arm.step()
    assert node.states[-1] == 'streaming'
    assert 'under way' not in node.log


def test_a_continuing_stream_does_not_move_a_departed_or_lost_arm(live, home):
    """The arm is blocked, then its driver silent; the streamer knows nothing of either."""
    node = live('tracking_tolerance:=[0.0]', 'state_timeout:=0.2')
    node.let_stream()
    node.drive(20.0, home, until=lambda: 'holding' in node.states)
    stream = node.publisher(JointState, '/feedforward/reference')

    def streamed(seconds: float, by: float) -> np.ndarray:
        """Stream at 100 Hz, the arm where it was; return the reference in the end."""
        for _ in range(round(100 * seconds)):
            stream.publish(JointState(name=node.joints, position=beside(home, by)))
            node.drive(0.01, home)
        return np.array(node.messages['torque'][-1].position)

    streamed(4.0, 1.0)
    # It was moving: it comes to rest before it is led to where the arm is.
    assert [state for state, _ in groupby(node.states)][-3:] == [
        'streaming', 'stopping', 'holding']
    references = node.messages['torque']
    led = max(k for k, one in enumerate(references) if one.position[0] != home[0])
    assert references[led].position[0] > 0.2
    assert abs(references[led].velocity[0]) < 0.2
    assert 'the arm is held where it is' in '\n'.join(node.reasons)
    np.testing.assert_array_equal(streamed(0.5, 1.0), home)
    assert 'let it fall silent for 2 s' in node.log
    node.drive(2.2, home)
    streamed(0.2, 0.1)
    assert node.states[-1] == 'streaming'
    # The last sample comes when no state does any more, and nobody streams when they are back.
    stream.publish(JointState(name=node.joints, position=beside(home, 0.15)))
    assert node.spin_until(lambda: node.states[-1] == 'fault', 10.0), node.log
    count = len(node.messages['torque'])
    node.drive(20.0, home, until=lambda: len(node.messages['torque']) > count + 100)
    after = np.array([message.position for message in node.messages['torque'][count:]])
    assert (after == after[-1]).all()


def test_a_streamed_target_needing_too_much_torque_is_refused_and_named(live, home):
    """A stretched arm that carries much: nothing that is streamed may take more than there is."""
    node = live('fade:=0.3', 'stream_timeout:=0.5')
    arm = Stepper(node, home)
    assert node.set(payload_link='link7', payload_mass=8.0) == ''
    arm.step(150)
    stretched = [0.0, 1.5, 0.0, -0.2, 0.0, 1.7, 0.785]
    for _ in range(100):
        arm.sample(stretched)
        arm.step()
    assert node.reason == \
        'the streamed target is not followed: the motion to it would exceed the limits'
    np.testing.assert_array_equal(arm.q, home)
    assert node.set(payload_mass=0.5) == ''
    for _ in range(700):
        arm.sample(stretched)
        arm.step()
    np.testing.assert_allclose(arm.q, stretched, atol=1e-3)
    assert not node.reason
    assert 'stopping' not in node.states
    assert_within_limits(node)
    assert_no_step(node)


def test_a_streamed_reference(live, home):
    node = live('stream_timeout:=0.2')
    node.let_stream()
    node.first_answer(NOW, home)
    publisher = node.publisher(JointState, '/feedforward/reference')

    def sample(positions, **fields):
        message = JointState(
            name=node.joints, position=[float(x) for x in positions], **fields)
        publisher.publish(message)

    # After impossible samples the stream must pause.
    for positions, reason in (([9.0] * 7, 'fer_joint1 is at 9 rad, '), ([1e200] * 7, 'is 1e+200')):
        assert node.spin_until(
            lambda p=positions, r=reason: sample(p) or r in node.log, 10.0), reason
    goal = [x + 0.1 for x in home]
    t, end = NOW, time.monotonic() + 2.5
    while time.monotonic() < end:
        t += 0.004
        assert node.answer(t, home) is not None
    for _ in range(250):
        t += 0.004
        sample(goal)
        assert node.answer(t, home) is not None
    assert node.states[-1] == 'streaming'
    np.testing.assert_allclose(node.messages['torque'][-1].position, goal, atol=1e-6)
    # A plan waits its turn, and what cannot be is refused.
    move(node, home)
    node.wait_log('a streamed reference is followed')
    for positions, fields, reason in (
            ([3.5, *goal[1:]], {}, "position 3.5 of joint 'fer_joint1' is above "),
            (goal, {'velocity': [99.0] * 7}, 'velocity 99 of joint'),
            ([float('inf'), *goal[1:]], {}, 'is not finite'),
            (goal[:3], {}, '7 names but 3')):
        # Only the newest sample is kept: one that comes soon after may take its place.
        for _ in range(50):
            sample(positions, **fields)
            if node.spin_until(lambda text=reason: text in node.log, 0.05):
                break
            sample(goal)
        assert reason in node.log
        t += 0.004
        sample(goal)
        assert node.answer(t, home) is not None
    # A second publisher: all are ignored until one is left; then the stream is silent.
    other = node.other_node()
    node.publisher(JointState, '/feedforward/reference', other)
    refused = False
    end = time.monotonic() + 30.0
    while node.states[-1] != 'holding' and time.monotonic() < end:
        t += 0.004
        # Until the node has found the second publisher it follows the first.
        refused = refused or '2 nodes publish it' in node.log
        sample(home if refused else goal)
        assert node.answer(t, home) is not None
        time.sleep(0.002)
    assert '2 nodes publish it' in node.log
    assert any('refused: 2 nodes publish it' in reason for reason in node.reasons)
    node.wait_log('only one is left')
    node.wait_log(', as streamed samples are refused: 2 nodes publish it')
    np.testing.assert_allclose(node.messages['torque'][-1].position, goal, atol=1e-4)
    other.destroy_node()
    assert node.spin_until(
        lambda: node.node.count_publishers('/feedforward/reference') == 1, 30.0)
    states = len(node.states)
    for _ in range(400):
        t += 0.004
        sample(home)
        assert node.answer(t, home) is not None
        if 'streaming' in node.states[states:] and np.abs(
                np.array(node.messages['torque'][-1].position) - home).max() < 1e-6:
            break
    np.testing.assert_allclose(node.messages['torque'][-1].position, home, atol=1e-6)
    assert_no_step(node)
