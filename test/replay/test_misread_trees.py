"""Mistakes in recordings of trees: loads in any hand, and arms that are swapped as a whole."""
from dataclasses import replace

import numpy as np
import pytest
from recordings import robot_keys, with_fingers
from rough_recordings import recorded

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.misreading import find_misreading
from hodyn_ros.replay.tips import swapped_arms, tips
from hodyn_ros.robot.files import load_robot


def two_arms(right=7):
    """Return two Pandas on a torso that turns, their bases on its left and its right side.

    The right one has fewer joints if `right` says so.
    """
    bodies = [{
        'name': 'torso', 'parent': -1, 'joint': 'waist', 'type': 'revolute',
        'axis': [0.0, 0.0, 1.0], 'placement': np.eye(4).tolist(), 'mass': 20.0,
        'com': [0.0, 0.0, 0.3], 'inertia': np.eye(3).tolist()}]
    for side, sign in (('left', 1.0), ('right', -1.0)):
        first = len(bodies)
        count = 7 if side == 'left' else right
        for number, body in enumerate(robot_keys('panda')['bodies'][:count]):
            placement = np.array(body['placement'])
            if number == 0:
                placement = np.array([
                    [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, sign, 0.2 * sign], [0.0, -sign, 0.0, 0.5],
                    [0.0, 0.0, 0.0, 1.0]]) @ placement
            bodies.append({
                **body, 'name': f'{side}{number}', 'joint': f'{side}_j{number}',
                'parent': first + number - 1 if number else 0, 'placement': placement.tolist()})
    return load_robot({'name': 'two_arms', 'bodies': bodies})


ROBOT = two_arms()
SEEDS = pytest.mark.parametrize('seed', [0, *(
    pytest.param(seed, marks=pytest.mark.siege) for seed in range(1000, 1020))])


@pytest.mark.parametrize('seeds', [
    range(1), pytest.param(range(1000, 1020), marks=pytest.mark.siege)])
@pytest.mark.parametrize(('hand', 'named'), [('left6', 'left6'), ('right6', 'the last link')])
def test_a_load_in_either_hand_is_named_with_its_mass(seeds, hand, named):
    """One in the left hand passed for a zero of a joint of this arm."""
    loaded = ROBOT.with_payload(hand, 3.0, [0.02, 0.05, 0.1])
    found = [
        find_misreading(FeedForward(ROBOT), *recorded(np.random.default_rng(seed), loaded)).reading
        for seed in seeds]
    readings = [reading for reading in found if reading is not None]
    assert len(readings) >= 0.95 * len(found)
    for reading in readings:
        cause, = reading.causes(ROBOT.joint_names)
        assert cause.startswith(f'{named} carries ')
        assert reading.load.mass == pytest.approx(3.0, rel=0.2)
        assert ('--payload left6 ' in reading.remedies[0]) == (hand == 'left6')
        assert bool(reading.without({'payload'}).changes) == (hand == 'left6')
        assert not reading.without({'links'}).changes


@pytest.mark.parametrize('seeds', [
    range(3), pytest.param(range(1000, 1040), marks=pytest.mark.siege)])
@pytest.mark.parametrize('load', [0.0, 0.1, 0.2])
def test_a_load_that_few_joints_carry_is_judged_by_these(seeds, load):
    """It was lost in the mean of all joints; wrong links of the arm are none."""
    named, mass = [], load * sum(body.mass for body in ROBOT.bodies[1:8])
    for seed in seeds:
        rng = np.random.default_rng(seed)
        hand = ('left6', 'right6')[seed % 2]
        true = ROBOT.with_payload(hand, mass, [0.02, 0.03, 0.1]) if mass else replace(
            ROBOT, bodies=tuple(
                replace(body, mass=factor * body.mass, inertia=factor * body.inertia)
                for body, factor in zip(
                    ROBOT.bodies, rng.uniform(0.7, 1.4, len(ROBOT.bodies)), strict=True)))
        reading = find_misreading(FeedForward(ROBOT), *recorded(rng, true)).reading
        named.append(reading is not None and reading.load is not None)
        if named[-1]:
            assert reading.load.link == hand
            assert reading.load.mass == pytest.approx(mass, rel=0.2)
    assert np.mean(named) >= 0.95 if load else not any(named)


@SEEDS
def test_arms_that_are_swapped_as_a_whole_are_named(seed):
    q, effort = recorded(np.random.default_rng(seed), ROBOT)
    swapped = [0, *range(8, 15), *range(1, 8)]
    fit = find_misreading(FeedForward(ROBOT), q[:, :, swapped], effort[:, swapped])
    assert fit.reading.causes(ROBOT.joint_names) == [
        f'the joints {", ".join(f"left_j{k} and right_j{k}" for k in range(7))} are swapped']


@SEEDS
def test_arms_of_different_length_are_swapped_from_the_base_on(seed):
    """Where all names of a leg and of most of an arm were swapped, gravity pointed sideways."""
    robot = two_arms(4)
    order, = swapped_arms(robot)
    assert order == (0, 8, 9, 10, 11, 5, 6, 7, 1, 2, 3, 4)
    q, effort = recorded(np.random.default_rng(seed), robot)
    found = find_misreading(FeedForward(robot), q[:, :, order], effort[:, order]).reading
    assert (found.order, found.effort_order) == (order, order)


def test_of_fingers_on_one_hand_the_last_is_its_tip():
    assert [body.name for body in tips(with_fingers(3))] == ['finger2']
    assert [body.name for body in tips(ROBOT)] == ['left6', 'right6']
