"""Motions of live nodes, and what must be so of any of them."""
from pathlib import Path
import time
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
import yaml

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward

NOW = 1000.0
ROUND_OFF = 1e-6
MARGIN = 1.05
FASTEST = 2.3  # rad/s: velocities of 0, as they are sent, contradict twice as much
LIMITS = hd.load_robot('panda').limits


def weight(q, robot: str = 'panda') -> np.ndarray:
    """Return the torque that holds a position."""
    still = np.zeros((5, 7))
    still[0] = q
    return FeedForward(hd.load_robot(robot)).torque(still)[0]


def write_robot_keys(path: Path, keys: dict[str, Any]) -> Path:
    """Write a robot file; return its path."""
    path.write_text(yaml.safe_dump(keys), encoding='utf-8')
    return path


def table(node, topic: str) -> tuple[np.ndarray, np.ndarray]:
    """Return stamps (T,) and position, velocity, effort (T, 3, n) of what was published."""
    messages = node.messages[topic]
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in messages])
    return stamps, np.array([(m.position, m.velocity, m.effort) for m in messages])


def cycles(node) -> tuple[np.ndarray, np.ndarray]:
    """Return stamps (T,) and q, q̇, Q, Q̇, Q̈ (T, 5, n) of the cycles that came as a whole.

    A busy machine may lose a message.
    """
    torque, rate, accel = (node.answers[f'torque{end}'] for end in ('', '_rate', '_accel'))
    keys = [key for key in torque if key in rate and key in accel]
    return np.array(keys) * 1e-9, np.array([
        (torque[key].position, torque[key].velocity, torque[key].effort, rate[key].effort,
         accel[key].effort) for key in keys])


def assert_continuous(stamps: np.ndarray, values: np.ndarray, *, jump: float = np.inf) -> None:
    """Between two cycles nothing may change by more than its own rate allows.

    Steps of the stamps by more than `reset_clock` s are those of a clock that was set.
    """
    assert len(stamps) > 10
    dt = np.diff(stamps)
    # Where their clock was set the stamps do not tell how much time has passed.
    dt[(dt <= 0.0) | (dt > jump)] = 0.01
    dt = dt[:, None]
    for what, k in (('q', 0), ('Q', 2), ('Q rate', 3)):
        change = np.abs(np.diff(values[:, k], axis=0))
        most = 1.5 * np.abs(values[:, k + 1]).max(axis=0) * dt
        most += ROUND_OFF * (1 + np.abs(values[:, k]).max())
        assert (change <= most).all(), (
            what, (change - most).max(), stamps[int((change - most).max(axis=1).argmax())])


def assert_no_step(node, *, jump: float = np.inf, since: int = 0) -> None:
    """What a node has published since a cycle is continuous, as its rates tell."""
    stamps, values = cycles(node)
    assert_continuous(stamps[since:], values[since:], jump=jump)


def assert_efforts_within(node, limits=LIMITS) -> None:
    """No message is beyond its limit by more than the margin, and none changes faster."""
    stamps, values = cycles(node)
    assert len(stamps) > 50
    assert (np.abs(values[:, 2]) <= MARGIN * limits.effort).all(), np.abs(values[:, 2]).max(axis=0)
    assert (np.abs(values[:, 3]) <= MARGIN * limits.effort_rate).all(), (
        np.abs(values[:, 3]).max(axis=0))
    dt = np.diff(stamps)[:, np.newaxis]
    step = np.abs(np.diff(values[:, 2], axis=0))
    assert (step <= MARGIN * limits.effort_rate * np.maximum(dt, 0.0) + ROUND_OFF).all(), (
        step.max(axis=0))


def move(node, home, by: float = 0.2, seconds: float = 1.0, start: float = 0.0) -> list[float]:
    """Send a plan to a goal beside a position, and return the goal."""
    goal = [x + by for x in home]
    node.send_trajectory((seconds, goal), start=start)
    return goal


def in_motion(node, home, t: float = NOW, seconds: float = 1.0, by: float = 0.2) -> float:
    """Have a motion begun, state by state, and return a time in its middle."""
    node.first_answer(t, home)
    accepted = node.log.count('trajectory accepted')
    move(node, home, by, seconds)
    begin = node.send_states_until_log('trajectory accepted', t + 0.001, home, accepted + 1)
    for k in range(1, 40):
        assert node.reach(begin + 0.01 * k, home) is not None
    assert node.reach(begin + 0.3995, home) is not None
    return begin + 0.4


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
    tiny = 1e-9
    assert (q >= LIMITS.position_min - tiny).all()
    assert (q <= LIMITS.position_max + tiny).all()
    assert (np.abs(speed) <= LIMITS.velocity * (1.0 + tiny)).all(), np.abs(speed).max(axis=0)
    assert (np.abs(torque) <= LIMITS.effort).all(), np.abs(torque).max(axis=0)
    assert (np.abs(rates) <= 1.05 * LIMITS.effort_rate).all(), np.abs(rates).max(axis=0)
    # What moves in a cycle is what its speed allows.
    dt = np.diff(stamps)[:, None]
    assert (np.abs(np.diff(q, axis=0))[dt[:, 0] > 0.0]
            <= (LIMITS.velocity * dt + tiny)[dt[:, 0] > 0.0]).all()


def leap(node, position, start: float) -> float:
    """Send states from another place until the node believes them; return the last stamp."""
    for k in range(200):
        node.send_state(start + 0.004 * k, list(position))
        node.spin(0.004)
    return start + 0.004 * 199


class Stepper:
    """A driver and a sender whose time goes on state by state; the arm follows the reference."""

    def __init__(self, node, home, period: float = 0.004) -> None:
        self.node, self.q, self.time, self.period = node, list(home), NOW, period
        self.arm, self.offset = np.array(home), np.zeros(7)
        node.first_answer(NOW, home)
        self.stream = node.publisher(JointState, '/feedforward/reference')
        self.has_streamed = False

    def step(self, count: int = 1, until=None) -> list[JointState]:
        """Send states, and return the last answers."""
        for _ in range(count):
            self.time = round(self.time + self.period, 6)
            away = np.add(self.q, self.offset) - self.arm
            if self.offset.any():  # an arm that is pushed does not leap
                away = np.clip(away, -self.period * FASTEST, self.period * FASTEST)
            self.arm += away
            answers = self.node.answer(self.time, self.arm)
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
        if not self.has_streamed:
            self.node.let_stream()
            self.has_streamed = True
        message = JointState(
            name=self.node.joints, position=[float(x) for x in position],
            velocity=[] if velocity is None else [float(x) for x in velocity])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(stamp * 1e9), 10**9)
        self.stream.publish(message)

    def rest(self) -> None:
        """Go on until the reference holds."""
        self.step(3000, until=lambda: self.node.states[-1] == 'holding')


def start_with_motors(live, *parameters: str, own: bool = False):
    """Start a node, with its motors a part of each answer."""
    node = live(*parameters, own=own)
    node.expect('motor_reference')
    assert node.spin_until(
        lambda: node.node.count_publishers('/feedforward/motor_reference') > 0, 60.0)
    return node
