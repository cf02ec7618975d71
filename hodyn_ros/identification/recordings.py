"""Motions and efforts from bags, in blocks of time, for identification."""
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hodyn_ros.estimation.message_counts import MessageCounts
from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.estimation.pipeline import Pipeline
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.regression import BLOCK, Data
from hodyn_ros.robot import HodynError, Robot

MAX_SAMPLES = 3000
"""More samples of the same motion tell little more and take time; they are thinned evenly."""


def read_data(
    bags: Sequence[Path], robot: Robot, topic: str | None, prefix: str,
) -> tuple[Data, list[tuple[Path, MessageCounts]]]:
    """Return the estimated motions and recorded efforts of bags, and what became of each message.

    Raises
    ------
    HodynError
        When a bag cannot be used or records no efforts, or the bags differ in whether these
        contain gravity.

    """
    pieces: list[Data] = []
    recordings = []
    gravity: dict[bool, Path] = {}
    first_block = 0
    for path in bags:
        with open_recording(path, robot, prefix=prefix, topic=topic) as bag:
            pipeline = Pipeline(bag, FeedForward(robot))
            if np.isnan(pipeline.gravity_share):
                reasons = '; '.join(f'{count} ({text})' for text, count in bag.in_part.items())
                raise HodynError(f'{path}: no efforts recorded on {bag.topic}: {reasons}')
            gravity[pipeline.gravity_recorded] = path
            stride = max(1, bag.usable * len(bags) // MAX_SAMPLES)
            begin, offset = None, 0
            for chunk in pipeline.chunks():
                begin = int(chunk.stamps[0]) if begin is None else begin
                index = np.arange((-offset) % stride, len(chunk.states), stride)
                offset += len(chunk.states)
                index = index[chunk.used[index]]
                block = ((chunk.stamps[index] - begin) // int(BLOCK * 1e9)).astype(np.intp)
                block += first_block - min(0, int(block.min(initial=0)))
                pieces.append(Data(
                    chunk.q[index], chunk.states.effort[index], block, pipeline.gravity_recorded))
            recordings.append((path, pipeline.counts))
            first_block = max((int(piece.block.max(initial=0)) for piece in pieces), default=0) + 1
    if len(gravity) > 1:
        raise HodynError(
            f'{gravity[True]} records efforts with gravity, {gravity[False]} without: identify '
            'them apart')
    return Data(
        np.concatenate([piece.q for piece in pieces]),
        np.concatenate([piece.effort for piece in pieces]),
        np.concatenate([piece.block for piece in pieces]), True in gravity), recordings
