"""What may happen to a besieged node, and how often: each is a generator of waits, s."""
from collections.abc import Callable
from dataclasses import dataclass
import signal
import time

from besieged import NAMES, START_TIMEOUT, Besieged, Steps
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
import numpy as np
from processes import kill
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger


@dataclass
class Event:
    """What was done to the node."""

    number: int
    kind: str
    time: float
    detail: str = ''


def streaming(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Stream a profile, more or less well."""
    profile = str(rng.choice([
        'jumps', 'square', 'slider', 'ramp', 'sine', 'once', 'far', 'noise']))
    rate = float(rng.uniform(1.0, 20.0) if profile == 'slider' else
                 np.exp(rng.uniform(np.log(5.0), np.log(250.0))))
    duration = float(rng.uniform(0.5, 4.0))
    with_velocity = bool(rng.random() < 0.5)
    wrong = float(rng.choice([0.0, 0.0, 0.0, 0.03, 0.3]))
    dropouts = float(rng.choice([0.0, 0.0, 0.05]))
    stamps = str(rng.choice(['now', 'now', 'none', 'old', 'ahead', 'reordered']))
    active = rng.random(7) < rng.choice([0.3, 1.0])
    event.detail = (
        f'{profile} at {rate:.1f} Hz for {duration:.1f} s, velocities {with_velocity}, '
        f'{wrong:.0%} wrong, dropouts {dropouts:.0%}, stamps {stamps}')
    here = node.target.copy()
    goal = np.where(active, node.somewhere(rng, 0.99), here)
    speed = np.where(active, rng.uniform(-1.2, 1.2, 7) * node.limits.velocity, 0.0)
    frequency = rng.uniform(0.1, 3.0)
    lower, upper = node.limits.lower + 1e-3, node.limits.upper - 1e-3
    position, begin = here, time.monotonic()
    while (t := time.monotonic() - begin) < duration:
        velocity = np.zeros(7)
        if profile in ('jumps', 'slider', 'noise'):
            if profile == 'noise' or rng.random() < (0.5 if profile == 'slider' else 0.05):
                reach = {'slider': 0.3, 'noise': 0.01, 'jumps': 3.0}[profile]
                position = np.where(
                    active, position + reach * rng.uniform(-1.0, 1.0, 7), position)
        elif profile == 'square':
            position = goal if int(2 * t * frequency) % 2 == 0 else lower + upper - goal
            position = np.where(active, position, here)
        elif profile == 'ramp':
            position, velocity = here + t * speed, speed
        elif profile == 'sine':
            swing, turn = 0.5 * (goal - here), 2 * np.pi * frequency
            position = here + swing * (1.0 - np.cos(turn * t))
            velocity = swing * turn * np.sin(turn * t)
        else:
            position = goal
        position = np.clip(position, lower, upper)
        velocity = np.clip(velocity, -node.limits.velocity, node.limits.velocity)
        names, sent = list(NAMES), position.copy()
        if rng.random() < wrong:
            names, sent = _spoil(rng, names, sent)
        shift = {
            'now': 0.0, 'none': 0.0, 'old': -5.0, 'ahead': 5.0,
            'reordered': float(rng.uniform(-0.05, 0.0))}[stamps]
        stamp = Time() if stamps == 'none' else node.now(shift)
        node.send_sample(
            node.samples, names, sent, velocity if with_velocity else None, stamp)
        if profile == 'once':
            return
        yield float(rng.uniform(0.1, 0.6)) if rng.random() < dropouts else 1.0 / rate


def _spoil(
    rng: np.random.Generator, names: list[str], position: np.ndarray,
) -> tuple[list[str], np.ndarray]:
    kind, joint = int(rng.integers(9)), int(rng.integers(7))
    if kind == 0:
        position[joint] = np.nan
    elif kind == 1:
        position[joint] = np.inf
    elif kind == 2:
        position[joint] = rng.choice([-1.0, 1.0]) * rng.choice([4.0, 100.0, 1e300])
    elif kind == 3:
        names = [f'fr3_joint{i}' for i in range(1, 8)]
    elif kind == 4:
        names = [f'left_{name}' for name in names]
    elif kind == 5:
        position = position[:joint]
    elif kind == 6:
        names = names[:joint]
    elif kind == 7:
        names[joint] = names[joint - 1]
    else:
        names, position = [], position[:0]
    return names, position


def plan(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Send a plan, good or bad."""
    kind = str(rng.choice([
        'good', 'good', 'good', 'good', 'too fast', 'empty', 'foreign', 'stale', 'start later',
        'start earlier', 'nan', 'disordered', 'out of range', 'short', 'efforts']))
    steps = int(rng.integers(1, 6))
    places = [node.target + rng.uniform(-0.1, 0.1) * 0.0]
    for _ in range(steps):
        places.append(np.clip(
            places[-1] + rng.uniform(-0.6, 0.6, 7), node.limits.lower + 0.05,
            node.limits.upper - 0.05))
    times = np.cumsum([rng.uniform(1.5, 3.0) for _ in range(steps)])
    if kind == 'too fast':
        times *= 0.1
    points = list(zip(times.tolist(), places[1:], strict=True))
    event.detail = f'{kind}, {steps} points, {times[-1]:.2f} s'
    fields: dict[str, list[float]] = {}
    names, stamp = NAMES, None
    if kind == 'empty':
        points = []
    elif kind == 'foreign':
        names = [f'right_fer_joint{i}' for i in range(1, 8)]
    elif kind == 'stale':
        points = [(0.0, places[0] + 0.5), *points]
    elif kind == 'start later':
        stamp = node.now(float(rng.uniform(0.05, 2.0)))
    elif kind == 'start earlier':
        stamp = node.now(-float(rng.choice([0.1, 1.0, 100.0])))
    elif kind == 'nan':
        points[-1][1][3] = np.nan
    elif kind == 'disordered':
        points = [*points, (points[-1][0], places[0])]
    elif kind == 'out of range':
        points[-1][1][int(rng.integers(7))] = 4.0
    elif kind == 'short':
        points = [(t, place[:6]) for t, place in points]
    elif kind == 'efforts':
        fields['effort'] = [0.0] * 7
    if kind == 'good' and rng.random() < 0.3 and steps == 1:
        fields['velocities'] = fields['accelerations'] = [0.0] * 7
    node.send_plan(points, names, stamp, **fields)
    yield float(rng.uniform(0.0, times[-1]))


def holding(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Ask for a stop."""
    node.hold_service.call_async(Trigger.Request())
    yield 0.1


def silence(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Let the driver be silent for a while; the arm may be moved meanwhile."""
    length = float(np.exp(rng.uniform(np.log(0.02), np.log(4.0))))
    elsewhere = bool(rng.random() < 0.3)
    event.detail = f'{length:.3f} s' + (', back elsewhere' if elsewhere else '')
    node.silent_until = time.monotonic() + length
    if elsewhere:
        node.pushed_until = node.silent_until + 0.05
        _displace(node, int(rng.integers(7)), 0.7)
    yield length + 0.1


def _displace(node: Besieged, joint: int, way: float) -> None:
    side = 1.0 if node.arm[joint] < node.limits.upper[joint] - way - 0.01 else -1.0
    node.arm[joint] += side * way


def push(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Push the arm away, and keep it there for a while."""
    length = float(rng.uniform(0.05, 1.0))
    joint = int(rng.integers(7))
    event.detail = f'for {length:.2f} s'
    node.pushed_until = time.monotonic() + length
    for _ in range(10):
        _displace(node, joint, 0.05)
        yield 0.004
    yield length


def clock(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Set the driver's clock."""
    jump = float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-2.0, 6.0))
    event.detail = f'by {jump:.3f} s'
    node.clock_offset += round(jump * 1e9)
    if abs(node.clock_offset) > 10**15:  # it must stay positive
        node.clock_offset = 0
    yield 0.1


def freeze(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Hold up the node's process."""
    length = float(np.exp(rng.uniform(np.log(0.01), np.log(2.0))))
    event.detail = f'{length:.3f} s'
    process = node.process
    now = time.monotonic()
    node.watch.held_up.append((now, now + length))
    process.send_signal(signal.SIGSTOP)
    yield length
    process.send_signal(signal.SIGCONT)
    yield 0.05


def wrench(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Press on a link, sometimes beyond all measure."""
    size = float(10.0 ** rng.uniform(0.0, 6.0))
    frame = str(rng.choice(['link7', 'link4', 'flange', 'fer_link7', 'nowhere']))
    duration, rate = float(rng.uniform(0.0, 2.0)), float(rng.uniform(20.0, 250.0))
    event.detail = f'{size:.3g} N on {frame} for {duration:.1f} s at {rate:.0f} Hz'
    begin = time.monotonic()
    while True:
        force = size * rng.normal(size=6) * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
        if rng.random() < 0.01:
            force[0] = np.nan
        message = WrenchStamped(wrench=Wrench(
            force=Vector3(x=force[0], y=force[1], z=force[2]),
            torque=Vector3(x=force[3], y=force[4], z=force[5])))
        message.header.frame_id = frame
        message.header.stamp = node.now()
        node.wrenches.publish(message)
        if time.monotonic() - begin > duration:
            return
        yield 1.0 / rate


def rival(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Let another node stream as well."""
    other = Node('rival', context=node.context)
    publisher = other.create_publisher(JointState, '/feedforward/reference', 1)
    place = node.somewhere(rng, 0.9)
    for _ in range(int(rng.integers(1, 60))):
        node.send_sample(publisher, NAMES, place, None, node.now())
        yield 0.02
    other.destroy_node()
    yield 0.2


def deactivation(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Deactivate and activate."""
    # What is asked of a node that is coming up may be lost: the services of the one before,
    # when that was killed, seem to be there for a while.
    while node.starting:
        yield 0.02
    process = node.process
    for name in ('deactivate', 'activate'):
        end = time.monotonic() + 20.0
        future = node.ask(name)
        while not future.done() and node.process is process:
            if time.monotonic() > end:
                node.failures.append(
                    f'{name}: no answer within 20 s; it says {node.watch.said[-1]}; its log '
                    f'ends\n{node.log[-3000:]}')
                return
            yield 0.02
        yield float(rng.uniform(0.0, 1.0))


def restart(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """End the node, by a crash or in order, and start another."""
    if node.restarting:
        return
    node.restarting = node.starting = True
    process, crash = node.process, bool(rng.random() < 0.5)
    event.detail = 'kill -9' if crash else 'SIGINT'
    if crash:
        kill(process)
    else:
        process.send_signal(signal.SIGINT)
        end = time.monotonic() + 10.0
        while process.poll() is None:
            if time.monotonic() > end:
                node.failures.append('SIGINT did not end the node within 10 s')
                kill(process)
            yield 0.02
        if process.returncode:
            node.failures.append(
                f'SIGINT ended the node with {process.returncode}:\n{node.log[-3000:]}')
    yield 0.1  # what it still said arrives
    node.watch.run += 1
    node.process = node.start_node()
    node.restarting = False
    known, end = node.watch.counts['torque'], time.monotonic() + START_TIMEOUT
    while node.watch.counts['torque'] < known + 20 and time.monotonic() < end:
        yield 0.05
    node.starting = False


def payload(node: Besieged, rng: np.random.Generator, event: Event) -> Steps:
    """Change the payload, once or several times in a row."""
    for _ in range(int(rng.integers(1, 4))):
        mass = float(rng.choice([0.0, 0.5, 3.0, -1.0, 1e9]))
        event.detail += f'{mass:g} kg '
        node.set_payload(mass, 'link7', rng.uniform(-0.1, 0.1, 3).tolist())
        yield float(rng.uniform(0.0, 0.7))


# What may happen, and how often.
ATTACKS: list[tuple[Callable[[Besieged, np.random.Generator, Event], Steps], float]] = [
    (streaming, 10.0), (plan, 8.0), (holding, 2.0), (silence, 3.0), (push, 2.0), (clock, 3.0),
    (freeze, 4.0), (wrench, 3.0), (rival, 1.0), (deactivation, 1.0), (payload, 2.0),
    (restart, 0.3),
]
