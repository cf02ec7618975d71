"""Errors of a written robot file, on the motion of its fit and on held-out motion."""
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
import warnings

import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices
from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.identify import MIN_BLOCKS, identify
from hodyn_ros.identification.recordings import FOLDS, STRETCH, Recording, Source
from hodyn_ros.identification.robot_writer import write_robot
from hodyn_ros.replay.comparison import Lag
from hodyn_ros.robot import Robot

# Held-out errors are worse if they exceed the given robot's by this ratio, and their squares
# exceed its squares by this number of standard deviations.
_WORSE, _DEVIATIONS = 1.01, 2.0


@dataclass(frozen=True, eq=False)
class Validation:
    """RMS errors, N m, of predictions by robot files; NaN for joints without measured efforts."""

    #: `before`, `after`: (n,): errors of the given robot and of the written file, over all motion,
    #: each with its own gains
    before: Array
    after: Array
    #: (n,): `before` times the ratio of the found gains to the given ones, to compare with `after`
    before_by_gains_found: Array
    bags: list[Array]  #: list of (n,) arrays: `after` for each recording
    #: (n,): errors over all motion, each part predicted by a file that was written without it
    held_out: Array
    #: (n,): `held_out` without each recording's mean error: the offset of a sensor
    held_out_less_mean: Array
    held_out_of_bags: list[Array]  #: list of (n,) arrays: the same for each recording
    #: (n,): whether `held_out` exceeds `before_by_gains_found` by more than 1 % and by two
    #: standard deviations over blocks of time
    worse: Flags
    by_bag: bool  #: Whether whole recordings were held out; otherwise stretches of each
    #: How late the efforts of each recording are, see `Motion.lag_behind`
    lags: list[Lag]


class Folds:
    """The parts to hold out in turn: whole recordings if there are enough, otherwise stretches."""

    def __init__(self, recordings: Sequence[Recording], data: Data) -> None:
        loaded = np.array([recording.loaded for recording in recordings])
        number = np.where(loaded, np.cumsum(loaded), np.cumsum(~loaded)) - 1
        self.count = min(FOLDS, int(np.unique(loaded, return_counts=True)[1].min()))
        self._of_bag = number % self.count
        self.by_bag = self.count > 1 and all(
            data[self._of_bag[data.bag] != k].blocks_of_motion >= MIN_BLOCKS
            for k in range(self.count))
        if not self.by_bag:
            self.count = FOLDS

    def of(self, bag: Indices, block: Indices) -> Indices:
        """Return the number of the part that samples belong to."""
        return self._of_bag[bag] if self.by_bag else block // STRETCH % self.count


class BlockErrors:
    """Sums of the errors of several robots, (robots, joints) at each sample, over blocks of time.

    Within a block, errors are correlated.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self._blocks: defaultdict[tuple[int, int], Array] = defaultdict(
            lambda: np.zeros((3, *shape)))

    def add(self, bag: int, block: Indices, error: Array) -> None:
        """Add errors, (T, robots, joints), of a recording; NaN does not count."""
        known = np.isfinite(error)
        error = np.where(known, error, 0.0)
        powers = np.stack([known, error, error ** 2], axis=1)
        for number in np.unique(block):
            self._blocks[bag, int(number)] += powers[block == number].sum(axis=0)

    def of_bags(self) -> dict[int, Array]:
        """Return count, sum and sum of squares of each recording, (3, robots, joints)."""
        out: dict[int, Array] = {}
        for (bag, _), sums in self._blocks.items():
            out[bag] = out.get(bag, 0.0) + sums
        return out

    def excess(self, robot: int, other: int, factor: Array) -> Flags:
        """Return for which joints one robot's squared errors exceed another's significantly.

        The errors of the other robot are multiplied by `factor`, (n,).
        """
        squares = np.array([sums[2] for sums in self._blocks.values()])
        more = squares[:, robot] - factor ** 2 * squares[:, other]
        return np.asarray(
            more.mean(axis=0) > _DEVIATIONS * more.std(axis=0, ddof=1) / np.sqrt(len(more)))


def _rms(sums: Array) -> Array:
    """Return the RMS from count, sum and sum of squares."""
    return np.asarray(np.sqrt(sums[2] / np.where(sums[0] > 0.0, sums[0], np.nan)))


def _gain(robot: Robot) -> Array:
    return np.ones(robot.n) if robot.effort_gain is None else robot.effort_gain


def _error(feedforward: FeedForward, q: Array, effort: Array, gravity: bool) -> Array:
    """Return the prediction minus the effort times the robot's gain, (T, n), N m."""
    return np.asarray(
        feedforward.torque(q, gravity=gravity)[:, 0] - _gain(feedforward.robot) * effort)


def validate(
    robot_source: str, source: Source, recordings: Sequence[Recording], data: Data,
    terms: Collection[str], found: Estimate, *, each_bag: bool = False,
) -> Validation:
    """Judge an estimate by the robot files written from it, read back.

    Each part of the motion, see `Folds`, is predicted by a file identified from the other parts.
    """
    robot = source.robot
    folds = Folds(recordings, data)
    fold = folds.of(data.bag, data.block)
    with TemporaryDirectory() as name:

        def written(estimate: Estimate) -> dict[bool, FeedForward]:
            """Return the feed-forward of the file, for arms with and without the payload."""
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')  # the file that is kept warns of its values
                return {
                    loaded: FeedForward(write_robot(
                        robot_source, robot, estimate, Path(name) / 'robot.yaml', payload=loaded,
                        force=True))
                    for loaded in {recording.loaded for recording in recordings}}

        former, whole = written(Estimate()), written(found)
        try:
            apart = [
                written(identify(robot, data[fold != k], terms, each_bag=each_bag, begin=found))
                for k in range(folds.count)]
        except HodynError as error:
            raise HodynError(f'without the held-out part: {error}') from None
    # Efforts as recorded: each file knows its own gain.
    recorded = 1.0 / _gain(robot)
    gain_factors = np.abs(found.gain_factors(robot))
    errors = BlockErrors((3, robot.n))
    for bag, recording in enumerate(recordings):
        for piece in source.motion(recording.path).pieces():
            effort, loaded = piece.effort * recorded, recording.loaded
            given = _error(former[loaded], piece.q, effort, data.gravity)
            held_out = np.empty_like(given)
            part = folds.of(np.full(len(effort), bag), piece.block)
            for k in np.unique(part):
                mine = part == k
                held_out[mine] = _error(
                    apart[k][loaded], piece.q[mine], effort[mine], data.gravity)
            found_error = _error(whole[loaded], piece.q, effort, data.gravity)
            errors.add(bag, piece.block, np.stack([given, found_error, held_out], axis=1))
    # The lag allows for errors of friction and inertia, but errors of links, payload and zeros
    # resemble a lag.
    moved = found.links or found.payload is not None or 'zero' in found.joints
    of_bags = errors.of_bags()
    together = np.sum(list(of_bags.values()), axis=0)
    before, after, held_out = _rms(together)
    less_mean = {
        bag: np.stack([*sums[:2], sums[2] - sums[1] ** 2 / np.maximum(sums[0], 1.0)])
        for bag, sums in of_bags.items()}
    bags = range(len(recordings))
    worse = (held_out > _WORSE * gain_factors * before) & errors.excess(2, 0, gain_factors)
    return Validation(
        before, after, gain_factors * before,
        [_rms(of_bags[bag])[1] for bag in bags], held_out,
        _rms(np.sum(list(less_mean.values()), axis=0))[2],
        [_rms(less_mean[bag])[2] for bag in bags], worse, folds.by_bag, [
            source.motion(recording.path).lag_behind(
                model, terms, recorded * _gain(model.robot), gravity=data.gravity)
            for recording in recordings
            for model in [(whole if moved else former)[recording.loaded]]])
