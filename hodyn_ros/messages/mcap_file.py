"""MCAP files, read record by record from their beginning, so that no index is needed.

The summary at the end of a file is used for its promises alone: how many messages each topic has,
and which chunks hold none of them. Format: mcap.dev/spec.
"""
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
import re
import struct
import sys
from typing import BinaryIO, NamedTuple, Protocol
from zlib import crc32

from lz4.frame import LZ4FrameDecompressor

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.bag_contents import MAX_TIME, Loss, Message, Topic

# Both come with rosbags.
if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor
else:
    from backports.zstd import ZstdDecompressor

_MAGIC = b'\x89MCAP0\r\n'
HEAD = struct.Struct('<BQ')  # operation code and length of a record
_DAMAGE, _FOOTER, _SCHEMA, _CHANNEL, MESSAGE, CHUNK, INDEX, _CHUNK_INDEX, _STATISTICS = (
    0, 2, 3, 4, 5, 6, 7, 8, 11)
_DATA_END = 15
_LEAST = {
    _SCHEMA: 14, _CHANNEL: 16, MESSAGE: 22, CHUNK: 40, INDEX: 6, _DATA_END: 4, _FOOTER: 20}
_MAX_CHUNK = 1 << 30
_MAX_NAME = 100  # bytes of the name of a compression
_BLOCK = 1 << 20
# An operation code and a length below 2³²: where a record may begin.
_CANDIDATE = re.compile(rb'[\x03-\x07\x0f].{4}\x00{4}', re.DOTALL)
_DECOMPRESSORS = {'lz4': LZ4FrameDecompressor, 'zstd': ZstdDecompressor}


class _Source(Protocol):
    """Bytes, or a file that is sliced like them."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


class _Record(NamedTuple):
    """Where a record stands, its head included; `code` 0 is what can be no record."""

    code: int
    at: int
    end: int


class McapFile:
    """An MCAP file; a `StorageFile`."""

    def __init__(self, path: Path) -> None:
        """Open a file; OSError, or HodynError when it has no record with a topic."""
        self._name = path.name
        self._channels: dict[int, Topic] = {}
        self._chunks: dict[int, set[int]] = {}  # place of a chunk: channels in it
        self._file = path.open('rb')
        try:
            self._source = _FileBytes(self._file)
            counts = self._summary()
            self.promises = counts is not None
            if counts is None:
                counts = self._scan()
            if not self._channels:
                raise HodynError('no MCAP file, or nothing of it is left that names a topic')
        except BaseException:
            self._file.close()
            raise
        self.topics: dict[Topic, int] = {}
        for channel, topic in self._channels.items():
            self.topics[topic] = self.topics.get(topic, 0) + counts.get(channel, 0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, topic: Topic) -> Iterator[Message | Loss]:
        """Hand out the messages of a topic in the order of the file, and where some are lost."""
        channels = {channel for channel, known in self._channels.items() if known == topic}
        section = _Section(self._name, 0)
        for record in _records(self._source, len(_MAGIC)):
            if record.code in (_DATA_END, _FOOTER):
                yield from section.loss(record.at)
                return
            if record.code == MESSAGE:
                channel, message = _message(self._source, record)
                if channel in channels:
                    section.found += 1
                    yield message
            elif record.code == INDEX:
                channel, length = struct.unpack('<HI', self._source[record.at + 9:record.at + 15])
                section.add_index(length // 16 if channel in channels else 0)
            elif record.code in (CHUNK, _DAMAGE):
                yield from section.loss(record.at, damaged_next=record.code == _DAMAGE)
                section = _Section(
                    self._name, record.at, whole_chunk=record.code == CHUNK)
                if record.code == CHUNK and channels.isdisjoint(
                        self._chunks.get(record.at, channels)):
                    continue
                raw, section.problem = self._unpacked(record)
                for inner in _records(raw, 0):
                    if inner.code == MESSAGE:
                        channel, message = _message(raw, inner)
                        if channel in channels:
                            section.found += 1
                            yield message
                    elif inner.code == _DAMAGE:
                        section.problem = section.problem or 'records in the chunk are damaged'
        if section.problem:
            section.promised = None  # of what came after nothing is known
        yield from section.loss(len(self._source))
        if not section.problem:
            yield Loss(self._name, f'from byte {len(self._source)} on', 'the file ends too early')

    def _unpacked(self, record: _Record) -> tuple[bytes, str]:
        """Return the records in a chunk, and what is wrong with it.

        The last chunk of a file that was cut gives what came before the cut.
        """
        source, begin = self._source, record.at + HEAD.size
        cut = record.code == _DAMAGE
        if cut and (record.end < len(source) or source[record.at:record.at + 1] != b'\x06'):
            return b'', 'the bytes are no record'
        try:
            _, _, size, crc, length = struct.unpack('<QQQII', source[begin:begin + 32])
            begin += 32 + length
            compression = source[begin - length:begin].decode()
            stored, = struct.unpack('<Q', source[begin:begin + 8])
            data = source[begin + 8:begin + 8 + stored]
            if compression == '' or size == 0:
                raw = data[:size]
            else:
                raw = _DECOMPRESSORS[compression]().decompress(data, min(size, _MAX_CHUNK))
        except KeyError as error:
            return b'', f'the compression {error} of the chunk is not known'
        except Exception as error:  # whatever decompression raises on damaged bytes
            return b'', f'the chunk cannot be unpacked: {error}'
        if cut:
            return raw, 'the file ends in this chunk'
        if len(raw) != size or (crc and crc32(raw) != crc):
            return b'', 'the checksum or the size of the chunk is wrong'
        return raw, ''

    def _summary(self) -> dict[int, int] | None:
        """Read the end of the file: messages of each channel, None if it is not whole."""
        source, end = self._source, len(self._source) - len(_MAGIC)
        if end < 29 or source[end:] != _MAGIC or source[end - 29:end - 20] != HEAD.pack(2, 20):
            return None
        begin, _, crc = struct.unpack('<QQI', source[end - 20:end])
        if not len(_MAGIC) <= begin < end - 29 or (
                crc and crc32(source[begin:end - 4]) != crc):
            return None
        reader = _ChannelReader()
        counts: dict[int, int] | None = None
        chunks: dict[int, set[int]] = {}
        for record in _records(source, begin):
            body = source[record.at + HEAD.size:record.end]
            try:
                if record.code == _DAMAGE:
                    return None
                if record.code == _FOOTER:
                    break
                reader.take(record.code, body)
                if record.code == _CHUNK_INDEX:
                    place, length = struct.unpack_from('<Q8xI', body, 16)
                    if length:  # without it, there is no index of what is in the chunk
                        chunks[place] = {key for key, _ in struct.iter_unpack(
                            '<HQ', body[36:36 + length])}
                elif record.code == _STATISTICS:
                    total, length = struct.unpack_from('<Q34xI', body)
                    counts = dict(struct.iter_unpack('<HQ', body[46:46 + length]))
                    if sum(counts.values()) != total:
                        return None
            except (struct.error, UnicodeDecodeError):
                return None
        if counts is None or not set(counts) <= set(reader.channels):
            return None
        self._channels = reader.channels
        if crc:  # else a damaged index would pass chunks over
            self._chunks = chunks
        return counts

    def _scan(self) -> dict[int, int]:
        """Find the channels in all that can be read; return how many messages each has."""
        reader = _ChannelReader()
        counts: dict[int, int] = {}

        def take(source: _Source, record: _Record) -> None:
            if record.code == MESSAGE:
                channel, _ = _message(source, record)
                counts[channel] = counts.get(channel, 0) + 1
            elif record.code in (_SCHEMA, _CHANNEL):
                with suppress(struct.error, UnicodeDecodeError):  # it may stand elsewhere as well
                    reader.take(record.code, source[record.at + HEAD.size:record.end])

        for record in _records(self._source, len(_MAGIC)):
            take(self._source, record)
            if record.code in (CHUNK, _DAMAGE):
                raw, _ = self._unpacked(record)
                for inner in _records(raw, 0):
                    take(raw, inner)
        self._channels = reader.channels
        return counts


class _Section:
    """A chunk, or damaged bytes with the records after them, to the next one.

    Attributes
    ----------
    found : int
        Messages that were read in it.
    problem : str
        What is wrong with it; empty where nothing is.
    promised : int or None
        Messages that it has by the indexes that follow it.

    """

    def __init__(self, name: str, begin: int, *, whole_chunk: bool = False) -> None:
        self._whole_chunk = whole_chunk
        self.found = 0
        self.problem = ''
        self.promised: int | None = None
        self._name, self._begin = name, begin

    def add_index(self, count: int) -> None:
        """Take an index of one channel: how many messages the section has of it."""
        self.promised = (self.promised or 0) + count

    def loss(self, end: int, *, damaged_next: bool = False) -> Iterator[Loss]:
        """Hand out what is lost in the section, if something is."""
        promised = self.promised
        if self.problem and not self._whole_chunk:
            promised = None  # there may have been several chunks
        if damaged_next and not promised:
            promised = None  # the index may be what is damaged
        lost = None if promised is None else promised - self.found
        if (self.problem and lost != 0) or (lost or 0) > 0:
            yield Loss(
                self._name, f'bytes {self._begin} to {end}',
                self.problem or 'the index of the chunk has more messages',
                None if lost is None else max(lost, 0))


class _ChannelReader:
    """Gathers topics from the records of schemas and channels."""

    def __init__(self) -> None:
        self.channels: dict[int, Topic] = {}
        self._schemas: dict[int, str] = {}

    def take(self, code: int, body: bytes) -> None:
        """Take the body of a record; struct.error or UnicodeDecodeError when it is damaged."""
        if code == _SCHEMA:
            key, = struct.unpack_from('<H', body)
            self._schemas.setdefault(key, _text(body, 2))
        elif code == _CHANNEL:
            key, schema = struct.unpack_from('<HH', body)
            if schema in self._schemas:
                self.channels.setdefault(key, Topic(_text(body, 4), self._schemas[schema]))


class _FileBytes:
    """A file that is sliced like bytes; it ends where it ended when it was opened."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, 2)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice, /) -> bytes:
        begin, end, _ = part.indices(self._size)
        self._file.seek(begin)
        return self._file.read(max(0, end - begin))


def _records(source: _Source, at: int) -> Iterator[_Record]:
    """Walk from record to record; what can be no record is _DAMAGE up to the next one."""
    size = len(source)
    while at < size:
        head = source[at:at + HEAD.size]
        code, length = HEAD.unpack(head) if len(head) == HEAD.size else (_DAMAGE, 0)
        end = at + HEAD.size + length
        if not _is_sound(source, code, at, end):
            cut = code == CHUNK and end > size and _is_chunk(source, at, length)
            code, end = _DAMAGE, size if cut else _next_record(source, at + 1)
        yield _Record(code, at, end)
        at = end


def _is_sound(source: _Source, code: int, at: int, end: int) -> bool:
    length = end - at - HEAD.size
    if not 1 <= code <= _DATA_END or end > len(source) or length < _LEAST.get(code, 0):
        return False
    if code == CHUNK:
        return _is_chunk(source, at, length)
    if code == INDEX:
        entries, = struct.unpack('<I', source[at + 11:at + 15])
        return bool(entries == length - 6 and entries % 16 == 0)
    return code not in (_DATA_END, _FOOTER) or length == _LEAST[code]


def _is_chunk(source: _Source, at: int, length: int) -> bool:
    """Whether the length of a chunk and that of what it holds agree."""
    text = int.from_bytes(source[at + 37:at + 41], 'little')
    stored = source[at + 41 + text:at + 49 + text] if text < _MAX_NAME else b''
    return len(stored) == 8 and 40 + text + int.from_bytes(stored, 'little') == length


def _next_record(source: _Source, at: int) -> int:
    """Return where, from `at` on, a record stands that another follows; the end if none does."""
    while at < len(source):
        block = source[at:at + _BLOCK + HEAD.size - 1]
        for candidate in _overlapping(block):
            begin = at + candidate
            code, length = HEAD.unpack(source[begin:begin + HEAD.size])
            end = begin + HEAD.size + length
            if _is_sound(source, code, begin, end) and (
                    end == len(source) or 1 <= source[end:end + 1][0] <= _DATA_END):
                return begin
        at += _BLOCK
    return len(source)


def _overlapping(block: bytes) -> Iterator[int]:
    found = _CANDIDATE.search(block)
    while found is not None:
        yield found.start()
        found = _CANDIDATE.search(block, found.start() + 1)


def _message(source: _Source, record: _Record) -> tuple[int, Message]:
    channel, received = struct.unpack('<H4xQ', source[record.at + 9:record.at + 23])
    return channel, Message(min(received, MAX_TIME), source[record.at + 31:record.end])


def _text(body: bytes, at: int) -> str:
    length, = struct.unpack_from('<I', body, at)
    if at + 4 + length > len(body):
        raise struct.error
    return body[at + 4:at + 4 + length].decode()
