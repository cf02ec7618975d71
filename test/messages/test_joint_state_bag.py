"""Joint states are read from any rosbag2, by name; damage is named, and each message counted."""
from contextlib import closing
import sqlite3

import numpy as np
import pytest
from recordings import (
    FORMS,
    JOINT_STATE,
    TYPES,
    assert_same,
    joint_state,
    messages,
    read,
    record,
    write,
)
from rosbags.rosbag2 import Writer


@pytest.fixture
def bag_of(tmp_path):
    """Return a function that writes a bag of joint states, or of what is to be in it."""
    def make(recording, pairs=None, *, form='sqlite3'):
        pairs = messages(recording) if pairs is None else pairs
        return write(tmp_path / 'bag', {'/joint_states': pairs}, **FORMS[form])
    return make


@pytest.mark.parametrize('form', FORMS)
def test_every_storage_and_compression(bag_of, form):
    recording = record(duration=0.3)
    states, bag = read(bag_of(recording, form=form))
    assert_same(states, recording)
    assert bag.topic == '/joint_states'
    assert bag.total == 30
    assert bag.names == tuple(recording.names)


@pytest.mark.parametrize('form', ['sqlite3', 'mcap'])
def test_lone_file_and_folder_without_metadata(bag_of, form):
    recording = record(duration=0.3)
    path = bag_of(recording, form=form)
    (path / 'metadata.yaml').unlink()
    assert_same(read(path)[0], recording)
    assert_same(read(next(path.iterdir()))[0], recording)


def test_bag_without_type_definitions(bag_of):
    recording = record(duration=0.2)
    path = bag_of(recording)
    with closing(sqlite3.connect(path / 'bag.db3')) as database:
        database.executescript(
            'DROP TABLE message_definitions; UPDATE schema SET schema_version = 3;')
    assert_same(read(path)[0], recording)


def test_joints_shuffled_extra_and_changing_order_on_the_way(bag_of):
    recording = record(duration=0.6)
    rng = np.random.default_rng(0)
    fingers, pairs = ['finger1', 'finger2'], []
    for i, (received, message) in enumerate(messages(recording)):
        if i % 7 == 0:  # a gripper's
            pairs.append((received, joint_state(recording.stamp[i], fingers, [0.0, 0.0])))
        if i % 20 == 0:
            order = rng.permutation(9)
        names = [*message.name, *fingers]
        arrays = [np.append(values, [0.1, 0.2])[order] for values in (
            message.position, message.velocity, message.effort)]
        pairs.append((received, joint_state(
            recording.stamp[i], [names[k] for k in order], *arrays)))
    states, bag = read(bag_of(recording, pairs))
    assert_same(states, recording)
    assert list(bag.unusable.values()) == [9]
    assert "no joint of robot 'panda'" in next(iter(bag.unusable))


def test_the_drivers_topic_is_taken_beside_others_of_its_type(tmp_path):
    one, two = record(duration=0.2), record(duration=0.2, seed=2)
    bags = {
        name: write(tmp_path / name, {'/arm/joint_states': messages(one), other: messages(two)})
        for name, other in (('torque', '/feedforward/torque'), ('arms', '/left/joint_states'))}
    assert_same(read(bags['torque'])[0], one)
    with pytest.raises(ValueError, match=r'/arm/joint_states.*/left/joint_states.*--topic'):
        read(bags['arms'])


def parts(recording, *names):
    """Return messages with some joints of a recording each, named so."""
    return [
        (int(recording.received[i]), joint_state(
            recording.stamp[i], given, recording.position[i][:len(given)]))
        for i in range(len(recording.stamp)) for given in names]


def test_absent_arrays_are_nan(bag_of):
    recording = record(duration=0.2)
    states, _ = read(bag_of(recording, parts(recording, recording.names)))
    np.testing.assert_array_equal(states.position, recording.position)
    assert np.isnan(states.velocity).all()
    assert np.isnan(states.effort).all()


@pytest.mark.parametrize(('little_endian', 'too_many'), [(False, 1), (True, 3)])
def test_messages_big_endian_or_with_some_bytes_too_many(tmp_path, little_endian, too_many):
    recording = record(duration=0.2)
    path = tmp_path / 'bag'
    with Writer(path, version=8) as writer:
        connection = writer.add_connection('/joint_states', JOINT_STATE, typestore=TYPES)
        for k, (received, message) in enumerate(messages(recording)):
            data = TYPES.serialize_cdr(message, JOINT_STATE, little_endian=little_endian)
            writer.write(connection, received, bytes(data) + bytes(k % too_many))
    assert_same(read(path)[0], recording)


def test_halves_of_the_joints_in_separate_messages_are_to_be_merged(bag_of):
    recording = record(duration=0.2)
    path = bag_of(recording, parts(recording, recording.names[:4], recording.names[4:]))
    with pytest.raises(ValueError, match='source_list') as caught:
        read(path)
    assert '/joint_states: 40 (the joints come in separate messages (' in str(caught.value)
    assert 'lock' not in str(caught.value)


def test_another_arm_on_the_topic_is_counted_as_that(bag_of):
    recording = record(duration=0.2, prefix='left_')
    other = [name.replace('left_', 'right_') for name in recording.names]
    _, bag = read(bag_of(recording, parts(recording, other, recording.names)), prefix='left_')
    (reason, count), = bag.unusable.items()
    assert (count, bag.usable) == (20, 20)
    assert reason.endswith('are joints of another arm on this topic')


def test_bag_without_joint_states_names_its_topics(tmp_path):
    path = tmp_path / 'bag'
    with Writer(path, version=8) as writer:
        writer.add_connection('/chatter', 'std_msgs/msg/String', typestore=TYPES)
    with pytest.raises(ValueError, match=r'no messages of type sensor_msgs.*/chatter'):
        read(path)
    with pytest.raises(ValueError, match='/chatter is std_msgs/msg/String'):
        read(path, '/chatter')


@pytest.mark.parametrize(('field', 'value', 'reason'), [
    ('position', np.nan, 'positions not finite'),
    ('position', 1e300, 'positions beyond 1e+06'),
    ('velocity', np.inf, 'velocity not finite'),
    ('velocity', -1e300, 'velocity beyond 1e+06'),
    ('effort', np.nan, 'effort not finite'),
    ('effort', 1e7, 'effort beyond 1e+06'),
])
def test_numbers_that_are_none_are_counted(bag_of, field, value, reason):
    recording = record(duration=0.5)
    getattr(recording, field)[[7, 9], 3] = value
    states, bag = read(bag_of(recording))
    if field == 'position':
        assert (bag.unusable, bag.in_part) == ({reason: 2}, {})
        assert len(states) == bag.usable == 48
    else:
        assert (bag.unusable, bag.in_part) == ({}, {reason: 2})
        assert np.isnan(getattr(states, field)).sum() == 2
    assert bag.total == 50


def test_malformed_messages_are_counted_and_skipped(bag_of):
    recording = record(duration=0.3)
    pairs = messages(recording)
    pairs[4][1].name[2] = 'fer_jo\x10nt3'  # a damaged name
    pairs.insert(5, (int(recording.received[5]), joint_state(
        recording.stamp[5], recording.names, recording.position[5][:3])))
    states, bag = read(bag_of(recording, pairs))
    assert_same(states, recording[np.arange(30) != 4])
    assert bag.unusable.pop('7 names but 3 entries of position') == 1
    assert list(bag.unusable.values()) == [1]
