"""Writes the computed torques to a CSV file, one row for each message."""
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hodyn_ros.common.output_files import replacing
from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.replay.recorded_torques import Chunk

_COLUMNS = (
    'position', 'velocity', *TORQUE_NAMES, *(f'{name}_deviation' for name in TORQUE_NAMES),
    'recorded_effort')


@contextmanager
def computed_table(
    path: Path, names: tuple[str, ...], *, force: bool = False,
) -> Iterator[Callable[[Chunk], None]]:
    """Yield a function that writes the used messages of a chunk as rows.

    A row has the stamp, then each quantity of all joints.
    """
    titles = [f'{name}/{column}' for column in _COLUMNS for name in names]
    form = ','.join(['%.9g'] * len(titles))
    with replacing(path, force=force) as place, place.open('w', encoding='utf-8') as file:
        file.write(','.join(['stamp_ns', *titles]) + '\n')

        def write(chunk: Chunk) -> None:
            values = np.hstack([
                chunk.q[:, 0], chunk.q[:, 1], *(chunk.torque[:, k] for k in range(3)),
                *(chunk.deviation[:, k] for k in range(3)), chunk.states.effort])
            file.writelines(
                f'{stamp},{form % tuple(row)}\n'
                for stamp, row in zip(chunk.stamps.tolist(), values.tolist(), strict=True))

        yield write
