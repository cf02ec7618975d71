"""The key of a robot file with what the vendor's controller stops on."""
import numpy as np
import pytest
from random_robots import random_mapping

from hodyn_ros import load_robot
from hodyn_ros.robot.files import save_robot

STOP = {'name': 'too fast', 'commands': 'position', 'quantity': 'velocity', 'limit': 2.0}


def mapping(*stops, **keys):
    return {**random_mapping(np.random.default_rng(3), 2), 'reflexes': {
        'period': 0.001, 'stops': list(stops), **keys}}


@pytest.mark.parametrize(('stop', 'limit'), [
    ({}, [[2.0, 2.0]]),
    ({'limit': [1.0, 3.0]}, [[1.0, 3.0]]),
    ({'joints': ['joint1']}, [[np.inf, 2.0]]),
    ({'limit': {'speed': [0.0, 2.0], 'limit': [5.0, 1.0]}, 'joints': ['joint0']},
     [[5.0, np.inf], [1.0, np.inf]]),
])
def test_limits_are_for_all_joints_one_a_joint_or_over_the_speed(tmp_path, stop, limit):
    robot = load_robot(mapping(STOP | stop, gravity=False))
    save_robot(robot, tmp_path / 'robot.yaml')
    for reflexes in (robot.reflexes, load_robot(tmp_path / 'robot.yaml').reflexes):
        assert (reflexes.period, reflexes.gravity) == (0.001, False)
        np.testing.assert_array_equal(reflexes.stops[0].limit, limit)


def test_one_without_any_limit_is_said_to_trip_on_nothing():
    missing = "'limit': missing, and `limits` has no jerk for its joints: nothing"
    with pytest.warns(UserWarning, match=missing):
        load_robot(mapping({k: v for k, v in STOP.items() if k != 'limit'} | {'quantity': 'jerk'}))


def test_without_a_limit_those_of_the_file_count_in_the_order_of_joints():
    data = mapping({k: v for k, v in STOP.items() if k != 'limit'})
    data['limits'] = {'velocity': [3.0, 4.0]}
    robot = load_robot(data)
    np.testing.assert_array_equal(robot.reflexes.stops[0].limit, [[3.0, 4.0]])
    locked = load_robot(data, locked_joints={'joint0': 0.1})
    np.testing.assert_array_equal(locked.reflexes.stops[0].limit, [[4.0]])
