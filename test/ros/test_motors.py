"""Motors of elastic joints and of joints with variable stiffness, commanded by a live node."""
from copy import copy, deepcopy
from dataclasses import replace
import signal

from live_motions import NOW, assert_no_step, in_motion, start_with_motors, write_robot_keys
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.reference import SmoothingFilter, fit_plan
from hodyn_ros.robot.files import robot_keys

pytestmark = pytest.mark.live

INERTIA = [0.6, 0.6, 0.45, 0.45, 0.2, 0.2, 0.2]
SPRINGS = [5000.0] * 4 + [2000.0] * 3
PERIOD = 0.004
SCALE, RATE, COEFFICIENT = 2.0, 10.0, 4000.0
LAWS = [
    {'law': 'variable', 'stiffness': 900.0},
    {'law': 'exponential', 'scale': SCALE, 'rate': RATE, 'stiffness': 2000.0},
    {'law': 'quadratic', 'coefficient': COEFFICIENT, 'stiffness': 1500.0},
    {'law': 'exponential', 'scale': SCALE, 'rate': RATE, 'stiffness': 1800.0, 'pushes': True},
    {'law': 'spring', 'stiffness': 1000.0, 'damping': 5.0},
    {'law': 'rigid'},
    {'law': 'variable', 'stiffness': 500.0}]
MOTORS = [
    'fer_joint1', 'fer_joint2_motor1', 'fer_joint2_motor2', 'fer_joint3_motor1',
    'fer_joint3_motor2', 'fer_joint4_motor1', 'fer_joint4_motor2', 'fer_joint5', 'fer_joint6',
    'fer_joint7']


def assert_close(found, want) -> None:
    """What two processes come to differs by round-off at the most."""
    assert is_close(found, want), np.abs(np.subtract(found, want)).max()


def is_close(found, want) -> bool:
    return bool((np.abs(np.subtract(found, want)) <= 1e-11 * max(1.0, np.abs(want).max())).all())


def assert_no_lone_step(cycles) -> None:
    """No θ, θ̇ or τ_m changes much faster in one cycle than in the ones before and after it.

    After a hold-up of more than three periods the reference moves on by one period only.
    """
    dt = np.diff([1e-9 * stamp for stamp, _ in cycles])[:, np.newaxis, np.newaxis]
    change = np.abs(np.diff([found for _, found in cycles], axis=0))
    # Periods of 4 to 5 ms are possible: the driver's, and the node's own.
    rate, fastest = (change / np.where(dt > most, PERIOD, dt) for most in (0.015, 0.012))
    neighbours = np.maximum(fastest[:-2], fastest[2:])
    assert (rate[1:-1] <= 3.0 * neighbours + 0.01 * rate.max(axis=0) + 1e-6).all()


class Library:
    """The motors' references that the library comes to, cycle by cycle."""

    def __init__(self, robot, home, by: float, seconds: float, begin: float) -> None:
        start = np.zeros((5, robot.n))
        start[0] = home
        self._plan = fit_plan([seconds], [[x + by for x in home]], start=start)
        self._begin = round(begin * 1e9)
        self._feedforward = FeedForward(robot)
        self._motors = self._feedforward.motor_side
        self._stiffness = SmoothingFilter(robot.actuators.constant_stiffness()[0], 50.0)
        self._last = 0

    def at(self, stamp: int) -> np.ndarray:
        """Return position, velocity and torque, (3, m), at the next stamp."""
        dt = (stamp - self._last) * 1e-9 if self._last else 0.0
        self._last = stamp
        q = self._plan.evaluate((stamp - self._begin) * 1e-9)
        sigma = self._stiffness.advance(dt)[:3]
        return self._motors.evaluate(q, self._feedforward.torque(q), sigma, dt)[[0, 1, 3]]

    def assert_gives(self, cycles, requests) -> None:
        """All cycles are what the library comes to, with each request taken at one of them."""
        waiting = list(requests)
        for stamp, found in cycles:
            if waiting and not is_close(found, self._copy().at(stamp)):
                self._stiffness.set_target(waiting.pop(0))
            assert_close(found, self.at(stamp))
        assert not waiting

    def _copy(self) -> 'Library':
        other = copy(self)
        actuators = self._motors.actuators
        other._motors = deepcopy(self._motors, {id(actuators): actuators})
        other._stiffness = deepcopy(self._stiffness)
        return other


def motor_cycles(node) -> list[tuple[int, np.ndarray]]:
    return [
        (stamp, np.array([message.position, message.velocity, message.effort]))
        for stamp, message in node.answers['motor_reference'].items()]


def test_series_elastic_motors_get_what_the_library_says_at_each_stamp(live, home):
    order = [f'fer_joint{i}' for i in (7, 6, 5, 4, 3, 2, 1)]
    node = start_with_motors(
        live, f'spring_stiffness:={SPRINGS}', f'motor_inertia:={INERTIA}',
        'publish_commands:=true', f'command_joints:=[{", ".join(order)}]',
        'gravity_in_output:=false')
    commands = node.subscribe(Float64MultiArray, '/feedforward/commands')
    motor_commands = node.subscribe(Float64MultiArray, '/feedforward/motor_commands')
    t = in_motion(node, home)
    robot = hd.load_robot('panda')
    robot = replace(robot, actuators=Actuators(robot.joint_names, tuple(
        JointActuator(LinearSpring(k), Motor(b)) for k, b in zip(SPRINGS, INERTIA, strict=True))))
    library = Library(robot, home, 0.2, 1.0, t - 0.4)
    for k in range(200):
        torque, *_, motors = node.answer(t + PERIOD * k, home)
        assert list(motors.name) == node.joints
        # What the robot's controller adds by itself, the motors' springs carry all the same.
        for found, answer in ((commands, torque), (motor_commands, motors)):
            assert node.spin_until(
                lambda f=found, a=answer: bool(f) and f[-1].data == a.effort[::-1], 5.0)
    assert node.states[-1] == 'holding'
    cycles = motor_cycles(node)
    assert len(cycles) > 240
    library.assert_gives(cycles, [])
    moved = np.array([found for _, found in cycles])
    assert np.abs(moved[:, 1]).max() > 0.3
    assert np.abs(moved[-1, 0] - moved[-1, 2] / SPRINGS - [x + 0.2 for x in home]).max() < 1e-12
    reason = 'stiffness rejected: no joint of this robot has a variable stiffness'
    Asker(node, home, t + PERIOD * 200).ask_until(lambda: reason in node.log, [1000.0] * 7)
    assert_no_step(node)


@pytest.fixture
def variable_robot(tmp_path):
    """Return the file of a Panda with a joint of each kind."""
    mapping = robot_keys('panda')
    mapping['actuators'] = {
        f'joint{i}': {**law, 'motor': {'inertia': inertia, 'viscous': 0.5}}
        for i, (law, inertia) in enumerate(zip(LAWS, INERTIA, strict=True), 1)}
    return write_robot_keys(tmp_path / 'variable.yaml', mapping)


class Asker:
    """Asks for stiffness, state by state."""

    def __init__(self, node, home, t: float) -> None:
        self.node = node
        self.t = t
        self.home = home
        self._publisher = node.publisher(JointState, '/feedforward/stiffness')

    def ask(self, stiffness=None, *, states: int = 1, **fields) -> None:
        """Send some states, and with each a request, which the network might lose."""
        for _ in range(states):
            if stiffness is not None:
                self._publisher.publish(JointState(
                    name=fields.get('name', self.node.joints), effort=stiffness))
            self.t += PERIOD
            assert self.node.answer(self.t, self.home) is not None, self.node.log

    def ask_until(self, done, stiffness, **fields) -> None:
        for _ in range(2000):
            if done():
                return
            self.ask(stiffness, **fields)
            self.node.spin(0.005)
        raise AssertionError(self.node.log)


def antagonistic_stiffness(positions, motors) -> list[float]:
    """Return the stiffness of joints 2 to 4 that positions of their two motors each give."""
    found = []
    for joint in (1, 2, 3):
        x = motors[2 * joint - 1] - positions[joint], positions[joint] - motors[2 * joint]
        found.append(COEFFICIENT * sum(x) if joint == 2 else
                     SCALE * RATE * float(np.exp(RATE * np.array(x)).sum()))
    return found


def test_a_stiffness_asked_for_in_mid_motion_is_followed_smoothly(live, home, variable_robot):
    node = start_with_motors(live, f'robot:={variable_robot}', 'publish_commands:=true')
    commands = node.subscribe(Float64MultiArray, '/feedforward/motor_commands')
    t = in_motion(node, home, seconds=2.0)
    # Joints that cannot vary theirs may be asked for anything.
    requests = [
        [2000.0, 3500.0, 2500.0, 1200.0, 0.0, 0.0, 900.0],
        [600.0, 1500.0, 1200.0, 2500.0, -1.0, 0.0, 300.0]]
    asker = Asker(node, home, t)
    asker.ask(states=20)
    for request in requests:
        # The second comes while the first is not yet reached.
        asker.ask(request, states=25)
    asker.ask(requests[-1], states=400)
    assert node.states[-1] == 'holding'
    cycles = motor_cycles(node)
    assert list(node.messages['motor_reference'][-1].name) == MOTORS
    assert node.spin_until(
        lambda: np.array_equal(commands[-1].data, cycles[-1][1][2]), 5.0)
    Library(hd.load_robot(str(variable_robot)), home, 0.2, 2.0, t - 0.4).assert_gives(
        cycles, requests)
    assert_no_lone_step([one for one in cycles if one[0] > t * 1e9])
    np.testing.assert_allclose(
        antagonistic_stiffness(node.messages['torque'][-1].position, cycles[-1][1][0]),
        requests[-1][1:4], rtol=1e-9)
    assert_no_step(node)


def test_motors_stay_where_they_are_when_the_node_is_activated_again(live, home, variable_robot):
    """They went back to the stiffness of the file, up to 0.2 rad, in the first message."""
    node = start_with_motors(live, f'robot:={variable_robot}')
    node.first_answer(NOW, home)
    asker = Asker(node, home, NOW)
    asker.ask([2000.0, 3500.0, 2500.0, 1200.0, 0.0, 0.0, 900.0], states=400)
    last = motor_cycles(node)[-1]
    assert node.change('deactivate')
    assert node.spin_until(lambda: node.states[-1] == 'inactive', 10.0)
    assert node.set(payload_link='link7', payload_mass=0.1) == ''
    assert node.change('activate')
    count = len(motor_cycles(node))
    node.first_answer(asker.t + 1.0, home)
    first = motor_cycles(node)[count]
    assert np.abs(np.subtract(first[1][0], last[1][0])).max() < 0.01  # the payload bends it more
    assert 'the stiffness of the last activation still applies' in node.log
    asker = Asker(node, home, asker.t + 2.0)
    given = [float(law.get('stiffness', 0.0)) for law in LAWS]
    asker.ask(given, states=300)
    assert np.abs(antagonistic_stiffness(home, motor_cycles(node)[-1][1][0]) - np.array(
        given[1:4])).max() < 1e-3


def test_a_stiffness_that_cannot_be_is_taken_in_part_or_rejected(live, home, variable_robot):
    node = start_with_motors(live, f'robot:={variable_robot}')
    node.first_answer(NOW, home)
    asker = Asker(node, home, NOW)
    given = [float(law.get('stiffness', 0.0)) for law in LAWS]
    asker.ask(given, states=20)
    before = motor_cycles(node)[-1][1]
    # Tendons that only pull need more than this to carry anything.
    too_little = [*given]
    too_little[1] = RATE * SCALE
    asker.ask_until(
        lambda: any('the desired stiffness is not reached' in value.value
                    for value in node.descriptions[-1].values), too_little)
    assert node.states[-1] == 'holding'
    too_little[2] = 2000.0
    asker.ask(too_little, states=300)
    taken = antagonistic_stiffness(home, motor_cycles(node)[-1][1][0])
    least = RATE * (abs(node.messages['torque'][-1].effort[1]) + 2.0 * SCALE)
    assert least <= taken[0] < 1.1 * least
    # The other joints go on.
    np.testing.assert_allclose(taken[1], 2000.0, rtol=1e-9)
    asker.ask_until(lambda: not node.descriptions[-1].values, given)
    asker.ask(given, states=300)
    assert_close(motor_cycles(node)[-1][1], before)
    assert_no_lone_step(motor_cycles(node)[1:])
    for stiffness, fields, reason in (
            ([0.0, *given[1:]], {}, "stiffness of joint 'fer_joint1' must be above 0"),
            ([*given[:3], -1.0, *given[4:]], {}, "stiffness of joint 'fer_joint4' must be above"),
            ([*given[:2], float('nan'), *given[3:]], {}, "effort of joint 'fer_joint3' is not fi"),
            ([*given[:6], float('inf')], {}, "effort of joint 'fer_joint7' is not finite"),
            ([*given[:6], 1e9], {}, "effort of joint 'fer_joint7' is 1e+09"),
            (given[:6], {}, '7 names but 6 entries of effort'),
            (given[:6], {'name': node.joints[:6]}, "'fer_joint7' of robot 'panda' missing"),
            ([1000.0], {'name': ['rail']}, "among the names 'rail'")):
        asker.ask_until(lambda text=reason: text in node.log, stiffness, **fields)
        asker.ask(given, states=5)
        assert_close(motor_cycles(node)[-1][1], before)
    assert 'Traceback' not in node.log
    assert_no_step(node)


@pytest.mark.parametrize('end', ['a signal', 'lost joint states'])
def test_the_motors_of_a_changing_stiffness_rest_at_an_end(live, home, variable_robot, end):
    """The last word on `~/motor_reference` was a velocity of up to 1 rad/s."""
    node = start_with_motors(live, f'robot:={variable_robot}', 'state_timeout:=1.0')
    node.first_answer(NOW, home)
    asker = Asker(node, home, NOW)
    asker.ask([2000.0, 3500.0, 2500.0, 1200.0, 0.0, 0.0, 900.0], states=25)
    changing = motor_cycles(node)[-1][1][1]
    assert np.abs(changing).max() > 0.05
    if end == 'a signal':
        assert node.end(signal.SIGINT) == 0
    else:
        assert node.spin_until(lambda: node.states[-1] == 'fault', 60.0), node.log
    node.settle()
    moved = motor_cycles(node)
    assert np.abs(moved[-1][1][1]).max() < 1e-4 * np.abs(changing).max()
    assert_no_lone_step(moved[1:])
    assert_no_step(node)
