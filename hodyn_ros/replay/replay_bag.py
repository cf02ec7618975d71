"""Replays a recording: writes the torques of each chunk, and compares them with efforts."""
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.estimation.derivatives import Noise
from hodyn_ros.estimation.message_counts import MessageCounts
from hodyn_ros.estimation.timing_statistics import TimingStatistics
from hodyn_ros.estimation.velocity_lag import VelocityLag
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.limits.margins import LimitMargin
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.replay.comparison import EffortComparison, JointComparison, Profile
from hodyn_ros.replay.computed_bag import computed_bag
from hodyn_ros.replay.computed_parquet import computed_parquet
from hodyn_ros.replay.computed_table import computed_table
from hodyn_ros.replay.diagnosis import Diagnosis, DiagnosisSamples
from hodyn_ros.replay.limit_watch import LimitWatch
from hodyn_ros.replay.recorded_torques import Chunk, RecordedTorques
from hodyn_ros.replay.standstill import STILL
from hodyn_ros.replay.traces import Trace
from hodyn_ros.robot import HodynError, Robot

SUPPORTED_SHARE = 0.25
"""A derivative is resolved if the RMS of its deviation is below this share of its own RMS."""


@dataclass
class Replay:
    """Result of a replay."""

    bag: str  #: Path of the bag
    robot: str  #: Name of the robot
    names: tuple[str, ...]  #: The driver's joint names in the robot's order
    counts: MessageCounts  #: Numbers of used and unused messages, with reasons
    joints: list[JointComparison]  #: Errors of each joint
    timing_statistics: TimingStatistics  #: Timing and faults of the stamps
    noise: Noise  #: Parameters of the smoother
    #: `motion_rms`, `motion_deviation`: (5, n): RMS of the estimated motion and of its standard
    #: deviation, rad/sᵏ
    motion_rms: Array
    motion_deviation: Array
    #: `torque_rms`, `torque_deviation`: (3, n): RMS of Q, Q̇, Q̈ and of their standard deviations,
    #: N m/sᵏ
    torque_rms: Array
    torque_deviation: Array
    #: `bandwidth`, `velocity_lag`: As in `RecordedMotion`
    bandwidth: float
    velocity_lag: VelocityLag
    friction_modelled: bool  #: Whether the robot has a friction law
    diagnosis: Diagnosis  #: What is wrong with the recording, if anything
    extremes: list[LimitMargin]  #: Extremes of the estimated motion, with the limits of the robot
    curves: 'Curves'  #: Data of the plots
    #: (int, int): receive times of the first and the last used message, ns
    received: tuple[int, int]
    #: `wanted_bandwidth`: Argument `bandwidth` of `replay`; `payload`, `moving_locked`: its
    #: arguments of these names
    wanted_bandwidth: float | None
    payload: tuple[str, ...]
    moving_locked: tuple[str, ...]
    #: How close the estimated motion came to each reflex of the vendor's controller
    reflexes: list[LimitMargin] = field(default_factory=list)

    @property
    def torque_supported(self) -> Flags:
        """Whether the recording resolves Q, Q̇, Q̈ of each joint, (3, n).

        Q̇ and Q̈ depend on the jerk and the snap of the joint, which must be resolved as well.
        """
        known = self.torque_deviation < SUPPORTED_SHARE * self.torque_rms
        known[1:] &= self.motion_supported[3:]
        return np.asarray(known)

    @property
    def motion_supported(self) -> Flags:
        """Whether the recording resolves q … q⁗ of each joint, (5, n)."""
        known = self.motion_deviation < SUPPORTED_SHARE * self.motion_rms
        return np.asarray(known | self.still)

    @property
    def still(self) -> Flags:
        """Whether each joint stands still, (n,), so that its derivatives count as resolved."""
        return np.asarray(self.motion_rms[1] < STILL)


class Curves:
    """Data of the plots, gathered chunk by chunk; memory does not grow with the recording."""

    def __init__(self, robot: Robot, names: tuple[str, ...], first: Chunk) -> None:
        n = robot.n
        #: `torques`: predicted effort (n), recorded effort (n) and their difference (n), NaN where
        #: the effort is cut, N m; `rates`: Q̇ (n), Q̈ (n), and their standard deviations (2 n)
        self.torques, self.rates = Trace(3 * n), Trace(4 * n)
        self.comparison = EffortComparison(names)  #: Statistics of the errors, with their spectrum
        reach = np.nanmax(np.abs(first.q[:, 1]), axis=0) * 1.3 + 1e-6
        fast = np.minimum(robot.limits.velocity, reach)
        #: Recorded effort minus rigid-body prediction, N m, as a function of velocity
        self.friction = Profile(-fast, fast)
        low, high = np.nanmin(first.q[:, 0], axis=0), np.nanmax(first.q[:, 0], axis=0)
        room = 0.5 * (high - low) + 1e-6
        #: Recorded effort minus prediction, N m, as a function of position
        self.over_position = Profile(
            np.maximum(low - room, robot.limits.position_min),
            np.minimum(high + room, robot.limits.position_max))
        self._robot = robot
        self.start = int(first.stamps[0])  #: Stamp of time 0, ns

    def add(self, chunk: Chunk) -> None:
        """Add a chunk."""
        predicted, recorded = chunk.predicted[:, 0], chunk.states.effort
        error = predicted - chunk.effort
        self.comparison.add(
            chunk.stamps, chunk.instants, chunk.predicted, chunk.effort, chunk.slow,
            chunk.q[:, 1:3])
        self.over_position.add(chunk.q[:, 0], error)
        friction = np.zeros_like(error)
        if self._robot.friction is not None:
            friction = self._robot.friction.torque(chunk.q)[:, 0]
        self.friction.add(chunk.q[:, 1], friction - error)
        time = (chunk.stamps - self.start) * 1e-9
        breaks = np.flatnonzero(chunk.begins)
        for trace, curves in (
                (self.torques, (predicted, recorded, error)),
                (self.rates, (chunk.torque[:, 1], chunk.torque[:, 2],
                              chunk.deviation[:, 1], chunk.deviation[:, 2]))):
            values = np.hstack(curves)
            # A message that begins a run follows a break of the curve.
            trace.add(np.insert(time, breaks, time[breaks]), np.insert(values, breaks, np.nan, 0))


def replay(
    bag: JointStateBag, feedforward: FeedForward, output: Path,
    progress: Callable[[int], None] | None = None, *, csv: bool = False,
    parquet: Path | None = None, bandwidth: float | None = None, payload: Sequence[str] = (),
    moving_locked: Sequence[str] = (), force: bool = False,
) -> Replay:
    """Compute the torques of a recorded motion and compare them with the recorded efforts.

    Parameters
    ----------
    bag : JointStateBag
        The open bag.
    feedforward : FeedForward
        Feed-forward of the robot, the same code as in the node.
    output : Path
        Folder for the bag ``computed`` (and ``computed.csv``), written chunk by chunk.
    progress : callable, optional
        Called with the number of messages done since the last call.
    csv : bool
        Write ``computed.csv`` as well.
    parquet : Path, optional
        File for the motion and its torques, see `computed_parquet`.
    bandwidth : float, optional
        Bandwidth of the estimated motion, Hz; the most likely one by default.
    payload : sequence of str
        The loads given for this replay; if the model fits badly, they are named as suspects.
    moving_locked : sequence of str
        Sentences of `dependent_but_elsewhere` about locked and following joints.
    force : bool
        Whether existing files are replaced, see `common.output_files.replacing`.

    Raises
    ------
    HodynError
        When the bag has no usable joint states. For a damaged bag the result covers what could be
        read, and its `counts` say what is lost.
    OSError
        When the output cannot be written.

    """
    robot = feedforward.robot
    torques = RecordedTorques(bag, feedforward, bandwidth=bandwidth)
    motion = torques.motion
    output.mkdir(parents=True, exist_ok=True)
    curves: Curves | None = None
    watch = LimitWatch(feedforward, bag.names)
    judged = DiagnosisSamples(robot)
    squares = [np.zeros((k, robot.n)) for k in (5, 5, 3, 3)]
    received: list[int] = []
    with ExitStack() as stack:
        write_bag = stack.enter_context(computed_bag(output / 'computed', bag.names, force=force))
        write_rows = []
        if csv:
            write_rows.append(stack.enter_context(
                computed_table(output / 'computed.csv', bag.names, force=force)))
        if parquet is not None:
            write_rows.append(stack.enter_context(
                computed_parquet(parquet, robot.joint_names, force=force)))
        for chunk in torques.chunks(progress):
            used = chunk[chunk.used]
            if curves is None and len(used.stamps):
                curves = Curves(robot, bag.names, chunk)
            if curves is not None:
                curves.add(chunk)
            if not len(used.stamps):
                continue
            watch.add(used)
            judged.add(used)
            for total, values in zip(
                    squares, (used.q, used.q_deviation, used.torque, used.deviation), strict=True):
                total += np.sum(values ** 2, axis=0)
            write_bag(used.states.stamp, used.states.received, used.q, used.torque)
            for write in write_rows:
                write(used)
            received.extend(used.states.received[[0, -1]].tolist())
    counts = motion.counts
    if curves is None:
        raise HodynError(f'{bag.path}: {" ".join(counts.sentences)}')
    for trace in (curves.torques, curves.rates):
        trace.end()
    rms = [np.sqrt(total / counts.used) for total in squares]
    result = Replay(
        bag=str(bag.path), robot=robot.name, names=bag.names, counts=counts,
        joints=curves.comparison.joints,
        timing_statistics=motion.timing_statistics, noise=motion.noise, motion_rms=rms[0],
        motion_deviation=rms[1], torque_rms=rms[2], torque_deviation=rms[3],
        bandwidth=motion.bandwidth, velocity_lag=motion.velocity_lag,
        friction_modelled=robot.friction is not None,
        diagnosis=judged.diagnosis(feedforward, bag.names, torques.efforts),
        extremes=watch.extremes, curves=curves, received=(received[0], received[-1]),
        wanted_bandwidth=bandwidth, payload=tuple(payload), moving_locked=tuple(moving_locked))
    return replace(result, reflexes=watch.reflexes(
        result.motion_supported, result.torque_supported))
