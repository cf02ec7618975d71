"""A driver that wraps positions changes nothing but a sentence."""
import json

import numpy as np
import pytest
from recordings import messages, record, write

from hodyn_ros.messages.whole_turns import WholeTurns

TURNS = np.array([True, False])


def wrapped(position):
    return (position + np.pi) % (2.0 * np.pi) - np.pi


def unwrapped(position, stamp, cuts=()):
    """Return positions as they come out, in blocks, and what is said of them."""
    turns = WholeTurns(TURNS)
    found = np.concatenate([
        turns.unwrapped(position[part], stamp[part], stamp[part])
        for part in np.split(np.arange(len(stamp)), cuts)])
    return found, turns.notes(['a', 'b'])


@pytest.mark.parametrize('seed', range(20))
def test_any_motion_is_what_it_was_before_it_was_wrapped(seed):
    """In blocks of any length, with noise at the seam and repeated messages."""
    rng = np.random.default_rng(seed)
    stamp = np.cumsum(rng.integers(1_000_000, 20_000_000, 900))
    time = 1e-9 * stamp
    motion = 8.0 * np.sin(time + rng.uniform(0.0, 6.0)) + rng.normal(scale=1e-3, size=900)
    position = np.column_stack([wrapped(motion), 8.0 * np.sin(time)])
    found, (note,) = unwrapped(position, stamp, np.sort(rng.integers(0, 900, 5)))
    away = found[:, 0] - motion
    np.testing.assert_allclose(away, away[0], atol=1e-12)
    np.testing.assert_array_equal(found[:, 1], position[:, 1])
    assert note.startswith('Positions jump by a whole turn: a (')


def test_an_arm_that_turned_meanwhile_is_where_it_says():
    """In a gap of a second an arm may turn; a faulty read of zeros is no turn of this joint."""
    stamp = np.array([0, 5, 1000, 1005, 1010]) * 1_000_000
    position = np.array([[3.0, 0.0], [3.1, 0.0], [-3.1, 0.0], [-3.0, 0.0], [0.0, 0.0]])
    found, notes = unwrapped(position, stamp)
    np.testing.assert_array_equal(found, position)
    assert not notes


@pytest.mark.parametrize('seed', range(20))
def test_degrees_have_no_whole_turns(seed):
    """At 25 Hz, a joint at 2.5 rad/s moves by 6 degrees from message to message."""
    rng = np.random.default_rng(seed)
    stamp = np.arange(500) * 40_000_000
    motion = np.degrees(np.sin(2.5 * 1e-9 * stamp + rng.uniform(0.0, 6.0)))
    position = np.column_stack([motion, motion]) + rng.normal(scale=0.01, size=(500, 2))
    found, _ = unwrapped(position, stamp, [100, 101, 300])
    np.testing.assert_array_equal(found, position)


@pytest.mark.parametrize('velocity', [True, False])
def test_a_wrapped_recording_is_replayed_like_the_other(tmp_path, hodyn, velocity):
    recording = record(rate=100.0, duration=10.0, velocity=velocity)
    recording.position[:, 4] += np.pi  # so that the joint passes the seam
    errors = []
    for name in ('whole', 'wrapped'):
        if name == 'wrapped':
            recording.position[:, 4] = wrapped(recording.position[:, 4])
        path = write(tmp_path / name, {'/joint_states': messages(recording)})
        said = hodyn(
            'replay', path, '--output', tmp_path / 'out', '--no-report', '--force').out
        summary = json.loads((tmp_path / 'out/summary.json').read_text())
        errors.append([joint['rms_error'] for joint in summary['joints']])
    assert 'Positions jump by a whole turn: fer_joint5 (' in said
    assert 'stamps jumped' not in said
    np.testing.assert_allclose(errors[1], errors[0], rtol=1e-6)
