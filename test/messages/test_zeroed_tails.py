"""Bags whose rest is zeros, as after a power loss: no number of a damaged message is used."""
import sqlite3
import struct

from bag_shapes import CHUNK, mcap_records, repacked
import lz4.frame
import numpy as np
import pytest
from recordings import FORMS, JOINT_STATE, TYPES, assert_same, messages, read, record
from rosbags.rosbag2 import Writer

from hodyn_ros import HodynError
from hodyn_ros.messages.sqlite_file import SqliteFile

INDEX = 7
RECORDING = record(duration=1.2)
DATA = [bytes(TYPES.serialize_cdr(message, JOINT_STATE)) for _, message in messages(RECORDING)]
COUNT = len(DATA)


def incompressible(raw):
    """Return a zstd frame with blocks as they are, which zstd writes if it gains nothing."""
    blocks = [raw[at:at + 1000] for at in range(0, len(raw), 1000)]
    heads = [(len(block) << 3 | (i == len(blocks) - 1)).to_bytes(3, 'little')
             for i, block in enumerate(blocks)]
    return b'\x28\xb5\x2f\xfd\x00\x58' + b''.join(
        head + block for head, block in zip(heads, blocks, strict=True))


PACKERS = {'': bytes, 'lz4': lz4.frame.compress, 'zstd': incompressible}


def write(path, form, checksum=False, compression=''):
    """Write a bag with three chunks; return its file."""
    with Writer(path, version=8, storage_plugin=FORMS[form]['storage']) as writer:
        topic = writer.add_connection('/joint_states', JOINT_STATE, typestore=TYPES)
        for i, (received, data) in enumerate(zip(RECORDING.received, DATA, strict=True)):
            writer.write(topic, int(received), data)
            if form == 'mcap' and i % (COUNT // 3) == COUNT // 3 - 1:
                writer.storage.close_chunk()
    (path / 'metadata.yaml').unlink()
    file, = path.iterdir()
    if form == 'mcap':
        raw = file.read_bytes()
        records = mcap_records(raw)
        assert [code for code, _ in records.values()].count(CHUNK) == 3
        out = raw[:8]
        for code, body in records.values():
            if code == CHUNK:
                body = repacked(body, compression, PACKERS[compression], checksum=checksum)
            out += struct.pack('<BQ', code, len(body)) + body
        file.write_bytes(out + raw[8 + sum(9 + len(body) for _, body in records.values()):])
    return file


def used_as_written(bag):
    """Return how many messages of a bag are used; each must be one of the recording."""
    try:
        states, _ = read(bag)
    except HodynError:  # nothing before the zeros can be read
        return 0
    assert_same(states, RECORDING[np.searchsorted(RECORDING.stamp, states.stamp)])
    return len(states)


def zeroed_from(file, raw, begin):
    """Write the file with zeros from a byte on."""
    file.write_bytes(raw[:begin] + bytes(len(raw) - begin))


@pytest.mark.parametrize('begin', ['in a chunk', 'at the border of two chunks'])
def test_mcap_without_checksum_gives_only_messages_as_written(tmp_path, begin):
    file = write(tmp_path / 'bag', 'mcap')
    raw = file.read_bytes()
    places = [raw.index(data) for data in DATA]
    ends = [place + len(data) for place, data in zip(places, DATA, strict=True)]
    first = COUNT // 2 if begin == 'in a chunk' else COUNT // 3 - 1
    for zeros in range(places[first] - 40, ends[first + 1] + 40, 3):
        zeroed_from(file, raw, zeros)
        whole = sum(end <= zeros for end in ends)
        # The zeros may begin in the last message.
        assert whole - 1 <= used_as_written(file.parent) <= whole, zeros
        file.write_bytes(raw[:zeros])
        assert used_as_written(file.parent) == whole, zeros


@pytest.mark.parametrize('checksum', [False, True])
@pytest.mark.parametrize('compression', ['lz4', 'zstd', ''])
def test_a_zeroed_chunk_gives_only_messages_as_written(tmp_path, compression, checksum):
    file = write(tmp_path / 'bag', 'mcap', checksum, compression)
    raw = file.read_bytes()
    at, second = [(at, body) for at, (code, body) in mcap_records(raw).items()
                  if code == CHUNK][1]
    end = at + 9 + len(second)
    numbers = set()
    for zeros in [*range(at, end, 197), *range(end - 90, end + 60, 3)]:
        zeroed_from(file, raw, zeros)
        numbers.add(used_as_written(file.parent))
    assert max(numbers) == 2 * COUNT // 3  # a record after the chunk shows that it is whole
    assert min(numbers) in (COUNT // 3 - 1, COUNT // 3)


def test_messages_without_chunks_are_used_as_written(tmp_path):
    file = write(tmp_path / 'bag', 'mcap')
    raw = file.read_bytes()
    whole_file = raw[:8] + b''.join(
        body[40:] if code == CHUNK else struct.pack('<BQ', code, len(body)) + body
        for code, body in mcap_records(raw).values() if code != INDEX)
    ends = [whole_file.index(data) + len(data) for data in DATA]
    for zeros in range(ends[59] - 20, ends[60] + 1, 3):
        whole = sum(end <= zeros for end in ends)
        for size in (ends[60], len(whole_file)):  # a file may end with a message
            zeroed_from(file, whole_file[:size], zeros)
            assert whole - 1 <= used_as_written(file.parent) <= whole, zeros


def test_sqlite_gives_only_messages_as_written(tmp_path):
    file = write(tmp_path / 'bag', 'sqlite3')
    raw = file.read_bytes()
    places = [raw.index(data) for data in DATA]
    page = 4096
    cuts = {zeros for place in places[50:60] for zeros in range(place - 20, place + 400, 43)}
    used = {}
    for zeros in sorted(cut for cut in cuts if cut < len(raw) - 2 * page):
        zeroed_from(file, raw, zeros)
        used[zeros] = used_as_written(file.parent)
        before = sum(place + 400 <= zeros // page * page for place in places)
        assert used[zeros] >= before - 1, zeros  # its cursor gives up one row more
    assert len(used) > 60
    assert max(used.values()) > 40


NUMBERS = np.random.default_rng(0)
SOUND = {
    'black images': [NUMBERS.bytes(60) + bytes(4096) if i % 2 else NUMBERS.bytes(300)
                     for i in range(16)],
    'efforts of zero': [NUMBERS.bytes(1500) + bytes(4096) for _ in range(20)],
    'a large map without obstacles': [NUMBERS.bytes(300), NUMBERS.bytes(60) + bytes(300000)],
    'small messages': [NUMBERS.bytes(300) for _ in range(100)],
}


def sqlite_file(path, payloads, mode='DELETE'):
    """Write an SQLite file of a bag with one topic; return its open connection."""
    database = sqlite3.connect(path)
    database.execute(f'PRAGMA journal_mode = {mode}')
    database.executescript(
        'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT);'
        'CREATE TABLE messages('
        '    id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB);'
        'CREATE INDEX timestamp_idx ON messages(timestamp ASC);'
        "INSERT INTO topics VALUES(1, '/a', 'a/msg/A')")
    database.executemany('INSERT INTO messages VALUES(NULL, 1, ?, ?)', enumerate(payloads))
    database.commit()
    return database


def read_rows(path):
    """Return the contents of the messages in an SQLite file, and what is lost."""
    file = SqliteFile(path)
    topic, = file.topics
    items = list(file.read(topic))
    file.close()
    return ([item.data for item in items if hasattr(item, 'data')],
            [item for item in items if not hasattr(item, 'data')])


@pytest.mark.parametrize('space', [0, 100, 4096, 1 << 20])
@pytest.mark.parametrize('payloads', SOUND.values(), ids=SOUND)
def test_a_sound_sqlite_file_that_ends_with_zeros_is_whole(tmp_path, payloads, space):
    path = tmp_path / 'bag.db3'
    sqlite_file(path, payloads).close()
    raw = path.read_bytes() + bytes(space)  # a file system may have reserved space
    path.write_bytes(raw)
    assert read_rows(path) == (payloads, [])
    assert path.read_bytes() == raw


@pytest.mark.parametrize('payloads', SOUND.values(), ids=SOUND)
def test_the_log_of_a_killed_recorder_may_end_with_zeros(tmp_path, payloads):
    (tmp_path / 'recorded').mkdir()
    database = sqlite_file(tmp_path / 'recorded/bag.db3', payloads[:-1], 'WAL')
    database.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    database.execute('INSERT INTO messages VALUES(NULL, 1, 99, ?)', payloads[-1:])
    database.commit()
    for file in ('bag.db3', 'bag.db3-wal'):
        (tmp_path / file).write_bytes((tmp_path / 'recorded' / file).read_bytes())
    database.close()
    assert read_rows(tmp_path / 'bag.db3') == (payloads, [])


def test_one_page_of_zeros_gives_no_row_from_zeros(tmp_path):
    path = tmp_path / 'bag.db3'
    sqlite_file(path, SOUND['small messages']).close()
    raw = path.read_bytes()
    for zeros in range(len(raw) - 2 * 4096 + 1, len(raw) - 4096 + 1, 97):
        zeroed_from(path, raw, zeros)
        rows, lost = read_rows(path)
        assert rows == SOUND['small messages'][:len(rows)], zeros
        assert lost, zeros
