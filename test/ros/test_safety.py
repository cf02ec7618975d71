"""Whatever is asked of a live node, and wherever the arm is, the reference keeps to its limits."""
import importlib.util
import re
import signal
import time

from diagnostic_msgs.msg import DiagnosticArray
from live_motions import NOW, assert_no_step, in_motion, move, table, weight
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

import hodyn_ros as hd

pytestmark = pytest.mark.live

LIMITS = hd.load_robot('panda').limits
ROUND_OFF = 1e-9
# As users have them: the tests' own are more patient.
DEFAULTS = 'state_timeout:=0.05', 'max_time_step:=0.01', 'tracking_tolerance:=[0.0]'


def reason(node) -> str:
    """Return the reason of the state that was published last."""
    return ''.join(value.value for value in node.descriptions[-1].values)


def told(node) -> str:
    """Return all reasons that were published, one a line."""
    return '\n'.join(value.value for message in node.descriptions for value in message.values)


def beside(home, by: float, joint: int = 0) -> list[float]:
    """Return a position with one joint elsewhere."""
    there = list(home)
    there[joint] += by
    return there


def assert_within_limits(node) -> None:
    """No message asks for more than the robot's limits, none of Q̇ for 5 % more."""
    stamps, values = table(node, 'torque')
    rates = table(node, 'torque_rate')[1][:, 2]
    assert len(stamps) > 100
    q, speed, torque = values[:, 0], values[:, 1], values[:, 2]
    assert (q >= LIMITS.position_min - ROUND_OFF).all()
    assert (q <= LIMITS.position_max + ROUND_OFF).all()
    assert (np.abs(speed) <= LIMITS.velocity * (1.0 + ROUND_OFF)).all(), np.abs(speed).max(axis=0)
    assert (np.abs(torque) <= LIMITS.effort).all(), np.abs(torque).max(axis=0)
    assert (np.abs(rates) <= 1.05 * LIMITS.effort_rate).all(), np.abs(rates).max(axis=0)
    # What moves in a cycle is what its speed allows.
    dt = np.diff(stamps)[:, None]
    assert (np.abs(np.diff(q, axis=0))[dt[:, 0] > 0.0]
            <= (LIMITS.velocity * dt + ROUND_OFF)[dt[:, 0] > 0.0]).all()


class Stepper:
    """A driver and a sender whose time goes on state by state; the arm follows the reference."""

    def __init__(self, node, home, period: float = 0.004) -> None:
        self.node, self.q, self.time, self.period = node, list(home), NOW, period
        self.offset = np.zeros(7)
        node.first_answer(NOW, home)
        self.stream = node.publisher(JointState, '/feedforward/reference')

    def step(self, count: int = 1, until=None) -> list[JointState]:
        """Send states, and return the last answers."""
        for _ in range(count):
            self.time = round(self.time + self.period, 6)
            answers = self.node.answer(self.time, np.add(self.q, self.offset))
            assert answers is not None, self.node.log
            self.q = list(answers[0].position)
            if until is not None and until():
                return answers
        assert until is None or until(), self.node.log
        return answers

    def step_until_log(self, text: str, times: int = 1) -> None:
        """Go on, slowly enough for another process, until the log has a text."""
        end = time.monotonic() + 20.0
        while self.node.log.count(text) < times:
            assert time.monotonic() < end, f'no {text!r} in:\n{self.node.log}'
            self.step()
            time.sleep(2e-3)

    def sample(self, position, velocity=None, stamp: float = 0.0) -> None:
        """Send a streamed sample."""
        message = JointState(
            name=self.node.joints, position=[float(x) for x in position],
            velocity=[] if velocity is None else [float(x) for x in velocity])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(stamp * 1e9), 10**9)
        self.stream.publish(message)

    def rest(self) -> None:
        """Go on until the reference holds."""
        self.step(3000, until=lambda: self.node.states[-1] == 'holding')


def test_a_slow_slider_and_a_single_sample_are_reached_without_overshoot(live, home):
    """A step of 0.15 rad streamed at 5 Hz had the reference swing to 40 rad."""
    node = live()
    node.drive(20.0, home, until=lambda: 'holding' in node.states)
    stream = node.publisher(JointState, '/feedforward/reference')
    begin = list(home)
    for rate, by in ((5.0, 0.15), (9.0, 0.5), (5.0, -0.5), (0.0, 0.5)):
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
    assert 'the streamed reference fell silent: it goes to the last sample and holds' in node.log
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


def test_an_arm_that_is_elsewhere_is_said_and_held_where_it_is(live, home, gentle_panda):
    """Nobody looked where the arm is; after a silence the place before it was held."""
    node = live(f'robot:={gentle_panda}', 'tracking_tolerance:=[0.0]', 'state_timeout:=1.5')
    arm = Stepper(node, home)
    # Pushed away at rest: by a little, then by much.
    arm.offset[0] = 0.15
    arm.step(40)
    node.wait_log('fer_joint1 is +0.15 away from the reference (tracking_tolerance 0.2)')
    assert 'held where it is' not in node.log
    arm.offset[0] = 0.5
    where = home[0] + 0.5
    arm.step(40, until=lambda: arm.q[0] == pytest.approx(where))
    arm.offset[0] = 0.0
    arm.step(3)
    assert node.spin_until(lambda: bool(re.search(
        r'fer_joint1 is \+0.5 away from the reference \(tracking_tolerance 0.2\): the arm is held '
        'where it is', reason(node))), 5.0), node.log
    assert arm.q[0] == where
    # In a motion it stops first, and takes no plan meanwhile.
    move(node, arm.q, 0.4, 4.0)
    arm.step_until_log('trajectory accepted')
    arm.step(400)
    assert node.states[-1] == 'following'
    arm.offset[3] = -0.4
    arm.step(50, until=lambda: node.states[-1] == 'stopping')
    assert re.search(r'fer_joint4 is -0.4\d* away from', reason(node)), reason(node)
    arm.period = 0.001
    move(node, arm.q, 0.1, 2.0)
    arm.step_until_log('joint_trajectory rejected: fer_joint4 is -0.4')
    assert node.states[-1] == 'stopping'
    arm.period = 0.004
    where = 0.0

    def is_held() -> bool:
        return node.states[-1] == 'holding' and 'fer_joint4' in reason(node)

    before = arm.q[3]
    arm.step(1000, until=lambda: abs(arm.q[3] - before) > 0.3)
    arm.offset[:] = 0.0
    arm.step(3)
    assert node.spin_until(is_held, 5.0), node.log
    assert 'the arm is held where it is' in reason(node)
    # Lost, and back elsewhere: the first answer is where the arm is.
    assert node.spin_until(lambda: node.states[-1] == 'fault', 20.0), node.log
    node.settle()
    there = beside(arm.q, -0.7)
    answers = node.first_answer(arm.time + 100.0, there, step=0.004)
    np.testing.assert_array_equal(answers[0].position, there)
    assert not np.any(answers[0].velocity)
    assert node.spin_until(lambda: bool(re.search(
        'fer_joint1 is -0.7 away from the reference when joint states came back .*: the arm is '
        'held where it is', reason(node))), 5.0), node.log
    assert node.states[-1] == 'holding'
    # A torque that leaps with the reference would be worse than a reference that does.
    torques = table(node, 'torque')[1][:, 2]
    assert np.abs(np.diff(torques, axis=0)).max() < 5.0


def test_after_a_hold_up_the_node_continues_and_reports_the_left_out_time(live, home):
    """A SIGSTOP of 2 s moved q_d by 0.64 rad in one message, and nothing was said."""
    node = live('max_time_step:=0.01')
    node.drive(20.0, home, until=lambda: 'holding' in node.states)
    move(node, home, 0.8, 6.0)
    node.drive(30.0, home, until=lambda: node.states[-1] == 'following')
    node.drive(2.0, home)
    reports = node.subscribe(DiagnosticArray, '/diagnostics')
    for pause in (0.3, 2.0):
        node.drive(0.2, home)
        length = len(node.log)
        node.process.send_signal(signal.SIGSTOP)
        node.drive(pause, home)
        node.process.send_signal(signal.SIGCONT)
        node.drive(5.0, home, until=lambda n=length: re.search(
            r'WARN.*: [\d.]+ s are missing between cycles: the reference continues from where it '
            'was', node.log[n:]) is not None)
    # A state from the midst of a pause may be read first: the line is of it, the sum of all.
    node.drive(5.0, home, until=lambda: any(
        value.key == 'time left out (s)' and float(value.value) > 0.8 * 2.3
        for report in reports[-1:] for value in report.status[0].values))
    assert 'stopping' not in node.states
    stamps, values = table(node, 'torque')
    moved = np.abs(np.diff(values[:, 0], axis=0)).max(axis=1)
    fastest = np.abs(values[:, 1]).max()
    assert fastest > 0.2
    assert (moved <= 0.03 * fastest).all(), moved.max()
    # A clock that jumps by less than any fault.
    t = time.time() + 0.1
    for k in range(120):
        t += 0.09 if k % 30 == 29 else 0.002
        assert node.answer(t, home) is not None
    # What is missing again and again is one line, and `~/state` tells it meanwhile.
    assert node.log.count('are missing between cycles') <= 4, node.log
    assert 'are missing between cycles' in str(told(node))
    values = table(node, 'torque')[1][len(stamps):]
    assert np.abs(values[-1, 1]).max() > 0.05, 'it does not move any more'
    assert np.abs(np.diff(values[:, 0], axis=0)).max() <= 0.01 * fastest
    assert_no_step(node, jump=0.08)


def test_hold_on_request_from_any_state(live, home, gentle_panda):
    node = live(f'robot:={gentle_panda}', 'stream_timeout:=0.5')
    client = node.node.create_client(Trigger, '/feedforward/hold')
    assert node.spin_until(client.service_is_ready, 20.0), node.log

    def ask(meanwhile=lambda: node.spin(0.001)) -> Trigger.Response:
        future = client.call_async(Trigger.Request())
        end = time.monotonic() + 20.0
        while not future.done():
            assert time.monotonic() < end, node.log
            meanwhile()
        return future.result()

    refused = ask()
    assert not refused.success
    assert refused.message == 'it waits for a joint state'
    node.trajectory_publisher.publish(JointTrajectory())
    assert node.spin_until(
        lambda: 'joint_trajectory rejected: it waits for a joint state' in node.log, 10.0)
    arm = Stepper(node, home)
    # From a plan, with another in its wake.
    for k in range(2):
        accepted = node.log.count('trajectory accepted')
        move(node, arm.q, 0.3 * (-1.0) ** k, 4.0)
        arm.step_until_log('trajectory accepted', accepted + 1)
        arm.step(400)
        assert node.states[-1] == 'following'
        move(node, arm.q, 0.2, 1.0, start=arm.time + 6.0)
        arm.step_until_log('trajectory accepted', accepted + 2)
        assert node.states[-1] == 'following'
        if k == 0:
            assert ask().success
            why = 'held on request'
        else:
            node.trajectory_publisher.publish(JointTrajectory())
            why = 'an empty trajectory came'
        end = time.monotonic() + 20.0
        while node.states[-1] != 'stopping':
            assert time.monotonic() < end, node.log
            arm.period = 0.001
            arm.step()
        arm.period = 0.004
        arm.rest()
        assert reason(node) == why
        held = arm.q
        # The plan that waited is gone.
        arm.period = 0.2
        arm.step(50)
        assert arm.q == held
        arm.period = 0.004
    # From a stream, which goes on unheeded until it was silent.
    goal = beside(arm.q, 2.0)

    def stream_on() -> None:
        arm.sample(goal)
        arm.step()

    for _ in range(40):
        stream_on()
    assert node.states[-1] == 'streaming'
    assert ask(stream_on).success
    end = time.monotonic() + 20.0
    while node.states[-1] != 'holding':
        assert time.monotonic() < end, node.log
        stream_on()
    for _ in range(50):
        stream_on()
    assert 'reference rejected: the reference was stopped; let the stream fall silent' in node.log
    assert node.states[-1] == 'holding'
    assert reason(node) == 'held on request'
    assert abs(arm.q[0] - goal[0]) > 0.1, node.log
    node.spin(2.2)
    for _ in range(500):
        stream_on()
    assert node.states[-1] == 'streaming'
    np.testing.assert_allclose(arm.q, goal, atol=1e-3)
    arm.rest()
    assert ask().success
    arm.step()
    assert node.states[-1] == 'holding'
    assert_no_step(node)


def test_a_slow_slider_after_a_hold_is_refused_until_it_pauses(live, home):
    """At 5 Hz each sample came after a silence: the first after the stop moved the arm on."""
    node = live()
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
    assert reason(node) == 'held on request'
    held = slide(3)
    assert held == slide(3)
    assert held < 1.9
    node.drive(2.1, home)
    slide(6)
    node.drive(10.0, home, until=lambda: node.states[-1] == 'holding')
    np.testing.assert_allclose(node.messages['torque'][-1].position, goal, atol=1e-6)
    assert_no_step(node)


def test_a_continuing_stream_does_not_move_a_departed_or_lost_arm(live, home):
    """The arm is blocked, then its driver silent; the streamer knows nothing of either."""
    node = live('tracking_tolerance:=[0.0]', 'state_timeout:=0.2')
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
    assert node.states[-3:] == ['streaming', 'stopping', 'holding']
    references = node.messages['torque']
    led = max(k for k, one in enumerate(references) if one.position[0] != home[0])
    assert references[led].position[0] > 0.2
    assert abs(references[led].velocity[0]) < 0.2
    assert 'the arm is held where it is' in told(node)
    np.testing.assert_array_equal(streamed(0.5, 1.0), home)
    assert 'let the stream fall silent for 2 s' in node.log
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


def test_an_arm_that_was_pushed_away_does_not_follow_the_plan_that_waited(live, home):
    node = live('tracking_tolerance:=[0.0]')
    arm = Stepper(node, home)
    move(node, arm.q, 0.2, 1.0, start=arm.time + 3.0)
    arm.step_until_log('trajectory accepted')
    pushed = beside(home, 0.3)
    for k in range(1, 800):
        answers = node.answer(arm.time + 0.01 * k, pushed)
        assert answers is not None
        if k > 15:  # a leap: believed when nothing came from the place before for 0.1 s
            np.testing.assert_array_equal(answers[0].position, pushed)
    assert 'fer_joint1 is +0.3 away from the reference' in node.log
    assert 'the arm is held where it is' in node.log


@pytest.mark.skipif(
    importlib.util.find_spec('control_msgs') is not None, reason='the parts are one message')
def test_controller_state_and_progress_follow_the_cycles(
        live, home):
    node = live('gravity_in_output:=false', 'fade:=0.2')
    parts = {
        part: node.subscribe(JointState, f'/feedforward/controller_state/{part}')
        for part in ('reference', 'feedback', 'error', 'output')}
    progress = node.subscribe(Float64, '/feedforward/progress')
    away = beside(home, 0.05)
    node.drive(20.0, away, until=lambda: 'holding' in node.states)
    node.drive(0.5, away)
    assert not progress
    away = beside(home, 0.1)
    move(node, away, 0.2, 2.0)
    node.drive(30.0, away, until=lambda: node.states[-1] == 'following')
    node.drive(30.0, away, until=lambda: node.states[-1] == 'holding')
    node.drive(10.0, away, until=lambda: progress[-1].data == 1.0)
    node.drive(0.3, away)
    node.spin(0.3)
    done = [message.data for message in progress]
    assert len(done) > 20
    assert done[0] < 0.1
    assert done == sorted(done)
    rows = {
        part: {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in messages}
        for part, messages in parts.items()}
    stamps = set.intersection(*map(set, rows.values()))
    torques = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in node.messages['torque']}
    whole = sorted(stamps & set(torques))
    assert len(whole) > 30
    assert rows['reference'][whole[0]].name == node.joints
    for stamp in whole:
        reference, feedback, error, output = (rows[part][stamp] for part in parts)
        assert reference.position == torques[stamp].position
        assert reference.velocity == torques[stamp].velocity
        assert output.effort == torques[stamp].effort
        np.testing.assert_allclose(
            error.position, np.subtract(reference.position, feedback.position), atol=1e-12)
    # At rest, at the end of the plan.
    end = [stamp for stamp in whole if not any(rows['reference'][stamp].velocity)][-1]
    assert rows['feedback'][end].position[0] == away[0]
    assert rows['error'][end].position[0] == pytest.approx(0.2, abs=1e-9)
    # The reference tells the torque that it takes, with gravity; the output leaves that out.
    reference = rows['reference'][end]
    np.testing.assert_allclose(reference.effort, weight(reference.position), atol=1e-6)
    np.testing.assert_allclose(rows['output'][end].effort, 0.0, atol=1e-6)


def test_a_motion_that_passes_a_torque_limit_is_stopped_and_says_by_what(live, home):
    """A payload taken on in mid-motion: plans are judged before it, streams with it."""
    node = live('fade:=2.0')
    t = in_motion(node, home, seconds=4.0)
    assert node.set(
        payload_link='link7', payload_mass=11.0, payload_com=[0.0, 0.0, 0.1]) == ''
    for k in range(1, 900):
        assert node.answer(t + 0.004 * k, home) is not None
        if node.states[-1] == 'holding':
            break
    said = re.search(
        r'torque of (joint\d) is (-?[\d.]+), beyond its limit of (\d+)', told(node))
    assert said, told(node)
    joint = int(said[1][-1]) - 1
    assert float(said[3]) == LIMITS.effort[joint]
    assert abs(float(said[2])) > 1.049 * LIMITS.effort[joint]  # of four digits
    assert said[0] in node.log
    assert node.states[-2:] == ['stopping', 'holding']
    assert said[0] in reason(node)
    assert_no_step(node)


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
    assert reason(node) == \
        'the streamed target is not followed: the motion to it would exceed the limits'
    np.testing.assert_array_equal(arm.q, home)
    assert node.set(payload_mass=0.5) == ''
    for _ in range(700):
        arm.sample(stretched)
        arm.step()
    np.testing.assert_allclose(arm.q, stretched, atol=1e-3)
    assert not reason(node)
    assert 'stopping' not in node.states
    assert_within_limits(node)
    assert_no_step(node)


def test_a_driver_at_10_hz_begins_without_any_fault(live, home):
    """Two first states at once poisoned the period: each later one was a fault."""
    node = live(*DEFAULTS)
    for k in range(35):
        node.send_state(time.time(), home)
        node.spin(0.002 if k == 0 else 0.1)
    assert len(node.messages['torque']) > 25
    assert [state for state in node.states if state not in ('waiting', 'holding')] == []
    for word in ('WARN', 'ERROR', 'missing', 'rejected'):
        assert word not in node.log, node.log
    assert not reason(node)
