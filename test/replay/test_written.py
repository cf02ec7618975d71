"""Tables, bags and curves of a replay hold what was computed, each number in its place: fast."""
from dataclasses import replace

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from hodyn_ros import load_robot
from hodyn_ros.messages.joint_state_bag import JointStates
from hodyn_ros.replay.computed_bag import computed_bag
from hodyn_ros.replay.computed_parquet import computed_parquet
from hodyn_ros.replay.computed_table import computed_table
from hodyn_ros.replay.recorded_torques import Chunk
from hodyn_ros.replay.replay_bag import Curves

PANDA = load_robot('panda')
NAMES = tuple(f'fer_joint{i}' for i in range(1, 8))
COUNT = 40


@pytest.fixture
def chunk():
    """Return messages of which no two numbers are alike; every third is not used."""
    rng = np.random.default_rng(0)

    def numbers(*shape):
        return rng.uniform(-1.0, 1.0, (COUNT, *shape, 7))
    stamps = 10 ** 9 + 10 ** 7 * np.arange(COUNT)
    used = np.arange(COUNT) % 3 != 1
    states = JointStates(stamps, stamps + 5, numbers(), numbers(), numbers())
    begins = np.zeros(COUNT, dtype=bool)
    begins[[0, 20]] = True
    return Chunk(
        states, stamps, stamps - 7, used, begins, 0.0 * numbers(), numbers(5), numbers(5),
        numbers(3), numbers(3), states.effort, numbers(2), numbers(2))


def test_each_column_of_the_table_is_what_its_title_says(tmp_path, chunk):
    with computed_table(tmp_path / 'computed.csv', NAMES) as write:
        write(chunk[chunk.used])
    titles, *lines = (tmp_path / 'computed.csv').read_text().splitlines()
    columns = dict(zip(
        titles.split(','), np.array([line.split(',') for line in lines], float).T, strict=True))
    used = chunk.used
    np.testing.assert_array_equal(columns.pop('stamp_ns'), chunk.stamps[used])
    for i, name in enumerate(NAMES):
        for title, values in (
                ('position', chunk.q[:, 0]), ('velocity', chunk.q[:, 1]),
                ('torque', chunk.torque[:, 0]), ('torque_rate', chunk.torque[:, 1]),
                ('torque_accel', chunk.torque[:, 2]),
                ('torque_deviation', chunk.deviation[:, 0]),
                ('torque_rate_deviation', chunk.deviation[:, 1]),
                ('torque_accel_deviation', chunk.deviation[:, 2]),
                ('recorded_effort', chunk.states.effort)):
            np.testing.assert_allclose(
                columns.pop(f'{name}/{title}'), values[used, i], rtol=1e-8)
    assert columns == {}


def test_each_column_of_the_parquet_file_is_what_its_title_says(tmp_path, chunk):
    parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
    with computed_parquet(tmp_path / 'computed.parquet', PANDA.joint_names) as write:
        write(chunk[chunk.used])
    table = parquet.read_table(tmp_path / 'computed.parquet')
    columns = {name: table[name].to_numpy() for name in table.column_names}
    used = chunk.used
    rows = np.count_nonzero(used)
    assert list(columns.pop('joint')) == list(PANDA.joint_names) * rows
    for name, values in (('stamp', chunk.stamps), ('instant', chunk.instants)):
        found = columns.pop(name).astype('datetime64[ns]').astype(np.int64)
        np.testing.assert_array_equal(found, np.repeat(values[used], 7))
    motion = ('position', 'velocity', 'acceleration', 'jerk', 'snap')
    torque = ('torque', 'torque_rate', 'torque_accel')
    expected = {
        **{name: chunk.q[:, k] for k, name in enumerate(motion)},
        **{f'{name}_deviation': chunk.q_deviation[:, k] for k, name in enumerate(motion)},
        **{name: chunk.torque[:, k] for k, name in enumerate(torque)},
        **{f'{name}_deviation': chunk.deviation[:, k] for k, name in enumerate(torque)},
        'recorded_effort': chunk.states.effort,
        'error': chunk.predicted[:, 0] - chunk.states.effort}
    assert set(columns) == set(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(columns[name], values[used].ravel())


def read(path):
    """Return receive times and messages of each topic of a bag."""
    found = {}
    with AnyReader([path]) as reader:
        for connection, received, raw in reader.messages():
            found.setdefault(connection.topic, []).append(
                (received, reader.deserialize(raw, connection.msgtype)))
        assert reader.message_count == sum(map(len, found.values()))
        span = reader.start_time, reader.end_time
    return found, span


def test_a_computed_bag_has_a_topic_of_each_torque_in_the_order_of_time(tmp_path, chunk):
    states = chunk.states
    with computed_bag(tmp_path / 'computed', NAMES) as write:
        for part in (slice(20), slice(20, 20), slice(20, COUNT)):
            write(states.stamp[part], states.received[part], chunk.q[part], chunk.torque[part])
    found, span = read(tmp_path / 'computed')
    assert span[0] == states.received[0]
    assert span[1] - states.received[-1] in (0, 1)
    assert list(found) == [
        f'/feedforward/{name}' for name in ('torque', 'torque_rate', 'torque_accel')]
    for order, pairs in enumerate(found.values()):
        assert [received for received, _ in pairs] == states.received.tolist()
        for k, (_, message) in enumerate(pairs):
            stamp = message.header.stamp
            assert stamp.sec * 10 ** 9 + stamp.nanosec == states.stamp[k]
            assert tuple(message.name) == NAMES
            np.testing.assert_array_equal(message.position, chunk.q[k, 0])
            np.testing.assert_array_equal(message.velocity, chunk.q[k, 1])
            np.testing.assert_array_equal(message.effort, chunk.torque[k, order])


def test_receive_times_before_1970_become_0(tmp_path, chunk):
    """SQLite has such times, of a damaged row or a clock never set, and MCAP has not."""
    received = chunk.states.received - chunk.states.received[20]
    with computed_bag(tmp_path / 'computed', NAMES) as write:
        write(chunk.states.stamp, received, chunk.q, chunk.torque)
    for pairs in read(tmp_path / 'computed')[0].values():
        assert [time for time, _ in pairs] == np.maximum(received, 0).tolist()


@pytest.mark.parametrize('has_friction', [True, False])
def test_curves_hold_the_torques_the_errors_and_what_friction_leaves(chunk, has_friction):
    robot = PANDA if has_friction else replace(PANDA, friction=None)
    curves = Curves(robot, NAMES, chunk)
    curves.add(chunk)
    predicted, recorded = chunk.predicted[:, 0], chunk.states.effort
    # A run that begins is a break before its first sample; a single chunk has two runs.
    rows = np.flatnonzero(~np.isnan(curves.torques.lower[:, 0]))
    assert len(curves.torques.lower) == COUNT + 2
    np.testing.assert_array_equal(rows, [*range(1, 21), *range(22, COUNT + 2)])
    np.testing.assert_array_equal(
        curves.torques.lower[rows], np.hstack([predicted, recorded, predicted - recorded]))
    np.testing.assert_array_equal(curves.rates.upper[rows], np.hstack(
        [chunk.torque[:, 1], chunk.torque[:, 2], chunk.deviation[:, 1], chunk.deviation[:, 2]]))
    np.testing.assert_allclose(
        curves.torques.time[rows], 1e-9 * (chunk.stamps - chunk.stamps[0]), atol=1e-12)
    friction = PANDA.friction.torque(chunk.q)[:, 0] if has_friction else 0.0
    for profile, over, values in (
            (curves.over_position, chunk.q[:, 0], predicted - recorded),
            (curves.friction, chunk.q[:, 1], friction + recorded - predicted)):
        for joint in range(7):
            low, high = profile.edges[[0, -1], joint]
            inside = (over[:, joint] >= low) & (over[:, joint] < high)
            assert profile.count[:, joint].sum() == np.count_nonzero(inside)
            assert np.nansum(profile.count[:, joint] * profile.mean[:, joint]) == pytest.approx(
                (values * np.ones((COUNT, 7)))[inside, joint].sum())
            if profile is not curves.over_position:
                assert low == -high
                assert high == pytest.approx(min(
                    PANDA.limits.velocity[joint],
                    1.3 * np.abs(chunk.q[:, 1, joint]).max() + 1e-6))
