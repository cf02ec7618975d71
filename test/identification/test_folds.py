"""Which motion is held out together, and when a fit is worse: fast."""
from pathlib import Path

import numpy as np
import pytest

from hodyn_ros.identification.data import Data
from hodyn_ros.identification.recordings import FOLDS, STRETCH, Recording
from hodyn_ros.identification.validation import BlockErrors, Folds


def data(*blocks):
    """Return data of recordings of so many seconds each, a sample a second."""
    bag = np.repeat(np.arange(len(blocks)), blocks)
    count = len(bag)
    return Data(np.ones((count, 5, 2)), np.ones((count, 2)), np.arange(count), bag=bag)


def recordings(*loaded):
    return [Recording(Path(str(k)), one) for k, one in enumerate(loaded)]


def test_one_recording_is_cut_into_stretches_that_are_held_out_in_turn():
    some = data(STRETCH * FOLDS * 2)
    folds = Folds(recordings(True), some)
    assert (folds.by_bag, folds.count) == (False, FOLDS)
    np.testing.assert_array_equal(
        folds.of(some.bag, some.block), np.tile(np.repeat(np.arange(FOLDS), STRETCH), 2))


@pytest.mark.parametrize(('loaded', 'count', 'parts'), [
    ((True, True), 2, [0, 1]), ((True, True, True), 3, [0, 1, 2]),
    ((True,) * 6, FOLDS, [0, 1, 2, 3, 0, 1]),
    # Of each kind there is one in each part.
    ((True, False, True, False), 2, [0, 0, 1, 1]),
    ((True, True, True, False, False), 2, [0, 1, 0, 0, 1])])
def test_whole_recordings_are_held_out_where_there_are_two_of_each_kind(loaded, count, parts):
    some = data(*[20] * len(loaded))
    folds = Folds(recordings(*loaded), some)
    assert (folds.by_bag, folds.count) == (True, count)
    np.testing.assert_array_equal(
        folds.of(some.bag, some.block), np.array(parts)[some.bag])


@pytest.mark.parametrize(('loaded', 'blocks'), [
    ((True, False), (20, 20)), ((True, True, False), (20, 20, 20)),
    ((True, True), (20, 7))])  # without the first, too little is left
def test_where_too_little_would_be_left_stretches_are_held_out(loaded, blocks):
    assert not Folds(recordings(*loaded), data(*blocks)).by_bag
    assert Folds(recordings(True, True), data(20, 8)).by_bag


def test_a_fit_is_worse_where_that_is_beyond_the_chance_of_its_blocks():
    rng = np.random.default_rng(1)
    block = np.arange(400) // 10
    before = np.zeros((400, 3))
    # One joint is worse all the time, one in a single block, one by chance now and then.
    after = np.ones((400, 3)) * [0.1, 0.0, 0.0]
    after[block == 7, 1] = 9.0
    after[:, 2] = 0.1 * rng.standard_normal(400)
    before[:, 2] = 0.1 * rng.standard_normal(400)
    errors = BlockErrors((2, 3))
    for part in (slice(0, 15), slice(15, 400)):
        errors.add(0, block[part], np.stack([before, after], axis=1)[part])
    assert errors.excess(1, 0, np.ones(3)).tolist() == [True, False, False]
    assert not errors.excess(0, 1, np.ones(3))[:2].any()
    # Errors in another unit are compared in that of the first.
    assert errors.excess(1, 0, np.array([1.0, 1.0, 0.1])).tolist() == [True, False, True]
