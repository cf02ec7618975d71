"""Bags that are damaged, cut or no bags: what is left is read, and each message counted."""
from contextlib import closing, contextmanager
import shutil
import sqlite3
import struct
from zlib import crc32

from bag_shapes import join
from broken_bags import break_bag, faults_of_reading
import numpy as np
import pytest
from recordings import FORMS, JOINT_STATE, TYPES, assert_same, messages, read, record, write
from rosbags.rosbag2 import Reader
import yaml


@pytest.fixture
def made(tmp_path):
    """Return a function that records a bag; it returns the recording, the bag and its file."""
    def make(duration=0.3, form='sqlite3', *, metadata=True):
        recording = record(duration=duration)
        path = write(tmp_path / 'bag', {'/joint_states': messages(recording)}, **FORMS[form])
        if not metadata:
            (path / 'metadata.yaml').unlink()
        return recording, path, next(file for file in path.iterdir() if file.suffix != '.yaml')
    return make


@contextmanager
def altered(file):
    """Let the bytes of a file be altered, which are written then."""
    raw = bytearray(file.read_bytes())
    yield raw
    file.write_bytes(raw)


@contextmanager
def altered_metadata(path):
    """Let the content of the metadata of a bag be altered, which is written then."""
    file = path / 'metadata.yaml'
    document = yaml.safe_load(file.read_text())
    yield document['rosbag2_bagfile_information']
    file.write_text(yaml.safe_dump(document))


def cut(file, share):
    file.write_bytes(file.read_bytes()[:int(share * file.stat().st_size)])


def test_what_is_no_bag_is_said_to_be_none(tmp_path):
    with pytest.raises(FileNotFoundError, match='no bag'):
        read(tmp_path / 'nothing')
    with pytest.raises(ValueError, match=r'without metadata.yaml'):
        read(tmp_path)
    (tmp_path / 'bag').mkdir()
    for name, content, message in (
            *((f'a.{ending}', content, 'not a readable rosbag2')
              for ending in ('db3', 'mcap', 'txt') for content in (b'not a bag at all' * 9, b'')),
            ('noise.db3', bytes(range(256)) * 20, 'it is not an SQLite file of a bag'),
            ('lab.bag', b'#ROSBAG V2.0\n', r'ROS 1: `rosbags-convert --src lab\.bag --dst lab`'),
            ('log.csv', b'a,b', 'a table: `hodyn convert .*log.csv --output BAG` makes it a bag'),
            ('bag/metadata.yaml', b'',
             r'a folder whose metadata.yaml cannot be used \(it is empty\) and with 0 ')):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read(path if path.parent == tmp_path else path.parent)


def test_of_a_folder_the_file_that_cannot_be_read_is_named(made):
    _, path, file = made()
    file.write_bytes(b'not a bag at all' * 100)
    with pytest.raises(ValueError, match=r'/bag: not a readable rosbag2: bag\.db3: '):
        read(path)
    with pytest.raises(ValueError, match=r'/bag\.db3: not a readable rosbag2: (?!bag\.db3)'):
        read(file)


@pytest.mark.parametrize('form', ['sqlite3', 'mcap'])
def test_a_cut_file_gives_what_came_before_the_cut(made, form):
    recording, path, file = made(5.0, form)
    cut(file, 0.5)
    states, bag = read(path)
    assert not bag.unusable  # such as the rest of a page, filled with zeros
    assert 150 < len(states) < 300
    # Pages of SQLite that follow one another hold rows that nearly do.
    np.testing.assert_array_equal(states.stamp[:150], recording.stamp[:150])
    assert_same(states, recording[np.searchsorted(recording.stamp, states.stamp)])
    assert bag.total == 500
    assert sum(loss.messages for loss in bag.lost) == 500 - len(states)
    assert {loss.file for loss in bag.lost} == {file.name}
    assert bag.lost[-1].before is None
    (path / 'metadata.yaml').unlink()  # as a recorder leaves it that was killed
    _, bag = read(path)
    assert bag.usable == len(states)
    assert bag.lost[-1].messages is None


def chunks_of(path):
    """Return the places of the chunks of a bag, and how many messages each has."""
    with Reader(path) as reader:
        chunks = list(reader.storage.storages[0].chunks)
    assert len(chunks) > 3
    return ([chunk.chunk_start_offset for chunk in chunks],
            [chunk.channel_count[1] for chunk in chunks])


@pytest.mark.parametrize('damage', ['zeroed', 'cut'])
def test_a_damaged_chunk_costs_its_own_messages(made, damage):
    recording, path, file = made(120.0, 'mcap chunks')
    (_, second, third, *_), (before, inside, *_) = chunks_of(path)
    with altered(file) as raw:
        if damage == 'zeroed':
            raw[second + 50:second + 150] = bytes(100)
        else:
            del raw[(second + third) // 2:]
    states, bag = read(path)
    np.testing.assert_array_equal(states.position[:before], recording.position[:before])
    loss, = bag.lost
    assert loss.place.startswith(f'bytes {second} to ')
    assert len(states) + loss.messages == bag.total == 12_000
    if damage == 'zeroed':
        assert loss.messages == inside
        after = before + inside
        assert_same(states[before:], recording[after:])
        assert (loss.after, loss.before) == (
            recording.received[before - 1], recording.received[after])
        (path / 'metadata.yaml').unlink()  # the end of the file counts them as well
        assert read(path)[1].lost == (loss,)
    else:
        assert before < len(states) < before + inside  # the chunk's beginning is read


def test_reading_ends_at_a_damaged_page_of_sqlite_and_says_so(made):
    recording, path, file = made(10.0)
    with altered(file) as raw:
        at = len(raw) // 2 // 4096 * 4096
        raw[at:at + 2 * 4096] = bytes(2 * 4096)
    states, bag = read(path)
    assert 400 < len(states) < 500
    assert_same(states, recording[:len(states)])
    loss, = bag.lost
    assert (loss.place, loss.messages) == (
        f'from row {len(states) + 1} on', 1000 - len(states))
    assert 'what follows is not read' in loss.reason
    assert (loss.after, loss.before) == (states.received[-1], None)
    (path / 'metadata.yaml').unlink()  # the file's own index counts them as well
    assert read(path)[1].lost == (loss,)


def test_reading_ends_where_the_length_of_a_record_cannot_be_trusted(made):
    recording, path, file = made(120.0, 'mcap chunks')
    (_, second, *_), (count, *_) = chunks_of(path)
    with altered(file) as raw:
        raw[second + 3] ^= 4
    states, bag = read(path)
    assert_same(states, recording[:count])
    loss, = bag.lost
    assert (loss.place, loss.messages) == (f'from byte {second} on', 12_000 - count)
    assert 'what follows is not read' in loss.reason


@pytest.mark.parametrize('has_metadata', [True, False])
def test_parts_are_one_bag_and_one_that_is_missing_is_counted(tmp_path, has_metadata):
    recording, folder = record(duration=0.6), tmp_path / 'run'
    parts = [write(tmp_path / f'run_{i}', {'/joint_states': messages(recording[20 * i:][:20])})
             for i in range(3)]
    join(folder, parts)
    if not has_metadata:
        (folder / 'metadata.yaml').unlink()
    states, bag = read(folder)
    assert_same(states, recording)
    assert (bag.total, bag.lost) == (60, ())
    if has_metadata:
        (folder / 'run_1.db3').unlink()
        states, bag = read(folder)
        assert_same(states, recording[np.r_[0:20, 40:60]])
        loss, = bag.lost
        assert (loss.file, loss.reason, loss.messages) == ('run_1.db3', 'it is missing', 20)
    else:
        (folder / 'run_1.db3').rename(folder / 'other.db3')
        with pytest.raises(ValueError, match='name one'):
            read(folder)


def test_metadata_that_says_another_number_is_contradicted(made):
    _, path, _ = made()
    for counted, total, lost in ((20, 30, []), (50, 50, [('metadata.yaml', 20)])):
        with altered_metadata(path) as metadata:
            metadata['topics_with_message_count'][0]['message_count'] = counted
        _, bag = read(path)
        assert (bag.total, [(loss.file, loss.messages) for loss in bag.lost]) == (total, lost)
        assert lost or (
            'counts 20 messages on /joint_states, but there are 30' in bag.notes[0])
    (path / 'metadata.yaml').write_text('rosbag2_bagfile_information: [')
    _, bag = read(path)
    assert (bag.total, bag.lost) == (30, ())
    assert 'metadata.yaml cannot be used' in bag.notes[0]


@pytest.mark.parametrize('form', ['sqlite3', 'mcap'])
def test_metadata_that_counts_too_few_does_not_hide_a_loss(made, form):
    _, path, file = made(5.0, form)
    metadata = path / 'metadata.yaml'
    metadata.write_text(metadata.read_text().replace('message_count: 500', 'message_count: 10'))
    cut(file, 0.75)
    states, bag = read(path)
    assert 10 < len(states) < 500
    # The rows that are lost are in the index of an SQLite file.
    assert [loss.messages for loss in bag.lost] == [
        500 - len(states) if form == 'sqlite3' else None]


def test_a_file_that_is_listed_twice_is_read_once(made):
    recording, path, _ = made()
    with altered_metadata(path) as metadata:
        metadata['relative_file_paths'] *= 2
    states, bag = read(path)
    assert_same(states, recording)
    assert bag.total == 30


def test_rows_of_no_topic_are_lost(made):
    _, path, file = made(metadata=False)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute('UPDATE messages SET topic_id = 0 WHERE id IN (7, 8)')
    states, bag = read(path)
    assert len(states) == 28
    loss, = bag.lost
    assert loss.messages == 2
    assert 'a topic that the file does not name' in loss.reason
    assert bag.total == 30


def test_chunks_without_an_index_are_read(made):
    recording, path, file = made(form='mcap')
    with altered(file) as raw:
        end = len(raw) - 8  # the magic bytes; before them the footer, with where the summary is
        begin, = struct.unpack('<Q', raw[end - 20:end - 12])
        at, emptied = begin, 0
        while at < end:
            code, length = struct.unpack('<BQ', raw[at:at + 9])
            if code == 8:  # of a chunk: 32 bytes of times and places, then where its indexes are
                raw[at + 41:at + 45] = bytes(4)
                emptied += 1
            at += 9 + length
        assert emptied
        raw[end - 4:end] = struct.pack('<I', crc32(raw[begin:end - 4]))
    states, bag = read(path)
    assert_same(states, recording)
    assert not bag.lost


def test_one_message_that_is_missing_in_a_chunk_is_lost(made):
    """Without a checksum nothing but the count of its index tells of it."""
    recording, path, file = made(form='mcap')

    def find(code, at):
        while raw[at] != code:
            at += 9 + struct.unpack_from('<Q', raw, at + 1)[0]
        return at

    with altered(file) as raw:
        chunk = find(6, 8)
        raw[chunk + 33:chunk + 37] = bytes(4)  # its checksum
        raw[find(5, chunk + 9 + 40)] = 12  # metadata, which is passed over
    states, bag = read(path)
    assert_same(states, recording[1:])
    loss, = bag.lost
    assert loss.messages == 1
    assert loss.place.startswith(f'bytes {chunk} to ')
    assert 'index of the chunk lists more' in loss.reason
    assert bag.total == 30


def test_the_log_of_a_killed_recorder_is_read_and_nothing_is_changed(tmp_path):
    recording, killed = record(duration=0.5), tmp_path / 'killed'
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording[:30])})
    (path / 'metadata.yaml').unlink()
    with closing(sqlite3.connect(path / 'bag.db3')) as database:
        database.execute('PRAGMA journal_mode = WAL')
        database.executemany(
            'INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)', [
                (received, bytes(TYPES.serialize_cdr(message, JOINT_STATE)))
                for received, message in messages(recording[30:])])
        database.commit()
        shutil.copytree(path, killed)
    before = {file.name: file.read_bytes() for file in killed.iterdir()}
    assert 'bag.db3-wal' in before
    assert_same(read(killed)[0], recording)
    assert {file.name: file.read_bytes() for file in killed.iterdir()} == before


def test_damaged_bags_are_read_as_far_as_they_are_whole(tmp_path):
    """Seeds of the generator; more by ``python tools/broken_bags.py``."""
    for seed in range(30):
        bag = break_bag(tmp_path / str(seed), seed)
        assert not faults_of_reading(bag), f'seed {seed}: {bag.shape}, {bag.damage}'
