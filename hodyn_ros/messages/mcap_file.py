"""Reads MCAP files record by record from their beginning, so that no index is needed.

Reading ends where the file is cut, or at a record whose length cannot be right. Damage may begin
before the place where it is noticed, so a message or a compressed chunk directly before that place
is read only if a checksum covers it. The summary at the end of a file says how many messages each
topic has. Format: mcap.dev/spec.
"""
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
import struct
import sys
from typing import BinaryIO, NamedTuple
from zlib import crc32

from lz4.frame import LZ4FrameDecompressor

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.bag_contents import MAX_TIME, LostMessages, Message, Topic

# From Python 3.14 in the standard library; for older versions, rosbags installs the backport.
if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor
else:
    from backports.zstd import ZstdDecompressor

_MAGIC = b'\x89MCAP0\r\n'
_HEAD = struct.Struct('<BQ')  # operation code and length of a record
_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _INDEX, _CHUNK_INDEX, _STATISTICS, _DATA_END = (
    2, 3, 4, 5, 6, 7, 8, 11, 15)
_LEAST = {_MESSAGE: 22, _CHUNK: 40, _INDEX: 6}  # least bytes after a record's head
_EXACT = {_FOOTER: 20, _DATA_END: 4}  # number of bytes after the head
_MAX_CHUNK = 1 << 30
_DECOMPRESSORS = {'lz4': LZ4FrameDecompressor, 'zstd': ZstdDecompressor}


class _Record(NamedTuple):
    """A record's code, begin and end; the end may be beyond the end of a cut file.

    The record is `doubtful` if damage may reach into it: if bytes that cannot be a record follow
    it; or if it is the last record and the byte after it (at the end of the file: its own last
    byte) is 0, as in a block that was never written to disk.
    """

    code: int
    at: int
    end: int
    doubtful: bool


class McapFile:
    """An MCAP file; a `StorageFile`."""

    def __init__(self, path: Path) -> None:
        """Open a file; raises OSError, or HodynError if no topic can be read."""
        self._name = path.name
        self._channels: dict[int, Topic] = {}
        self._schemas: dict[int, str] = {}
        self._chunks: dict[int, set[int]] = {}  # by offset of a chunk: its channels
        self._file = path.open('rb')
        try:
            self._source = _FileBytes(self._file)
            counts = self._summary()
            self.counts_messages = counts is not None
            if counts is None:
                self._channels, self._schemas, self._chunks = {}, {}, {}
                counts = Counter(
                    item[0] for item in self._walk(None) if not isinstance(item, LostMessages))
            if not self._channels:
                raise HodynError('not an MCAP file, or so damaged that it names no topic')
        except BaseException:
            self._file.close()
            raise
        self.topics: dict[Topic, int] = {}
        for channel, topic in self._channels.items():
            self.topics[topic] = self.topics.get(topic, 0) + counts.get(channel, 0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, topic: Topic) -> Iterator[Message | LostMessages]:
        """Yield a topic's messages in the order of the file, and a LostMessages per gap."""
        channels = {channel for channel, known in self._channels.items() if known == topic}
        for item in self._walk(channels):
            yield item if isinstance(item, LostMessages) else item[1]

    def _walk(self, channels: set[int] | None) -> Iterator[tuple[int, Message] | LostMessages]:
        """Yield the messages of `channels`, each with its channel, and a LostMessages per gap.

        None means all channels; then the schemas and channels that are found are also kept.
        """
        at = len(_MAGIC)
        for record in _records(self._source, at):
            if record.code in (_DATA_END, _FOOTER):
                return
            if record.doubtful and record.code in (_SCHEMA, _CHANNEL, _MESSAGE):
                break
            if record.code == _CHUNK:
                yield from self._walk_chunk(record, channels)
            else:
                yield from self._messages(self._source, record, channels)
            at = record.end
        if at < len(self._source):
            yield LostMessages(
                self._name, f'from byte {at} on', 'damaged or cut off: what follows is not read')
        elif at == len(self._source):
            yield LostMessages(self._name, f'from byte {at} on', 'the file ends too early')

    def _walk_chunk(
        self, chunk: _Record, channels: set[int] | None,
    ) -> Iterator[tuple[int, Message] | LostMessages]:
        if channels is not None and channels.isdisjoint(self._chunks.get(chunk.at, channels)):
            return
        raw, is_checked, problem = _unpacked(self._source, chunk)
        found, at = 0, 0
        for record in _records(raw, 0):
            ends_chunk = record.end == len(raw)
            if not is_checked and (chunk.doubtful if ends_chunk else record.doubtful):
                break
            for item in self._messages(raw, record, channels):
                found += 1
                yield item
            at = record.end
        if at < len(raw):
            problem = problem or 'records in the chunk are damaged'
        indexed = self._indexed(chunk.end, channels)
        lost = None if problem and indexed is None else max(0, (indexed or 0) - found)
        if lost != 0:
            yield LostMessages(
                self._name, f'bytes {chunk.at} to {min(chunk.end, len(self._source))}',
                problem or 'the index of the chunk lists more messages than could be read', lost)

    def _messages(
        self, source: '_FileBytes | bytes', record: _Record, channels: set[int] | None,
    ) -> Iterator[tuple[int, Message]]:
        """Yield the message in a record; keep a schema or channel if `channels` is None."""
        if record.end > len(source):
            return
        if record.code == _MESSAGE:
            begin = record.at + _HEAD.size
            channel, received = struct.unpack('<H4xQ', source[begin:begin + 14])
            if channels is None or channel in channels:
                yield channel, Message(
                    min(received, MAX_TIME), source[begin + _LEAST[_MESSAGE]:record.end])
        elif channels is None and record.code in (_SCHEMA, _CHANNEL):
            with suppress(struct.error, UnicodeDecodeError):  # a copy of it may be intact
                self._take(record.code, source[record.at + _HEAD.size:record.end])

    def _indexed(self, at: int, channels: set[int] | None) -> int | None:
        """Return the number of messages listed by the indexes after a chunk; None without any."""
        indexed = None
        for record in _records(self._source, at):
            if record.code != _INDEX or record.end > len(self._source):
                break
            begin = record.at + _HEAD.size
            channel = int.from_bytes(self._source[begin:begin + 2], 'little')
            known = channels is None or channel in channels
            indexed = (indexed or 0) + known * ((record.end - begin - _LEAST[_INDEX]) // 16)
        return indexed

    def _summary(self) -> dict[int, int] | None:
        """Return the number of messages per channel from the summary; None if it is damaged."""
        source, end = self._source, len(self._source) - len(_MAGIC)
        if end < 29 or source[end:] != _MAGIC or source[end - 29:end - 20] != _HEAD.pack(2, 20):
            return None
        begin, _, crc = struct.unpack('<QQI', source[end - 20:end])
        if not len(_MAGIC) <= begin < end - 29 or (
                crc and crc32(source[begin:end - 4]) != crc):
            return None
        counts: dict[int, int] | None = None
        at = begin
        for record in _records(source, begin):
            body = source[record.at + _HEAD.size:record.end]
            try:
                self._take(record.code, body)
                if record.code == _CHUNK_INDEX and crc:  # a damaged index would skip chunks
                    place, length = struct.unpack_from('<Q8xI', body, 16)
                    if length:  # 0 if the chunk has no index of its channels
                        self._chunks[place] = {key for key, _ in struct.iter_unpack(
                            '<HQ', body[36:36 + length])}
                elif record.code == _STATISTICS:
                    total, length = struct.unpack_from('<Q34xI', body)
                    counts = dict(struct.iter_unpack('<HQ', body[46:46 + length]))
                    if sum(counts.values()) != total:
                        return None
            except (struct.error, UnicodeDecodeError):
                return None
            at = record.end
        return counts if at == end and set(counts or ()) <= set(self._channels) else None

    def _take(self, code: int, body: bytes) -> None:
        """Keep a schema or channel; raises struct.error or UnicodeDecodeError if damaged."""
        if code == _SCHEMA:
            key, = struct.unpack_from('<H', body)
            self._schemas.setdefault(key, _text(body, 2))
        elif code == _CHANNEL:
            key, schema = struct.unpack_from('<HH', body)
            if schema in self._schemas:
                self._channels.setdefault(key, Topic(_text(body, 4), self._schemas[schema]))


class _FileBytes:
    """A file that is sliced like bytes, with the size that it had when it was opened."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, 2)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice, /) -> bytes:
        begin, end, _ = part.indices(self._size)
        self._file.seek(begin)
        return self._file.read(max(0, end - begin))


def _records(source: _FileBytes | bytes, at: int) -> Iterator[_Record]:
    """Yield records until the bytes cannot be a record; the last may be a cut chunk."""
    size = len(source)
    last: tuple[int, int, int] | None = None
    is_damaged = False
    while at + _HEAD.size <= size:
        code, length = _HEAD.unpack(source[at:at + _HEAD.size])
        end = at + _HEAD.size + length
        is_damaged = not _can_be_record(source, at, code, length)
        if is_damaged or (end > size and code != _CHUNK):
            break
        if last is not None:
            yield _Record(*last, False)
        last = code, at, end
        at = end
    if last is not None:
        rest = source[at:at + 1] or source[size - 1:size]
        yield _Record(*last, is_damaged or rest == b'\0')


def _can_be_record(source: _FileBytes | bytes, at: int, code: int, length: int) -> bool:
    if not 1 <= code <= _DATA_END or length < _LEAST.get(code, 0) or (
            length != _EXACT.get(code, length)):
        return False
    if code != _CHUNK:
        return True
    text = int.from_bytes(source[at + 37:at + 41], 'little')
    stored = source[at + 41 + text:at + 49 + text]
    return 40 + text + int.from_bytes(stored, 'little') == length


def _unpacked(source: _FileBytes, chunk: _Record) -> tuple[bytes, bool, str]:
    """Return the records in a chunk, whether a checksum covers them, and the chunk's fault.

    If the file is cut in this chunk, the records are those before the cut.
    """
    begin = chunk.at + _HEAD.size
    try:
        _, _, size, crc, length = struct.unpack('<QQQII', source[begin:begin + 32])
        begin += 40 + length
        compression = source[begin - 8 - length:begin - 8].decode()
        data = source[begin:chunk.end]
        if compression == '' or size == 0:
            raw = data[:size]
        else:
            raw = _DECOMPRESSORS[compression]().decompress(data, min(size, _MAX_CHUNK))
    except KeyError as error:
        return b'', False, f'the compression {error} of the chunk is not known'
    except Exception as error:  # decompression of damaged bytes may raise any error
        return b'', False, f'the chunk cannot be unpacked: {error}'
    is_cut = chunk.end > len(source)
    if not is_cut and (len(raw) != size or (crc and crc32(raw) != crc)):
        return b'', False, 'the checksum or the size of the chunk is wrong'
    is_checked = crc != 0 and not is_cut
    if compression and chunk.doubtful and not is_checked:
        return b'', False, 'the chunk may end at damaged bytes, and no checksum covers it'
    return raw, is_checked, 'the file ends in this chunk' if is_cut else ''


def _text(body: bytes, at: int) -> str:
    length, = struct.unpack_from('<I', body, at)
    if at + 4 + length > len(body):
        raise struct.error
    return body[at + 4:at + 4 + length].decode()
