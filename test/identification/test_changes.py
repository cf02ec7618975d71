"""What changes during a recording is named, and nothing else is."""
from dataclasses import replace

from known_recordings import FRICTION, PAYLOAD, PLAIN, RATE, SPREAD, data, efforts, heavier
import numpy as np
import pytest
from recordings import PANDA, messages, motion, record, write

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.identify import identify

TERMS = ('friction', 'viscous', 'payload', 'offsets')


def test_a_payload_picked_up_in_between_is_named(identified):
    """It was said to be 0.74 ± 0.51 kg, and the file to be better."""
    recording = record(rate=RATE, duration=30.0, position_noise=1e-5)
    later = np.arange(len(recording.q))[:, None] >= 15.0 * RATE
    bare, loaded = (
        efforts(recording.q, PANDA, payload, FRICTION, 0.0, seed=1)
        for payload in (None, PAYLOAD))
    recording.effort = np.where(later, loaded, bare)
    found = identified(write('bag', {'/joint_states': messages(recording)}), terms=TERMS)
    assert {change['joint'] for change in found['changes']} >= {'joint2', 'joint4', 'joint6'}
    for change in found['changes']:
        assert change['is_lasting']
        assert change['bag'] == 'bag'
        assert change['begin'] == pytest.approx(15.0, abs=2.0)
        assert change['usual'] < 0.7 * change['error']
    assert 'from about 15 s on, the efforts do not fit the same load' in found.words
    assert 'resolve the doubts above' in found.words


def test_a_contact_is_named_and_blames_no_rotor():
    given = data(None, duration=40.0)
    time = np.arange(len(given.q)) / 25.0
    given.effort[(time > 22.0) & (time < 26.0)] += np.array([0.0, 8.0, 0.0, 4.0, 0.0, 0.0, 0.0])
    found = identify(PANDA, given, TERMS)
    assert found.missing == ()
    assert 'joint2' in {change.joint for change in found.changes}
    for change in found.changes:
        assert change.joint in {'joint2', 'joint4'}
        assert not change.is_lasting
        assert (change.begin, change.end) == pytest.approx((22.0, 26.0), abs=1.0)
        assert change.error > 10.0 * change.usual


def test_friction_that_falls_as_the_arm_warms_up_is_named():
    given = data(None, duration=40.0)
    warmth = np.linspace(0.0, 1.0, len(given.q))[:, None]
    given.effort[:] += SPREAD * given.q[:, 1] * (12.0 - 6.0 * warmth)
    found = identify(PANDA, given, ('friction', 'viscous', 'offsets'))
    assert len(found.changes) >= 5
    assert {(change.begin, change.is_lasting) for change in found.changes} == {(0.0, True)}


@pytest.mark.parametrize('drop', [0.0, 0.5])
@pytest.mark.parametrize('seeds', [
    range(2), pytest.param(range(1000, 1100), marks=pytest.mark.siege)])
def test_friction_that_falls_with_speed_passes_for_no_change_and_hides_none(seeds, drop):
    """In slow motion, it was said to fall as the arm warms up."""
    named = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        time = np.arange(750) / 25.0
        q = motion(0.1 * time) * 0.1 ** np.arange(5)[:, None]
        at_rest = rng.uniform(1.1, 1.5, 7)
        coulomb, decay = SPREAD * rng.uniform(3.0, 15.0, 7), rng.uniform(0.02, 0.1, 7)
        friction = coulomb * np.tanh(q[:, 1] / 0.005) * (
            1.0 + (at_rest - 1.0) * np.exp(-(q[:, 1] / decay) ** 2))
        effort = FeedForward(PLAIN).torque(q)[:, 0] + friction * (
            1.0 - drop * np.linspace(0.0, 1.0, 750)[:, None])
        effort += 0.05 * SPREAD * rng.standard_normal((750, 7))
        found = identify(
            PANDA, Data(q, effort, time.astype(np.intp), True), ('friction', 'viscous', 'offsets'))
        named.append(any(change.is_lasting for change in found.changes))
    assert all(named) if drop else not any(named)


@pytest.mark.parametrize('seed', range(4))
def test_no_change_is_named_without_one(seed):
    """Guards errors that neighbours share, wrong links, a load and steep friction."""
    rng = np.random.default_rng(seed)
    friction = replace(
        FRICTION, amplitude=rng.uniform(0.0, 4.0, 7), slope=rng.uniform(5.0, 200.0, 7))
    given = data(
        None if seed % 2 else PAYLOAD, duration=20.0, seed=seed, friction=friction,
        robot=heavier(PANDA, rng, 0.05))
    shared = SPREAD * rng.standard_normal((20, 7)).repeat(25, axis=0)
    assert not identify(PANDA, replace(given, effort=given.effort + shared), TERMS).changes


def test_no_change_is_named_in_the_recording_of_a_real_arm(real_bag, identified):
    assert identified(real_bag, terms=('friction', 'viscous', 'offsets'))['changes'] == []


@pytest.mark.parametrize(('spring', 'is_named'), [(0.0, False), (-10.0, True)])
def test_links_that_absorb_a_counterbalance_are_named(identified, spring, is_named):
    """Guards a link of 59 ± 20 kg for 5 kg, with the file said to be better."""
    recording = record(rate=RATE, duration=20.0, position_noise=1e-5)
    recording.effort = efforts(recording.q, PANDA, None, FRICTION, 0.0, seed=1)
    recording.effort[:, 1] += spring * np.sin(recording.q[:, 0, 1])
    out = identified(
        write('bag', {'/joint_states': messages(recording)}), terms=('links', 'friction')).words
    assert ('Masses of links are implausible: ' in out) is is_named
    if is_named:
        assert 'such as a spring or a counterbalance' in out
        assert 'resolve the doubts above' in out


def test_fast_motion_without_its_viscous_friction_is_no_contact():
    """Two fast parts in slow motion: the term that was not fitted is named, and nothing else."""
    time = np.arange(1000) / 25.0
    fast = np.isin(time.astype(int), [12, 13, 14, 25, 26, 27])[:, None, None]
    slow = motion(0.1 * time) * 0.1 ** np.arange(5)[:, None]
    q = np.where(fast, motion(time), slow)
    friction = replace(FRICTION, viscous=np.full(7, 2.0))
    effort = efforts(q, PANDA, None, friction, 0.0, seed=1)
    found = identify(PANDA, Data(q, effort, time.astype(np.intp), True), ('friction', 'offsets'))
    assert found.changes == ()
    assert 'viscous' in dict(found.missing)
