"""Motions of live nodes, and what must be so of any of them."""
import numpy as np

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward

NOW = 1000.0
ROUND_OFF = 1e-6


def weight(q, robot: str = 'panda') -> np.ndarray:
    """Return the torque that holds a position."""
    still = np.zeros((5, 7))
    still[0] = q
    return FeedForward(hd.load_robot(robot)).torque(still)[0]


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


def assert_no_step(node, *, jump: float = np.inf) -> None:
    """What a node has published is continuous, as its rates tell."""
    assert_continuous(*cycles(node), jump=jump)


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
        assert node.answer(begin + 0.01 * k, home) is not None
    return begin + 0.4
