"""A live node under attack: whatever comes in, no message beyond a limit, and no step.

`python tools/siege.py --minutes 30 --seed 7` starts one node and a driver whose arm follows
what the node publishes, and lets loose on them a generator of all that may come in. What happens
as event number k follows from the seed and k alone: `--events 120-124` does these again.
"""
import argparse
from collections import Counter
from collections.abc import Callable, Generator
import contextlib
from dataclasses import dataclass
import heapq
import itertools
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from builtin_interfaces.msg import Duration, Time
from cycle_watch import Finding, Limits, Watch
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from processes import KILLED, kill, remove_unused
from rcl_interfaces.srv import SetParametersAtomically
import rclpy
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

NAMES = [f'fer_joint{i}' for i in range(1, 8)]
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
MAX_TIME_STEP = 0.01
LAG = 0.01  # of the arm behind q_d, s
START_TIMEOUT = 240.0  # kernels may have to be compiled
PEACE_TIMEOUT = 60.0
EVENTS_BETWEEN_TRUCES = 40
# A process that is stopped while it holds a lock in shared memory would hold up all others.
TRANSPORT = 'UDPv4'
WINDOW = 2.0  # around a violation, within which events are shown, s

Steps = Generator[float, None, None]


@dataclass
class Event:
    """What was done to the node."""

    number: int
    kind: str
    time: float
    detail: str = ''


class Siege:
    """A node, its driver, and all that happens to them.

    Parameters
    ----------
    folder : Path
        For the log of the node.
    seed : int
        Of the generator of events.
    rate : float
        Of the driver, Hz.

    """

    def __init__(self, folder: Path, seed: int, rate: float = 250.0) -> None:
        self.seed = seed
        self.period = 1.0 / rate
        self.limits = Limits.of('panda')
        self.watch = Watch(self.limits, NAMES, MAX_TIME_STEP, self.period)
        self.events: list[Event] = []
        self.failures: list[str] = []
        self.largest_delay = 0.0
        self._folder = folder
        self._logs: list[Path] = []
        self._tasks: list[tuple[float, int, Event | None, Steps]] = []
        self._order = itertools.count()
        self._busy = 0
        self._heard = 0
        self._restarting = self._starting = False
        self._judge_at = 0.0
        # The driver's world.
        self._arm = HOME.copy()
        self._target = HOME.copy()
        self._pushed_until = 0.0
        self._silent_until = 0.0
        self._clock_offset = 0
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = Node('driver', context=self._context)
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self._node)
        subscribe, publish = self._node.create_subscription, self._node.create_publisher
        subscribe(JointState, '/feedforward/torque', self._on_torque, QoSProfile(depth=200))
        for topic in ('torque_rate', 'torque_accel'):
            subscribe(
                JointState, f'/feedforward/{topic}', self._on_derivative(topic),
                QoSProfile(depth=200))
        subscribe(DiagnosticStatus, '/feedforward/state', self._on_state, QoSProfile(
            depth=50, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self._states = publish(JointState, '/joint_states', QoSProfile(depth=1))
        self._stream = publish(JointState, '/feedforward/reference', QoSProfile(depth=1))
        self._plans = publish(
            JointTrajectory, '/feedforward/joint_trajectory', QoSProfile(depth=10))
        self._wrenches = publish(
            WrenchStamped, '/feedforward/external_wrench', QoSProfile(depth=1))
        client = self._node.create_client
        self._hold = client(Trigger, '/feedforward/hold')
        self._change = client(ChangeState, '/feedforward/change_state')
        self._set = client(SetParametersAtomically, '/feedforward/set_parameters_atomically')
        self.process = self._start_node()

    # The two sides.

    def _start_node(self) -> subprocess.Popen:
        self._logs.append(self._folder / f'node{len(self._logs)}.log')
        with self._logs[-1].open('w') as stream:
            return subprocess.Popen(
                [sys.executable, '-m', 'hodyn_ros.ros.feedforward_node', '--ros-args', '-p',
                 'robot:=panda', '-p', f'max_time_step:={MAX_TIME_STEP}'],
                stdout=stream, stderr=subprocess.STDOUT, cwd=self._folder)

    def _on_torque(self, message: JointState) -> None:
        self._heard += 1
        stamp = message.header.stamp
        self.watch.hear_torque(
            time.monotonic(), stamp.sec * 10**9 + stamp.nanosec, message.name, message.position,
            message.velocity, message.effort)
        self._target = np.array(message.position)

    def _on_derivative(self, topic: str) -> Callable[[JointState], None]:
        def hear(message: JointState) -> None:
            self._heard += 1
            stamp = message.header.stamp
            self.watch.hear_derivative(
                topic, time.monotonic(), stamp.sec * 10**9 + stamp.nanosec,
                np.array(message.effort))
        return hear

    def _on_state(self, message: DiagnosticStatus) -> None:
        self._heard += 1
        reason = next((pair.value for pair in message.values if pair.key == 'reason'), '')
        self.watch.hear_state(time.monotonic(), message.message, reason)

    @property
    def word(self) -> str:
        """What the node says that it does."""
        return self.watch.said[-1].word if self.watch.said else ''

    def _now(self, offset: float = 0.0) -> Time:
        """Return the time of the driver's clock."""
        seconds, nanoseconds = divmod(
            time.time_ns() + self._clock_offset + round(offset * 1e9), 10**9)
        return Time(sec=seconds, nanosec=nanoseconds)

    def _tick(self) -> None:
        """Move the arm on by a period and send its state."""
        now = time.monotonic()
        if now > self._pushed_until:
            self._arm += (self._target - self._arm) * (1.0 - np.exp(-self.period / LAG))
        if now < self._silent_until:
            return
        message = JointState(name=NAMES, position=self._arm.tolist())
        message.header.stamp = stamp = self._now()
        self.watch.sent.append(stamp.sec * 10**9 + stamp.nanosec)
        self._states.publish(message)

    def _spin(self, until: float) -> None:
        """Be a driver, and do what is due, until a time."""
        due = time.monotonic()
        while (now := time.monotonic()) < until:
            self.largest_delay = max(self.largest_delay, now - due)
            self._tick()
            while self._tasks and self._tasks[0][0] <= now:
                _, _, event, steps = heapq.heappop(self._tasks)
                try:
                    self._schedule(now + next(steps), event, steps)
                except StopIteration:
                    self._busy -= 1
            if now > self._judge_at:
                self.watch.judge(now - 1.0)
                self._judge_at = now + 1.0
            # Late ticks are left out, as a driver does that runs on the clock.
            due = max(due + self.period, time.monotonic())
            while (left := due - time.monotonic()) > 0.0:
                self._executor.spin_once(timeout_sec=left)
            heard = -1
            while heard != self._heard:  # whatever waits, lest it be overwritten
                heard = self._heard
                self._executor.spin_once(timeout_sec=0.0)

    def _spin_while(self, condition: Callable[[], bool], timeout: float) -> bool:
        end = time.monotonic() + timeout
        while condition():
            if time.monotonic() > end or self._has_died():
                return not condition()
            self._spin(time.monotonic() + 0.05)
        return True

    def _schedule(self, due: float, event: Event | None, steps: Steps) -> None:
        heapq.heappush(self._tasks, (due, next(self._order), event, steps))

    # The attack.

    def run(
        self, seconds: float, numbers: range | None = None, *, quiet: bool = True,
    ) -> None:
        """Attack for a time, or with the events of some numbers; then see that peace returns."""
        self._await_start()
        end = time.monotonic() + seconds
        for count, number in enumerate(numbers or itertools.count(), 1):
            if time.monotonic() > end or self.failures:
                break
            rng = np.random.default_rng([self.seed, number])
            names = list(ATTACKS)
            weights = np.array([ATTACKS[name] for name in names], float)
            kind = names[rng.choice(len(names), p=weights / weights.sum())]
            event = Event(number, kind, time.monotonic())
            self.events.append(event)
            if not quiet:
                print(f'{number} {kind} {len(self.watch.violations)} violations', flush=True)
            self._busy += 1
            self._schedule(event.time, event, getattr(self, f'_{kind}')(rng, event))
            self._spin(min(time.monotonic() + rng.exponential(0.6), end + 1.0))
            # No more than three at a time.
            self._spin_while(lambda: self._busy > 2, 30.0)
            self._check_process()
            if count % EVENTS_BETWEEN_TRUCES == 0:
                self._make_peace()
        if not self.failures:
            self._make_peace()
        self.watch.judge(np.inf)

    def _await_start(self) -> None:
        """Wait until a node that was started answers."""
        known = self.watch.counts['torque']
        if not self._spin_while(
                lambda: self.watch.counts['torque'] < known + 20, START_TIMEOUT):
            self.failures.append(f'the node did not come up:\n{self.log[-3000:]}')

    def _has_died(self) -> bool:
        return not self._restarting and self.process.poll() is not None

    def _check_process(self) -> None:
        if self._has_died():
            self.failures.append(
                f'the node has died, code {self.process.returncode}:\n{self.log[-3000:]}')

    def _make_peace(self) -> None:
        """End all attacks; the node must come to rest, and follow a plain plan."""
        if not self._spin_while(lambda: self._busy > 0, 30.0):
            self.failures.append('an attack does not end')
        self._check_process()
        if self.failures:
            return
        event = Event(-1, 'peace', time.monotonic())
        self.events.append(event)
        self._silent_until = self._pushed_until = 0.0
        self._set_payload(0.0, 'link7', [0.0, 0.0, 0.0])
        self._spin(time.monotonic() + 1.0)
        if not self._spin_while(lambda: self.word != 'holding', PEACE_TIMEOUT):
            self.failures.append(f'it does not come to rest: {self.watch.said[-1]}')
            return
        goal = HOME + np.random.default_rng(self.seed).uniform(-0.2, 0.2, 7)
        duration = max(2.0, 3.0 * float(np.abs(goal - self._target).max()))
        tries, end = 3, time.monotonic() + 2.0 * PEACE_TIMEOUT
        while tries > 0 and time.monotonic() < end:
            sent = time.monotonic()
            self._send_plan([(duration, goal)])
            followed = self._spin_while(lambda: self.word != 'following', 5.0)
            self._spin_while(lambda: self.word == 'following', duration + PEACE_TIMEOUT)
            if followed and np.abs(self._target - goal).max() < 1e-6:
                event.detail = f'a plan of {duration:.1f} s was followed'
                return
            self._spin_while(lambda: self.word != 'holding', PEACE_TIMEOUT)
            # A busy machine may silence the driver meanwhile, which ends a plan.
            tries -= not any(
                'joint states' in one.reason for one in self.watch.said if one.time > sent)
        self.failures.append(f'a plain plan is not followed: {self.log[-3000:]}')

    def _somewhere(self, rng: np.random.Generator, share: float = 1.0) -> np.ndarray:
        """Return a position within a share of the range."""
        middle = (self.limits.upper + self.limits.lower) / 2
        half = (self.limits.upper - self.limits.lower) / 2
        return middle + share * half * rng.uniform(-1.0, 1.0, 7)

    def _send_sample(
        self, publisher: Any, names: list[str], position: np.ndarray, velocity: np.ndarray | None,
        stamp: Time,
    ) -> None:
        message = JointState(name=names, position=[float(x) for x in position])
        if velocity is not None:
            message.velocity = [float(x) for x in velocity]
        message.header.stamp = stamp
        publisher.publish(message)

    def _streaming(self, rng: np.random.Generator, event: Event) -> Steps:
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
        here = self._target.copy()
        goal = np.where(active, self._somewhere(rng, 0.99), here)
        speed = np.where(active, rng.uniform(-1.2, 1.2, 7) * self.limits.velocity, 0.0)
        frequency = rng.uniform(0.1, 3.0)
        lower, upper = self.limits.lower + 1e-3, self.limits.upper - 1e-3
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
            velocity = np.clip(velocity, -self.limits.velocity, self.limits.velocity)
            names, sent = list(NAMES), position.copy()
            if rng.random() < wrong:
                names, sent = self._spoil(rng, names, sent)
            shift = {
                'now': 0.0, 'none': 0.0, 'old': -5.0, 'ahead': 5.0,
                'reordered': float(rng.uniform(-0.05, 0.0))}[stamps]
            stamp = Time() if stamps == 'none' else self._now(shift)
            self._send_sample(
                self._stream, names, sent, velocity if with_velocity else None, stamp)
            if profile == 'once':
                return
            yield float(rng.uniform(0.1, 0.6)) if rng.random() < dropouts else 1.0 / rate

    def _spoil(
        self, rng: np.random.Generator, names: list[str], position: np.ndarray,
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

    def _send_plan(
        self, points: list[tuple[float, np.ndarray]], names: list[str] = NAMES,
        stamp: Time | None = None, **fields: list[float],
    ) -> None:
        message = JointTrajectory(joint_names=names, points=[
            JointTrajectoryPoint(
                positions=[float(x) for x in positions], **fields,
                time_from_start=Duration(sec=int(t), nanosec=round(t % 1 * 1e9)))
            for t, positions in points])
        if stamp is not None:
            message.header.stamp = stamp
        self._plans.publish(message)

    def _plan(self, rng: np.random.Generator, event: Event) -> Steps:
        """Send a plan, good or bad."""
        kind = str(rng.choice([
            'good', 'good', 'good', 'good', 'too fast', 'empty', 'foreign', 'stale', 'start later',
            'start earlier', 'nan', 'disordered', 'out of range', 'short', 'efforts']))
        steps = int(rng.integers(1, 6))
        places = [self._target + rng.uniform(-0.1, 0.1) * 0.0]
        for _ in range(steps):
            places.append(np.clip(
                places[-1] + rng.uniform(-0.6, 0.6, 7), self.limits.lower + 0.05,
                self.limits.upper - 0.05))
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
            stamp = self._now(float(rng.uniform(0.05, 2.0)))
        elif kind == 'start earlier':
            stamp = self._now(-float(rng.choice([0.1, 1.0, 100.0])))
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
        self._send_plan(points, names, stamp, **fields)
        yield float(rng.uniform(0.0, times[-1]))

    def _holding(self, rng: np.random.Generator, event: Event) -> Steps:
        """Ask for a stop."""
        self._hold.call_async(Trigger.Request())
        yield 0.1

    def _silence(self, rng: np.random.Generator, event: Event) -> Steps:
        """Let the driver be silent for a while; the arm may be moved meanwhile."""
        length = float(np.exp(rng.uniform(np.log(0.02), np.log(4.0))))
        elsewhere = bool(rng.random() < 0.3)
        event.detail = f'{length:.3f} s' + (', back elsewhere' if elsewhere else '')
        self._silent_until = time.monotonic() + length
        if elsewhere:
            self._pushed_until = self._silent_until + 0.05
            self._displace(rng, 0.7)
        yield length + 0.1

    def _displace(self, rng: np.random.Generator, way: float) -> None:
        joint = int(rng.integers(7))
        side = 1.0 if self._arm[joint] < self.limits.upper[joint] - way - 0.01 else -1.0
        self._arm[joint] += side * way

    def _push(self, rng: np.random.Generator, event: Event) -> Steps:
        """Push the arm away, and keep it there for a while."""
        length = float(rng.uniform(0.05, 1.0))
        event.detail = f'for {length:.2f} s'
        self._pushed_until = time.monotonic() + length
        for _ in range(10):
            self._displace(np.random.default_rng([self.seed, event.number]), 0.05)
            yield 0.004
        yield length

    def _clock(self, rng: np.random.Generator, event: Event) -> Steps:
        """Set the driver's clock."""
        jump = float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-2.0, 6.0))
        event.detail = f'by {jump:.3f} s'
        self._clock_offset += round(jump * 1e9)
        if abs(self._clock_offset) > 10**15:  # it must stay positive
            self._clock_offset = 0
        yield 0.1

    def _freeze(self, rng: np.random.Generator, event: Event) -> Steps:
        """Hold up the node's process."""
        length = float(np.exp(rng.uniform(np.log(0.01), np.log(2.0))))
        event.detail = f'{length:.3f} s'
        process = self.process
        now = time.monotonic()
        self.watch.held_up.append((now, now + length))
        process.send_signal(signal.SIGSTOP)
        yield length
        process.send_signal(signal.SIGCONT)
        yield 0.05

    def _wrench(self, rng: np.random.Generator, event: Event) -> Steps:
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
            message.header.stamp = self._now()
            self._wrenches.publish(message)
            if time.monotonic() - begin > duration:
                return
            yield 1.0 / rate

    def _rival(self, rng: np.random.Generator, event: Event) -> Steps:
        """Let another node stream as well."""
        other = Node('rival', context=self._context)
        publisher = other.create_publisher(JointState, '/feedforward/reference', 1)
        place = self._somewhere(rng, 0.9)
        for _ in range(int(rng.integers(1, 60))):
            self._send_sample(publisher, NAMES, place, None, self._now())
            yield 0.02
        other.destroy_node()
        yield 0.2

    def _ask(self, name: str) -> Any:
        number = getattr(Transition, f'TRANSITION_{name.upper()}')
        return self._change.call_async(
            ChangeState.Request(transition=Transition(id=number)))

    def _deactivation(self, rng: np.random.Generator, event: Event) -> Steps:
        """Deactivate and activate."""
        # What is asked of a node that is coming up may be lost: the services of the one before,
        # when that was killed, seem to be there for a while.
        while self._starting:
            yield 0.02
        process = self.process
        for name in ('deactivate', 'activate'):
            end = time.monotonic() + 20.0
            future = self._ask(name)
            while not future.done() and self.process is process:
                if time.monotonic() > end:
                    self.failures.append(
                        f'{name}: no answer within 20 s; it says {self.watch.said[-1]}; its log '
                        f'ends\n{self.log[-3000:]}')
                    return
                yield 0.02
            yield float(rng.uniform(0.0, 1.0))

    def _restart(self, rng: np.random.Generator, event: Event) -> Steps:
        """End the node, by a crash or in order, and start another."""
        if self._restarting:
            return
        self._restarting = self._starting = True
        process, crash = self.process, bool(rng.random() < 0.5)
        event.detail = 'kill -9' if crash else 'SIGINT'
        if crash:
            kill(process)
        else:
            process.send_signal(signal.SIGINT)
            end = time.monotonic() + 10.0
            while process.poll() is None:
                if time.monotonic() > end:
                    self.failures.append('SIGINT did not end the node within 10 s')
                    kill(process)
                yield 0.02
            if process.returncode:
                self.failures.append(
                    f'SIGINT ended the node with {process.returncode}:\n{self.log[-3000:]}')
        yield 0.1  # what it still said arrives
        self.watch.run += 1
        self.process = self._start_node()
        self._restarting = False
        known, end = self.watch.counts['torque'], time.monotonic() + START_TIMEOUT
        while self.watch.counts['torque'] < known + 20 and time.monotonic() < end:
            yield 0.05
        self._starting = False

    def _set_payload(self, mass: float, link: str, com: list[float]) -> None:
        inertia = [0.01, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.0, 0.01] if mass > 0.0 else [0.0] * 9
        batch = [Parameter(name, value=value).to_parameter_msg() for name, value in (
            ('payload_link', link), ('payload_mass', mass), ('payload_com', com),
            ('payload_inertia', inertia))]
        self._set.call_async(SetParametersAtomically.Request(parameters=batch))

    def _payload(self, rng: np.random.Generator, event: Event) -> Steps:
        """Change the payload, once or several times in a row."""
        for _ in range(int(rng.integers(1, 4))):
            mass = float(rng.choice([0.0, 0.5, 3.0, -1.0, 1e9]))
            event.detail += f'{mass:g} kg '
            self._set_payload(mass, 'link7', rng.uniform(-0.1, 0.1, 3).tolist())
            yield float(rng.uniform(0.0, 0.7))

    # The end.

    @property
    def log(self) -> str:
        """What the present node has logged."""
        return self._logs[-1].read_text(errors='replace')

    def close(self) -> None:
        """End the node and the driver."""
        for path in self._logs:
            if 'Traceback' in (text := path.read_text(errors='replace')):
                self.failures.append(f'a traceback in {path.name}:\n{text[-3000:]}')
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10.0)
            except subprocess.TimeoutExpired:
                self.failures.append('SIGINT did not end the node within 10 s')
                kill(self.process)
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)
        remove_unused(KILLED)

    def report(self, most: int = 5) -> str:
        """Return what was seen."""
        watch = self.watch
        kinds = Counter(event.kind for event in self.events)
        lines = [
            f'seed {self.seed}, {len(self.events)} events: '
            + ', '.join(f'{kind} {count}' for kind, count in kinds.most_common()),
            'messages: ' + ', '.join(f'{key} {n}' for key, n in watch.counts.most_common()),
            'states: ' + ', '.join(f'{key} {n}' for key, n in Counter(
                one.word for one in watch.said).most_common()),
            'largest use of limits: ' + ', '.join(
                f'{name} {use:.4f}' for name, use in zip(
                    ('q', 'q̇', 'Q', 'Q̇', 'q̈', 'q⃛'), watch.use.max(axis=1), strict=True)),
            'largest residual between neighbours, of what may be: ' + ', '.join(
                f'{name} {one:.3g}' for name, one in zip(
                    ('q', 'q̇', 'Q', 'Q̇'), watch.residual, strict=True)),
            f"the driver's longest delay: {self.largest_delay * 1e3:.0f} ms",
            f'{len(watch.departures)} departures that ~/state explains:',
        ]
        lines += [f'  {n} × {why}' for why, n in Counter(
            one.explanation for one in watch.departures).most_common(20)]
        lines += [f'  e.g. {one.what}, {one.times} ×' for one in watch.departures[:most]]
        lines.append(f'{len(watch.violations) + len(self.failures)} violations')
        lines += self.failures[:most]
        for one in watch.violations[:most]:
            lines += [
                f'VIOLATION at {one.time:.3f}: {one.what}, {one.times} ×', *self._around(one)]
        return '\n'.join(lines)

    def _around(self, finding: Finding) -> list[str]:
        """Return what happened around a finding, in order."""
        moment = finding.time
        found = [
            (event.time, f'event {event.number} {event.kind}: {event.detail}')
            for event in self.events if -3 * WINDOW < event.time - moment < 0.5]
        found += [
            (one.time, f'state {one.word}: {one.reason}') for one in self.watch.said
            if abs(one.time - moment) < WINDOW]
        for cycle in finding.near:
            rows = np.array2string(cycle.rows, precision=5, max_line_width=200)
            found.append((
                cycle.time, f'stamp {cycle.stamp * 1e-9:.6f} q, q̇, Q, Q̇, Q̈:\n{rows}'))
        return [f'  {when - moment:+.3f} s {what}' for when, what in sorted(found)]


# What may happen, and how often.
ATTACKS = {
    'streaming': 10, 'plan': 8, 'holding': 2, 'silence': 3, 'push': 2, 'clock': 3, 'freeze': 4,
    'wrench': 3, 'rival': 1, 'deactivation': 1, 'payload': 2, 'restart': 0.3,
}


def main() -> int:
    """Lay siege from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--minutes', type=float, default=30.0)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--rate', type=float, default=250.0, help='of the driver, Hz')
    parser.add_argument('--events', help='only those of these numbers, such as 120-124')
    parser.add_argument('--most', type=int, default=5, help='violations shown')
    parser.add_argument('--quiet', action='store_true')
    given = parser.parse_args()
    numbers = None
    if given.events:
        first, _, last = given.events.partition('-')
        numbers = range(int(first), int(last or first) + 1)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ['FASTDDS_BUILTIN_TRANSPORTS'] = TRANSPORT
    os.environ['ROS_DOMAIN_ID'] = str(10 + os.getpid() % 90)
    with tempfile.TemporaryDirectory() as folder:
        siege = Siege(Path(folder), given.seed, given.rate)
        try:
            siege.run(60.0 * given.minutes, numbers, quiet=given.quiet)
        finally:
            siege.close()
        print(siege.report(given.most))
    return 1 if siege.failures or siege.watch.violations else 0


if __name__ == '__main__':
    sys.exit(main())
