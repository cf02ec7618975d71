"""What is played to a live node so that it evaluates the recorded motion, and its answers.

The estimated motion is a smoothing spline: of all motions through its own positions, velocities
and accelerations at the samples it is the one with the least ∫(q⁽⁵⁾)², which is also what the node
puts through the points of a trajectory. So a trajectory with these points makes the node evaluate
the estimate itself, jerk and snap too, although no message carries them.
"""
from dataclasses import dataclass
from math import factorial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_trajectory import decode, encode
from hodyn_ros.plans.prepare import PlanRequest, PlanSettings, prepare_plan
from hodyn_ros.plans.waypoints import MIN_SPACING
from hodyn_ros.replay.computed_bag import ComputedBag
from hodyn_ros.replay.recorded_torques import Chunk
from hodyn_ros.robot import HodynError, Robot

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

INTERPOLATION = 'global'
APPROACH = 1_000_000_000
"""From rest to the motion, from one run to the next, and to rest again, ns."""

AGREEMENT = 1e-9
"""What doubles may differ by after two ways through the same formulas, of the largest value."""

_EXTENSION = 8  # points by which runs are continued: the approach must not change their ends
_SECOND = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Playback:
    """States to be published and the trajectory that goes with them.

    Attributes
    ----------
    names : tuple of str
        The driver's joint names, in the robot's order.
    start : int
        Stamp of the trajectory, ns; the node is to hold `position[0]` from APPROACH before it.
    trajectory : bytes
        A serialized JointTrajectory.
    stamps : (K,) int64 array
        Stamps of the states, ns, increasing. Those of the recording are moved by a constant where
        it begins near time 0, and runs after the first so that each follows the one before.
    position, velocity : (K, n) arrays
        As recorded, rad, rad/s; velocities NaN where not recorded.
    sample : (S,) int array
        Which of the states are samples of the recording; the others wait for the next.
    offline : (S, 3, n) array
        Q, Q̇, Q̈ of the trajectory at the samples, computed without the node.
    estimate : (S, 3, n) array
        The same of the estimated motion, as the offline replay has it.

    """

    names: tuple[str, ...]
    start: int
    trajectory: bytes
    stamps: Stamps
    position: Array
    velocity: Array
    sample: NDArray[np.intp]
    offline: Array
    estimate: Array


@dataclass(frozen=True, eq=False)
class Agreement:
    """How the node's answers differ from what was computed offline.

    Attributes
    ----------
    played, samples : int
        Samples that were played, and those that the node answered: these are compared.
    worst_difference : (3,) array
        The largest differences of Q, Q̇, Q̈ from the same trajectory computed offline.
    worst_from_estimate : (3,) array
        The same from the offline replay, whose jerk and snap the node was not told.
    peak : (3,) array
        The largest |Q|, |Q̇|, |Q̈| offline.

    """

    played: int
    samples: int
    worst_difference: Array
    worst_from_estimate: Array
    peak: Array

    @property
    def holds(self) -> bool:
        """Whether they agree to round-off."""
        return bool(np.all(self.worst_difference <= AGREEMENT * self.peak))


class PlaybackBuilder:
    """Gathers the samples of a replay, chunk by chunk, and makes a `Playback` of them."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Stamps, Array, Array, Array, Array]] = []
        self._begins: list[NDArray[np.bool_]] = []
        self._last = 0

    def add(self, chunk: Chunk) -> None:
        """Add a chunk; of messages that repeat a sample, the first stands for it."""
        used = np.flatnonzero(chunk.used)
        if not len(used):
            return
        begins, instants = chunk.begins[used], chunk.instants[used]
        ahead = np.diff(instants, prepend=self._last if self._pieces else instants[0])
        kept = begins | (ahead > 1e9 * MIN_SPACING)
        used = used[kept]
        if len(used):
            self._last = int(chunk.instants[used[-1]])
            self._begins.append(begins[kept])
            self._pieces.append((
                chunk.instants[used], chunk.states.position[used], chunk.states.velocity[used],
                chunk.q[used], chunk.torque[used]))

    def build(self, names: tuple[str, ...], robot: Robot, prefix: str = '') -> Playback:
        """Return what to play.

        Parameters
        ----------
        names : tuple of str
            The driver's joint names, in the robot's order.
        robot : Robot
            The node's; its limits are those that the motion is judged by.
        prefix : str
            The node's parameter joint_prefix.

        Raises
        ------
        HodynError
            When the node would refuse the trajectory.

        """
        instants, position, velocity, q, torque = (
            np.concatenate(column) for column in zip(*self._pieces, strict=True))
        begins = np.flatnonzero(np.concatenate(self._begins))
        runs = [slice(a, b) for a, b in zip(begins, [*begins[1:], len(instants)], strict=True)]
        times, knots, stamps = [], [], np.empty_like(instants)
        start, clock = 0, 0
        for run in runs:
            run_times, run_knots = _extended(instants[run], q[run])
            if run.start == 0:
                start = int(run_times[0]) - APPROACH
                # Stamp 0 means "now" to the node, and stamps below it are none.
                start += max(0, -(-(2 * _SECOND + APPROACH - start) // _SECOND)) * _SECOND
                clock = start
            shift = clock + APPROACH - int(run_times[0])
            stamps[run] = instants[run] + shift
            times.append(run_times + shift)
            knots.append(run_knots)
            clock = int(times[-1][-1])
        rest = np.zeros((1, *q.shape[1:]))
        rest[0, 0] = q[-1, 0]
        motion = np.concatenate([*knots, rest])
        from_start = (np.concatenate([*times, [clock + APPROACH]]) - start) * 1e-9
        feedforward = FeedForward(robot)
        trajectory = encode(
            names, from_start, motion, feedforward.torque(motion)[:, 0], start)
        held = np.zeros(q.shape[1:])
        held[0] = position[0]
        # The very points that are sent, prepared as the node prepares them.
        prepared = prepare_plan(PlanRequest(
            decode(trajectory), robot,
            PlanSettings(stretch='off', interpolation=INTERPOLATION, joint_prefix=prefix),
            start=held))
        if prepared.plan is None or prepared.refusal:
            raise HodynError(f'the recorded motion cannot be played: {prepared.refusal}')
        offline = feedforward.torque(prepared.plan.evaluate((stamps - start) * 1e-9))
        order, source = _filled(stamps, start)
        return Playback(
            names, start, trajectory, order, position[source], velocity[source],
            np.searchsorted(order, stamps), offline, torque)


def compare_answers(playback: Playback, answers: Array) -> Agreement:
    """Compare the node's Q, Q̇, Q̈ at the samples, (S, 3, n), NaN where none came."""
    known = np.isfinite(answers).all(axis=(1, 2))
    if not known.any():
        raise HodynError('the node answered none of the samples')
    worst, from_estimate = (
        np.abs(answers[known] - other[known]).max(axis=(0, 2))
        for other in (playback.offline, playback.estimate))
    return Agreement(
        len(answers), int(np.count_nonzero(known)), worst, from_estimate,
        np.abs(playback.offline[known]).max(axis=(0, 2)))


def write_answers(
    path: Path, playback: Playback, motion: Array, torque: Array, *, force: bool = False,
) -> None:
    """Write the node's answers, (S, 2, n) and (S, 3, n), NaN where none came, to a bag."""
    known = np.isfinite(torque).all(axis=(1, 2))
    stamps = playback.stamps[playback.sample][known]
    with ComputedBag(path, playback.names, force=force) as answers:
        answers.write(stamps, stamps, motion[known], torque[known])


def _extended(instants: Stamps, q: Array) -> tuple[Stamps, Array]:
    """Continue a run as its smoothing spline does beyond the samples: q⁗ stays what it is."""
    steps = int(np.median(np.diff(instants))) * np.arange(1, _EXTENSION + 1)
    ahead = np.asarray(steps * 1e-9, dtype=np.float64)
    return (
        np.concatenate([instants[0] - steps[::-1], instants, instants[-1] + steps]),
        np.concatenate([
            _continued(q[0], -ahead[::-1]), q, _continued(q[-1], ahead)]))


def _continued(state: Array, times: Array) -> Array:
    out = np.zeros((len(times), *state.shape))
    for k in range(len(state)):
        for j in range(k, len(state)):
            out[:, k] += np.multiply.outer(times ** (j - k) / factorial(j - k), state[j])
    return out


def _filled(stamps: Stamps, start: int) -> tuple[Stamps, NDArray[np.intp]]:
    """Return stamps with more where the driver would be silent, and which sample each shows."""
    step = int(np.median(np.diff(stamps)))
    pieces, source = [np.arange(start - APPROACH, stamps[0], step)], [0]
    for i in np.flatnonzero(np.diff(stamps) >= APPROACH):
        pieces.append(np.arange(stamps[i] + step, stamps[i + 1], step))
        source.append(int(i))
    order = np.concatenate([stamps, *pieces])
    shown = np.concatenate([
        np.arange(len(stamps)),
        *(np.full(len(piece), i) for piece, i in zip(pieces, source, strict=True))])
    sorting = np.argsort(order, kind='stable')
    return order[sorting], shown[sorting]
