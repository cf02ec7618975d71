"""Writes motion and torques to a Parquet file, one row for each message and joint.

The file opens in pandas, Polars, DuckDB, Spark and pyarrow.
"""
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def need_pyarrow(use: str = 'Parquet files need') -> Any:
    """Return pyarrow; if it is not installed, raise HodynError, which begins with `use`."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise HodynError(
            f'{use} pyarrow ({error}): {how_to_install("cluster")}') from None
    return pyarrow


@contextmanager
def computed_parquet(
    path: Path, names: tuple[str, ...], *, force: bool = False,
) -> Iterator[Callable[[Chunk], None]]:
    """Yield a function that writes the used messages of a chunk as rows.

    Columns are `stamp` (of the message), `instant` (when its state was sampled), `joint` and
    `NUMBERS`. `error` is prediction minus recorded effort; the prediction has no gravity if the
    driver's efforts have none. Joints have their names in the robot file, not the driver's, so
    that recordings can be joined.
    """
    arrow, n = need_pyarrow(), len(names)
    time = arrow.timestamp('ns', tz='UTC')
    schema = arrow.schema([
        ('stamp', time), ('instant', time),
        ('joint', arrow.dictionary(arrow.int16(), arrow.string())),
        *((name, arrow.float64()) for name in NUMBERS)])
    with replacing(path, force=force) as file, arrow.parquet.ParquetWriter(
            file, schema, compression='zstd', use_dictionary=['joint'],
            use_byte_stream_split=list(NUMBERS)) as writer:

        def write(chunk: Chunk) -> None:
            effort = chunk.states.effort
            values = [
                *np.moveaxis(chunk.q, 1, 0), *np.moveaxis(chunk.q_deviation, 1, 0),
                *np.moveaxis(chunk.torque, 1, 0), *np.moveaxis(chunk.deviation, 1, 0),
                effort, chunk.predicted[:, 0] - effort]
            joints = arrow.DictionaryArray.from_arrays(
                np.tile(np.arange(n, dtype=np.int16), len(effort)), list(names))
            writer.write_table(arrow.Table.from_arrays(
                [*(arrow.array(np.repeat(times, n), time)
                   for times in (chunk.stamps, chunk.instants)),
                 joints, *(arrow.array(np.ravel(value)) for value in values)],
                schema=schema))

        yield write
