"""Writing rosbag2 bags by the rules of `common.output_files`; no ROS installation is needed."""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
import sqlite3
import struct
from typing import Any, Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents, replacing
from hodyn_ros.messages.mcap_file import CHUNK, HEAD, INDEX, MESSAGE

_CHUNK_SIZE = 1 << 20
_NOT_COMPRESSED = struct.pack('<I', 0)  # the name of a compression, empty


@contextmanager
def bag_writer(
    path: Path, *, version: Literal[8, 9] = 9, storage: StoragePlugin = StoragePlugin.SQLITE3,
    force: bool = False,
) -> Iterator[Any]:
    """Yield an open `rosbags.rosbag2.Writer`; the bag is there when the context has ended.

    Raises HodynError for a path that the storage cannot have, OSError with the path for what
    cannot be written.
    """
    if storage is StoragePlugin.SQLITE3 and set(str(path.absolute())) & set('?#%'):
        raise HodynError(f'{path}: a bag cannot be where ?, # or % is in the path')
    with replacing(path, Contents.of_bag(path.resolve().name), force=force) as unfinished:
        try:
            with Writer(unfinished, version=version, storage_plugin=storage) as writer:
                yield writer
        except (sqlite3.Error, WriterError) as error:
            raise OSError(f'{unfinished}: {error}') from error


def write_block(
    writer: Any, connections: Sequence[Any], received: NDArray[np.int64], messages: NDArray[Any],
) -> None:
    """Write messages of the same size, one of each topic at each instant, to an MCAP bag.

    Chunks and their indices are made as arrays, past the writer's own work on each message, which
    takes ten times as long.

    Parameters
    ----------
    writer : rosbags.rosbag2.Writer
        Open, of the storage MCAP.
    connections : sequence of Connection
        The topics.
    received : (T,) int64 array
        Receive times, ns; those before 1970, which MCAP cannot say, become 0.
    messages : (T, topics) array
        The serialized messages, as elements of a type of their size.

    """
    received = np.maximum(received, 0)
    ids = [connection.id for connection in connections]
    size = max(1, _CHUNK_SIZE // messages[:1].nbytes)
    for begin in range(0, len(received), size):
        part = slice(begin, begin + size)
        _write_chunk(writer.storage, ids, received[part], messages[part])
    for key in ids:
        writer.counts[key] += len(received)
        writer.storage.channel_stats[key] += len(received)
    first, last = int(received.min()), int(received.max())
    writer.min_timestamp = min(writer.min_timestamp, first)
    writer.max_timestamp = max(writer.max_timestamp, last)
    writer.storage.message_start_time, writer.storage.message_end_time = (
        writer.min_timestamp, writer.max_timestamp)


def _write_chunk(
    storage: Any, ids: list[int], received: NDArray[np.int64], messages: NDArray[Any],
) -> None:
    """Write a chunk and the index of each topic in it; keep the chunk's own for the end."""
    records = np.zeros(messages.shape, [
        ('code', 'u1'), ('length', '<u8'), ('channel', '<u2'), ('sequence', '<u4'),
        ('logged', '<u8'), ('published', '<u8'), ('data', f'V{messages.itemsize}')])
    records['code'], records['length'] = MESSAGE, records.itemsize - HEAD.size
    records['channel'] = ids
    records['logged'] = records['published'] = received[:, None]
    records['data'] = messages.view(records.dtype['data'])
    types = storage.chunk.bio.getvalue()  # and topics: in the first chunk, before its messages
    storage.chunk.bio = BytesIO()
    content = types + records.tobytes()
    span = struct.pack('<QQ', int(received.min()), int(received.max()))
    size = struct.pack('<Q', len(content))
    file = storage.bio
    begin = file.tell()
    file.write(_record(
        CHUNK, span, size, struct.pack('<I', crc32(content)), _NOT_COMPRESSED, size, content))
    end = file.tell()
    index = np.zeros(messages.shape, [('time', '<u8'), ('place', '<u8')])
    index['time'] = received[:, None]
    index['place'] = len(types) + records.itemsize * np.arange(index.size).reshape(index.shape)
    places = b''
    for column, key in enumerate(ids):
        places += struct.pack('<HQ', key, file.tell())
        entries = index[:, column].tobytes()
        file.write(_record(INDEX, struct.pack('<HI', key, len(entries)), entries))
    storage.chunks.append(BytesIO())
    storage.chunks[-1].write(b''.join([
        span, struct.pack('<QQI', begin, end - begin, len(places)), places,
        struct.pack('<Q', file.tell() - end), _NOT_COMPRESSED, size, size]))


def _record(code: int, *parts: bytes) -> bytes:
    body = b''.join(parts)
    return HEAD.pack(code, len(body)) + body
