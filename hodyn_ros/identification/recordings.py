"""Motions and efforts from bags: thinned, in blocks of time, to fit to; whole, to judge by."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
import os
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.message_counts import MessageCounts
from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.estimation.recorded_motion import RecordedMotion
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import BLOCK, MIN_VELOCITY, Data
from hodyn_ros.identification.rests import standing
from hodyn_ros.replay.recorded_torques import effort_contents
from hodyn_ros.robot import HodynError, Robot

Array = NDArray[np.float64]
Blocks = NDArray[np.intp]

MAX_SAMPLES = 2000
"""More samples of the same motion tell little more and take time; they are thinned evenly."""

STRETCH, FOLDS = 4, 4
"""Blocks in a row that are held out together, and parts that a recording is cut into."""


@dataclass(frozen=True)
class Recording:
    """A bag to identify from.

    Attributes
    ----------
    path : Path
        The bag.
    loaded : bool
        Whether the arm carried its payload.

    """

    path: Path
    loaded: bool = True


@dataclass(frozen=True)
class Source:
    """Where a robot's joint states stand in bags.

    Attributes
    ----------
    robot : Robot
        As it was before.
    topic : str or None
        Joint state topic, needed when several are recorded.
    prefix : str
        Prefix of the joint names of one arm among several.
    gravity : bool or None
        Whether the efforts contain gravity; None finds out.
    kept : dict
        The motions that have been estimated, by the real path of the bag.

    """

    robot: Robot
    topic: str | None = None
    prefix: str = ''
    gravity: bool | None = None
    kept: dict[str, '_Kept'] = field(default_factory=dict, repr=False)


Take = Callable[[Array, Array, Blocks, NDArray[np.bool_], bool, int], None]
"""Takes motions (T, 5, n), efforts (T, n), blocks (T,), which joints stand (T, n), whether efforts
contain gravity, and how many samples the whole bag has."""


@dataclass(frozen=True, eq=False)
class _Kept:
    """The estimated motion of a bag, in a file without a name.

    `pieces` of q, effort, block and stands stand one after the other in `file`.
    """

    file: IO[bytes]
    pieces: int
    gravity: bool
    usable: int
    counts: MessageCounts


def stream(recording: Recording, source: Source, take: Take) -> MessageCounts:
    """Hand out all samples of a recording, chunk by chunk; return what became of each message.

    Its motion is estimated once, and kept in a temporary file with the source.
    """
    place = os.path.realpath(recording.path)
    if place not in source.kept:
        source.kept[place] = _estimate(recording.path, source)
    kept = source.kept[place]
    kept.file.seek(0)
    for _ in range(kept.pieces):
        q, effort, block, stands = (np.load(kept.file) for _ in range(4))
        take(q, effort, block, stands,
             kept.gravity if source.gravity is None else source.gravity, kept.usable)
    return kept.counts


def _estimate(path: Path, source: Source) -> _Kept:
    with open_recording(
            path, source.robot, prefix=source.prefix, topic=source.topic) as bag:
        motion = RecordedMotion(bag)
        efforts = effort_contents(motion, FeedForward(source.robot))
        if not efforts.are_recorded:
            reasons = '; '.join(f'{count} ({text})' for text, count in bag.in_part.items())
            raise HodynError(f'{path}: no efforts recorded on {bag.topic}: {reasons}')
        file = TemporaryFile()  # noqa: SIM115  # it lives as long as the source
        pieces, begin = 0, None
        for piece in motion.pieces():
            inner = piece.inner
            stamps, used = piece.stamps[inner], piece.used[inner]
            begin = int(stamps[0]) if begin is None else begin
            block = np.maximum((stamps - begin) // int(BLOCK * 1e9), 0).astype(np.intp)
            q, deviation = piece.q[inner][used], piece.deviation[inner][used]
            stands = standing(piece.instants[inner][used], q[:, 1], deviation[:, 1])
            try:
                for values in (q, piece.states.effort[inner][used], block[used], stands):
                    np.save(file, values)
                file.flush()
            except OSError as error:
                raise HodynError(
                    f'{path}: its motion cannot be kept in the temporary folder {gettempdir()} '
                    f'({error}): set TMPDIR to one with room') from None
            pieces += 1
        return _Kept(file, pieces, efforts.with_gravity, bag.usable, motion.counts)


def read_data(
    recordings: Sequence[Recording], source: Source,
) -> tuple[Data, list[MessageCounts]]:
    """Return the estimated motions and recorded efforts of bags, and what became of each message.

    Raises
    ------
    HodynError
        When a bag cannot be used, records no efforts or the same ones all the time, or is given
        twice, or the bags differ in whether efforts contain gravity.

    """
    _check_given_once([os.path.realpath(recording.path) for recording in recordings], recordings)
    pieces: list[Data] = []
    counts = []
    gravities: dict[bool, Path] = {}
    first = 0
    for number, recording in enumerate(recordings):
        offset = 0

        def take(
            q: Array, effort: Array, block: Blocks, stands: NDArray[np.bool_], gravity: bool,
            usable: int, number: int = number, recording: Recording = recording,
            first: int = first,
        ) -> None:
            nonlocal offset
            gravities[gravity] = recording.path
            stride = -(-usable * len(recordings) // MAX_SAMPLES)
            index = np.arange((-offset) % stride, len(q), stride)
            offset += len(q)
            pieces.append(Data(
                q[index], effort[index], block[index] + first, gravity,
                np.full(len(index), number), np.full(len(index), recording.loaded),
                stands[index]))

        counts.append(stream(recording, source, take))
        cycle = STRETCH * FOLDS  # so that the parts of each bag begin alike
        last = max((int(piece.block.max(initial=0)) for piece in pieces), default=0)
        first = (last // cycle + 1) * cycle
    if len(gravities) > 1:
        raise HodynError(
            f'{gravities[True]} records efforts with gravity, {gravities[False]} without: '
            'identify them apart')
    joined = {name: np.concatenate([getattr(piece, name) for piece in pieces])
              for name in ('q', 'effort', 'block', 'bag', 'loaded', 'stands')}
    data = Data(gravity=True in gravities, **joined)
    parts = [data[data.bag == number] for number in range(len(recordings))]
    _check_given_once([part.q.tobytes() + part.effort.tobytes() for part in parts], recordings)
    for part, recording in zip(parts, recordings, strict=True):
        _check_efforts_vary(part, recording, source.robot)
    return data, counts


def _check_given_once(
    contents: Sequence[str | bytes], recordings: Sequence[Recording],
) -> None:
    """Refuse a bag given twice: it would tell no more, yet narrow intervals and judge itself."""
    first: dict[str | bytes, Path] = {}
    for content, recording in zip(contents, recordings, strict=True):
        if content in first:
            raise HodynError(
                f'{recording.path} holds the same recording as {first[content]}: give each once, '
                'either as one with the payload or with --unloaded')
        first[content] = recording.path


def _check_efforts_vary(data: Data, recording: Recording, robot: Robot) -> None:
    moves = np.abs(data.q[:, 1]).max(axis=0, initial=0.0) > MIN_VELOCITY
    known = np.isfinite(data.effort)
    constant = [
        name for j, name in enumerate(robot.joint_names)
        if moves[j] and known[:, j].any() and not np.ptp(data.effort[known[:, j], j])]
    if constant:
        raise HodynError(
            f'{recording.path}: the efforts of {", ".join(constant)} are the same all the time '
            'though they move: the driver does not measure them. Record efforts that are measured')
