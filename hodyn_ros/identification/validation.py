"""What a written robot file is worth, on the motion it is from and on motion held out from it."""
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.identify import MIN_BLOCKS, identify
from hodyn_ros.identification.recordings import (
    FOLDS,
    STRETCH,
    Blocks,
    Recording,
    Source,
    stream,
)
from hodyn_ros.identification.robot_writer import write_robot
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

_WORSE, _DEVIATIONS = 1.01, 2.0  # of errors held out: less is of no account, or chance


@dataclass(frozen=True, eq=False)
class Validation:
    """RMS errors in N m of robots that were read from files, against the recorded efforts.

    Attributes
    ----------
    before, after : (n,) arrays
        Of the robot as it was and of the written file, over all motion, each by its own gains.
    before_by_gains_found : (n,) array
        `before` times what the gains changed by: errors of one unit of effort are comparable.
    bags : list of (n,) arrays
        `after` of each recording alone.
    held_out : (n,) array
        Over all motion, of files written without the part that they are judged by.
    held_out_less_mean : (n,) array
        `held_out` without each recording's mean error: the offset of a sensor.
    worse : (n,) bool array
        Whether `held_out` is beyond `before_by_gains_found` by more than 1 % and two standard
        deviations, by the spread over blocks of time.
    by_bag : bool
        Whether whole recordings were held out, else stretches of each.

    """

    before: Array
    after: Array
    before_by_gains_found: Array
    bags: list[Array]
    held_out: Array
    held_out_less_mean: Array
    worse: NDArray[np.bool_]
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
            data[self._of_bag[data.bag] != k].blocks_of_motion >= MIN_BLOCKS
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


class _Excess:
    """What squared errors are larger by, in blocks of time: the errors of a block are alike."""

    def __init__(self, n: int) -> None:
        self._sums: defaultdict[tuple[int, int], Array] = defaultdict(lambda: np.zeros(n))

    def add(self, bag: int, block: Blocks, held_out: Array, before: Array) -> None:
        excess = np.nan_to_num(held_out ** 2 - before ** 2)
        for number in np.unique(block):
            self._sums[bag, int(number)] += excess[block == number].sum(axis=0)

    def is_significant(self) -> NDArray[np.bool_]:
        sums = np.array(list(self._sums.values()))
        return np.asarray(
            sums.mean(axis=0) > _DEVIATIONS * sums.std(axis=0, ddof=1) / np.sqrt(len(sums)))


class _Judge:
    """The feed-forward of a file, for arms with and without the payload."""

    def __init__(
        self, write: Callable[[Path, bool], Robot], folder: Path, loads: Collection[bool],
    ) -> None:
        self._feedforward = {}
        for loaded in loads:
            robot = write(folder / f'{loaded}.yaml', loaded)
            self._feedforward[loaded] = FeedForward(robot)

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
                    robot_source, robot, estimate, file, payload=loaded), folder,
                {recording.loaded for recording in recordings})

        former = judge('before', Estimate())
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
    gain_factors = np.abs(found.gain_factors(robot))
    before, after, held_out = (_Errors(len(recordings), robot.n) for _ in range(3))
    excess = _Excess(robot.n)
    for bag, recording in enumerate(recordings):

        def take(
            q: Array, effort: Array, block: Blocks, _: object, gravity: bool, __: int,
            bag: int = bag, loaded: bool = recording.loaded,
        ) -> None:
            effort = effort * recorded
            given = former.error(q, effort, loaded, gravity)
            before.add(bag, given)
            gravity = data.gravity
            after.add(bag, whole.error(q, effort, loaded, gravity))
            apart_error = np.empty_like(given)
            part = folds.of(np.full(len(q), bag), block)
            for k, other in enumerate(apart):
                mine = part == k
                if mine.any():
                    apart_error[mine] = other.error(
                        np.ascontiguousarray(q[mine]), effort[mine], loaded, gravity)
            held_out.add(bag, apart_error)
            excess.add(bag, block, apart_error, gain_factors * given)

        # Whether there is gravity is judged as a replay of the given robot does.
        stream(recording, replace(source, gravity=None), take)
    comparable = gain_factors * before.rms()
    worse = (held_out.rms() > _WORSE * comparable) & excess.is_significant()
    return Validation(
        before.rms(), after.rms(), comparable, [after.rms(bag) for bag in range(len(recordings))],
        held_out.rms(), held_out.less_mean(), worse, folds.by_bag)
