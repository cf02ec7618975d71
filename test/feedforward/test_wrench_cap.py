"""Wrenches of any size, at any rate, and what they may do to the torque of a reference at rest."""
from dataclasses import replace
import math

from controllers import AtHome, limited
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.wrench_cap import RATE_SHARE, wrench_share
from hodyn_ros.feedforward.wrench_inputs import WrenchInputs
from hodyn_ros.reference.smoothing import MAX_SLOPE

ROUND_OFF = 1e-6


def test_the_largest_response_is_that_of_five_equal_lags():
    found = minimize_scalar(
        lambda t: -t**4 * math.exp(-t) / math.factorial(4), bounds=(0.0, 20.0), method='bounded')
    assert pytest.approx(-found.fun, rel=1e-9) == MAX_SLOPE


def test_a_wrench_of_zero_is_whole_and_an_excess_gets_no_worse(panda):
    limits = panda.limits
    beyond = np.zeros(7)
    beyond[1] = 100.0
    outward, inward = np.zeros((2, 7))
    outward[1], inward[1] = 1.0, -1.0
    assert wrench_share(limits, beyond, np.zeros(7), 50.0) == (1.0, -1, '')
    assert wrench_share(limits, beyond, outward, 50.0) == (0.0, 1, 'effort')
    assert wrench_share(limits, beyond, inward, 50.0) == (1.0, -1, '')


@pytest.mark.parametrize(('name', 'bandwidth', 'steps'), [
    ('panda', 50.0, 1000),
    *(pytest.param(name, bandwidth, 5_000, marks=pytest.mark.slow)
      for name in ('panda', 'fr3', 'iiwa14') for bandwidth in (5.0, 50.0, 1000.0))])
def test_no_sequence_of_wrenches_takes_a_resting_reference_beyond_limits(
        name, bandwidth, steps):
    rng = np.random.default_rng([3, len(name), int(bandwidth)])
    robot = hd.load_robot(name)
    limits = robot.limits
    position = rng.uniform(0.8, 0.9) * limits.position_min + 0.15 * limits.position_max
    controller = AtHome(FeedForward(robot), position, wrench_bandwidth=bandwidth)
    now, shares = 0, []
    controller.evaluate(now)
    for _ in range(steps):
        for _ in range(rng.integers(3)):
            body = int(rng.integers(len(robot.bodies)))
            size = 10.0 ** rng.uniform(-3.0, 6.0) * rng.integers(2)
            shares.append(controller.set_external_wrench(body, size * rng.normal(size=6))[0])
        now += round(10.0 ** rng.uniform(3.0, 8.5))
        controller.evaluate(now)
        assert (np.abs(controller.torque[0]) <= limits.effort + ROUND_OFF).all()
        assert (
            np.abs(controller.torque[1]) <= RATE_SHARE * limits.effort_rate + ROUND_OFF).all()
    assert min(shares) < 1e-3
    assert max(shares) == 1.0


def test_a_wrench_with_room_is_taken_whole_and_without_limits_any_is(panda):
    free = replace(panda, limits=hd.Limits.none(panda.n))
    for robot, wrench in ((panda, np.full(6, 1.0)), (free, np.full(6, 1e6))):
        controller = AtHome(FeedForward(robot))
        assert controller.set_external_wrench(6, wrench) == (1.0, -1, '')


@pytest.mark.parametrize(('force', 'bounds', 'said', 'raised'), [
    (300.0, {}, "the effort_rate limit of joint 'joint", {'effort_rate': 1e6}),
    (300.0, {'effort_rate': 1e6}, 'max_force is 200 N', {'max_force': 400.0}),
    (900.0, {'effort_rate': 1e6, 'max_force': 1e4}, "the effort limit of joint 'joint",
     {'effort': 1e6}),
])
def test_the_limit_that_is_named_is_the_one_that_leaves_no_room(
        panda, force, bounds, said, raised):
    wrench = np.array([0.0, 0.0, 0.0, 0.0, force, 0.0])
    shares = []
    for given in (bounds, bounds | raised):
        robot = limited(panda, **{
            name: value for name, value in given.items() if name != 'max_force'})
        inputs = WrenchInputs(robot, given.get('max_force', 200.0), 1e4, 1.0)
        line = inputs.take(AtHome(FeedForward(robot)), 'link7', wrench, 0.0)
        shares.append(float(line.split(' of it: ')[0].split()[-1]) if line else 1.0)
        assert given is not bounds or said in line
    assert shares[1] > 1.1 * shares[0]


def test_a_wrench_is_named_as_its_messages_named_it_and_zero_needs_no_words(panda):
    robot = panda.with_payload('link7', 0.1, [0.0, 0.0, 0.1])
    controller = AtHome(FeedForward(robot))
    inputs = WrenchInputs(robot, 200.0, 50.0, 0.5)
    assert not inputs.take(controller, 'link8', np.full(6, 0.1), 0.0)
    assert inputs.silent(controller, 0.4) == []
    assert inputs.silent(controller, 0.6) == ['link8']
    assert inputs.silent(controller, 0.7) == []
    for force in (0.0, 1e-310, 0.0):
        wrench = np.array([0.0, 0.0, 0.0, 0.0, 0.0, force])
        assert inputs.take(controller, 'link7', wrench, 0.7) == ''
