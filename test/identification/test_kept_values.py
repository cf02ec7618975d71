"""Values that are kept are those of the given robot, to the last digit."""
from dataclasses import replace
from pathlib import Path
import re

from known_recordings import data, heavier, palletizer, scara
import numpy as np
import pytest
from random_robots import random_robot
from recordings import PANDA, messages, motion, record, write

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.identify import identify
from hodyn_ros.identification.robot_writer import write_robot
from hodyn_ros.robot.files import save_robot

ZERO = 0.06  # rad
ALL = ('friction', 'viscous', 'rotor', 'gains', 'zeros', 'offsets')
LAW = ('amplitude', 'slope', 'velocity_offset', 'viscous')
PLACES = ('placement', 'axis', 'point')


def with_drives(robot, rng):
    """Return a robot with friction, rotors and gains of its own."""
    n = robot.n
    return replace(
        robot, friction=SigmoidFriction(
            rng.uniform(0.5, 3.0, n), rng.uniform(5.0, 40.0, n), rng.normal(0.0, 0.01, n),
            rng.uniform(0.1, 1.0, n)),
        rotor_inertia=rng.uniform(0.01, 0.3, n), effort_gain=rng.uniform(0.5, 2.0, n))


def robots():
    """Yield robots by name, some with coupled joints, some without drives of their own."""
    yield 'palletizer', palletizer()
    yield 'scara', scara()
    yield 'panda', PANDA
    yield 'panda with drives', with_drives(PANDA, np.random.default_rng(0))
    for seed in (0, 1, 2):
        rng = np.random.default_rng(seed)
        robot = random_robot(rng, 6, ('revolute', 'prismatic'), coupled=True)
        yield f'coupled {seed}', with_drives(robot, rng)


ROBOTS = dict(robots())


def given(robot, key):
    """Return the values of a robot under a key of an estimate, (n,)."""
    owner = robot.friction if key in LAW else robot
    value = getattr(owner, key, None)
    return np.full(robot.n, float(key == 'effort_gain')) if value is None else value


def noisy(robot, seed, *, zero=0.0, noise=0.3):
    """Return efforts with noise, a share of their deviation, of a robot with other zeros."""
    time = np.arange(300) / 10.0
    q = motion(time, robot)
    turned = q.copy()
    turned[:, 0] += zero
    effort = FeedForward(robot).torque(turned)[:, 0]
    rng = np.random.default_rng(seed)
    effort += noise * effort.std(axis=0) * rng.standard_normal(effort.shape)
    return Data(q, effort, time.astype(np.intp))


def is_kept(found, key):
    """Return which values of a key are kept, (n,); a slope at its bound has no interval."""
    law = key if key not in LAW[1:3] else 'amplitude'
    return np.isnan(found.intervals[law])


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('terms', [ALL, ('zeros', 'friction', 'viscous')], ids=['all', 'zeros'])
@pytest.mark.parametrize('name', ROBOTS)
def test_a_kept_value_is_the_given_one_and_so_is_the_written_one(name, terms, seed):
    """Guards zeros of 0.028 rad that were said to be kept as they were, and written."""
    robot = ROBOTS[name]
    found = identify(robot, noisy(robot, seed), terms)
    save_robot(robot, 'given.yaml')
    written = write_robot('given.yaml', robot, found, Path('found.yaml'))
    named = {(value, joint) for value, joints in (*found.held, *found.alike) for joint in joints}
    for key, value in found.joints.items():
        if key == 'slope' and robot.friction is None:
            continue  # friction of 0 has any slope
        kept = is_kept(found, key)
        np.testing.assert_array_equal(value[kept], given(robot, key)[kept])
        if key != 'zero':
            np.testing.assert_array_equal(given(written, key)[kept], given(robot, key)[kept])
        if key not in LAW[1:3]:
            assert {joint for value, joint in named if value == key} == {
                robot.joint_names[j] for j in np.flatnonzero(kept)}
    kept = is_kept(found, 'zero')
    for j, (before, after) in enumerate(zip(
            robot.joint_bodies, written.joint_bodies, strict=True)):
        if kept[j]:
            for place in PLACES:
                np.testing.assert_array_equal(getattr(after, place), getattr(before, place))
    for bound in ('position_min', 'position_max'):
        np.testing.assert_array_equal(
            getattr(written.limits, bound)[kept], getattr(robot.limits, bound)[kept])


def test_of_a_quarter_turn_that_is_found_nothing_is_said_to_be_kept():
    """Guards a zero of π/2 without an interval, that is said to be kept as it was."""
    turn = 0.5 * np.pi * (np.arange(7) == 6)
    found = identify(PANDA, noisy(PANDA, 3, zero=turn), ('zeros', 'friction'))
    width = found.intervals['zero'][6]
    assert 0.066 < width < 0.083  # hardly less than what is known before
    assert abs(found.joints['zero'][6] - turn[6]) < width
    assert 'joint7' not in dict(found.held)['zero']


def test_a_kept_value_is_printed_as_it_was(identified):
    robot = with_drives(palletizer(), np.random.default_rng(1))
    save_robot(robot, 'arm.yaml')
    recording = record(rate=25.0, duration=14.0, robot=robot, prefix='', effort_noise=0.0)
    noise = np.random.default_rng(1).standard_normal(recording.effort.shape)
    recording.effort = (
        recording.effort + recording.effort.std(axis=0) * noise) / robot.effort_gain
    found = identified(
        write('bag', {'/joint_states': messages(recording)}), terms=['zeros', 'viscous'],
        options=['--robot', 'arm.yaml'])
    assert 'zero of turn, tool: this motion does not determine it; kept as it was' in found.words
    cells = {row[0]: row[1:] for row in (
        re.split(r'\s{2,}', line.strip()) for line in found.out.splitlines())
        if len(row) == 3}
    kept = 0
    for name, joint, viscous in zip(
            robot.joint_names, found['joints'], robot.friction.viscous, strict=True):
        for entry, before, cell in zip(
                (joint['friction']['viscous'], joint['zero']), (viscous, 0.0), cells[name],
                strict=True):
            assert (cell == f'{before:.3g} (kept)') == (entry['interval'] is None)
            if entry['interval'] is None:
                assert entry['value'] == before
                kept += 1
        assert joint['offset'] == {'value': 0.0, 'interval': None}
    assert kept >= 2
    assert 'offset' not in found.out  # none is fitted


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('terms', [('friction', 'offsets'), ('friction', 'payload', 'offsets')])
def test_a_zero_that_is_off_is_named_though_links_and_offsets_absorb_it(terms, seed):
    """Of an arm whose links are off by 4 %; without an error of a zero, none is named."""
    true = heavier(PANDA, np.random.default_rng(seed), 0.04)
    for zero in (0.0, ZERO):
        some = data(None, robot=true, rate=10.0, seed=seed)
        some.q[:, 0, 3] += zero
        named = dict(identify(PANDA, some, terms).missing).get('zeros', ())
        assert named == (('joint4',) if zero else ())
