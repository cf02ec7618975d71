"""Which samples are fitted to: what is thinned, numbered and left out; without any bag: fast."""
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hodyn_ros import load_robot
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.identify import identify
from hodyn_ros.identification.recordings import (
    FOLDS,
    MAX_SAMPLES,
    STRETCH,
    Recording,
    Source,
    read_data,
)
from hodyn_ros.identification.rests import JITTER, MIN_REST, SLOW, Pace, moving, standing
from hodyn_ros.replay.diagnosis import Diagnosis
from hodyn_ros.replay.misreading import Fit

SOURCE = Source(load_robot('panda'))
CYCLE = STRETCH * FOLDS


def samples(count, seed):
    """Return the columns of a recording at 100 Hz, all of it at once."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((count, 5, 7)), rng.standard_normal((count, 7)),
            np.arange(count) // 100, rng.uniform(size=(count, 7)) < 0.1,
            rng.uniform(size=(count, 7)) < 0.9)


@pytest.fixture
def bags(monkeypatch):
    """Return the recordings by name, (samples, gravity, edges of chunks); a test fills them."""
    found = {}

    def motion(source, path):
        assert source is SOURCE
        columns, gravity, edges = found[path.name]
        count = len(columns[0])

        def pieces():
            for a, b in zip([0, *edges], [*edges, count], strict=True):
                q, effort, block, stands, moves = (column[a:b] for column in columns)
                yield Data(q, effort, block, gravity, stands=stands, moves=moves)

        return SimpleNamespace(
            pieces=pieces, counts=SimpleNamespace(used=count, name=path.name),
            diagnosis=Diagnosis((), SimpleNamespace(
                with_gravity=gravity, factor=30.0 if path.name == 'currents' else np.nan,
            ), Fit(0.01), []))
    monkeypatch.setattr(Source, 'motion', motion)
    return found


def read(*names, unloaded=()):
    return read_data([Recording(Path(name), name not in unloaded) for name in names], SOURCE)


def test_samples_are_thinned_evenly_whatever_chunks_they_come_in(bags):
    count = 4711
    columns = samples(count, 0)
    for edges in ([], [1, 2, 700, 701, 4000], [4710]):
        bags['one'] = columns, True, edges
        data, counts = read('one')
        assert [one.name for one in counts] == ['one']
        found = data.q, data.effort, data.block, data.stands, data.moves
        for got, whole in zip(found, columns, strict=True):
            np.testing.assert_array_equal(got, whole[::3])
        assert data.gravity
    # As many are left as there may be, of all bags together; and of a short one all.
    assert len(data.q) <= MAX_SAMPLES
    bags['few'] = samples(MAX_SAMPLES, 1), True, []
    assert len(read('few')[0].q) == MAX_SAMPLES
    data, _ = read('one', 'few')
    assert MAX_SAMPLES // 2 < len(data.q) <= MAX_SAMPLES


def test_blocks_of_different_bags_are_others_and_each_bag_begins_a_cycle(bags):
    for seed, (name, count) in enumerate((('a', 1000), ('b', CYCLE * 100), ('c', 50))):
        bags[name] = samples(count, seed), False, [17]
    data, _ = read('a', 'b', 'c', unloaded=['b'])
    assert not data.gravity
    np.testing.assert_array_equal(np.unique(data.bag), [0, 1, 2])
    blocks = [np.unique(data.block[data.bag == k]) for k in range(3)]
    assert [block[0] for block in blocks] == [0, CYCLE, 2 * CYCLE]
    assert [block[-1] - block[0] for block in blocks] == [9, CYCLE - 1, 0]
    np.testing.assert_array_equal(data.loaded, data.bag != 1)


def test_bags_that_cannot_be_put_together_are_refused(bags):
    bags['a'], bags['b'] = (samples(500, 0), True, []), (samples(500, 1), False, [])
    with pytest.raises(ValueError, match='a records efforts with gravity, b without'):
        read('a', 'b')
    bags['b'] = samples(500, 0), True, [100]
    with pytest.raises(ValueError, match='b holds the same recording as a'):
        read('a', 'b')
    with pytest.raises(ValueError, match='a holds the same recording as a'):
        read('a', 'a')


def test_a_recording_in_another_unit_counts_beside_one_that_does_not_tell(bags):
    bags['a'], bags['currents'] = (samples(500, 0), True, []), (samples(500, 1), True, [])
    assert np.isnan(read('a')[0].factor)
    data = read('a', 'currents')[0]
    with pytest.raises(ValueError, match=r'about 30 times .* another unit than N m'):
        identify(SOURCE.robot, data, ('friction',))


def instants(count, period=0.01):
    return 10 ** 12 + np.round(1e9 * period * np.arange(count)).astype(np.int64)


def rests(velocity, deviation=1e-9, slow=0.0):
    velocity = np.asarray(velocity, float)[:, None]
    return standing(instants(len(velocity)), velocity, np.full_like(velocity, deviation), np.array(
        [slow]))[:, 0]


def slow_of(velocity):
    pace = Pace(1)
    for part in np.array_split(velocity[:, None], 3):
        pace.add(instants(len(part)), part)
    return pace.slow[0]


def test_a_joint_stands_where_it_is_slow_for_long_enough():
    velocity = np.full(400, 0.5)
    long, short = slice(50, 50 + round(100 * MIN_REST) + 1), slice(200, 200 + round(
        100 * MIN_REST))
    velocity[long], velocity[short] = 0.0, 0.0
    found = rests(velocity)
    expected = np.zeros(400, bool)
    expected[long] = True
    np.testing.assert_array_equal(found, expected)
    # As long as a recording is, and at its ends; a moment of motion breaks a rest.
    assert rests(np.zeros(100)).all()
    velocity = np.zeros(100)
    velocity[[20, 60]] = 1.0
    found = rests(velocity)
    assert not found[:21].any()
    assert found[21:60].all()
    assert found[61:].all()


@pytest.mark.parametrize(('velocity', 'deviation', 'stands'), [
    (0.9, 0.0, True), (1.1, 0.0, False),  # what is slow anyway
    (2.9, 1.0, True), (3.1, 1.0, False),  # three deviations
    (-0.9, 0.0, True), (-1.1, 0.0, False)])
@pytest.mark.parametrize('scale', [1e-5, 1e-2])
def test_slow_is_what_differs_from_0_by_no_more_than_is_known(velocity, deviation, stands, scale):
    found = rests(np.full(100, velocity * scale), deviation * scale, scale)
    assert found.all() == found.any() == stands


@pytest.mark.parametrize('scale', [1e-4, 1e-2, 1.0])
def test_no_velocity_is_slow_for_all_joints(scale):
    """Guards joints that slide by 20 mm/s, which passed for joints at rest."""
    velocity = scale * np.sin(np.pi * np.arange(3000) / 100.0)  # 1 s in each direction
    assert slow_of(velocity) == pytest.approx(SLOW * scale / np.sqrt(2.0), rel=0.01)


def test_a_joint_that_jitters_is_slow_up_to_the_velocity_of_jitter():
    """Guards joints that a controller holds, whose friction may have any value."""
    jitter = 1e-3 * np.random.default_rng(0).standard_normal(3000)
    assert slow_of(jitter) == JITTER
    assert slow_of(1e3 * jitter) == pytest.approx(1e3 * SLOW * np.sqrt(np.mean(jitter ** 2)))


def test_noise_is_no_motion():
    noise = np.random.default_rng(0).standard_normal((100_000, 1))
    assert not moving(noise, np.ones_like(noise)).any()
    assert moving(np.array([[-5.1, 4.9, 5.1]]), np.ones((1, 3))).tolist() == [[True, False, True]]
