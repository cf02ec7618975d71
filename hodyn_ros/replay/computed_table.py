"""The computed torques as a table of comma-separated values, one row per message."""
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hodyn_ros.common.output_files import replacing
from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.replay.recorded_torques import Chunk

_COLUMNS = (
    'position', 'velocity', *TORQUE_NAMES, *(f'{name}_deviation' for name in TORQUE_NAMES),
    'recorded_effort')


class ComputedTable:
    """Writes chunks as rows: the stamp, then each quantity of all joints; a context manager."""

    def __init__(self, path: Path, names: tuple[str, ...], *, force: bool = False) -> None:
        self._output = replacing(path, force=force)
        self._titles = [f'{name}/{column}' for column in _COLUMNS for name in names]
        self._end = ExitStack()

    def __enter__(self) -> 'ComputedTable':
        self._file: TextIO = self._end.enter_context(
            self._end.enter_context(self._output).open('w', encoding='utf-8'))
        self._file.write(','.join(['stamp_ns', *self._titles]) + '\n')
        return self

    def __exit__(self, *error: Any) -> None:
        self._end.__exit__(*error)

    def write(self, chunk: Chunk) -> None:
        """Append the messages that were used."""
        values = np.hstack([
            chunk.q[:, 0], chunk.q[:, 1], *(chunk.torque[:, k] for k in range(3)),
            *(chunk.deviation[:, k] for k in range(3)), chunk.states.effort])[chunk.used]
        form = ','.join(['%.9g'] * values.shape[1])
        self._file.writelines(
            f'{stamp},{form % tuple(row)}\n'
            for stamp, row in zip(chunk.stamps[chunk.used].tolist(), values.tolist(), strict=True))
