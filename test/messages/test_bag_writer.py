"""Blocks of messages in MCAP bags, read by rosbags and by this package's own reader."""
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin

from hodyn_ros.messages import bag_writer
from hodyn_ros.messages.bags import Bag
from hodyn_ros.messages.joint_states import MESSAGE_TYPE, blank
from hodyn_ros.messages.message_types import TYPES

TOPICS = ['/one', '/two', '/three']
NAMES = ('a', 'b')


def written(path, blocks, chunk_size):
    """Write blocks of instants, each joint at its number among all instants; return the times."""
    times = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bag_writer, '_CHUNK_SIZE', chunk_size)
        with bag_writer.bag_writer(path, version=8, storage=StoragePlugin.MCAP) as writer:
            connections = [
                writer.add_connection(topic, MESSAGE_TYPE, typestore=TYPES) for topic in TOPICS]
            for steps in blocks:
                received = np.cumsum(steps) + (times[-1] if times else 10 ** 18)
                messages = blank(NAMES, len(steps) * len(TOPICS)).reshape(-1, len(TOPICS))
                messages['nanosec'] = len(times) + np.arange(len(steps))[:, None]
                messages['effort'] = np.arange(len(TOPICS))[:, None]
                bag_writer.write_block(writer, connections, received, messages)
                times += received.tolist()
    return times


@pytest.mark.fast
@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.lists(st.integers(0, 10 ** 7), min_size=1, max_size=40), min_size=1, max_size=4),
    st.sampled_from([1, 1000, 1 << 20]))
def test_blocks_are_read_as_they_were_written(tmp_path_factory, blocks, chunk_size):
    path = tmp_path_factory.mktemp('bags') / 'bag'
    times = written(path, blocks, chunk_size)
    with AnyReader([path]) as reader:
        assert reader.message_count == len(TOPICS) * len(times)
        assert (reader.start_time, reader.end_time) == (times[0], times[-1] + 1)
        for order, topic in enumerate(TOPICS):
            found = [
                (time, reader.deserialize(data, MESSAGE_TYPE)) for connection, time, data
                in reader.messages([c for c in reader.connections if c.topic == topic])]
            assert [time for time, _ in found] == times
            assert [m.header.stamp.nanosec for _, m in found] == list(range(len(times)))
            assert all(m.name == list(NAMES) and (m.effort == order).all() for _, m in found)
        middle = times[len(times) // 2]  # through the index of the chunks
        assert sum(1 for _ in reader.messages(start=middle)) == len(TOPICS) * sum(
            time >= middle for time in times)
    with Bag(path) as bag:
        for topic, count in bag.topics.items():
            found = list(bag.read(topic))
            assert count == len(found) == len(times)
            assert [message.received for message in found] == times


def test_a_damaged_byte_of_a_chunk_is_seen(tmp_path):
    path = tmp_path / 'bag'
    written(path, [[1000] * 50], 1 << 20)
    file = path / 'bag.mcap'
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(data)
    with Bag(path) as bag:
        topic = next(iter(bag.topics))
        assert any('checksum' in str(item) for item in bag.read(topic))


@pytest.mark.fast
def test_times_before_1970_become_0(tmp_path):
    """Guards a traceback: SQLite has such times, of a damaged row or a clock never set."""
    steps = [-10 ** 18 - 5, 5, 7]
    written(tmp_path / 'bag', [steps], 1 << 20)
    with AnyReader([tmp_path / 'bag']) as reader:
        assert [time for _, time, _ in reader.messages()] == 3 * [0] + 3 * [0] + 3 * [7]
