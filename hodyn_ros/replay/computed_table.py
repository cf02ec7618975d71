"""The computed torques as a table of comma-separated values, one row a message."""
from pathlib import Path

import numpy as np

from hodyn_ros.estimation.pipeline import Chunk
from hodyn_ros.feedforward import TORQUE_NAMES

_COLUMNS = (
    'position', 'velocity', *TORQUE_NAMES, *(f'{name}_deviation' for name in TORQUE_NAMES),
    'recorded_effort')


class ComputedTable:
    """Writes chunks as rows: the stamp, then for each joint the columns; a context manager."""

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self._file = path.open('w', encoding='utf-8')
        titles = [f'{name}/{column}' for column in _COLUMNS for name in names]
        self._file.write(','.join(['stamp_ns', *titles]) + '\n')

    def __enter__(self) -> 'ComputedTable':
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, chunk: Chunk) -> None:
        """Append the messages that were used."""
        values = np.hstack([
            chunk.q[:, 0], chunk.q[:, 1], *(chunk.torque[:, k] for k in range(3)),
            *(chunk.deviation[:, k] for k in range(3)), chunk.states.effort])[chunk.used]
        form = ','.join(['%.9g'] * values.shape[1])
        self._file.writelines(
            f'{stamp},{form % tuple(row)}\n'
            for stamp, row in zip(chunk.stamps[chunk.used].tolist(), values.tolist(), strict=True))
