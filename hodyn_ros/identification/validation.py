"""What a written robot file is worth, on the motion it is from and on motion held out from it."""
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.estimate import MIN_BLOCKS, Estimate, identify
from hodyn_ros.identification.recordings import (
    FOLDS,
    STRETCH,
    Blocks,
    Recording,
    Source,
    stream,
)
from hodyn_ros.identification.robot_writer import write_robot
from hodyn_ros.robot.files import load_robot

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Validation:
    """RMS errors in N m of robots that were read from files, against the recorded efforts.

    Attributes
    ----------
    before, after : (n,) arrays
        Of the robot as it was and of the written file, over all motion.
    bags : list of (n,) arrays
        `after` of each recording alone.
    held_out : (n,) array
        Over all motion, of files written without the part that they are judged by.
    held_out_less_mean : (n,) array
        `held_out` without each recording's mean error: the offset of a sensor.
    by_bag : bool
        Whether whole recordings were held out, else stretches of each.

    """

    before: Array
    after: Array
    bags: list[Array]
    held_out: Array
    held_out_less_mean: Array
    by_bag: bool


class Folds:
    """Which motion is held out together: whole recordings where there are enough of each kind."""

    def __init__(self, recordings: Sequence[Recording], data: Data) -> None:
        seen: dict[bool, int] = {}
        numbers = []
        for recording in recordings:
            numbers.append(seen.get(recording.loaded, 0))
            seen[recording.loaded] = numbers[-1] + 1
        self.by_bag = min(seen.values()) > 1
        self.count = min(FOLDS, *seen.values()) if self.by_bag else FOLDS
        self._of_bag = np.array(numbers) % self.count
        self.by_bag = self.by_bag and all(
            len(np.unique(data.block[self._of_bag[data.bag] != k])) >= MIN_BLOCKS
            for k in range(self.count))
        if not self.by_bag:
            self.count = FOLDS

    def of(self, bag: Blocks, block: Blocks) -> Blocks:
        """Return the number of the part that samples belong to."""
        return self._of_bag[bag] if self.by_bag else block // STRETCH % self.count


class _Errors:
    """Sums of the errors of one robot, recording by recording."""

    def __init__(self, bags: int, n: int) -> None:
        self.count, self.sum, self.square = np.zeros((3, bags, n))

    def add(self, bag: int, error: Array) -> None:
        known = np.isfinite(error)
        error = np.where(known, error, 0.0)
        self.count[bag] += known.sum(axis=0)
        self.sum[bag] += error.sum(axis=0)
        self.square[bag] += (error ** 2).sum(axis=0)

    def rms(self, bag: int | None = None) -> Array:
        square, count = (
            values.sum(axis=0) if bag is None else values[bag]
            for values in (self.square, self.count))
        return np.asarray(np.sqrt(square / np.maximum(count, 1.0)))

    def less_mean(self) -> Array:
        left = self.square - self.sum ** 2 / np.maximum(self.count, 1.0)
        return np.asarray(np.sqrt(left.sum(axis=0) / np.maximum(self.count.sum(axis=0), 1.0)))


class _Judge:
    """The feed-forward of a file, for arms with and without the payload."""

    def __init__(self, write: Callable[[Path, bool], None], folder: Path) -> None:
        self._feedforward = {}
        for loaded in (True, False):
            file = folder / f'{loaded}.yaml'
            write(file, loaded)
            self._feedforward[loaded] = FeedForward(load_robot(file))

    def error(self, q: Array, effort: Array, loaded: bool, gravity: bool) -> Array:
        feedforward = self._feedforward[loaded]
        gain = feedforward.robot.effort_gain
        return np.asarray(feedforward.torque(q, gravity=gravity)[:, 0] - (
            effort if gain is None else gain * effort))


def validate(
    robot_source: str, source: Source, recordings: Sequence[Recording], data: Data,
    terms: Collection[str], found: Estimate, *, each_bag: bool = False,
) -> Validation:
    """Judge what was found by the files written from it, read back.

    Each part of the motion, see `Folds`, is predicted by the file of what is identified from the
    other ones.
    """
    robot = source.robot
    folds = Folds(recordings, data)
    fold = folds.of(data.bag, data.block)
    with TemporaryDirectory() as name:

        def judge(label: str, estimate: Estimate) -> _Judge:
            folder = Path(name) / label
            folder.mkdir()
            return _Judge(
                lambda file, loaded: write_robot(
                    robot_source, robot, estimate, file, payload=loaded), folder)

        former = judge('before', _gains_alone(found))
        whole = judge('after', found)
        try:
            apart = [
                judge(str(k), identify(
                    robot, data[fold != k], terms, each_bag=each_bag, begin=found))
                for k in range(folds.count)]
        except HodynError as error:
            raise HodynError(f'without the part that is held out to judge it: {error}') from None
    # Efforts as recorded: each file knows its own gain.
    recorded = 1.0 if robot.effort_gain is None else 1.0 / robot.effort_gain
    before, after, held_out = (_Errors(len(recordings), robot.n) for _ in range(3))
    for bag, recording in enumerate(recordings):

        def take(
            q: Array, effort: Array, block: Blocks, gravity: bool, _: int,
            bag: int = bag, loaded: bool = recording.loaded,
        ) -> None:
            effort = effort * recorded
            before.add(bag, former.error(q, effort, loaded, gravity))
            after.add(bag, whole.error(q, effort, loaded, gravity))
            part = folds.of(np.full(len(q), bag), block)
            for k, other in enumerate(apart):
                mine = part == k
                if mine.any():
                    held_out.add(bag, other.error(
                        np.ascontiguousarray(q[mine]), effort[mine], loaded, gravity))

        stream(recording, source, take)
    return Validation(
        before.rms(), after.rms(), [after.rms(bag) for bag in range(len(recordings))],
        held_out.rms(), held_out.less_mean(), folds.by_bag)


def _gains_alone(found: Estimate) -> Estimate:
    """Return nothing but the gains, without which efforts in other units cannot be compared."""
    gains = {key: found.joints[key] for key in found.joints if key == 'effort_gain'}
    return Estimate(joints=gains)
