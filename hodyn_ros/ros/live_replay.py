"""A recording played to a live node, on the recording's clock."""
from collections.abc import Callable
from functools import partial
import os
from pathlib import Path
import time

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
from numpy.typing import NDArray
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rich.console import Console
from rich.progress import Progress
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.messages import cdr
from hodyn_ros.replay.playback import APPROACH, INTERPOLATION, Playback
from hodyn_ros.robot import HodynError
from hodyn_ros.ros.feedforward_node import PLAN_QOS
from hodyn_ros.ros.outputs import LATCHED_QOS
from hodyn_ros.ros.processes import local_ros, process, spin
from hodyn_ros.ros.session import MAX_PLAN_BYTES
from hodyn_ros.ros.spinning import executor_of

Array = NDArray[np.float64]

START_TIMEOUT = 120.0
ANSWER_TIMEOUT = 1.0
SETTLING = 0.5
WAITING_PERIOD = 0.02
WAITING_STEP = 10_000  # ns by which the clock advances in a waiting period: next to nothing
STATE_TIMEOUT = 60.0  # recordings may pause, and the machine may be busy
MAX_GAP = 60.0
QUEUE = QoSProfile(depth=1000)


def play(playback: Playback, robot_file: Path, prefix: str) -> tuple[Array, Array]:
    """Play states and trajectory to a node of its own; return what it answered at the samples.

    Parameters
    ----------
    playback : Playback
        What is played.
    robot_file : Path
        The node's robot.
    prefix : str
        The node's parameter joint_prefix.

    Returns
    -------
    motion, torque : (S, 2, n) and (S, 3, n) arrays
        Positions and velocities, and Q, Q̇, Q̈; NaN at samples without an answer.

    Raises
    ------
    HodynError
        When the node does not start, ends, or refuses the trajectory.

    """
    if len(playback.trajectory) > MAX_PLAN_BYTES:
        raise HodynError(
            f'{len(playback.sample)} samples are more than the node takes in one '
            f'trajectory of {MAX_PLAN_BYTES} bytes: play a part of the recording')
    with local_ros():
        return _play(playback, robot_file, prefix)


class _Player(Node):
    """The driver's side: publishes clock and states, and keeps the node's answers."""

    def __init__(self, namespace: str, playback: Playback) -> None:
        super().__init__('player', namespace=namespace)
        self.state = ''
        self.refusal = ''
        self.accepted: int | None = None
        samples, n = len(playback.sample), len(playback.names)
        self.motion = np.full((samples, 2, n), np.nan)
        self.torque = np.full((samples, len(TORQUE_NAMES), n), np.nan)
        stamps = playback.stamps[playback.sample].tolist()
        self._places = {stamp: i for i, stamp in enumerate(stamps)}
        self._answered = dict.fromkeys(TORQUE_NAMES, 0)
        self._playback = playback
        self._clock_publisher = self.create_publisher(Clock, 'clock', QUEUE)
        self._states = self.create_publisher(JointState, 'joint_states', QUEUE)
        self.trajectory = self.create_publisher(
            JointTrajectory, 'feedforward/joint_trajectory', PLAN_QOS)
        self.create_subscription(
            DiagnosticStatus, 'feedforward/state', self._on_state, LATCHED_QOS)
        self.create_subscription(DiagnosticArray, 'diagnostics', self._on_diagnostics, QUEUE)
        self.create_subscription(
            JointTrajectory, 'feedforward/annotated_trajectory', self._on_accepted, LATCHED_QOS,
            raw=True)
        for order, name in enumerate(TORQUE_NAMES):
            self.create_subscription(
                JointState, f'feedforward/{name}', partial(self._keep, order, name), QUEUE)

    @property
    def is_matched(self) -> bool:
        """Whether the node is there with all its topics."""
        senders = all(self.count_publishers(f'feedforward/{name}') for name in TORQUE_NAMES)
        return bool(senders and self.state and all(
            publisher.get_subscription_count()
            for publisher in (self._clock_publisher, self._states, self.trajectory)))

    def has_answered(self, stamp: int) -> bool:
        """Whether all answers to a state have come."""
        return all(answered >= stamp for answered in self._answered.values())

    def show(self, index: int, stamp: int) -> None:
        """Set the clock to a stamp (ns), and publish a state with it."""
        playback = self._playback
        at = Time(sec=stamp // 10**9, nanosec=stamp % 10**9)
        self._clock_publisher.publish(Clock(clock=at))
        message = JointState(
            name=list(playback.names), position=playback.position[index].tolist())
        if np.isfinite(playback.velocity[index]).all():
            message.velocity = playback.velocity[index].tolist()
        message.header.stamp = at
        self._states.publish(message)

    def _keep(self, order: int, name: str, message: JointState) -> None:
        stamp = cdr.nanoseconds(message.header.stamp)
        self._answered[name] = max(self._answered[name], stamp)
        place = self._places.get(stamp)
        if place is not None and tuple(message.name) == self._playback.names:
            self.torque[place, order] = message.effort
            self.motion[place] = message.position, message.velocity

    def _on_state(self, message: DiagnosticStatus) -> None:
        self.state = message.message

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            for entry in status.values:
                if entry.key == 'last rejected joint_trajectory':
                    self.refusal = entry.value

    def _on_accepted(self, data: bytes) -> None:
        self.accepted = cdr.stamp(data)


def _play(playback: Playback, robot_file: Path, prefix: str) -> tuple[Array, Array]:
    namespace = f'/hodyn_replay_{os.getpid()}'
    player = _Player(namespace, playback)
    parameters = [
        f'robot:={robot_file}', 'use_sim_time:=true', f'interpolation:={INTERPOLATION}',
        f'state_timeout:={STATE_TIMEOUT}',
        # What was recorded counts, gaps and departures too.
        f'max_time_step:={MAX_GAP}', 'tracking_tolerance:=[-1.0]']
    if prefix:
        parameters.append(f'joint_prefix:={prefix}')
    with (
        executor_of(player) as executor,
        Progress(console=Console(stderr=True), transient=True) as progress,
        # The absolute topics are its own as well: it must not hear another clock. That states
        # come late, from here, is nothing to warn of.
        process(
            namespace, 'feedforward_node', *parameters, log_level='error',
            remappings=(f'/clock:={namespace}/clock', f'/diagnostics:={namespace}/diagnostics'),
        ) as node,
    ):
        task = progress.add_task('starting the node', total=None)

        def alive() -> None:
            if node.poll() is not None:
                raise HodynError(
                    f'the node ended with code {node.returncode}: see its messages above')

        stamp = _make_ready(player, executor, playback, alive)
        progress.update(task, description='playing to the node', total=len(playback.stamps))
        _perform(player, executor, playback, stamp, alive, partial(progress.advance, task))
    return player.motion, player.torque


def _make_ready(
    player: _Player, executor: Executor, playback: Playback, alive: Callable[[], None],
) -> int:
    """Start the node where the motion begins and have it take the trajectory.

    Returns the stamp at which the clock stands then.
    """
    if not spin(executor, START_TIMEOUT, alive, lambda: player.is_matched):
        raise HodynError(f'the node did not start within {START_TIMEOUT:g} s')
    spin(executor, SETTLING, alive)
    stamp = playback.start - APPROACH

    def hold(seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        # The clock almost stands still until the plan is there, whose start is a stamp.
        nonlocal stamp
        end = time.monotonic() + seconds
        while not (done := until()) and time.monotonic() < end:
            alive()
            player.show(0, stamp)
            stamp += WAITING_STEP
            spin(executor, WAITING_PERIOD)
        return done

    if not hold(START_TIMEOUT, lambda: player.state == 'holding'):
        raise HodynError(f'the node did not answer within {START_TIMEOUT:g} s')
    hold(SETTLING)
    player.trajectory.publish(playback.trajectory)
    hold(START_TIMEOUT, lambda: player.accepted is not None or bool(player.refusal))
    if player.refusal:
        raise HodynError(f'the node refused the recorded motion: {player.refusal}')
    if player.accepted != playback.start:
        raise HodynError(f'the node had no plan within {START_TIMEOUT:g} s')
    return stamp


def _perform(
    player: _Player, executor: Executor, playback: Playback, now: int,
    alive: Callable[[], None], advance: Callable[[], None],
) -> None:
    """Play the states as fast as they were recorded, each when the one before is answered."""
    begin = time.monotonic()
    stamps: list[int] = playback.stamps.tolist()
    for index, stamp in enumerate(stamps):
        if stamp >= now:
            spin(executor, begin + (stamp - now) * 1e-9 - time.monotonic(), alive)
            player.show(index, stamp)
            spin(executor, ANSWER_TIMEOUT, alive, partial(player.has_answered, stamp))
        advance()
