"""The estimated motion and its torques as a Parquet file, one row for each message and joint.

It opens in pandas, Polars, DuckDB, Spark and pyarrow.
"""
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from hodyn_ros.common.errors import HodynError, how_to_install
from hodyn_ros.common.output_files import replacing
from hodyn_ros.feedforward import TORQUE_NAMES
from hodyn_ros.replay.recorded_torques import Chunk

MOTION_NAMES = ('position', 'velocity', 'acceleration', 'jerk', 'snap')
NUMBERS = (
    *MOTION_NAMES, *(f'{name}_deviation' for name in MOTION_NAMES),
    *TORQUE_NAMES, *(f'{name}_deviation' for name in TORQUE_NAMES), 'recorded_effort', 'error')
"""Columns of numbers: SI units of the joint; NaN where nothing is recorded."""


def need_pyarrow() -> Any:
    """Return pyarrow; raise HodynError if it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise HodynError(
            f'Parquet files need pyarrow ({error}): {how_to_install("cluster")}') from None
    return pyarrow


class ComputedParquet:
    """Writes chunks as rows; a context manager.

    Columns are `stamp` (of the message), `instant` (when its state was sampled), `joint` and
    `NUMBERS`. `error` is prediction minus recorded effort; the prediction has no gravity if the
    driver's efforts have none. Joints have their names in the robot file, not the driver's, so
    that recordings can be joined.
    """

    def __init__(self, path: Path, names: tuple[str, ...], *, force: bool = False) -> None:
        self._arrow = need_pyarrow()
        self._names = names
        self._output = replacing(path, force=force)
        self._end = ExitStack()

    def __enter__(self) -> 'ComputedParquet':
        arrow = self._arrow
        time = arrow.timestamp('ns', tz='UTC')
        self._joint = arrow.dictionary(arrow.int16(), arrow.string())
        self._schema = arrow.schema([
            ('stamp', time), ('instant', time), ('joint', self._joint),
            *((name, arrow.float64()) for name in NUMBERS)])
        file = self._end.enter_context(self._output)
        self._writer = self._end.enter_context(arrow.parquet.ParquetWriter(
            file, self._schema, compression='zstd', use_dictionary=['joint'],
            use_byte_stream_split=list(NUMBERS)))
        return self

    def __exit__(self, *error: Any) -> None:
        self._end.__exit__(*error)

    def write(self, chunk: Chunk) -> None:
        """Append the messages that were used."""
        used, arrow, n = chunk.used, self._arrow, len(self._names)
        if not used.any():
            return
        effort = chunk.states.effort[used]
        values = [
            *np.moveaxis(chunk.q[used], 1, 0), *np.moveaxis(chunk.q_deviation[used], 1, 0),
            *np.moveaxis(chunk.torque[used], 1, 0), *np.moveaxis(chunk.deviation[used], 1, 0),
            effort, chunk.predicted[used, 0] - effort]
        joints = arrow.DictionaryArray.from_arrays(
            np.tile(np.arange(n, dtype=np.int16), len(effort)), list(self._names))
        self._writer.write_table(arrow.Table.from_arrays(
            [*(arrow.array(np.repeat(times[used], n), self._schema.field(0).type)
               for times in (chunk.stamps, chunk.instants)),
             joints, *(arrow.array(np.ravel(value)) for value in values)],
            schema=self._schema))
