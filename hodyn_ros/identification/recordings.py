"""Motions and efforts from bags: thinned for the fit, in full for the validation."""
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
import os
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.estimation.locked_joints import dependent_but_elsewhere
from hodyn_ros.estimation.message_counts import MessageCounts
from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.identification.data import BLOCK, Data
from hodyn_ros.identification.rests import Pace, moving, standing
from hodyn_ros.replay.comparison import EffortComparison, Lag, common_lag
from hodyn_ros.replay.diagnosis import Diagnosis, DiagnosisSamples
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import is_measured
from hodyn_ros.replay.gravity_share import is_opposite, lack_gravity
from hodyn_ros.replay.recorded_torques import RecordedTorques
from hodyn_ros.replay.standstill import ARM_STANDS, STILL
from hodyn_ros.robot import HodynError, Robot

MAX_SAMPLES = 2000
"""Number of samples to which all bags together are thinned: more add little and take time."""

STRETCH, FOLDS = 4, 4
"""Number of successive blocks held out together, and number of parts held out in turn."""


@dataclass(frozen=True)
class Recording:
    """A bag from which a robot is identified."""

    path: Path  #: The bag
    loaded: bool = True  #: Whether the arm carried its payload


@dataclass(frozen=True, eq=False)
class Motion:
    """The estimated motion of a bag, kept in an unnamed temporary file."""

    counts: MessageCounts  #: Numbers of messages, used and not
    diagnosis: Diagnosis  #: Faults of the recording, if any
    slow: Array  #: (n,): see `Pace.slow`
    measured: Flags  #: (n,): which joints have efforts that change; the other efforts are left out
    #: A sentence on interpolated positions, one on an arm that stands, and one per joint that is
    #: not at its lock or does not follow its leading joint, or whose effort never changes
    of_joints: list[str]
    _file: IO[bytes]
    _pieces: int

    def pieces(self) -> Iterator[Data]:
        """Yield all samples of the bag, piece by piece."""
        for q, effort, block, deviation, instants in self._stored():
            yield Data(
                q, np.where(self.measured, effort, np.nan), block,
                stands=standing(instants, q[:, 1], deviation, self.slow),
                moves=moving(q[:, 1], deviation))

    def lacks_gravity(self, robot: Robot) -> bool:
        """Whether the efforts certainly lack gravity, see `lack_gravity`."""
        stride = 1 + self.counts.used // MAX_SAMPLES
        q, effort = (np.concatenate(values) for values in zip(*(
            (piece.q[::stride], piece.effort[::stride]) for piece in self.pieces()), strict=True))
        return lack_gravity(FeedForward(robot), EffortSamples(q, effort))

    def doubts(self, terms: Collection[str]) -> list[str]:
        """Return a sentence per fault of the recording, except faults that `terms` identify."""
        of_motors = '' if 'gains' in terms else self.diagnosis.of_motors
        # Zeros, if fitted, may explain the other unit; otherwise the recording is refused.
        unit = self.diagnosis.another_unit if 'zeros' in terms and 'gains' not in terms else ''
        return [
            *self.of_joints, *self.diagnosis.efforts.sentences(self.diagnosis.names),
            *self.diagnosis.without(terms).sentences,
            *filter(None, [of_motors, unit, self.gravity_doubt(terms)])]

    def gravity_doubt(self, terms: Collection[str]) -> str:
        """Return a sentence about the share of gravity in the efforts, if no term explains it."""
        share = self.diagnosis.efforts.gravity_share
        explaining = set() if is_opposite(share) else {
            'gains', 'zeros', 'links', *(['payload'] if share > 1.0 else [])}
        return '' if explaining & set(terms) else self.diagnosis.gravity_doubt

    def is_misread(self, terms: Collection[str]) -> bool:
        """Whether nothing can be identified from the recording until it is corrected."""
        diagnosis = self.diagnosis.without(terms)
        # If links are fitted, a misfit without a known cause may be due to wrong links.
        return diagnosis.is_misread or (
            diagnosis.is_wrong and not diagnosis.has_a_cause and 'links' not in terms) or (
            bool(self.gravity_doubt(terms)) and is_opposite(self.diagnosis.efforts.gravity_share))

    def lag_behind(
        self, feedforward: FeedForward, terms: Collection[str], scale: Array | float, *,
        gravity: bool,
    ) -> Lag:
        """Return the lag of the efforts behind the prediction of a robot with found `terms`.

        The efforts are multiplied by `scale`. The lag is NaN if the efforts are in another unit,
        are those of motors, or do not fit the model, and no term corrects this.
        """
        diagnosis = self.diagnosis.without(terms)
        is_scaled = bool(diagnosis.of_motors) or np.isfinite(diagnosis.efforts.factor)
        if (is_scaled and 'gains' not in terms) or (diagnosis.is_wrong and 'links' not in terms):
            return Lag()
        comparison = EffortComparison(feedforward.robot.joint_names)
        for q, effort, _, _, instants in self._stored():
            predicted, effort = feedforward.torque(q, gravity=gravity), scale * effort
            comparison.add(
                instants, instants, predicted, effort,
                np.stack([predicted[:, 0], effort], axis=1), q[:, 1:3])
        return common_lag(comparison.joints)

    def _stored(self) -> Iterator[list[Any]]:
        self._file.seek(0)
        for _ in range(self._pieces):
            yield [np.load(self._file) for _ in range(5)]


@dataclass(frozen=True)
class Source:
    """Where a robot's joint states are found in bags."""

    robot: Robot  #: The robot before identification
    topic: str | None = None  #: Joint state topic, needed when several are recorded
    prefix: str = ''  #: Prefix of the joint names of one arm among several
    #: Whether gravity is assumed in the efforts unless they certainly lack it, see `lack_gravity`;
    #: by default, it is found by the given gains and zeros
    assumes_gravity: bool = False
    _motions: dict[str, Motion] = field(default_factory=dict, repr=False)

    def motion(self, path: Path) -> Motion:
        """Return the motion of a bag; it is estimated at the first call."""
        place = os.path.realpath(path)
        if place not in self._motions:
            self._motions[place] = _estimate(path, self)
        return self._motions[place]


def _estimate(path: Path, source: Source) -> Motion:
    with open_recording(
            path, source.robot, prefix=source.prefix, topic=source.topic) as bag:
        feedforward = FeedForward(source.robot)
        torques = RecordedTorques(bag, feedforward, deviations=False)
        few = DiagnosisSamples(source.robot)
        if not torques.efforts.are_recorded:
            reasons = '; '.join(f'{count} ({text})' for text, count in bag.in_part.items())
            raise HodynError(f'{path}: no efforts recorded on {bag.topic}: {reasons}')
        file = TemporaryFile()  # noqa: SIM115  # it lives as long as the source
        pieces, begin = 0, None
        pace, extremes = Pace(source.robot.n), np.full((2, source.robot.n), np.nan)
        for chunk in torques.chunks():
            begin = int(chunk.stamps[0]) if begin is None else begin
            used = chunk[chunk.used]
            q, effort = used.q, used.effort
            few.add(used)
            block = np.maximum((used.stamps - begin) // int(BLOCK * 1e9), 0).astype(np.intp)
            pace.add(used.instants, q[:, 1])
            extremes = np.stack([
                ends.reduce(np.concatenate([extremes, effort])) for ends in (np.fmin, np.fmax)])
            try:
                for values in (q, effort, block, used.q_deviation[:, 1], used.instants):
                    np.save(file, values)
                file.flush()
            except OSError as error:
                raise HodynError(
                    f'{path}: its motion cannot be kept in the temporary folder {gettempdir()} '
                    f'({error}): set TMPDIR to one with room') from None
            pieces += 1
        measured = is_measured(extremes)
        constant = np.flatnonzero(np.isfinite(extremes[0]) & ~measured).tolist()
        if not measured.any():
            raise HodynError(
                f'{path}: the recorded efforts never change: the driver does not measure them, or '
                'cuts them at these values. Record measured efforts')
        diagnosis = few.diagnosis(feedforward, bag.names, torques.efforts)
        elsewhere = dependent_but_elsewhere(
            path, source.robot, topic=source.topic, prefix=source.prefix)
        return Motion(
            torques.motion.counts, diagnosis, pace.slow, measured, [
                *filter(None, [torques.motion.timing_statistics.resampled]), *elsewhere,
                *([ARM_STANDS] if np.all(pace.rms < STILL) else []), *(
                f'The effort of {bag.names[j]} never changes ({extremes[0, j]:.4g} '
                f'{unit(source.robot, j, "effort")}): it is not measured, and left out.'
                for j in constant)], file, pieces)


def read_data(
    recordings: Sequence[Recording], source: Source,
) -> tuple[Data, list[MessageCounts]]:
    """Return the estimated motions and recorded efforts of bags, and each bag's message counts.

    Raises
    ------
    HodynError
        When a bag cannot be used, records no efforts that change, or is given twice, or only
        some bags have efforts with gravity.

    """
    _check_given_once([os.path.realpath(recording.path) for recording in recordings], recordings)
    motions = [source.motion(recording.path) for recording in recordings]
    gravities = {
        not motion.lacks_gravity(source.robot) if source.assumes_gravity
        else motion.diagnosis.efforts.with_gravity: recording.path
        for motion, recording in zip(motions, recordings, strict=True)}
    if len(gravities) > 1:
        misread = [
            f'{recording.path}: {" ".join(motion.diagnosis.sentences)}'
            for motion, recording in zip(motions, recordings, strict=True)
            if motion.diagnosis.is_wrong]
        if misread:
            raise HodynError('; '.join(misread))
        raise HodynError(
            f'{gravities[True]} records efforts with gravity, {gravities[False]} without: '
            'identify them separately')
    pieces: list[Data] = []
    first = 0
    for number, (motion, recording) in enumerate(zip(motions, recordings, strict=True)):
        stride = max(1, -(-motion.counts.used * len(recordings) // MAX_SAMPLES))
        offset, last = 0, 0
        for piece in motion.pieces():
            index = np.arange(-offset % stride, len(piece.q), stride)
            offset += len(piece.q)
            last = max(last, int(piece.block[index].max(initial=0)))
            pieces.append(replace(
                piece[index], block=piece.block[index] + first, bag=np.full(len(index), number),
                loaded=np.full(len(index), recording.loaded)))
        cycle = STRETCH * FOLDS  # each bag begins with the same held-out part
        first += (last // cycle + 1) * cycle
    factors = [motion.diagnosis.efforts.factor for motion in motions]
    data = Data(gravity=True in gravities, factor=np.nan if np.all(np.isnan(factors)) else float(
        np.nanmedian(factors)), **{
        name: np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ('q', 'effort', 'block', 'bag', 'loaded', 'stands', 'moves')})
    parts = [data[data.bag == number] for number in range(len(recordings))]
    _check_given_once([part.q.tobytes() + part.effort.tobytes() for part in parts], recordings)
    return data, [motion.counts for motion in motions]


def _check_given_once(
    contents: Sequence[str | bytes], recordings: Sequence[Recording],
) -> None:
    """Refuse a bag given twice: intervals would be too narrow, and it would predict itself."""
    first: dict[str | bytes, Path] = {}
    for content, recording in zip(contents, recordings, strict=True):
        if content in first:
            raise HodynError(
                f'{recording.path} holds the same recording as {first[content]}: give each once, '
                'either as one with the payload or with --unloaded')
        first[content] = recording.path
